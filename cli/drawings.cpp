#include "cli/drawings.hpp"

#include "cli/progress.hpp"
#include "cli/version.hpp"
#include "model/base/errors.hpp"
#include "reports/paper_figure.hpp"
#include "reports/partition_diagram.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace convcast::cli {
namespace {

void say_what_is_written(const FigureFiles &written) {
    for (const std::filesystem::path &file : written.files)
        say("wrote " + file.string());
    if (!written.note.empty())
        note(written.note);
}

} // namespace

void write_diagram(const std::vector<Case> &cases, const GpuProfile &profile, const Arguments &arguments) {
    if (cases.size() != 1 || !cases.front().strategy)
        arguments.refuse("--diagram draws one shape by one strategy, for example: convcast predict "
                         "--shape n1c64h56w56k64r3s3 --strategy stride_fixed_block --diagram partition.svg");
    const Case &item = cases.front();
    if (!item.prediction || !item.prediction->plan)
        arguments.refuse("nothing to draw of " + item.shape + " by " + *item.strategy + ": " +
                         item.reason.value_or("it has no plan"));
    if (const std::string problem = cannot_draw(*item.strategy); !problem.empty())
        arguments.refuse("--diagram: " + problem);
    const PaperWidth width = PaperWidth::parse(arguments.text("width"));
    const FigureFiles written = write_paper_drawing(partition_diagram(item, profile, width), "partition",
                                                    partition_caption(item), arguments.text("diagram", ""));
    say_what_is_written(written);
}

void write_choice_figure(const std::vector<ChoiceAnswer> &answers, const Arguments &arguments) {
    if (answers.size() < 2)
        arguments.refuse(
            "--figure draws how the choice changes and needs two answers at least: run a size "
            "through values with --sweep, or name several --shape, --gpu or --sms, for example: convcast "
            "choose --shape n1c64h56w56k64r3s3 --sweep h=w=28:224:28 --figure who_wins.svg");
    const ChoiceFigure drawn = who_wins(answers);
    const FigureFiles written =
        write_paper_figure(drawn.figure, drawn.cases, PaperWidth::parse(arguments.text("width")),
                           arguments.text("figure", ""), "Forecast by convcast " + producer().version);
    say_what_is_written(written);
}

} // namespace convcast::cli
