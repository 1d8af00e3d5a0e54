#include "cli/bundle.hpp"

#include "cli/version.hpp"
#include "model/base/describe.hpp"
#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/readable.hpp"
#include "model/base/text.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace convcast::cli {
namespace {

constexpr std::size_t tar_block = 512; ///< bytes: headers and contents of a tar archive fill whole blocks

struct Versions {
    Producer report_by, run_by;
    std::map<std::string, std::string> conditions; ///< of the run
    CONVCAST_MEMBERS(Versions, report_by, run_by, conditions)
};

/// The time of all files of an archive in seconds since 1970: SOURCE_DATE_EPOCH, or the start of 1980, so
/// that equal files give equal archives. Throws UsageError for a text that is none.
std::int64_t time_of_files() {
    constexpr std::int64_t start_of_1980 = 315532800;
    constexpr std::int64_t latest = 0777'7777'7777; // 11 octal digits, as many as a header has for a time
    const char *text = std::getenv("SOURCE_DATE_EPOCH");
    if (text == nullptr || *text == '\0')
        return start_of_1980;
    const std::string_view digits = text;
    const std::optional<std::int64_t> seconds = number_of<std::int64_t>(digits);
    if (!seconds || *seconds < 0 || *seconds > latest)
        throw UsageError("SOURCE_DATE_EPOCH must be seconds since 1970, for example 1700000000, got '" +
                         shortened(digits, 40) + "'");
    return *seconds;
}

/// The header of a file of `size` bytes in the ustar format: texts and octal numbers at fixed places, and a
/// sum of the header's bytes. Throws InputError for a name or a size that the format cannot hold.
std::string tar_header(const std::string &name, std::size_t size, std::int64_t time) {
    std::string header(tar_block, '\0');
    const auto put = [&](std::size_t at, std::string_view text) { header.replace(at, text.size(), text); };
    if (name.size() > 100) // the format's field
        throw InputError(name, "is too long a name for the archive");
    constexpr std::size_t most = std::size_t{1} << 33; // 11 octal digits are 33 bits
    if (size >= most)
        throw InputError(name, "has 8 GiB or more, which a file of the archive cannot have");
    put(0, name);
    put(100, "0000644"); // mode
    put(108, "0000000"); // user and group
    put(116, "0000000");
    put(124, fmt::format("{:011o}", size));
    put(136, fmt::format("{:011o}", time));
    put(148, "        "); // the sum, as blanks while it is made
    put(156, "0");        // a plain file
    put(257, std::string_view("ustar\00000", 8));
    const unsigned sum = std::accumulate(header.begin(), header.end(), 0U, [](unsigned all, char c) {
        return all + static_cast<unsigned char>(c);
    });
    put(148, fmt::format("{:06o}", sum));
    header[154] = '\0';
    return header;
}

/// "report" of "out/report.tar.gz"
std::string stem_of(const std::string &file) {
    std::string name = std::filesystem::path(file).filename().string();
    for (const char *ending : {".tar.gz", ".tgz", ".tar"})
        if (name.ends_with(ending))
            return name.substr(0, name.size() - std::strlen(ending));
    return name;
}

void add_file(OutputFile &archive, const std::filesystem::path &path) {
    std::ifstream file(path, std::ios::binary);
    std::string block(1 << 20, '\0'); // 1 MiB
    while (file.read(block.data(), static_cast<std::streamsize>(block.size())), file.gcount() > 0)
        archive.write(std::string_view(block).substr(0, static_cast<std::size_t>(file.gcount())));
}

} // namespace

std::string shell_word(const std::string &word) {
    constexpr std::string_view plain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+%@";
    if (!word.empty() && word.find_first_not_of(plain) == std::string::npos)
        return word;
    std::string out = "'";
    for (const char c : word)
        out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

BundleFiles documents_of(const Run &run, const std::optional<std::filesystem::path> &lines,
                         const std::optional<GpuProfile> &profile, const std::optional<Knowledge> &knowledge,
                         const std::vector<Study> &studies, const std::vector<std::string> &words) {
    BundleFiles files;
    if (lines)
        files["run.jsonl"] = *lines;
    else
        files["run.json"] = write_run(run);
    files["versions.json"] = to_text(described::write(Versions{producer(), run.producer, run.conditions}));
    std::string given = "convcast report",
                again = lines ? "convcast predict run.jsonl" : "convcast predict run.json",
                forecast = lines ? "again.jsonl" : "again.json";
    for (const std::string &word : words)
        given += " " + shell_word(word);
    if (profile) {
        files["profile.json"] = write_profile(*profile);
        again += " --gpu profile.json";
    }
    if (knowledge) {
        files["facts.json"] = write_facts(knowledge->facts);
        again += " --facts facts.json";
        if (knowledge->calibration)
            files["calibration.json"] = write_calibration(*knowledge->calibration);
        again += knowledge->calibration ? " --calibration calibration.json" : " --calibration none";
    }
    for (const Study &study : studies)
        files["studies/" + study.id + ".json"] = to_text(described::write(study));
    files["commands.txt"] = "# What this archive was made by:\n" + given +
                            "\n\n# In this folder: the forecasts anew, and the page from them\n" + again +
                            " -o " + forecast + "\nconvcast report " + forecast +
                            (profile ? " --gpu profile.json" : "") + " -o again\n";
    return files;
}

std::map<std::string, std::filesystem::path> files_in(const std::filesystem::path &folder) {
    std::map<std::string, std::filesystem::path> files;
    for (const std::filesystem::directory_entry &entry :
         std::filesystem::recursive_directory_iterator(folder))
        if (entry.is_regular_file())
            files[std::filesystem::relative(entry.path(), folder).generic_string()] = entry.path();
    return files;
}

void check_bundle_name(const std::string &file) {
    const std::string stem = stem_of(file); // the folder in the archive
    if (stem.find_first_not_of('.') == std::string::npos || !is_printable(stem) ||
        stem == std::filesystem::path(file).filename().string())
        throw UsageError(
            "report: --bundle writes an archive with a name that ends in .tar.gz, .tgz or .tar, got " +
            (is_printable(file) ? "'" + shortened(file, 60) + "'" : "one with control characters") +
            ". Example: --bundle report.tar.gz");
}

void write_bundle(const std::string &file, const BundleFiles &files) {
    const std::int64_t time = time_of_files();
    OutputFile archive(file);
    for (const auto &[name, content] : files) {
        const auto *text = std::get_if<std::string>(&content);
        const std::size_t size = text ? text->size() : std::filesystem::file_size(std::get<1>(content));
        archive.write(tar_header(stem_of(file) + "/" + name, size, time));
        if (text)
            archive.write(*text);
        else
            add_file(archive, std::get<1>(content));
        archive.write(std::string((tar_block - size % tar_block) % tar_block, '\0')); // up to a whole block
    }
    archive.write(std::string(2 * tar_block, '\0')); // the end of an archive
    archive.finish();
}

} // namespace convcast::cli
