#include "cli/arguments.hpp"
#include "cli/artifact.hpp"
#include "cli/document.hpp"
#include "cli/paper_recordings.hpp"
#include "cli/progress.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "cli/version.hpp"
#include "model/base/comparison.hpp"
#include "model/base/describe.hpp"
#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/json.hpp"
#include "model/record/paper.hpp"
#include "reports/papers/context.hpp"
#include "reports/papers/paper_text.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

/// Throws `error`, of a paper's answer, again with the paper's name or file and, of a file, with lines.
[[noreturn]] void rethrow_with_file(const InputError &error, const std::string &file) {
    std::vector<InputProblem> problems = error.problems;
    for (InputProblem &problem : problems)
        if (problem.place.starts_with("/"))
            problem.place = file + ": " + problem.place;
    if (file_exists(file))
        problems = described::with_lines(std::move(problems), read_file(file), file);
    throw InputError(std::move(problems));
}

/// The papers of the command line, each once. `files` gets, by a paper's id, how it was asked for.
std::vector<Paper> asked_papers(const Arguments &arguments, std::map<std::string, std::string> &files) {
    const std::vector<std::string> known = shipped_papers();
    if (arguments.positional().empty())
        arguments.refuse("no paper given, for example: convcast reproduce chang -o papers; known: " +
                         join(known) + ", all");
    std::vector<Paper> papers;
    std::set<std::string> ids;
    for (const std::string &name : arguments.positional())
        for (const std::string &one : name == "all" ? known : std::vector<std::string>{name}) {
            Paper paper = find_paper(one);
            files.emplace(paper.id, shown_name(one));
            if (ids.insert(paper.id).second)
                papers.push_back(std::move(paper));
        }
    return papers;
}

/// Removes items that --only, if given, does not name. Throws UsageError for one that no paper has.
void keep_only(std::vector<Paper> &papers, const Arguments &arguments) {
    const std::vector<std::string> only = arguments.texts("only");
    std::vector<std::string> known;
    for (const Paper &paper : papers)
        for (const PaperItem &item : paper.items)
            known.push_back(item.id);
    for (const std::string &id : only)
        if (std::ranges::find(known, id) == known.end())
            arguments.refuse("no item '" + id + "' in " +
                             (papers.size() == 1 ? papers.front().id : std::string("these papers")) +
                             did_you_mean(id, known) + " There are: " + join(known));
    if (only.empty())
        return;
    for (Paper &paper : papers)
        std::erase_if(paper.items,
                      [&](const PaperItem &item) { return std::ranges::find(only, item.id) == only.end(); });
    std::erase_if(papers, [](const Paper &paper) { return paper.items.empty(); });
}

/// The answers to papers, and the recordings behind them.
struct Answered {
    std::vector<Reproduction> reproductions;
    std::set<const Recording *> used; ///< the recordings that they use
    std::set<RecordedOf> asked;       ///< the studies and networks that they ask for, recorded or not
};

/// Answers the items of `papers`. `whole` has the same papers with all of their items, since an item may
/// refer to others. `files` as in asked_papers. The result points into `recordings`.
Answered answer_papers(const std::vector<Paper> &papers, const std::vector<Paper> &whole,
                       const GpuProfile &ours, const Recordings &recordings,
                       const std::map<std::string, std::string> &files) {
    Answered answered;
    for (const Paper &paper : papers) {
        const PaperContext context(
            *std::ranges::find_if(whole, [&](const Paper &all_of_it) { return all_of_it.id == paper.id; }),
            ours, recordings);
        try {
            answered.reproductions.push_back(convcast::reproduce(paper, context));
        } catch (const InputError &error) {
            rethrow_with_file(error, files.at(paper.id));
        }
        const Reproduction &last = answered.reproductions.back();
        answered.used.insert(last.used.begin(), last.used.end());
        answered.asked.insert(context.recordings().asked().begin(), context.recordings().asked().end());
    }
    return answered;
}

/// Throws InputError for a recording that changes no answer; says which parts of others are not used.
void refuse_unused(const std::vector<const Recording *> &given, const Answered &answered) {
    std::vector<std::string> asked;
    for (const RecordedOf &of : answered.asked)
        asked.push_back(to_text(of));
    for (const Recording *recording : given) {
        std::vector<std::string> has, left_out;
        for (const RecordedOf &of : recording->of) {
            has.push_back(to_text(of));
            if (!answered.asked.contains(of))
                left_out.push_back(to_text(of));
        }
        if (!answered.used.contains(recording))
            throw InputError(recording->file,
                             "has " + join(has, " and ") +
                                 ", which no page that is asked uses; leave it out, or give what "
                                 "these pages use: " +
                                 (asked.empty() ? "no recording" : join(asked)));
        if (!left_out.empty() && has.size() > 1)
            note(recording->file + ": no page that is asked uses " + join(left_out, " and "));
    }
}

