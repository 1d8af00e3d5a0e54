#include "model/machine/architecture.hpp"

#include "model/base/describe.hpp"
#include "model/base/described.hpp"
#include "model/base/embedded.hpp"
#include "model/base/readable.hpp"
#include "model/base/text.hpp"
#include "model/machine/each_number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace convcast {

extern const std::vector<EmbeddedFile> shipped_architecture_files, architecture_field_files;

namespace {

/// What data/architecture_fields.json has.
struct FieldsFile {
    std::vector<ArchitectureField> fields;
    CONVCAST_MEMBERS(FieldsFile, fields)
};

/// Calls `use(name, field)` for each member of `object` that is a OneNumber or SomeNumbers, present or not.
/// Part is the type of the object: an Architecture or its limits.
template <class Part, class Object, class Use> void for_each_number(Object &object, Use use) {
    boost::mp11::mp_for_each<described::Members<Part>>([&](auto member) {
        auto &field = object.*member.pointer;
        if constexpr (described::IsOptional<std::decay_t<decltype(field)>>::value)
            use(member.name, field);
    });
}

/// The same for an architecture and its limits, whose names then begin with "limits/".
template <class Object, class Use> void for_each_field(Object &object, Use use) {
    for_each_number<ArchitectureLimits>(
        object.limits, [&](const char *name, auto &field) { use(std::string("limits/") + name, field); });
    for_each_number<Architecture>(object,
                                  [&](const char *name, auto &field) { use(std::string(name), field); });
}

const ArchitectureField &field_of(const std::string &name) {
    return *std::find_if(architecture_fields().begin(), architecture_fields().end(),
                         [&](const ArchitectureField &field) { return name == field.name; });
}

std::vector<double> values_of(const ArchitectureNumber &number) {
    return {number.value};
}
std::vector<double> values_of(const ArchitectureNumbers &numbers) {
    return numbers.values;
}

/// The file `own` of a capability with the fields that it lacks, each from the nearest file that has it.
ResolvedArchitecture resolved(const Architecture &own, int capability,
                              const std::map<int, Architecture> &files) {
    ResolvedArchitecture out{own, capability, {}};
    std::vector<std::pair<int, const Architecture *>> nearest;
    // A later GPU borrows nothing from one that is too old for our probes: those copy to shared memory
    // through registers, for example, and later ones do not.
    for (const auto &[other, architecture] : files)
        if (other >= least_measured_capability || capability < least_measured_capability)
            nearest.emplace_back(other, &architecture);
    std::stable_sort(nearest.begin(), nearest.end(), [&](const auto &a, const auto &b) {
        return std::abs(a.first - capability) < std::abs(b.first - capability);
    });
    boost::mp11::mp_for_each<described::Members<Architecture>>([&](auto member) {
        auto &field = out.numbers.*member.pointer;
        if constexpr (described::IsOptional<std::decay_t<decltype(field)>>::value)
            for (const auto &[other, architecture] : nearest)
                if (!field && architecture->*member.pointer) {
                    field = architecture->*member.pointer;
                    out.borrowed[other].emplace_back(member.name);
                }
    });
    return out;
}

/// "90" for "9.0"
std::string digits_of(std::string capability) {
    std::erase(capability, '.');
    return capability;
}

/// 90 for "9.0"; 0 for what is no version.
int capability_of(const std::string &capability) {
    return number_of<int>(digits_of(capability)).value_or(0);
}

std::string version_of(int capability) {
    return fmt::format("{}.{}", capability / 10, capability % 10);
}

/// The architectures that have a file, resolved, by their capabilities. Read once.
const std::map<int, ResolvedArchitecture> &shipped() {
    static const std::map<int, ResolvedArchitecture> all = [] {
        std::map<int, Architecture> files;
        for (Architecture &read :
             read_each(shipped_architecture_files, described::read_document<Architecture>))
            files.emplace(capability_of(read.compute_capability), std::move(read));
        std::map<int, ResolvedArchitecture> out;
        for (const auto &[capability, architecture] : files)
            out.emplace(capability, resolved(architecture, capability, files));
        return out;
    }();
    return all;
}

} // namespace

int capability_of(const GpuProfile &profile) {
    return capability_of(profile.compute_capability);
}

std::string architecture_of(const GpuProfile &profile) {
    return "sm_" + digits_of(profile.compute_capability);
}

const std::vector<ArchitectureField> &architecture_fields() {
    static const std::vector<ArchitectureField> all = [] {
        const EmbeddedFile &file = architecture_field_files.front();
        return described::read_document<FieldsFile>(file.text(), file.path).fields;
    }();
    return all;
}

