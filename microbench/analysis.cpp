#include "microbench/analysis.hpp"

#include "microbench/curves.hpp"
#include "microbench/derived.hpp"
#include "microbench/probe.hpp"
#include "model/base/errors.hpp"
#include "model/machine/each_number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace convcast {
namespace {

class Analysis {
  public:
    Analysis(const RawSamples &raw, const std::string &id) : raw_(raw) {
        profile_.id = id;
        profile_.name = raw.name;
        profile_.compute_capability = raw.compute_capability;
        profile_.limits = raw.limits;
        profile_.conditions = raw.conditions;
    }

    GpuProfile run() {
        for (const Probe &probe : probes())
            if (probe.use.derive != nullptr)
                probe.use.derive(raw_, findings_);
        boost::mp11::mp_for_each<described::Members<GpuProfile>>([&](auto member) {
            auto &field = profile_.*member.pointer;
            if constexpr (std::is_same_v<std::decay_t<decltype(field)>, std::optional<FlightCurve>>) {
                field = flight_curve(raw_, member.name, findings_);
                if (!field)
                    profile_.missing[member.name] = findings_.answers.at(member.name).why;
            }
        });
        derive_knee_exponent(raw_, profile_.dram_read_curve, findings_);
        find_best();
        give_params();
        std::string why;
        profile_.peers = peer_links(raw_, why);
        if (profile_.peers.empty())
            profile_.missing["peers"] = why;
        profile_.curves = curves_of(raw_);
        note_populations();
        note_throttling();
        note_unusable();
        profile_.checks = cross_checks(raw_, profile_);
        profile_.notes = std::move(findings_.notes);
        // Reading it again refuses limits that no GPU has, and an empty id.
        return read_profile(write_profile(profile_), "the profile of these samples");
    }

  private:
    /// Finds the fields that are the best median of a probe's configurations (ProbeField::better).
    void find_best() {
        std::map<std::string, const char *> units; // of fields
        for_each_param(profile_, [&](const std::string &name, auto &field) {
            units[name] = UnitOf<decltype(field->value)>::text;
        });
        for (const Probe &probe : probes())
            for (const ProbeField &row : probe.use.fields) {
                if (!row.better)
                    continue;
                const std::string field(row.name);
                const Selection selection = select(raw_, probe.name, units.at(field), row.conditions);
                if (selection.found.empty()) {
                    findings_.lack(field, selection.why);
                    continue;
                }
                const Configuration &best = best_of(selection.found, *row.better);
                findings_.give(field, evidence_of(best));
                note_others(field, selection.found, best, *row.better);
            }
    }

    /// Notes how many configurations were not chosen for `field`, and how far behind the best of them is.
    void note_others(const std::string &field, const std::vector<Configuration> &found,
                     const Configuration &best, Better better) {
        std::vector<Configuration> others;
        for (const Configuration &other : found)
            if (other.samples != best.samples)
                others.push_back(other);
        if (others.empty())
            return;
        const Configuration &next = best_of(others, better);
        findings_.notes.push_back(
            fmt::format("{}: {} other configuration{}, the best of them {} with {:.1f} %", field,
                        others.size(), others.size() == 1 ? "" : "s", knobs_text(*next.samples),
                        100.0 * next.spread.p50 / best.spread.p50));
    }

