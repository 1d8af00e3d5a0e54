#include "model/strategies/list.hpp"
#include "cli/arguments.hpp"
#include "cli/document.hpp"
#include "cli/help.hpp"
#include "cli/question.hpp"
#include "cli/shipped.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "executor/baselines/names.hpp"
#include "model/base/describe.hpp"
#include "model/base/described.hpp"
#include "model/base/embedded.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/json.hpp"
#include "model/machine/profile.hpp"
#include "model/network/network.hpp"
#include "model/record/study.hpp"

#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast {

extern const std::vector<EmbeddedFile> schema_files; ///< of every document, as docs/schemas has them

namespace cli {
namespace {

/// The JSON Schema (draft 2020-12) of a document. Throws UsageError for a name that is none.
std::string json_schema(const std::string &name) {
    if (const EmbeddedFile *file = find_embedded(schema_files, name + ".json"))
        return file->text();
    throw UsageError("list: no schema '" + shortened(name, 60) + "'" + did_you_mean(name, schema_names()) +
                     " Documents: " + join(schema_names()));
}

/// Writes the schema of every document into a folder, which is made if it is not there. Throws InputError.
void write_schemas(const std::string &folder) {
    make_folder(folder);
    for (const std::string &name : schema_names())
        write_file_atomically((std::filesystem::path(folder) / (name + ".json")).string(), json_schema(name));
}

/// What `convcast list --json` prints.
struct Listing {
    std::vector<StrategyDoc> strategies = strategy_docs();
    std::vector<std::string> baselines = convcast::baselines();
    std::vector<std::string> gpus = shipped_profiles();
    std::vector<std::string> studies = shipped_studies();
    std::vector<std::string> networks = shipped_networks();
    CONVCAST_MEMBERS(Listing, strategies, baselines, gpus, studies, networks)
};

/// The ids of the shapes that are asked, each once and on a line.
std::string ids(const Arguments &arguments) {
    std::string text;
    std::set<std::string> seen;
    for (const AskedShape &asked : asked_shapes(arguments))
        if (seen.insert(asked.shape.id()).second)
            text += asked.shape.id() + "\n";
    return text;
}

/// A kind of things that ship and have names.
struct Kind {
    const char *name;               ///< the word behind `convcast list`: "gpus"
    const char *title;              ///< "GPUs (--gpu)", with the option that takes such a name
    std::vector<std::string> names; ///< of all things of this kind
    /// What stands beside a name, or ""; nullptr for strategies, which stand with their knobs.
    std::string (*description_of)(const std::string &name);
};

std::vector<Kind> kinds() {
    const auto nothing = [](const std::string &) { return std::string(); };
    std::vector<Kind> all = {
        {"strategies", "strategies (--strategy)", strategy_names(), nullptr},
        {"baselines", "baselines (--strategy)", baselines(), nothing},
        {"gpus", "GPUs (--gpu)", shipped_profiles(),
         [](const std::string &name) { return find_profile(name).name; }},
        {"studies", "studies (--study)", shipped_studies(),
         [](const std::string &name) {
             const Study study = find_study(name);
             return std::to_string(study.shapes.size()) + " shapes. " + study.title;
         }},
        {"networks", "networks (--network)", shipped_networks(), [](const std::string &name) {
             const Network network = find_network(name);
             return std::to_string(network.operators.size()) + " operators. " + network.title;
         }}};
    if (std::vector<std::string> recordings = shipped_recordings(); !recordings.empty())
        all.push_back(
            {"recordings", "recorded runs (report, predict, compare)", std::move(recordings), nothing});
    return all;
}

/// A line "  h200              NVIDIA H200" for every name of a kind.
std::string text_of(const Kind &kind) {
    constexpr std::size_t names_wide = 18; // columns: chosen for the longest common names
    std::string text;
    if (kind.description_of != nullptr) {
        for (const std::string &name : kind.names)
            text += headed("  " + name, kind.description_of(name), 2 + names_wide, page_width());
        return text;
    }
    for (const StrategyDoc &doc : strategy_docs()) {
        text += "  " + doc.name + "\n" + wrapped(doc.doc, 6, page_width());
        for (const KnobDoc &knob : doc.knobs)
            text += headed("      " + knob.name + ":", knob.doc, 8, page_width());
    }
    return text;
}

/// What `convcast list` without a word prints: the names of everything, each kind in a paragraph.
std::string every_name() {
    std::string text;
    for (const Kind &kind : kinds())
        text += bold(std::to_string(kind.names.size()) + " " + kind.title) + "\n" +
                wrapped(join(kind.names), 2, page_width());
    return text + "\n" +
           wrapped("More of one kind: convcast list studies, or another of " + join(kinds_to_list()) +
                       ". One name: convcast explain NAME",
                   0, page_width());
}

/// The names of one kind, or of "all", each with its description. Throws UsageError for an unknown kind.
std::string as_text(const std::string &asked) {
    std::string text;
    std::vector<std::string> known = kinds_to_list();
    for (const Kind &kind : kinds())
        if (asked == kind.name || asked == "all")
            text += (text.empty() ? "" : "\n") + bold(kind.title) + "\n" + text_of(kind);
    if (text.empty())
        throw UsageError("list: there is no kind '" + shortened(asked, 60) + "'" +
                         did_you_mean(asked, known) + " Kinds: " + join(known));
    return text;
}

} // namespace

std::vector<std::string> schema_names() {
    return names_of(schema_files);
}

std::vector<std::string> kinds_to_list() {
    std::vector<std::string> names;
    for (const Kind &kind : kinds())
        names.emplace_back(kind.name);
    names.emplace_back("all");
    return names;
}

int list(const Arguments &arguments) {
    if (arguments.has("schema"))
        return write_file_atomically("-", json_schema(arguments.text("schema", ""))), 0;
    if (arguments.has("schemas")) {
        refuse_file_name(arguments, "--schemas", arguments.text("schemas", ""), "a schema of each document",
                         "--schema NAME > FILE.json");
        return write_schemas(arguments.text("schemas", "")), 0;
    }
    if (arguments.has("ids"))
        return write_file_atomically("-", ids(arguments)), 0;
    if (arguments.has("completion"))
        return write_file_atomically("-", completion(arguments.text("completion", ""))), 0;
    if (arguments.has("man"))
        return write_file_atomically("-", manual_page(arguments.text("man", ""))), 0;
    const bool asked = !arguments.positional().empty();
    write_file_atomically("-", arguments.has("json") ? to_text(described::write(Listing{}))
                               : asked               ? as_text(arguments.positional().front())
                                                     : every_name());
    return 0;
}

} // namespace cli
} // namespace convcast
