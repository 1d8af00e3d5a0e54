// make_schemas FOLDER: writes a JSON Schema of every document, made from the structs that are read and
// written, with the comments of their members as descriptions. docs/schemas has them, and convcast prints
// those.
#include "cli/explanations.hpp"
#include "cli/what_if.hpp"
#include "microbench/samples.hpp"
#include "model/base/comparison.hpp"
#include "model/base/described.hpp"
#include "model/base/embedded.hpp"
#include "model/base/files.hpp"
#include "model/machine/architecture.hpp"
#include "model/machine/calibration.hpp"
#include "model/machine/facts.hpp"
#include "model/machine/profile.hpp"
#include "model/network/ladder.hpp"
#include "model/network/network.hpp"
#include "model/network/network_run.hpp"
#include "model/network/training.hpp"
#include "model/record/paper.hpp"
#include "model/record/run.hpp"
#include "model/record/study.hpp"
#include "reports/statistics.hpp"
#include "tests/schemas/member_comments.hpp"

#include <boost/core/demangle.hpp>

#include <functional>
#include <initializer_list>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convcast {

extern const std::vector<EmbeddedFile> described_headers;

namespace cli {
namespace {

JsonValue object_of(std::initializer_list<JsonMember> entries) {
    return JsonValue(JsonObject(entries));
}

JsonValue text_value(std::string_view value) {
    return JsonValue(std::string(value));
}

using described::Type;

/// "Case" of convcast::Case.
std::string type_name(const Type &type) {
    if (type.form == Type::Form::param)
        return "Param";
    const std::string name = boost::core::demangle(type.cpp->name());
    return name.substr(name.rfind(':') == std::string::npos ? 0 : name.rfind(':') + 1);
}

JsonValue number_schema(const char *type, const Range &range) {
    JsonValue types = text_value(type);
    if (range.unknown_allowed)
        types = JsonValue(JsonArray{text_value(type), text_value("null")});
    return object_of({{"type", types},
                      {"minimum", described::write(range.low)},
                      {"maximum", described::write(range.high)}});
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
        for (const EmbeddedFile &header : described_headers)
            read_comments(header.text(), structs_);
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
        const JsonValue own = object_schema(type, schema);
        JsonObject root = {{"$schema", text_value("https://json-schema.org/draft/2020-12/schema")},
                           {"title", text_value("convcast " + title)}};
        for (const JsonMember &member : *own.object())
            root.push_back(member);
        JsonObject definitions;
        for (auto &[name, its] : definitions_)
            definitions.emplace_back(std::string_view(name), std::move(its));
        root.emplace_back("$defs", JsonValue(std::move(definitions)));
        return to_text(JsonValue(std::move(root)));
    }

  private:
    JsonValue of(const Type &type, const std::optional<Range> &range = {}) {
        using Form = Type::Form;
        switch (type.form) {
        case Form::boolean:
            return object_of({{"type", text_value("boolean")}});
        case Form::text:
            return object_of({{"type", text_value("string")}});
        case Form::unit:
            return object_of({{"const", text_value(type.unit)}});
        case Form::integer:
            return number_schema("integer", range.value_or(type.range));
        case Form::number:
            return number_schema("number", range.value_or(type.range));
        case Form::optional:
            return of(type.element(), range);
        case Form::choice: {
            JsonArray names;
            for (const auto &choice : type.choices)
                names.push_back(text_value(choice.name));
            return object_of({{"enum", JsonValue(std::move(names))}});
        }
        case Form::list:
        case Form::array: {
            JsonObject out = {{"type", text_value("array")}, {"items", of(type.element(), range)}};
            if (type.form == Form::array)
                for (const char *bound : {"minItems", "maxItems"})
                    out.emplace_back(bound, JsonValue(static_cast<long long>(type.size)));
            return JsonValue(std::move(out));
        }
        case Form::map:
            return object_of(
                {{"type", text_value("object")}, {"additionalProperties", of(type.element(), range)}});
        case Form::param:
            return param_schema(type, range.value_or(type.range));
        case Form::object:
            break;
        }
        const std::string name = type_name(type);
        if (definitions_.try_emplace(name).second) // first its place, as a struct may hold itself
            definitions_[name] = object_schema(type);
        return object_of({{"$ref", text_value("#/$defs/" + name)}});
    }

    /// A number with its unit and where it is from.
    JsonValue param_schema(const Type &type, const Range &range) {
        JsonValue out = object_schema(type);
        JsonObject value;
        if (const std::string text = description("Param", "value"); !text.empty())
            value.emplace_back("description", text_value(text));
        value.emplace_back("type", text_value("number"));
        value.emplace_back("exclusiveMinimum", JsonValue(0LL));
        value.emplace_back("minimum", described::write(range.low));
        value.emplace_back("maximum", described::write(range.high));
        for (JsonMember &part : *out.object())
            if (part.first == "properties")
                part.second.object()->front().second = JsonValue(std::move(value));
        return out;
    }

    std::string description(const std::string &name, const std::string &member) const {
        const std::string comment = comment_of(structs_, name, member);
        const auto found = said_.find(member);
        return !comment.empty() || found == said_.end() ? comment : found->second;
    }

    /// An object with the fields, described by their comments, and no others but x_...; a document's first
    /// has the one value `schema`.
    JsonValue object_schema(const Type &type, const std::string &schema = {}) {
        const std::string name = type_name(type);
        JsonObject properties;
        JsonArray required;
        for (const described::Field &field : type.fields) {
            JsonObject out;
            if (const std::string text = description(name, field.name); !text.empty())
                out.emplace_back("description", text_value(text));
            const JsonValue its = schema.empty() || &field != &type.fields.front()
                                      ? of(field.type(), field.range)
                                      : object_of({{"const", text_value(schema)}});
            for (const JsonMember &part : *its.object())
                out.push_back(part);
            properties.emplace_back(field.name, JsonValue(std::move(out)));
            if (!field.may_lack)
                required.push_back(text_value(field.name));
        }
        for (const char *earlier : type.former)
            properties.emplace_back(earlier, object_of({{"deprecated", JsonValue(true)}}));
        JsonObject out;
        if (const auto found = structs_.find(name); found != structs_.end() && !found->second.comment.empty())
            out.emplace_back("description", text_value(found->second.comment));
        out.emplace_back("type", text_value("object"));
        out.emplace_back("properties", JsonValue(std::move(properties)));
        out.emplace_back("patternProperties", object_of({{"^x_", JsonValue(JsonObject{})}}));
        out.emplace_back("additionalProperties", JsonValue(false));
        out.emplace_back("required", JsonValue(std::move(required)));
        return JsonValue(std::move(out));
    }

    CommentedStructs structs_;
    std::map<std::string, std::string> said_; ///< of members by their name alone
    std::map<std::string, JsonValue> definitions_;
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
    {"what_if", schema_text<WhatIf>, "answer for several GPUs", "docs/case.md"},
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