void Architecture::check(const FieldProblem &problem) const {
    if (!is_compute_capability(compute_capability))
        problem("compute_capability", "expected a version, for example \"9.0\"");
    for_each_field(*this, [&](const std::string &name, const auto &field) {
        if (!field)
            return;
        const ArchitectureField &is = field_of(name);
        constexpr bool list = std::is_same_v<std::decay_t<decltype(*field)>, ArchitectureNumbers>;
        const std::string value = name + (list ? "/values" : "/value");
        if (field->unit != is.unit)
            problem(name + "/unit", fmt::format("expected unit \"{}\", got \"{}\"; for example \"unit\": "
                                                "\"{}\"",
                                                is.unit, shortened(field->unit), is.unit));
        if (field->source.empty() || !is_printable(field->source))
            problem(name + "/source",
                    "expected a text of one line that says what the value was read off, for "
                    "example \"CTA stamps of an H200\"");
        const std::vector<double> values = values_of(*field);
        for (const double number : values)
            if (!(number >= is.low && number <= is.high) || (is.whole && number != std::floor(number)))
                problem(value, fmt::format("expected {} from {:g} to {:g} {}, got {:g}; for example {:g}",
                                           is.whole ? "a whole number" : "a number", is.low, is.high, is.unit,
                                           number, is.low));
        if (list && (values.empty() || std::adjacent_find(values.begin(), values.end(),
                                                          std::greater_equal<>()) != values.end()))
            problem(value, "expected ascending numbers, for example [0, 8192, 16384]");
    });
    if (sms_of_small_gpc && sms_of_large_gpc && sms_of_small_gpc->value > sms_of_large_gpc->value)
        problem("sms_of_small_gpc/value", "expected at most sms_of_large_gpc");
}

const ResolvedArchitecture &architecture_for(int capability) {
    if (capability < shipped().begin()->first) // nothing is known of so old a GPU
        capability = least_measured_capability;
    const auto *best = &*shipped().begin();
    for (const auto &each : shipped())
        if (std::abs(each.first - capability) < std::abs(best->first - capability))
            best = &each;
    return best->second;
}

std::vector<int> shipped_architectures() {
    std::vector<int> capabilities;
    for (const auto &each : shipped())
        capabilities.push_back(each.first);
    return capabilities;
}

Gpu::Gpu(const GpuProfile &its)
    : profile(its), limits(its.limits), architecture(architecture_for(capability_of(its)).numbers) {}

std::string borrowed_constants(const GpuProfile &profile) {
    const int capability = capability_of(profile);
    const ResolvedArchitecture &taken = architecture_for(capability);
    std::size_t all = 0, borrowed = 0;
    for_each_number<Architecture>(taken.numbers, [&](const char *, const auto &) { ++all; });
    std::map<int, std::size_t> counts;
    for (const auto &[from, fields] : taken.borrowed)
        borrowed += counts[from] = fields.size();
    if (taken.capability != capability)
        counts[taken.capability] += all - borrowed;
    if (counts.empty())
        return {};
    std::vector<std::string> from;
    std::size_t unknown = 0;
    for (const auto &[other, count] : counts) {
        unknown += count;
        from.push_back(
            fmt::format("{} {} taken from {}", count, count == 1 ? "is" : "are", version_of(other)));
    }
    return fmt::format("{} of compute capability {} {} not known: {}; kernels are assumed to have the "
                       "registers and instructions that they have on 9.0",
                       unknown == 1 ? "1 architecture number"
                                    : fmt::format("{} architecture numbers", unknown),
                       profile.compute_capability, unknown == 1 ? "is" : "are", join(from));
}

std::string odd_limits(const GpuProfile &profile) {
    const int capability = capability_of(profile);
    const ResolvedArchitecture &known = architecture_for(capability);
    if (known.capability != capability)
        return {};
    std::vector<std::string> odd;
    for_each_limit([&](auto member) {
        const auto its = static_cast<double>(profile.limits.*member.pointer);
        for_each_number<ArchitectureLimits>(
            known.numbers.limits, [&](const std::string &name, const auto &field) {
                if (name == member.name && field && field->value != its)
                    odd.push_back(fmt::format("{} {:g} ({:g})", name, its, field->value));
            });
    });
    return odd.empty() ? std::string()
                       : fmt::format("the profile's limits are not those of compute capability {}: {}",
                                     profile.compute_capability, join(odd));
}

template const described::Type &described::type_of<Architecture>();

} // namespace convcast
