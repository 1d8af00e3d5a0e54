#include "cli/arguments.hpp"
#include "cli/verbs.hpp"
#include "cli/version.hpp"
#include "model/described.hpp"
#include "model/errors.hpp"
#include "model/files.hpp"
#include "model/study.hpp"
#include "reports/page.hpp"
#include "reports/write_report.hpp"

#include <set>

namespace convcast::cli {

int report(const Words &words) {
    const Arguments arguments("report", words,
                              {{"study", Option::texts}, {"json", Option::flag}, {"output,o", Option::text}}, 1);
    if (arguments.has("help"))
        return write_file_atomically("-", help_text("report")), 0;
    if (arguments.positional().empty())
        throw UsageError("report: no Run document given, for example: convcast report "
                         "data/recorded/h200/chang.json.gz -o page; - reads standard input");
    const std::string file = arguments.positional().front();
    const Run run = read_run(read_file(file), file == "-" ? "standard input" : file);

    std::vector<Study> studies;
    std::set<std::string> named;
    const auto add = [&](const std::string &name) {
        if (named.insert(name).second)
            studies.push_back(find_study(name));
    };
    for (const std::string &name : arguments.texts("study"))
        add(name);
    const std::vector<std::string> shipped = shipped_studies();
    for (const Case &item : run.cases) // a study of the user's own that is not at hand leaves its cases ungrouped
        if (item.study && std::find(shipped.begin(), shipped.end(), *item.study) != shipped.end())
            add(*item.study);

    const bool json = arguments.has("json");
    std::string text;
    if (!json || arguments.has("output")) {
        const ReportFiles files = write_report(run, studies, arguments.text("output", "page"), producer());
        text = answer(summarize(run, studies)) + "\n\npage:    " + files.page.string() + "\nfigures: " +
               std::to_string(files.figures.size()) + " files in " + (files.page.parent_path() / "figures").string() +
               (files.pdf_note.empty() ? "" : "\n" + files.pdf_note) + "\n";
    }
    write_file_atomically("-", json ? to_text(described::write(summarize(run, studies))) : text);
    return 0;
}

} // namespace convcast::cli
