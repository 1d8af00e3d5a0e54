#include "cli/choice_figure.hpp"

#include "cli/progress.hpp"
#include "cli/version.hpp"
#include "model/base/errors.hpp"
#include "reports/paper_figure.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace convcast::cli {
void write_choice_figure(const std::vector<ChoiceAnswer> &answers, const Arguments &arguments) {
    if (answers.size() < 2)
        throw UsageError(
            "choose: --figure draws how the choice changes and needs two answers at least: run a size "
            "through values with --sweep, or name several --shape, --gpu or --sms, for example: convcast "
            "choose --shape n1c64h56w56k64r3s3 --sweep h=w=28:224:28 --figure who_wins.svg");
    const ChoiceFigure drawn = who_wins(answers);
    const FigureFiles written =
        write_paper_figure(drawn.figure, drawn.cases, PaperWidth::parse(arguments.text("width")),
                           arguments.text("figure", ""), "Forecast by convcast " + producer().version);
    for (const std::filesystem::path &file : written.files)
        say("wrote " + file.string());
    if (!written.note.empty())
        note(written.note);
}

} // namespace convcast::cli
