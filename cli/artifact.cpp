#include "cli/artifact.hpp"

#include "cli/arguments.hpp"
#include "cli/bundle.hpp"
#include "cli/version.hpp"
#include "executor/network/network_source.hpp"
#include "model/base/comparison.hpp"
#include "model/base/described.hpp"
#include "model/base/embedded.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/json.hpp"
#include "model/base/sha256.hpp"
#include "model/machine/profile.hpp"
#include "reports/figure.hpp"
#include "reports/papers/paper_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {
extern const std::vector<EmbeddedFile> artifact_files;
}

namespace convcast::cli {
namespace {

namespace fs = std::filesystem;
using Texts = std::map<std::string, std::string>;

/// A text without the tabs and line ends that would break a table of tab-separated columns.
std::string in_a_cell(std::string text) {
    std::ranges::replace_if(
        text, [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
    return text;
}

std::string row(const std::vector<std::string> &cells) {
    std::string line;
    for (const std::string &cell : cells)
        line += (line.empty() ? "" : "\t") + in_a_cell(cell.empty() ? dash : cell);
    return line + "\n";
}

/// The bytes of a file as they are, without unpacking it. Throws InputError.
std::string bytes_of(const fs::path &file) {
    std::ifstream in(file, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    if (!in.is_open() || in.bad())
        throw InputError(file.string(), "cannot be read");
    return bytes;
}

/// Copies what the command was given into the artifact, each under a name of its own.
class RawFiles {
  public:
    explicit RawFiles(fs::path folder) : folder_(std::move(folder)) {}

    /// Copies a file into the folder `in`. Returns its name in the artifact: "raw/run.json.gz".
    std::string add_file(const std::string &file, const std::string &in = "raw") {
        const std::string name = free_name(in, fs::path(file).filename().string());
        write(name, bytes_of(file));
        return name;
    }
    void add_text(const std::string &name, const std::string &bytes) { write(name, bytes); }
    /// Copies the files of a folder that `convcast adapt` made. Returns the folder's name in the artifact.
    std::string add_folder(const std::string &folder) {
        const std::string name =
            free_name("raw", fs::path(folder / fs::path("")).parent_path().filename().string());
        for (const auto &entry : fs::directory_iterator(folder))
            if (entry.is_regular_file())
                write(name + "/" + entry.path().filename().string(), bytes_of(entry.path()));
        return name;
    }

  private:
    /// "raw/run.json.gz", and "raw/2_run.json.gz" where that is taken.
    std::string free_name(const std::string &in, const std::string &name) {
        std::string free = in + "/" + name;
        for (int number = 2; !names_.insert(free).second; ++number)
            free = fmt::format("{}/{}_{}", in, number, name);
        return free;
    }
    void write(const std::string &name, const std::string &bytes) {
        convcast::make_folder((folder_ / name).parent_path().string());
        std::ofstream out(folder_ / name, std::ios::binary);
        out << bytes;
        if (!out.flush())
            throw InputError((folder_ / name).string(), "cannot be written");
    }

    fs::path folder_;
    std::set<std::string> names_;
};

/// "raw/h200/chang.json.gz" for the shipped recording data/recorded/h200/chang.json.gz.
std::string shipped_name(const std::string &file) {
    const std::string recorded = "data/recorded/";
    return "raw/" + (file.starts_with(recorded) ? file.substr(recorded.size()) : file);
}

/// The words of the command in the artifact that makes it again, of files in it.
struct Again {
    std::string words;                              ///< the papers and --gpu
    std::string recordings;                         ///< --run for each recording that does not ship
    std::map<const Recording *, std::string> files; ///< each recording's name in the artifact
};
/// Copies papers, profile and recordings into the artifact in `folder`.
Again copy_what_was_given(const Artifact &artifact, const fs::path &folder) {
    RawFiles raw(folder);
    Again again;
    const auto here = [](const std::string &name) { return "\"$here/" + name + "\""; };
    for (const std::string &paper : artifact.papers)
        again.words +=
            " " + (file_exists(paper) && !fs::is_directory(paper) ? here(raw.add_file(paper, "raw/papers"))
                                                                  : shell_word(paper));
    std::error_code none;
    again.words += " --gpu " + (fs::is_directory(artifact.gpu, none)      ? here(raw.add_folder(artifact.gpu))
                                : fs::is_regular_file(artifact.gpu, none) ? here(raw.add_file(artifact.gpu))
                                                                          : shell_word(artifact.gpu));
    std::set<std::string> given; // recordings that do not ship, in the order of their names
    for (const Recording *recording : artifact.recordings)
        if (recording->ships) {
            raw.add_text(again.files[recording] = shipped_name(recording->file),
                         shipped_bytes(recording->file));
        } else {
            given.insert(again.files[recording] = raw.add_file(recording->file));
        }
    for (const std::string &name : given)
        again.recordings += " --run " + here(name);
    return again;
}

/// The text of environment.json: what made the artifact, and the conditions of each recording.
std::string environment(const Again &again) {
    const Producer program = producer();
    std::map<std::string, std::map<std::string, std::string>> all;
    all["program"] = {{"name", "convcast"},
                      {"version", program.version},
                      {"commit", commit().empty() ? "not known" : commit()},
                      {"compiler", compiler()},
                      {"device_code_hash", program.device_code_hash},
                      {"measuring_code_hash", program.measuring_code_hash},
                      {"network_code_hash", network_code_hash()},
                      {"split_code_hash", network_code_hash(split_sources)}};
    for (const auto &[recording, file] : again.files) {
        std::map<std::string, std::string> &of_file = all[file] = recording->conditions();
        if (const auto *run = std::get_if<Run>(&recording->document)) {
            of_file["version"] = run->producer.version;
            of_file["device_code_hash"] = run->producer.device_code_hash;
            of_file["measuring_code_hash"] = run->producer.measuring_code_hash;
        }
    }
    return to_text(described::write(all));
}

/// "the recordings are of CUDA driver 13.0, CUDA 13.0, NVRTC 13.0, cuDNN 9.14.0": all versions named.
std::string toolkits_of(const std::vector<const Recording *> &recordings) {
    std::vector<std::string> parts;
    for (const auto &[key, called] : {std::pair{"driver_cuda", "CUDA driver "},
                                      {"toolkit", ""},
                                      {"cudnn", "cuDNN "},
                                      {"nccl", "NCCL "}}) {
        std::set<std::string> values;
        for (const Recording *recording : recordings)
            if (const std::string value = condition_of(recording->conditions(), key); !value.empty())
                values.insert(value);
        if (!values.empty())
            parts.push_back(called + join({values.begin(), values.end()}, " and "));
    }
    return parts.empty() ? "nothing was measured" : "the recordings are of " + join(parts);
}

/// TeX for "chang. hold: Table 1 (2 claims); Figure 4. differ: ...": where claims of each verdict stand.
std::string places_by_verdict(const Reproduction &reproduction) {
    std::string text;
    for (const ClaimVerdict verdict : {ClaimVerdict::holds, ClaimVerdict::in_part, ClaimVerdict::differs,
                                       ClaimVerdict::follows, ClaimVerdict::open}) {
        std::vector<std::pair<std::string, int>> places; // in the paper's order
        for (const ClaimAnswer &f : counted_findings(reproduction)) {
            if (f.verdict != verdict)
                continue;
            if (places.empty() || places.back().first != f.where)
                places.emplace_back(f.where, 0);
            ++places.back().second;
        }
        std::vector<std::string> words;
        for (const auto &[where, n] : places)
            words.push_back(
                escape_tex(where) +
                (n > 1 ? fmt::format(" ({} {})", n, verdict == ClaimVerdict::follows ? "numbers" : "claims")
                       : ""));
        if (!words.empty())
            text += fmt::format(" \\emph{{{}:}} {}.", verdict_text(verdict), join(words, "; "));
    }
    return fmt::format("\\noindent\\textbf{{{}.}}{}\\par\\smallskip\n", escape_tex(reproduction.paper.id),
                       text);
}

/// The commit in TeX, its first 12 digits, so that it fits a column; environment.json has all.
std::string commit_in_tex() {
    constexpr std::size_t digits = 12, all_digits = 40; // a hash of git has 40; "-dirty" may follow
    std::string text = commit();
    if (text.empty())
        return "commit not known";
    if (text.size() >= all_digits)
        text.erase(digits, all_digits - digits);
    return "commit \\texttt{" + escape_tex(text) + "}";
}

/// What stands in the texts of cli/artifact for @NAME@. `bytes`: size so far. Needs a reproduction.
Texts values_of(const Artifact &artifact, const Again &again, std::uintmax_t bytes) {
    Texts values;
    std::vector<std::string> papers, cited;
    std::string rows, not_measured, places;
    std::int64_t claims = 0, judged = 0, follow = 0;
    for (const Reproduction &r : artifact.reproductions) {
        papers.push_back(r.paper.id);
        cited.push_back(fmt::format("{}, ``{}''", escape_tex(r.paper.authors), escape_tex(r.paper.title)));
        const ClaimCounts &n = r.counts;
        rows += fmt::format("{} & {} & {} & {} & {} & {}\\\\\n", escape_tex(r.paper.id), n.holds, n.in_part,
                            n.differs, n.follows, n.open);
        claims += n.claims(), judged += n.judged(), follow += n.follows;
        places += places_by_verdict(r);
        if (!r.not_measured.empty())
            not_measured += escape_tex(r.paper.id) + ": " + escape_tex(r.not_measured) + " ";
    }
    const std::string &gpu = artifact.reproductions.front().our_gpu;
    return {{"PAPERS", join(papers)},
            {"PAPERS_TEX", join(cited, "; ")},
            {"GPU", gpu},
            {"VERSION", producer().version},
            {"COMMIT", commit_in_tex()},
            {"COMPILER", escape_tex(compiler())},
            {"DRIVER", escape_tex(toolkits_of(artifact.recordings))},
            {"CLAIMS", std::to_string(claims)},
            {"JUDGED", std::to_string(judged)},
            {"FOLLOW", std::to_string(follow)},
            {"MEGABYTES", fmt::format("{:.0f}", std::max(1.0, static_cast<double>(bytes) / 1e6))},
            {"VERDICTS", rows},
            {"CLAIMS_BY_VERDICT", places},
            {"NOT_MEASURED", not_measured},
            {"WORDS", again.words},
            {"RECORDINGS", again.recordings}};
}

/// The text of SHA256SUMS, as sha256sum writes and checks it.
std::string checksums(const fs::path &folder) {
    std::string text;
    for (const auto &[name, path] : files_in(folder))
        text += sha256(bytes_of(path)) + "  " + name + "\n";
    return text;
}

/// Gives PDFs a fixed time of making, so that two runs give the same bytes: 1980, unless SOURCE_DATE_EPOCH is
/// set already. Changes this process's environment, where the program that makes PDFs finds it.
void fix_time_of_pdfs() {
    constexpr const char *start_of_1980 = "315532800"; // s since 1970
    ::setenv("SOURCE_DATE_EPOCH", start_of_1980, 0);
}

} // namespace

std::string expected_values(const std::vector<Reproduction> &reproductions) {
    std::string text = row({"paper", "item", "where", "claim", "published", "found", "verdict", "tolerance",
                            "within_percent", "why"});
    for (const Reproduction &r : reproductions)
        for (const ClaimAnswer &f : counted_findings(r)) {
            std::vector<std::string> says;
            // The widest of its rules, since a row has one tolerance for all numbers; 10 without rules.
            int within_percent = f.rules.empty() ? 10 : 0;
            for (const VerdictRule *rule : f.rules) {
                says.emplace_back(rule->says);
                within_percent = std::max(within_percent, rule->within_percent);
            }
            if (says.empty())
                says = {"as its sentence says"};
            text += row({r.paper.id, f.item, f.where, f.claim, f.published, f.found, verdict_text(f.verdict),
                         join(says, "; "), std::to_string(within_percent), f.sentence});
        }
    return text;
}

void write_artifact(const Artifact &artifact, const std::string &folder) {
    NewFolder made(folder);
    fix_time_of_pdfs();
    const fs::path in = made.path();
    const Again again = copy_what_was_given(artifact, in);
    for (const Reproduction &r : artifact.reproductions)
        write_reproduction(r, in / "papers" / r.paper.id);
    write_file_atomically((in / "expected_values.tsv").string(), expected_values(artifact.reproductions));
    write_file_atomically((in / "environment.json").string(), environment(again));
    std::uintmax_t bytes = 0;
    for (const auto &[name, path] : files_in(in))
        bytes += fs::file_size(path);
    const Texts values = values_of(artifact, again, bytes);
    for (const EmbeddedFile &file : artifact_files) {
        std::string text = file.text();
        for (const auto &[name, value] : values)
            put(text, "@" + name + "@", value);
        write_file_atomically((in / fs::path(file.path).filename()).string(), text);
    }
    write_file_atomically((in / "SHA256SUMS").string(), checksums(in));
    made.take_place();
}

} // namespace convcast::cli
