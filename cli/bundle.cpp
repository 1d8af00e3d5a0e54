#include "cli/bundle.hpp"

#include "cli/version.hpp"
#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/readable.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

constexpr std::size_t tar_block = 512; ///< of a tar archive

/// Seconds since 1970.
std::int64_t time_of_files() {
    constexpr std::int64_t start_of_1980 = 315532800;
    const char *text = std::getenv("SOURCE_DATE_EPOCH");
    if (text == nullptr || *text == '\0')
        return start_of_1980;
    const std::string_view digits = text;
    std::int64_t seconds = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
    if (error != std::errc{} || end != digits.data() + digits.size() || seconds < 0 ||
        seconds > 0777'7777'7777)
        throw UsageError("SOURCE_DATE_EPOCH must be seconds since 1970, for example 1700000000, got '" +
                         shortened(digits, 40) + "'");
    return seconds;
}

/// The header of a file of `size` bytes: texts and octal numbers at fixed places, with a sum of its bytes.
std::string tar_header(const std::string &name, std::size_t size, std::int64_t time) {
    std::string header(tar_block, '\0');
    const auto put = [&](std::size_t at, std::string_view text) { header.replace(at, text.size(), text); };
    if (name.size() > 100)
        throw InputError(name, "is too long a name for the archive");
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

/// As a shell takes it.
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

std::string versions_text(const Run &run) {
    JsonObject members;
    members.emplace_back("report_by", described::write(producer()));
    members.emplace_back("run_by", described::write(run.producer));
    members.emplace_back("conditions", described::write(run.conditions));
    return to_text(JsonValue(std::move(members)));
}

} // namespace

BundleFiles documents_of(const Run &run, const std::optional<GpuProfile> &profile,
                         const std::optional<Knowledge> &knowledge, const std::vector<Study> &studies,
                         const std::vector<std::string> &words) {
    BundleFiles files;
    files["run.json"] = write_run(run);
    files["versions.json"] = versions_text(run);
    std::string given = "convcast report", again = "convcast predict run.json";
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
                            " -o again.json\nconvcast report again.json" +
                            (profile ? " --gpu profile.json" : "") + " -o again\n";
    return files;
}

void add_folder(BundleFiles &files, const std::filesystem::path &folder) {
    for (const std::filesystem::directory_entry &entry :
         std::filesystem::recursive_directory_iterator(folder))
        if (entry.is_regular_file() && !entry.path().filename().string().starts_with('.'))
            files[std::filesystem::relative(entry.path(), folder).generic_string()] =
                read_file(entry.path().string());
}

std::string tar_of(const BundleFiles &files, const std::string &folder) {
    const std::int64_t time = time_of_files();
    std::string archive;
    for (const auto &[name, text] : files) {
        archive += tar_header(folder + "/" + name, text.size(), time) + text;
        archive.append((tar_block - text.size() % tar_block) % tar_block, '\0');
    }
    return archive.append(2 * tar_block, '\0');
}

void check_bundle_name(const std::string &file) {
    const std::string stem = stem_of(file); // the folder in the archive
    if (stem.find_first_not_of('.') == std::string::npos || !is_printable(stem) ||
        stem == std::filesystem::path(file).filename().string())
        throw UsageError(
            "report: --bundle writes an archive with a name that ends in .tar.gz, .tgz or .tar, got '" +
            shortened(file, 60) + "'. Example: --bundle report.tar.gz");
}

void write_bundle(const std::string &file, const BundleFiles &files) {
    const std::string archive = tar_of(files, stem_of(file));
    write_file_atomically(file, file.ends_with(".tgz") ? gzip(archive) : archive); // .gz packs itself
}

} // namespace convcast::cli