    /// Moves every answer into its field of the profile, or into `missing` where it has no value or none that
    /// is plausible for its unit.
    void give_params() {
        for_each_param(profile_, [&](const std::string &name, auto &field) {
            using Q = decltype(field->value);
            const auto at = findings_.answers.find(name);
            if (at == findings_.answers.end()) {
                if (!is_of_published_profiles(name))
                    profile_.missing[name] = "no probe measures it";
                return;
            }
            const Answer &answer = at->second;
            if (!answer.evidence) {
                profile_.missing[name] = answer.why;
                return;
            }
            const Evidence &evidence = *answer.evidence;
            constexpr Range allowed = plausible<Q>();
            if (!(evidence.value >= allowed.low && evidence.value <= allowed.high)) {
                profile_.missing[name] =
                    fmt::format("{}: {:.5g} {} is not between {:g} and {:g} {}", evidence.by, evidence.value,
                                UnitOf<Q>::text, allowed.low, allowed.high, UnitOf<Q>::text);
                return;
            }
            std::optional<Interval> interval = evidence.interval;
            if (interval) // of few samples, the resampled interval may not contain the value itself
                interval = Interval{std::min(interval->low, evidence.value),
                                    std::max(interval->high, evidence.value)};
            field = Param<Q>{Q(evidence.value), Source::measured, evidence.by,
                             evidence.spread,   interval,         evidence.populations};
        });
    }

    /// Notes the fields whose samples are two separate groups.
    void note_populations() {
        for_each_param(profile_, [&](const std::string &name, auto &field) {
            if (field && field->populations.size() > 1)
                findings_.notes.push_back(fmt::format(
                    "{}: two populations, around {:.5g} and {:.5g} {}; the value is one of the samples, "
                    "not their mean",
                    name, field->populations.front(), field->populations.back(),
                    UnitOf<decltype(field->value)>::text));
        });
    }

    /// Notes, one line a probe, how many samples were throttled. An unknown clock, 0, does not count as slow.
    void note_throttling() {
        const double reference = profile_.sm_clock ? profile_.sm_clock->value.value : raw_.max_sm_clock_hz;
        for (const Probe &probe : probes()) {
            std::size_t slow = 0, all = 0;
            for (const ProbeSamples &samples : raw_.samples)
                if (samples.probe == probe.name) {
                    all += samples.sm_clock_hz.size();
                    slow += static_cast<std::size_t>(
                        std::count_if(samples.sm_clock_hz.begin(), samples.sm_clock_hz.end(), [&](double hz) {
                            return hz > 0.0 && hz < throttled_below * reference;
                        }));
                }
            if (slow > 0)
                findings_.notes.push_back(
                    fmt::format("{}: {} of {} samples ran below {:.0f} % of {:.0f} MHz, the SM "
                                "clock",
                                probe.name, slow, all, 100.0 * throttled_below, reference / 1e6));
        }
        if (profile_.sm_clock && profile_.sm_clock->value.value < throttled_below * raw_.max_sm_clock_hz)
            findings_.notes.push_back(fmt::format("sm_clock: throttled to {:.0f} of at most {:.0f} MHz",
                                                  profile_.sm_clock->value.value / 1e6,
                                                  raw_.max_sm_clock_hz / 1e6));
        if (const auto assumed = raw_.conditions.find("cores_per_sm"); assumed != raw_.conditions.end())
            findings_.notes.push_back("limits.cores_per_sm: " + assumed->second);
    }

    /// Notes, one line a probe, the configurations that select() left out although their probe has usable
    /// ones.
    void note_unusable() {
        for (const Probe &probe : probes()) {
            std::size_t unusable = 0, all = 0;
            for (const ProbeSamples &samples : raw_.samples)
                if (samples.probe == probe.name) {
                    ++all;
                    unusable += samples.values.empty() ||
                                std::any_of(samples.values.begin(), samples.values.end(),
                                            [](double v) { return !(v > 0.0 && std::isfinite(v)); });
                }
            if (unusable > 0 && unusable < all)
                findings_.notes.push_back(
                    fmt::format("{}: {} of {} configurations left out, for no samples or some "
                                "that are not above zero",
                                probe.name, unusable, all));
        }
    }

    const RawSamples &raw_;
    GpuProfile profile_;
    Findings findings_;
};

} // namespace

bool is_of_published_profiles(const std::string &field) {
    return field == "float_add_time" || // the curve float_adds says it of a GPU that is measured
           field == "constant_address_time";
}

GpuProfile analyze(const RawSamples &raw, const std::string &id) {
    return Analysis(raw, id).run();
}

} // namespace convcast
