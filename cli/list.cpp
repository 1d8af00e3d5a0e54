#include "model/strategies/list.hpp"
#include "cli/arguments.hpp"
#include "cli/completion.hpp"
#include "cli/manual.hpp"
#include "cli/schemas.hpp"
#include "cli/shipped.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "executor/baselines/names.hpp"
#include "model/base/described.hpp"
#include "model/base/files.hpp"
#include "model/base/json.hpp"
#include "model/machine/profile.hpp"
#include "model/network/network.hpp"
#include "model/record/study.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace convcast::cli {
namespace {

struct Listing {
    std::vector<StrategyDoc> strategies = strategy_docs();
    std::vector<std::string> baselines = convcast::baselines();
    std::vector<std::string> gpus = shipped_profiles();
    std::vector<std::string> studies = shipped_studies();
    std::vector<std::string> networks = shipped_networks();
    BOOST_DESCRIBE_CLASS(Listing, (), (strategies, baselines, gpus, studies, networks), (), ())
};

std::string as_text() {
    std::string text = bold("strategies") + "\n";
    for (const StrategyDoc &doc : strategy_docs()) {
        text += "  " + doc.name + "\n      " + doc.doc + "\n";
        for (const KnobDoc &knob : doc.knobs)
            text += "      " + knob.name + ": " + knob.doc + "\n";
    }
    text += "\n" + bold("baselines") + "\n";
    for (const std::string &name : baselines())
        text += "  " + name + "\n";
    text += "\n" + bold("GPUs") + " (--gpu)\n";
    for (const std::string &name : shipped_profiles())
        text += "  " + name + std::string(18 - std::min<std::size_t>(name.size(), 17), ' ') +
                find_profile(name).name + "\n";
    text += "\n" + bold("studies") + " (--study)\n";
    for (const std::string &name : shipped_studies()) {
        const Study study = find_study(name);
        text += "  " + name + std::string(18 - std::min<std::size_t>(name.size(), 17), ' ') +
                std::to_string(study.shapes.size()) + " shapes. " + study.title + "\n";
    }
    text += "\n" + bold("networks") + " (--network)\n";
    for (const std::string &name : shipped_networks()) {
        const Network network = find_network(name);
        text += "  " + name + std::string(18 - std::min<std::size_t>(name.size(), 17), ' ') +
                std::to_string(network.operators.size()) + " operators. " + network.title + "\n";
    }
    if (const std::vector<std::string> recordings = shipped_recordings(); !recordings.empty()) {
        text += "\n" + bold("recorded runs") + " (report, predict, compare)\n";
        for (const std::string &name : recordings)
            text += "  " + name + "\n";
    }
    return text;
}

} // namespace

int list(const Words &words) {
    const Arguments arguments("list", words,
                              {{"json", Option::flag},
                               {"schema", Option::text},
                               {"schemas", Option::text},
                               {"completion", Option::text},
                               {"man", Option::text}},
                              0);
    if (arguments.has("help"))
        return write_file_atomically("-", help_text("list")), 0;
    if (arguments.has("schema"))
        return write_file_atomically("-", json_schema(arguments.text("schema", ""))), 0;
    if (arguments.has("schemas"))
        return write_schemas(arguments.text("schemas", "")), 0;
    if (arguments.has("completion"))
        return write_file_atomically("-", completion(arguments.text("completion", ""))), 0;
    if (arguments.has("man"))
        return write_file_atomically("-", manual_page(arguments.text("man", ""))), 0;
    write_file_atomically("-", arguments.has("json") ? to_text(described::write(Listing{})) : as_text());
    return 0;
}

} // namespace convcast::cli
