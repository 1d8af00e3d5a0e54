#include "reports/write_report.hpp"

#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "reports/paper_figure.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// The file that lists what a report wrote into a folder of figures, a name a line. The next report removes
/// those that it does not write anew, so that no other document's figure stays, and touches no other file.
constexpr const char *manifest = ".figures";

/// The names in the manifest; a name that would lead out of the folder does not count.
std::set<std::string> listed_files(const std::filesystem::path &figures) {
    std::set<std::string> names;
    if (!file_exists((figures / manifest).string()))
        return names;
    std::istringstream lines(read_file((figures / manifest).string()));
    for (std::string name; std::getline(lines, name);)
        if (!name.empty() && name.find('/') == std::string::npos && name != "." && name != "..")
            names.insert(name);
    return names;
}

/// Removes what the last report listed and this one did not write, and lists what this one wrote.
void replace_listed(const std::filesystem::path &figures, std::set<std::string> earlier,
                    const std::vector<std::filesystem::path> &written) {
    std::string list;
    for (const std::filesystem::path &file : written) {
        earlier.erase(file.filename().string());
        list += file.filename().string() + "\n";
    }
    std::error_code ignored; // what cannot be removed stays
    for (const std::string &name : earlier)
        std::filesystem::remove(figures / name, ignored);
    write_into_folder(figures / manifest, list);
}

} // namespace

ReportFiles write_figures(const std::vector<Figure> &figures, const std::filesystem::path &folder,
                          std::span<const CaseColumns> cases,
                          const std::function<void(std::size_t, const std::string &)> &progress) {
    make_folder((folder / "figures").string());
    const std::set<std::string> earlier = listed_files(folder / "figures");
    FigureFiles files{{}, "", true};
    for (std::size_t i = 0; i < figures.size(); ++i) {
        if (figures[i].point_count() == 0)
            continue;
        if (progress)
            progress(i, figures[i].title);
        files.write(figures[i], folder / "figures" / figures[i].id, cases);
    }
    replace_listed(folder / "figures", earlier, files.files);
    return {folder / "page.html", std::move(files.files), std::move(files.note)};
}

ReportFiles write_report(PageReport report, const std::filesystem::path &folder,
                         const ReportProgress &progress) {
    const std::size_t figures = report.figures.size();
    const auto show = [&](std::size_t done, const std::string &next) {
        if (progress)
            progress(done, figures + 1, next);
    };
    ReportFiles files = write_figures(report.figures, folder, report.cases, show);
    show(figures, "the page");
    // Last: where a page lies, its figures lie too.
    write_into_folder(files.page, write_html(report.page(std::move(report.figures))));
    return files;
}

} // namespace convcast
