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

/// A field of GpuProfile that a probe gives, in the field's unit. With `better`, its value is the best median
/// of the configurations that meet the conditions; without, ProbeUse::derive gives it.
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
    Better better;                         ///< which of several configurations with the same x counts
    std::vector<std::string_view> x_knobs; ///< x is the product of these knobs
    std::string_view line_knob{};          ///< each value of it is a line of its own; empty: one line
    const char *line_label = "";           ///< a line's name; {} stands for the value of line_knob
    std::size_t least_points = 2;          ///< with fewer places on x there is no curve
};

/// Knobs with the values that each takes. A probe is launched for every combination; the last knob changes
/// fastest.
using ProbeAxes = std::vector<std::pair<std::string_view, std::vector<double>>>;

/// One combination of knobs.
struct ProbePoint {
    std::map<std::string, double> knobs;

    unsigned operator[](const std::string &knob) const { return static_cast<unsigned>(knobs.at(knob)); }
};

/// A launch on every SM whose CTAs count their own clocks. The kernel's parameters are, in this order:
/// `memory` (if not empty), the `scalars`, the results (if `results` is not 0), and a Span of clocks for each
/// CTA. A sample is the clocks of a CTA over `amount` if the probe's unit is clk, the SM clock itself if it
/// is Hz, and `amount` over the clocks if it is another rate.
struct ClockedLaunch {
    std::string kernel{}; ///< {knob} stands for the knob's value; empty: nothing to launch at this point
    std::string less{};   ///< a kernel without the work in question, whose clocks are subtracted; empty: none
    double amount = 1.0;  ///< operations, bytes or whatever the sample counts
    unsigned threads = 0, ctas_per_sm = 1;
    unsigned cluster = 1; ///< CTAs of a cluster; above one, as many clusters as surely run at once
    std::vector<std::uint32_t> scalars{};
    std::vector<std::uint32_t> memory{};
    bool memory_of_cta = false; ///< each CTA has a copy of `memory`, one behind the other
    /// Take so much shared memory that no more than ctas_per_sm fit an SM; no launch where so many do not
    /// fit.
    bool spread = false;
    unsigned results = 0; ///< words that a CTA writes
    int capability = 0;   ///< the only compute capability (90 for 9.0) that has the kernel; 0: all have it
    std::string note{};   ///< replaces Probe::note; empty: keeps it
    std::map<std::string, double> knobs{}; ///< further knobs besides those of the axes
    // Proof that the work was done: the sum of a CTA's results, modulo 2^32; or whether each word of the
    // results, or of the CTA's memory if there are no results, is as it must be.
    std::optional<std::uint32_t> sum{};
    std::function<bool(std::size_t word, std::uint32_t value)> right{};
};

/// What a probe's samples become.
struct ProbeUse {
    std::vector<ProbeField> fields{};                                    ///< empty: only a curve
    std::optional<ProbeCurve> curve{};                                   ///< if the samples sweep a knob
    void (*derive)(const RawSamples &raw, Findings &findings) = nullptr; ///< finds the other fields
    Curve (*draw)(const RawSamples &raw) = nullptr;                      ///< a curve that is no plain sweep
};

/// How samples are taken: by `launch` at every point of the axes, or, without it, by a function in runners/.
struct ProbeLaunch {
    ProbeAxes axes{};
    ClockedLaunch (*launch)(const ProbePoint &point) = nullptr;
    std::vector<std::string> templates{}; ///< kernels of the file that a function in runners/ launches
    int least_capability = 0;             ///< the first compute capability with what is measured ...
    const char *needs = "";               ///< ... and what that is
    bool wgmma = false;                   ///< compiled for sm_90a on GPUs of compute capability 9.0
};

struct Probe {
    std::string_view name, question;
    std::string_view file; ///< its device code, in probes/; empty: none
    std::string_view unit; ///< of the samples, unless the runner gives them another
    std::string_view note; ///< how they are taken, kept with them
    ProbeUse use{};
    ProbeLaunch how{};
};

/// All probes in the order in which they run. The clock is first, since its probe also wakes the device.
const std::vector<Probe> &probes();

std::vector<std::string> probe_names();

/// The names of a probe's fields, separated by spaces.
std::string fields_text(const Probe &probe);

/// The launches of a probe at all points of its axes, with the values of all their knobs; empty if it has no
/// ProbeLaunch::launch.
std::vector<ClockedLaunch> launches_of(const Probe &probe);

/// The files of device code that probes use, each with the template instances that are launched.
std::map<std::string, std::vector<std::string>> probe_files();

} // namespace convcast
