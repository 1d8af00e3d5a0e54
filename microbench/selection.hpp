// Which samples may speak for a number, and why none may.
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
    double value = 0.0;
    std::string by;
    std::optional<Spread> spread{};
    std::optional<Interval> interval{};
    std::vector<double> populations{};
};

/// What the samples say of one field; without evidence `why` is the reason.
struct Answer {
    std::optional<Evidence> evidence{};
    std::string why{};
};

/// By field; and what is to be said beside.
struct Findings {
    std::map<std::string, Answer, std::less<>> answers;
    std::vector<std::string> notes;

    void give(const std::string &field, Evidence evidence) { answers[field] = {std::move(evidence), {}}; }
    void lack(const std::string &field, std::string why) { answers[field] = {{}, std::move(why)}; }
    void lack_all(const std::vector<std::string> &fields, const std::string &why) {
        for (const std::string &field : fields)
            lack(field, why);
    }
};

/// Lower is better for times, higher for rates.
enum class Better { lowest, highest };

/// What a configuration must have been measured with.
struct Condition {
    std::string_view knob; ///< empty: none
    double value = 0.0;
    bool or_absent = false; ///< configurations without the knob count too: older samples lack it
};

/// A configuration whose samples are of the right unit and all above zero.
struct Configuration {
    const ProbeSamples *samples = nullptr;
    Spread spread;
};

struct Selection {
    std::vector<Configuration> found; ///< in the order in which they were measured
    std::string why;                  ///< nothing is found; empty if something is
};

Selection select(const RawSamples &raw, std::string_view probe, std::string_view unit,
                 const std::vector<Condition> &conditions = {});

/// A knob's value; absent unless it is there and finite.
std::optional<double> knob(const ProbeSamples &samples, std::string_view name);

/// "ffma_rate (registers=3)"
std::string knobs_text(const ProbeSamples &samples);

/// The one of `found`, which is not empty, with the best median; the first of equals.
const Configuration &best_of(const std::vector<Configuration> &found, Better better);

/// The median of some values, or of one configuration, with all that they tell.
Evidence evidence_of(std::string by, const std::vector<double> &values);
Evidence evidence_of(const Configuration &configuration);

/// Puts `found` at a place, or keeps what is there if that is better.
template <class Place>
void keep_better(std::map<Place, Configuration> &places, const Place &at, const Configuration &found,
                 Better better) {
    const auto [there, first] = places.try_emplace(at, found);
    if (!first)
        there->second = best_of({there->second, found}, better);
}

/// One point of a sweep over one knob.
struct SweepPoint {
    double x = 0.0;
    Configuration configuration;
    double median() const { return configuration.spread.p50; }
};

struct Sweep {
    std::vector<SweepPoint> points; ///< by ascending x
    std::string why;                ///< there are none

    std::vector<double> places() const;
    std::vector<double> medians() const;
    std::vector<std::vector<double>> samples() const; ///< as bootstrap_interval takes them
    std::string text() const;                         ///< "place: median, ..."
};

/// Over the knob `x`, which is to be above zero; of several configurations at one place the better.
Sweep sweep(const RawSamples &raw, std::string_view probe, std::string_view unit, std::string_view x,
            Better better, const std::vector<Condition> &conditions = {});

/// The samples of dram_latency's best configuration in seconds, each at its own clock, since DRAM does not
/// follow the SM clock. Empty if there are none or their clocks are not known.
std::vector<double> dram_latency_seconds(const RawSamples &raw);

} // namespace convcast
