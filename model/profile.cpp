#include "model/profile.hpp"

#include "model/described.hpp"
#include "model/embedded.hpp"
#include "model/files.hpp"
#include "model/hash.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace convcast {

extern const std::vector<EmbeddedFile> shipped_profile_files;

namespace {

constexpr const char *schema_name = "convcast/profile/1";

/// What the struct's types cannot say.
void check_limits(const GpuProfile &p, const std::string &file) {
    std::vector<InputProblem> problems;
    const auto positive = [&](const char *name, std::int64_t value) {
        if (value < 1 || value > std::int64_t{1} << 40)
            problems.push_back(
                {file + ": /limits/" + name, "expected an integer above zero, got " + std::to_string(value)});
    };
    const GpuLimits &l = p.limits;
    positive("sm_count", l.sm_count);
    positive("cores_per_sm", l.cores_per_sm);
    positive("shared_bytes_per_sm", l.shared_bytes_per_sm);
    positive("shared_bytes_per_cta", l.shared_bytes_per_cta);
    positive("registers_per_sm", l.registers_per_sm);
    positive("max_threads_per_sm", l.max_threads_per_sm);
    positive("max_threads_per_cta", l.max_threads_per_cta);
    positive("max_ctas_per_sm", l.max_ctas_per_sm);
    positive("l2_bytes", l.l2_bytes);
    positive("schedulers_per_sm", l.schedulers_per_sm);
    if (l.registers_per_sm < 1024 || l.sm_count > 65536)
        problems.push_back({file + ": /limits", "expected registers_per_sm >= 1024 and sm_count <= 65536"});
    const auto range = [&](const char *name, const auto &param, double low, double high) {
        if (param && !(param->value.value >= low && param->value.value <= high))
            problems.push_back({file + ": /" + name + "/value",
                                fmt::format("expected {:g} to {:g} {}, got {:g}", low, high,
                                            UnitOf<decltype(param->value)>::text, param->value.value)});
    };
    const auto range_of = [&](const char *name, const auto &param) {
        using Q = std::decay_t<decltype(param->value)>;
        const auto [low, high] = plausible<Q>();
        range(name, param, low, high);
    };
    boost::mp11::mp_for_each<described::Members<GpuProfile>>([&](auto member) {
        const auto &field = p.*member.pointer;
        if constexpr (described::IsOptional<std::decay_t<decltype(field)>>::value)
            if constexpr (described::IsParam<typename std::decay_t<decltype(field)>::value_type>::value)
                range_of(member.name, field);
    });
    range("bank_width", p.bank_width, 1.0, 64.0);
    range("knee_exponent", p.knee_exponent, 0.1, 100.0);
    if (l.shared_bytes_reserved_per_cta < 0)
        problems.push_back({file + ": /limits/shared_bytes_reserved_per_cta", "expected zero or more"});
    if (!is_compute_capability(p.compute_capability))
        problems.push_back({file + ": /compute_capability",
                            "expected a version such as \"9.0\", got \"" + p.compute_capability + "\""});
    if (p.id.empty())
        problems.push_back({file + ": /id", "expected a name such as \"h200\""});
    const auto same_length = [&](const char *name, const std::optional<FlightCurve> &curve) {
        if (curve && curve->bytes_in_flight.size() != curve->bandwidth.size())
            problems.push_back({file + ": /" + name, "expected as many bandwidths as bytes_in_flight"});
        if (curve && (!std::all_of(curve->bytes_in_flight.begin(), curve->bytes_in_flight.end(), drawable) ||
                      !std::all_of(curve->bandwidth.begin(), curve->bandwidth.end(), drawable)))
            problems.push_back({file + ": /" + name, "expected numbers of 1e-18 to 1e18, or 0"});
    };
    same_length("dram_read_curve", p.dram_read_curve);
    same_length("dram_write_curve", p.dram_write_curve);
    same_length("dram_copy_curve", p.dram_copy_curve);
    same_length("l2_read_curve", p.l2_read_curve);
    same_length("l2_write_curve", p.l2_write_curve);
    for (const auto &[name, curve] : p.curves)
        for (std::size_t i = 0; i < curve.series.size(); ++i) {
            const CurveSeries &series = curve.series[i];
            for (const std::vector<double> *values : {&series.y, &series.low, &series.high})
                if (values->size() != series.x.size())
                    problems.push_back({file + ": /curves/" + name + "/series/" + std::to_string(i),
                                        "expected x, y, low and high to have the same length"});
            for (const std::vector<double> *values : {&series.x, &series.y, &series.low, &series.high})
                if (!std::all_of(values->begin(), values->end(), drawable))
                    problems.push_back({file + ": /curves/" + name + "/series/" + std::to_string(i),
                                        "expected numbers of 1e-18 to 1e18, or 0"});
        }
    if (!problems.empty())
        throw InputError(std::move(problems));
}

template <class T> JsonValue schema_of();

JsonValue object(std::initializer_list<std::pair<std::string, JsonValue>> entries) {
    return JsonValue(JsonObject(entries.begin(), entries.end()));
}

JsonValue text(const char *value) {
    return JsonValue(std::string(value));
}

/// {"type": "object", properties, required, no others but x_...} of a described struct.
template <class T> JsonValue struct_schema() {
    JsonObject properties;
    JsonArray required;
    boost::mp11::mp_for_each<described::Members<T>>([&](auto member) {
        using Field = std::decay_t<decltype(std::declval<T>().*member.pointer)>;
        properties.emplace_back(member.name, schema_of<Field>());
        if constexpr (!described::IsOptional<Field>::value && !described::IsVector<Field>::value &&
                      !described::IsMap<Field>::value)
            required.push_back(text(member.name));
    });
    return object({{"type", text("object")},
                   {"properties", JsonValue(std::move(properties))},
                   {"patternProperties", object({{"^x_", JsonValue(JsonObject{})}})},
                   {"additionalProperties", JsonValue(false)},
                   {"required", JsonValue(std::move(required))}});
}

template <class T> JsonValue schema_of() {
    if constexpr (std::is_same_v<T, std::string>) {
        return object({{"type", text("string")}});
    } else if constexpr (std::is_same_v<T, bool>) {
        return object({{"type", text("boolean")}});
    } else if constexpr (std::is_enum_v<T>) {
        JsonArray names;
        boost::mp11::mp_for_each<boost::describe::describe_enumerators<T>>(
            [&](auto enumerator) { names.push_back(text(enumerator.name)); });
        return object({{"enum", JsonValue(std::move(names))}});
    } else if constexpr (std::is_integral_v<T>) {
        return object({{"type", text("integer")}});
    } else if constexpr (std::is_floating_point_v<T>) {
        return object({{"type", text("number")}});
    } else if constexpr (described::IsQuantity<T>::value) {
        return object({{"type", text("number")}});
    } else if constexpr (described::IsOptional<T>::value) {
        return schema_of<typename T::value_type>();
    } else if constexpr (described::IsVector<T>::value) {
        return object({{"type", text("array")}, {"items", schema_of<typename T::value_type>()}});
    } else if constexpr (described::IsMap<T>::value) {
        return object(
            {{"type", text("object")}, {"additionalProperties", schema_of<typename T::mapped_type>()}});
    } else if constexpr (described::IsParam<T>::value) {
        using Q = decltype(T::value);
        return object(
            {{"type", text("object")},
             {"properties",
              object({{"value", object({{"type", text("number")}, {"exclusiveMinimum", JsonValue(0LL)}})},
                      {"unit", object({{"const", text(UnitOf<Q>::text)}})},
                      {"source", schema_of<Source>()},
                      {"by", object({{"type", text("string")}})},
                      {"spread", struct_schema<Spread>()},
                      {"interval", struct_schema<Interval>()},
                      {"populations", schema_of<std::vector<double>>()}})},
             {"patternProperties", object({{"^x_", JsonValue(JsonObject{})}})},
             {"additionalProperties", JsonValue(false)},
             {"required", JsonValue(JsonArray{text("value"), text("unit"), text("source"), text("by")})}});
    } else {
        return struct_schema<T>();
    }
}

} // namespace

