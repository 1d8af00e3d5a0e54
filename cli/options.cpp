#include "cli/options.hpp"

#include "model/base/described.hpp"
#include "model/base/embedded.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace convcast {

extern const std::vector<EmbeddedFile> option_files;

namespace cli {

const OptionTable &option_table() {
    static const OptionTable table = described::read_document<OptionTable>(
        option_files.front().text(), option_files.front().path, "convcast/options/1");
    return table;
}

std::vector<const Option *> options_of(const std::string &verb) {
    std::vector<const Option *> options;
    for (const Option &option : option_table().options)
        if (std::find(option.verbs.begin(), option.verbs.end(), verb) != option.verbs.end())
            options.push_back(&option);
    return options;
}

} // namespace cli
} // namespace convcast
