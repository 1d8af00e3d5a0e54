// Selects the samples that a field of the profile is made from, or says why there are none.
#pragma once

#include "microbench/samples.hpp"
#include "model/machine/profile.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

/// A number with what supports it, before it has a unit's type.
struct Evidence {
    double value = 0.0; ///< in the unit of its field
    std::string by;     ///< the probe with its knobs, and how the value was made
    std::optional<Spread> spread{};
    std::optional<Interval> interval{};
    std::vector<double> populations{}; ///< medians of two separate groups of samples; empty if there is one
};

/// What the samples say of one field: evidence, or the reason `why` there is none.
struct Answer {
    std::optional<Evidence> evidence{};
    std::string why{};
};

/// What the analysis has found so far.
struct Findings {
    std::map<std::string, Answer, std::less<>> answers; ///< by field
    std::vector<std::string> notes;                     ///< sentences for the profile's notes

    void give(const std::string &field, Evidence evidence) { answers[field] = {std::move(evidence), {}}; }
    void lack(const std::string &field, std::string why) { answers[field] = {{}, std::move(why)}; }
    void lack_all(const std::vector<std::string> &fields, const std::string &why) {
        for (const std::string &field : fields)
            lack(field, why);
    }
};

/// Which median is the best of several: the lowest for times, the highest for rates.
enum class Better { lowest, highest };

/// The value of a knob that a configuration must have been measured with.
struct Condition {
    std::string_view knob; ///< empty: every configuration meets it
    double value = 0.0;
    bool or_absent = false; ///< configurations without the knob count too: older samples lack it
};

/// A configuration that can be used: its samples have the unit asked for, and all are above zero.
struct Configuration {
    const ProbeSamples *samples = nullptr; ///< in the RawSamples that it was selected from
    Spread spread;
};

struct Selection {
    std::vector<Configuration> found; ///< in the order in which they were measured
    std::string why;                  ///< why nothing is found; empty if something is
};

/// The usable configurations of a probe that meet all conditions.
Selection select(const RawSamples &raw, std::string_view probe, std::string_view unit,
                 const std::vector<Condition> &conditions = {});

/// The value of the knob `name`; absent if the samples lack it or it is no number to draw (drawable()).
std::optional<double> knob(const ProbeSamples &samples, std::string_view name);

/// The probe with its knobs, such as "ffma_rate (registers=3)".
std::string knobs_text(const ProbeSamples &samples);

/// The configuration with the best median, of equals the first. `found` is not empty, and owns the result.
const Configuration &best_of(const std::vector<Configuration> &found, Better better);

/// The median of the values, or of a configuration's samples, with spread, interval and populations.
Evidence evidence_of(std::string by, const std::vector<double> &values);
Evidence evidence_of(const Configuration &configuration);

/// Puts `found` at the place `at`, unless a better configuration is there.
template <class Place>
void keep_better(std::map<Place, Configuration> &places, const Place &at, const Configuration &found,
                 Better better) {
    const auto [place, is_new] = places.try_emplace(at, found);
    if (!is_new)
        place->second = best_of({place->second, found}, better);
}

/// One point of a sweep over one knob.
struct SweepPoint {
    double x = 0.0; ///< the knob's value
    Configuration configuration;
    double median() const { return configuration.spread.p50; }
};

struct Sweep {
    std::vector<SweepPoint> points; ///< by ascending x
    std::string why;                ///< why there are no points; empty if there are some

    std::vector<double> places() const; ///< x of each point; the others are in the same order
    std::vector<double> medians() const;
    std::vector<std::vector<double>> samples() const; ///< as bootstrap_interval takes them
    std::string text() const;                         ///< "place: median, ..."
};

/// The configurations of a probe that meet the conditions, by the knob `x`. Those without the knob, or with a
/// value of 0 or less, are left out; of several with the same value the best counts.
Sweep sweep(const RawSamples &raw, std::string_view probe, std::string_view unit, std::string_view x,
            Better better, const std::vector<Condition> &conditions = {});

/// The samples of dram_latency's best configuration in seconds. They were taken in clocks; each is converted
/// with the SM clock of its own time, since DRAM does not follow that clock. Empty if there are none or their
/// clocks are not known.
std::vector<double> dram_latency_seconds(const RawSamples &raw);

} // namespace convcast