bool is_compute_capability(const std::string &text) {
    const std::size_t dot = text.find('.');
    const auto digits = [](std::string_view part, std::size_t most) {
        return !part.empty() && part.size() <= most &&
               std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    };
    return dot != std::string::npos && digits(std::string_view(text).substr(0, dot), 2) &&
           digits(std::string_view(text).substr(dot + 1), 1);
}

bool drawable(double value) {
    const double size = std::abs(value);
    return value == 0.0 || (size >= 1e-18 && size <= 1e18);
}

GpuProfile read_profile(const std::string &text, const std::string &file) {
    GpuProfile profile = described::read_document<GpuProfile>(text, file, schema_name);
    check_limits(profile, file);
    return profile;
}

std::string write_profile(const GpuProfile &profile) {
    return to_text(described::write(profile));
}

std::vector<std::string> shipped_profiles() {
    std::vector<std::string> names;
    for (const EmbeddedFile &file : shipped_profile_files)
        names.push_back(std::filesystem::path(file.path).stem().string());
    return names;
}

GpuProfile find_profile(const std::string &name_or_file) {
    if (const EmbeddedFile *file = find_embedded(shipped_profile_files, name_or_file + ".json");
        file != nullptr && name_or_file.find('/') == std::string::npos)
        return read_profile(file->text, file->path);
    const bool looks_like_a_file = name_or_file == "-" || name_or_file.find('/') != std::string::npos ||
                                   name_or_file.ends_with(".json") || file_exists(name_or_file);
    if (!looks_like_a_file)
        throw UsageError(
            "unknown GPU '" + name_or_file + "'" + did_you_mean(name_or_file, shipped_profiles()) +
            " Known: " + join(shipped_profiles()) + "; or a profile file, for example --gpu my_gpu.json");
    return read_profile(read_file(name_or_file), name_or_file == "-" ? "standard input" : name_or_file);
}

GpuProfile with_sms(GpuProfile profile, int sms) {
    if (sms < 1 || sms > profile.limits.sm_count)
        throw UsageError(std::to_string(sms) + " SMs of the GPU '" + profile.id + "' were asked for, which has " +
                         std::to_string(profile.limits.sm_count));
    profile.limits.sm_count = sms;
    return profile;
}

std::string profile_hash(const GpuProfile &profile) {
    return content_hash({write_profile(profile)});
}

std::string profile_schema() {
    JsonValue schema = schema_of<GpuProfile>();
    JsonObject &root = std::get<JsonObject>(schema.data);
    root.insert(root.begin(), {"$schema", text("https://json-schema.org/draft/2020-12/schema")});
    root.insert(root.begin() + 1, {"title", text("convcast GPU profile")});
    return to_text(schema);
}

} // namespace convcast