/// Sorts by date of measuring, then name: pages do not depend on the folders in which files lie.
void sort_by_date(std::vector<Recording> &recordings) {
    const auto key = [](const Recording &recording) {
        return std::pair(condition_of(recording.conditions(), "date"),
                         std::filesystem::path(recording.file).filename().string());
    };
    std::ranges::stable_sort(recordings, std::ranges::less(), key);
}

/// The recordings to answer from: those that ship, or, with --run or --measure, those of --run and those that
/// are measured now into `folder`. Absent where --plan has printed what would be measured.
std::optional<Recordings> asked_recordings(const Arguments &arguments, const std::vector<Paper> &papers,
                                           const std::vector<Paper> &whole, const GpuProfile &ours,
                                           const std::map<std::string, std::string> &files,
                                           const std::filesystem::path &folder) {
    if (!arguments.has("run") && !arguments.has("measure"))
        return Recordings::shipped(device_code_here());
    std::vector<Recording> given;
    for (const std::string &file : arguments.texts("run"))
        given.push_back(given_recording(file, ours));
    if (arguments.has("measure")) {
        // What the pages ask for is what they ask of the recordings that ship.
        const Answered answered =
            answer_papers(papers, whole, ours, Recordings::shipped(device_code_here()), files);
        const MeasurePlan plan = plan_to_measure(papers, answered.asked, given, ours, arguments, folder);
        if (arguments.has("plan")) {
            write_file_atomically("-", to_text(plan));
            return std::nullopt;
        }
        for (const std::string &file : measure(plan, ours, arguments))
            given.push_back(given_recording(file, ours));
    }
    refuse_twice(given);
    sort_by_date(given);
    Recordings recordings(device_code_here());
    for (Recording &recording : given)
        recordings.add(std::move(recording));
    return recordings;
}

/// What is printed of one paper: the verdicts, the claims that count, and where its page is.
std::string answer_text(const Reproduction &reproduction, const ReportFiles &files) {
    std::string text = bold(reproduction.paper.authors + ": " + reproduction.paper.title) + "\n" +
                       wrapped(summary_of(reproduction));
    if (!reproduction.not_measured.empty())
        text += wrapped(reproduction.not_measured);
    if (!reproduction.no_time.empty())
        text += wrapped("no time for " + reproduction.paper_gpu + ": " + reproduction.no_time);
    for (const ClaimAnswer &f : counted_findings(reproduction))
        text += wrapped(f.where + ": " + f.claim) +
                headed("  " + verdict_text(f.verdict), "published " + f.published + "; here " + f.found, 12);
    return text + "page:    " + files.page.string() + "\nfigures: " + std::to_string(files.figures.size()) +
           " files in " + (files.page.parent_path() / "figures").string() + "\n";
}

/// What --json prints of one paper.
struct PaperAnswers {
    std::string paper, summary;
    ClaimCounts counts;
    std::string measured, of_other_code, not_measured, no_time;
    std::vector<ClaimAnswer> findings;
    std::vector<PaperTable> tables;
    CONVCAST_MEMBERS(PaperAnswers, paper, summary, counts, measured, of_other_code, not_measured, no_time,
                     findings, tables)
};

PaperAnswers answers_of(const Reproduction &r) {
    return {.paper = r.paper.id,
            .summary = summary_of(r),
            .counts = r.counts,
            .measured = r.measured,
            .of_other_code = r.of_other_code,
            .not_measured = r.not_measured,
            .no_time = r.no_time,
            .findings = of_all_items(r, &ItemAnswer::findings),
            .tables = of_all_items(r, &ItemAnswer::tables)};
}

/// Where the answers go.
struct Outputs {
    std::filesystem::path folder;              ///< of -o, for pages
    bool pages = false;                        ///< pages are written: -o is given, or no other output is
    std::optional<std::string> docs, artifact; ///< the folders of --docs and --artifact

