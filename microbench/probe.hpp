// What a probe is: one row in a file of probes/ says what it asks, how its kernel is launched, and what its
// samples become. Pure data, no CUDA.
#pragma once

#include "microbench/selection.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convcast {

/// A field of GpuProfile. Its value is the best median of the configurations that meet the conditions, or,
/// where no direction is given, what the probe's `derive` says of it. Its unit is the field's.
struct ProbeField {
    std::string_view name;
    std::optional<Better> better{};
    std::vector<Condition> conditions{};
};

struct CurveAxis {
    const char *name, *unit;
    bool logarithmic;
};

/// How the samples of a probe become lines of a curve.
struct ProbeCurve {
    CurveAxis x, y;
    Better better;                         ///< of configurations at one place
    std::vector<std::string_view> x_knobs; ///< x is their product
    std::string_view line_knob{};          ///< tells lines apart; empty: there is one
    const char *line_label = "";           ///< its value for {}
    std::size_t least_points = 2;          ///< with fewer there is no curve
};

/// Knobs with the values that each takes: a probe is launched for every combination, those of the last knob
/// next to each other.
using ProbeAxes = std::vector<std::pair<std::string_view, std::vector<double>>>;

/// One combination.
struct ProbePoint {
    std::map<std::string, double> knobs;

    unsigned operator[](const std::string &knob) const { return static_cast<unsigned>(knobs.at(knob)); }
};

/// A launch on every SM whose CTAs count their clocks. Parameters of the kernel: `memory` if there is some,
/// the `scalars`, the results if there are some, a Span for each CTA. A sample is `amount` over the clocks of
/// a CTA where the probe's unit is a rate, else the clocks over `amount`.
struct ClockedLaunch {
    std::string kernel{}; ///< {knob} stands for the knob's value; empty: nothing to launch at this point
    std::string less{};   ///< a kernel that does as much less: the clocks of both are subtracted
    double amount = 1.0;
    unsigned threads = 0, ctas_per_sm = 1;
    unsigned cluster = 1; ///< CTAs of one; above one, so many clusters as surely run at once
    std::vector<std::uint32_t> scalars{};
    std::vector<std::uint32_t> memory{};
    bool memory_of_cta = false; ///< each CTA has such memory of its own, one behind the other
    bool spread = false;  ///< shared memory keeps further CTAs from an SM; left out where so many do not fit
    unsigned results = 0; ///< words that a CTA leaves
    int capability = 0;   ///< the only one that has the kernel; 0: all
    std::string note{};   ///< instead of the row's
    std::map<std::string, double> knobs{}; ///< beside those of the axes
    /// Proof that the work was done: what the results of a CTA add up to, modulo 2^32, or whether each word
    /// of the results, or of the CTA's memory where there are none, is as it must be.
    std::optional<std::uint32_t> sum{};
    std::function<bool(std::size_t word, std::uint32_t value)> right{};
};

/// What samples become.
struct ProbeUse {
    std::vector<ProbeField> fields{};                                    ///< none: only a curve
    std::optional<ProbeCurve> curve{};                                   ///< where the samples sweep a knob
    void (*derive)(const RawSamples &raw, Findings &findings) = nullptr; ///< fields of several configurations
    Curve (*draw)(const RawSamples &raw) = nullptr;                      ///< a curve that is no plain sweep
};

/// How samples are taken. A probe without `launch` has a runner of its own (runners/).
struct ProbeLaunch {
    ProbeAxes axes{};
    ClockedLaunch (*launch)(const ProbePoint &point) = nullptr;
    std::vector<std::string> templates{}; ///< of the file that its own runner launches
    int least_capability = 0;             ///< the first that has what is measured ...
    const char *needs = "";               ///< ... and what that is
    bool wgmma = false;                   ///< compiled for sm_90a where the GPU is one
};

struct Probe {
    std::string_view name, question;
    std::string_view file; ///< of device code in probes/; empty: none
    std::string_view unit; ///< of the samples, but for those that the runner says have another
    std::string_view note; ///< how they are taken, kept with them
    ProbeUse use{};
    ProbeLaunch how{};
};

/// Every probe there is, in the order in which they run: the clock first, since it also wakes the device.
const std::vector<Probe> &probes();

/// Names of all probes.
std::vector<std::string> probe_names();

/// The fields of a probe, separated by spaces.
std::string fields_text(const Probe &probe);

/// The launches of a probe that counts clocks, with the values of all their knobs.
std::vector<ClockedLaunch> launches_of(const Probe &probe);

/// The files of device code that probes use, each with the templates of it that are launched.
std::map<std::string, std::vector<std::string>> probe_files();

} // namespace convcast
