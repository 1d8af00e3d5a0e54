#include "cli/diagram.hpp"

#include "cli/progress.hpp"
#include "model/base/errors.hpp"
#include "reports/paper_figure.hpp"
#include "reports/partition_diagram.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace convcast::cli {

void write_diagram(const std::vector<Case> &cases, const GpuProfile &profile, const Arguments &arguments) {
    if (cases.size() != 1 || !cases.front().strategy)
        throw UsageError("predict: --diagram draws one shape by one strategy, for example: convcast predict "
                         "--shape n1c64h56w56k64r3s3 --strategy stride_fixed_block --diagram partition.svg");
    const Case &item = cases.front();
    if (!item.prediction || !item.prediction->plan)
        throw UsageError("predict: nothing to draw of " + item.shape + " by " + *item.strategy + ": " +
                         item.reason.value_or("it has no plan"));
    if (const std::string problem = cannot_draw(*item.strategy); !problem.empty())
        throw UsageError("predict: --diagram: " + problem);
    const PaperWidth width = PaperWidth::parse(arguments.text("width"));
    const FigureFiles written = write_paper_drawing(partition_diagram(item, profile, width), "partition",
                                                   partition_caption(item), arguments.text("diagram", ""));
    for (const std::filesystem::path &file : written.files)
        say("wrote " + file.string());
}

} // namespace convcast::cli