    explicit Outputs(const Arguments &arguments) : folder(arguments.text("output")) {
        if (arguments.has("docs"))
            docs = arguments.text("docs", "");
        if (arguments.has("artifact"))
            artifact = arguments.text("artifact", "");
        pages = arguments.has("output") || (!docs && !artifact && !arguments.has("json"));
    }
    /// The folder of a paper's page: one in `folder`, or `folder` itself if named as the only paper.
    std::filesystem::path of(const Paper &paper, std::size_t papers) const {
        const bool own = papers == 1 && (folder / "").parent_path().filename() == paper.id;
        return own ? folder : folder / paper.id;
    }
    /// The folder of the recordings that --measure makes. They stay there if making the pages fails, so with
    /// an artifact alone, a folder that is made whole or not at all, they lie beside it.
    std::filesystem::path measured() const {
        std::string name = artifact.value_or("");
        while (name.size() > 1 && name.ends_with('/'))
            name.pop_back();
        return artifact && !pages ? std::filesystem::path(name + ".measured") : folder / "measured";
    }
};

/// Throws UsageError where an output would be written over a file that is read, or has the name of a file,
/// and InputError where the folder of the artifact is there and not empty.
void refuse_outputs(const Arguments &arguments, const Outputs &outputs, const std::vector<Paper> &papers) {
    for (const Paper &paper : papers)
        refuse_overwriting_in(outputs.of(paper, papers.size()).string(), arguments,
                              {"claims.csv", paper.id + ".tex", paper.id + ".bib"});
    if (outputs.docs)
        for (const Paper &paper : papers)
            refuse_overwriting_in(*outputs.docs, arguments, {paper.id + ".md"}, "--docs");
    refuse_file_name(arguments, "-o", outputs.folder.string(), "pages and figures");
    if (outputs.docs)
        refuse_file_name(arguments, "--docs", *outputs.docs, "a page of each paper");
    if (outputs.artifact) {
        refuse_file_name(arguments, "--artifact", *outputs.artifact, "pages, recordings and checksums");
        NewFolder::check(*outputs.artifact);
    }
}

/// Writes one paper's page to the folder of -o, and as Markdown to that of --docs. Returns what to print.
std::string write_paper(const Reproduction &reproduction, const Outputs &outputs, std::size_t papers) {
    std::string text;
    if (outputs.pages) {
        const ReportFiles files = write_reproduction(reproduction, outputs.of(reproduction.paper, papers));
        text += answer_text(reproduction, files);
    }
    if (outputs.docs) {
        convcast::make_folder(*outputs.docs);
        const std::string file =
            (std::filesystem::path(*outputs.docs) / (reproduction.paper.id + ".md")).string();
        write_file_atomically(file, paper_markdown(reproduction));
        text += (outputs.pages ? "docs:    " : "") + file + "\n";
    }
    return text;
}

} // namespace

int reproduce(const Arguments &arguments) {
    std::map<std::string, std::string> files_of_papers;
    std::vector<Paper> papers = asked_papers(arguments, files_of_papers);
    const std::vector<Paper> whole = papers;
    keep_only(papers, arguments);
    const GpuProfile ours = find_profile(arguments.text("gpu"));
    const Outputs outputs(arguments);
    refuse_outputs(arguments, outputs, papers);
    const std::optional<Recordings> recordings =
        asked_recordings(arguments, papers, whole, ours, files_of_papers, outputs.measured());
    if (!recordings)
        return 0;
    Answered answered = answer_papers(papers, whole, ours, *recordings, files_of_papers);
    refuse_unused(recordings->given(), answered);
    std::string text;
    std::vector<PaperAnswers> answers;
    for (const Reproduction &reproduction : answered.reproductions) {
        const std::string answer = write_paper(reproduction, outputs, papers.size());
        text += (text.empty() || !outputs.pages ? "" : "\n") + answer;
        answers.push_back(answers_of(reproduction));
    }
    if (outputs.artifact) {
        std::vector<const Recording *> used(answered.used.begin(), answered.used.end());
        std::ranges::sort(used, std::ranges::less(), [](const Recording *one) { return one->file; });
        write_artifact({.reproductions = std::move(answered.reproductions),
                        .recordings = std::move(used),
                        .papers = arguments.positional(),
                        .gpu = arguments.text("gpu")},
                       *outputs.artifact);
        text += (text.empty() ? "" : "\n") + *outputs.artifact + "\n";
        if (commit().ends_with("-dirty"))
            note("this program was built from files that are in no commit, so nobody can build it again "
                 "from " +
                 commit() + "; before you hand the artifact in, commit, build and make it anew");
    }
    write_file_atomically("-", arguments.has("json") ? to_text(described::write(answers)) : printable(text));
    return 0;
}

} // namespace convcast::cli
