// make_schemas FOLDER: writes a JSON Schema of every document, made from the structs that are read and
// written. tests/schemas/schemas.py puts in the comments of their members as descriptions and writes
// docs/schemas, which convcast prints.
#include "cli/explanations.hpp"
#include "microbench/samples.hpp"
#include "model/base/comparison.hpp"
#include "model/base/described.hpp"
#include "model/base/embedded.hpp"
#include "model/base/files.hpp"
#include "model/base/json.hpp"
#include "model/machine/architecture.hpp"
#include "model/machine/calibration.hpp"
#include "model/machine/facts.hpp"
#include "model/machine/profile.hpp"
#include "model/network/ladder.hpp"
#include "model/network/network.hpp"
#include "model/network/network_run.hpp"
#include "model/network/training.hpp"
#include "model/record/images.hpp"
#include "model/record/paper.hpp"
#include "model/record/run.hpp"
#include "model/record/study.hpp"
#include "reports/statistics.hpp"

#include <boost/core/demangle.hpp>
#include <nlohmann/json.hpp>

#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convcast {

namespace cli {
namespace {

using Json = nlohmann::ordered_json;
using described::Type;

/// As documents have it: a whole number without a point.
Json number(double value) {
    return Json::parse(to_text(described::write(value)));
}

/// "Case" of convcast::Case.
std::string type_name(const Type &type) {
    if (type.form == Type::Form::param)
        return "Param";
    const std::string name = boost::core::demangle(type.cpp->name());
    return name.substr(name.rfind(':') == std::string::npos ? 0 : name.rfind(':') + 1);
}

Json number_schema(const char *type, const Range &range) {
    return {{"type", range.unknown_allowed ? Json{type, "null"} : Json(type)},
            {"minimum", number(range.low)},
            {"maximum", number(range.high)}};
}

/// What members are that several documents have and no comment explains.
constexpr std::pair<const char *, const char *> common_members[] = {
    {"schema", "kind and version of the document"},
    {"shape", "a convolution, as in docs/notation.md"},
    {"strategy", "a strategy with its knobs"},
    {"baseline", "a baseline's name, as convcast list has them"},
    {"study", "the study that asked"},
    {"title", "one line for people"},
    {"citation", "where it is from"},
    {"network", "a network's id"},
    {"batch", "images of a call"},
    {"profile_id", "the GPU profile that forecasts are from"},
    {"profile_hash", "hash of that profile's content"},
    {"conditions", "GPU, versions and dates, by name"},
    {"reason", "why, where the status or the number does not say it"},
    {"time_s", "seconds of a call"},
    {"cases", "in the order of the question"}};

/// Schemas of structs, each once, under the name of the struct.
class SchemaWriter {
  public:
    /// `page` of docs says what members are that have no comment; "" where none does.
    explicit SchemaWriter(std::string_view page) {
        for (const auto &[member, text] : common_members)
            said_.emplace(member, text);
        for (const Explanation &found : page.empty() ? std::vector<Explanation>() : explanations())
            for (const ExplainedFact &fact : found.facts)
                if (found.from.starts_with(page) && fact.what == "what it is")
                    for (const std::string &name : found.names)
                        said_[name.substr(name.rfind('/') + 1)] = fact.text;
    }

    /// The schema of a document whose member "schema" is `schema`.
    std::string document(const std::string &title, const Type &type, const std::string &schema) {
        Json root = {{"$struct", type_name(type)},
                     {"$schema", "https://json-schema.org/draft/2020-12/schema"},
                     {"title", "convcast " + title}};
        root.update(object_schema(type, schema));
        root["$defs"] = Json::object();
        for (const auto &[name, its] : definitions_)
            root["$defs"][name] = its;
        JsonWriter writer;
        parse_json(root.dump(), title, std::ref(writer));
        return writer.take() + "\n";
    }

