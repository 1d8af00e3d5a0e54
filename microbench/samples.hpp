// What the probes measured, before any analysis, kept so that a profile can be made from it again. Pure data,
// no CUDA.
#pragma once

#include "model/machine/profile.hpp"

#include <boost/describe.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

/// One configuration of one probe.
struct ProbeSamples {
    std::string probe;
    std::string unit;                    ///< of the values, as in UnitOf
    std::map<std::string, double> knobs; ///< the choices of this configuration, by name
    std::vector<double> values;
    std::vector<double> sm_clock_hz; ///< during or right after each sample; 0: not known
    std::string note;                ///< how they were taken
    BOOST_DESCRIBE_CLASS(ProbeSamples, (), (probe, unit, knobs, values, sm_clock_hz, note), (), ())

    /// Wide enough for samples that went wrong: the analysis judges them. A sample that is not finite is
    /// null.
    static constexpr Range range_of(std::string_view field) {
        return field == "sm_clock_hz" ? Range{0.0, 1e12, true} : Range{-1e30, 1e30, true};
    }
    void check(const FieldProblem &problem) const; ///< that the probe is known and each value has a clock
};

struct RawSamples {
    std::string schema = "convcast/samples/1";
    std::string name;               ///< "NVIDIA H200"
    std::string compute_capability; ///< "9.0"
    GpuLimits limits;
    double max_sm_clock_hz = 0.0;
    double memory_clock_hz = 0.0; ///< two transfers a cycle; 0 where the driver does not tell
    int memory_bus_bits = 0;
    std::map<std::string, std::string> conditions; ///< driver, toolkit, date, hash of the probes ...
    std::vector<ProbeSamples> samples;
    std::map<std::string, std::string> failed;  ///< probe -> why
    std::map<std::string, std::string> skipped; ///< probe -> what this GPU or machine lacks for it
    BOOST_DESCRIBE_CLASS(RawSamples, (),
                         (schema, name, compute_capability, limits, max_sm_clock_hz, memory_clock_hz,
                          memory_bus_bits, conditions, samples, failed, skipped),
                         (), ())

    static constexpr Range range_of(std::string_view field) {
        return field == "memory_bus_bits" ? Range{0, 1 << 20} : Range{0.0, 1e12};
    }
    void check(const FieldProblem &problem) const;
};

/// Joins the samples of several sittings with the same GPU model, one document and one file name for each, at
/// least one. The samples of a probe come from the first document that has some. The conditions are those of
/// the first; its condition "added" says which probes the others gave, when and by which code. Throws
/// InputError, which names the file, if a document is of another GPU model than the first.
RawSamples joined(const std::vector<RawSamples> &documents, const std::vector<std::string> &files);

/// Whether a probe has to run (again) to complete `raw`: it has no samples there and was not skipped.
bool is_open(const RawSamples &raw, std::string_view probe);

/// Throws InputError with every problem of the text at once. `file` only names it in messages.
RawSamples read_samples(const std::string &text, const std::string &file);
std::string write_samples(const RawSamples &raw);

/// FP32 lanes of an SM, the one limit that the driver does not tell. Absent for an unknown architecture.
/// Source: CUDA C++ Programming Guide, "Arithmetic Instructions", row of 32-bit floating-point multiply-add.
std::optional<int> cores_per_sm(int compute_major, int compute_minor);

} // namespace convcast