  private:
    Json of(const Type &type, const std::optional<Range> &range = {}) {
        using Form = Type::Form;
        switch (type.form) {
        case Form::boolean:
            return {{"type", "boolean"}};
        case Form::text:
            return {{"type", "string"}};
        case Form::unit:
            return {{"const", type.unit}};
        case Form::integer:
            return number_schema("integer", range.value_or(type.range));
        case Form::number:
            return number_schema("number", range.value_or(type.range));
        case Form::optional:
            return of(type.element(), range);
        case Form::choice: {
            Json names = Json::array();
            for (const auto &choice : type.choices)
                names.push_back(choice.name);
            return {{"enum", names}};
        }
        case Form::list:
        case Form::array: {
            Json out = {{"type", "array"}, {"items", of(type.element(), range)}};
            if (type.form == Form::array)
                for (const char *bound : {"minItems", "maxItems"})
                    out[bound] = type.size;
            return out;
        }
        case Form::map:
            return {{"type", "object"}, {"additionalProperties", of(type.element(), range)}};
        case Form::param:
            return param_schema(type, range.value_or(type.range));
        case Form::object:
            break;
        }
        const std::string name = type_name(type);
        if (definitions_.try_emplace(name).second) // first its place, as a struct may hold itself
            definitions_[name] = object_schema(type);
        return {{"$ref", "#/$defs/" + name}};
    }

    /// A number with its unit and where it is from.
    Json param_schema(const Type &type, const Range &range) {
        Json value;
        describe(value, "value");
        value["type"] = "number";
        value["exclusiveMinimum"] = 0;
        value["minimum"] = number(range.low);
        value["maximum"] = number(range.high);
        Json out = object_schema(type);
        out["properties"]["value"] = value;
        return out;
    }

    void describe(Json &schema, const std::string &member) const {
        if (const auto found = said_.find(member); found != said_.end())
            schema["description"] = found->second;
    }

    /// An object with the fields and no others but x_...; a document's first has the one value `schema`.
    Json object_schema(const Type &type, const std::string &schema = {}) {
        Json properties = Json::object(), required = Json::array();
        for (const described::Field &field : type.fields) {
            Json &out = properties[field.name] = Json::object();
            describe(out, field.name);
            out.update(schema.empty() || &field != &type.fields.front() ? of(field.type(), field.range)
                                                                        : Json{{"const", schema}});
            if (!field.may_lack)
                required.push_back(field.name);
        }
        for (const char *earlier : type.former)
            properties[earlier] = {{"deprecated", true}};
        Json out;
        out["type"] = "object";
        out["properties"] = properties;
        out["patternProperties"] = {{"^x_", Json::object()}};
        out["additionalProperties"] = false;
        out["required"] = required;
        return out;
    }

    std::map<std::string, std::string> said_; ///< of members by their name alone
    std::map<std::string, Json> definitions_;
};

template <class T> std::string schema_text(const std::string &title, std::string_view page) {
    return SchemaWriter(page).document(title, described::type_of<T>(), T().schema);
}

struct SchemaOf {
    const char *name;
    std::string (*text)(const std::string &title, std::string_view page);
    const char *title;
    const char *page = "";
};

constexpr SchemaOf schemas[] = {
    {"architecture", schema_text<Architecture>, "architecture of a compute capability",
     "docs/architecture.md"},
    {"calibration", schema_text<Calibration>, "calibration of a GPU model"},
    {"comparison", schema_text<ComparedFiles>, "comparison of profiles, runs or networks"},
    {"facts", schema_text<Facts>, "facts of kernels"},
    {"images", schema_text<GreyImages>, "pictures of a data set"},
    {"ladder", schema_text<Ladder>, "ladder of a network"},
    {"network", schema_text<Network>, "network"},
    {"network_run", schema_text<NetworkRun>, "networks, forecast and run", "docs/case.md"},
    {"paper", schema_text<Paper>, "what a paper published"},
    {"profile", schema_text<GpuProfile>, "GPU profile", "docs/profile.md"},
    {"report", schema_text<ReportStatistics>, "statistics of a report", "docs/case.md"},
    {"run", schema_text<Run>, "Run document", "docs/case.md"},
    {"samples", schema_text<RawSamples>, "raw samples of microbenchmarks", "docs/profile.md"},
    {"study", schema_text<Study>, "study"},
    {"weights", schema_text<Weights>, "weights of a network"},
};

} // namespace

} // namespace cli
} // namespace convcast

int main(int argc, char **argv) {
    if (argc != 2) {
        std::cerr << "usage: make_schemas FOLDER\n";
        return 2;
    }
    for (const convcast::cli::SchemaOf &schema : convcast::cli::schemas)
        convcast::write_file_atomically(std::string(argv[1]) + "/" + schema.name + ".json",
                                        schema.text(schema.title, schema.page));
}
