#include "microbench/analysis.hpp"

#include "microbench/checks.hpp"
#include "microbench/curves.hpp"
#include "microbench/derived.hpp"
#include "microbench/selection.hpp"
#include "model/base/described.hpp"
#include "model/base/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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

/// A field that is the best median of a probe's configurations, or of those that meet the conditions. Its
/// unit is the field's.
struct BestField {
    std::string_view field, probe;
    Better better;
    std::array<Condition, 2> conditions{};
};

constexpr std::array best_fields = {
    BestField{"sm_clock", "sm_clock", Better::highest},
    BestField{"ffma_latency", "ffma_latency", Better::lowest},
    BestField{"ffma_rate", "ffma_rate", Better::highest},
    BestField{"ffma_outer_rate", "ffma_rate", Better::highest, {{{"registers", 3.0}}}},
    BestField{"half_rate", "half_rate", Better::highest},
    BestField{"int8_rate", "int8_rate", Better::highest},
    BestField{"tf32_mma_rate", "tf32_mma_rate", Better::highest},
    BestField{"shared_latency", "shared_latency", Better::lowest},
    BestField{"l1_latency", "l1_latency", Better::lowest},
    BestField{"dram_latency", "dram_latency", Better::lowest},
    BestField{"dram_read_bandwidth", "dram_read_bandwidth", Better::highest},
    BestField{"dram_write_bandwidth", "dram_write_bandwidth", Better::highest},
    BestField{"dram_copy_bandwidth", "dram_copy_bandwidth", Better::highest},
    BestField{"l2_read_bandwidth", "l2_read_bandwidth", Better::highest},
    BestField{"l2_write_bandwidth", "l2_write_bandwidth", Better::highest},
    BestField{"sector_store_time", "store_sectors", Better::lowest, {{{"lanes", 32.0}}}},
    BestField{"partial_sector_store_time", "store_sectors", Better::lowest, {{{"lanes", 4.0}}}},
    BestField{"l1_bandwidth", "l1_bandwidth", Better::highest},
    BestField{"shared_bandwidth", "shared_bandwidth", Better::highest},
    BestField{"barrier_latency",
              "barrier_latency",
              Better::lowest,
              {{{"warps", 8.0, true}, {"ctas_per_sm", 1.0, true}}}},
    BestField{"atomic_latency", "atomic_latency", Better::lowest},
    BestField{"atomic_same_address_time", "atomic_rate", Better::lowest, {{{"addresses", 1.0}}}},
    BestField{"grid_sync_time", "grid_sync", Better::lowest, {{{"ctas_per_sm", 1.0}}}},
    BestField{"cluster_latency", "cluster_latency", Better::lowest, {{{"cluster", 4.0}}}},
    BestField{"cluster_bandwidth", "cluster_bandwidth", Better::highest, {{{"cluster", 4.0}}}},
    BestField{"cluster_barrier_latency", "cluster_barrier", Better::lowest, {{{"cluster", 4.0}}}},
    BestField{"clusters_of_4_sms", "cluster_room", Better::highest, {{{"cluster", 4.0}}}},
    BestField{"clusters_of_8_sms", "cluster_room", Better::highest, {{{"cluster", 8.0}}}},
    BestField{"launch_floor", "launch_floor", Better::lowest},
    BestField{"launch_gap", "launch_gap", Better::lowest},
    BestField{"stream_launch_period", "launch_period", Better::lowest, {{{"graph", 0.0}}}},
    BestField{"graph_launch_period", "launch_period", Better::lowest, {{{"graph", 1.0}}}},
    BestField{"shared_per_cta_seen_bytes", "shared_capacity", Better::highest, {{{"kind", 1.0}}}},
    BestField{"shared_per_sm_seen_bytes", "shared_capacity", Better::highest, {{{"kind", 2.0}}}},
    BestField{"host_to_device_bandwidth", "host_copy", Better::highest, {{{"direction", 1.0}}}},
    BestField{"device_to_host_bandwidth", "host_copy", Better::highest, {{{"direction", 2.0}}}},
    BestField{"host_both_ways_bandwidth", "host_copy", Better::highest, {{{"direction", 3.0}}}},
    BestField{"peer_all_pairs_bandwidth", "peer_all_pairs", Better::highest},
};

/// Calls `visit(name, field, unit)` for every Param of a profile.
template <class Visit> void for_params(GpuProfile &profile, const Visit &visit) {
    boost::mp11::mp_for_each<described::Members<GpuProfile>>([&](auto member) {
        auto &field = profile.*member.pointer;
        using Field = std::decay_t<decltype(field)>;
        if constexpr (described::IsOptional<Field>::value)
            if constexpr (described::IsParam<typename Field::value_type>::value)
                visit(std::string(member.name), field);
    });
}

class Analysis {
  public:
    Analysis(const RawSamples &raw, const std::string &id) : raw_(raw), findings_(derive(raw)) {
        profile_.id = id;
        profile_.name = raw.name;
        profile_.compute_capability = raw.compute_capability;
        profile_.limits = raw.limits;
        profile_.conditions = raw.conditions;
    }

    GpuProfile run() {
        for (auto &[field, curve] : {std::pair{"dram_read_curve", &profile_.dram_read_curve},
                                     {"dram_write_curve", &profile_.dram_write_curve},
                                     {"dram_copy_curve", &profile_.dram_copy_curve},
                                     {"l2_read_curve", &profile_.l2_read_curve},
                                     {"l2_write_curve", &profile_.l2_write_curve}}) {
            *curve = flight_curve(raw_, field, findings_);
            if (!*curve)
                profile_.missing[field] = findings_.answers.at(field).why;
        }
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
        // What cannot be read again is no profile: limits that no GPU has, an empty id.
        return read_profile(write_profile(profile_), "the profile of these samples");
    }

  private:
    void find_best() {
        std::map<std::string_view, std::string_view> units; // of fields
        for_params(profile_, [&](const std::string &name, auto &field) {
            using Q = decltype(field->value);
            for (const BestField &row : best_fields)
                if (row.field == name)
                    units[row.field] = UnitOf<Q>::text;
        });
        for (const BestField &row : best_fields) {
            const std::vector<Condition> conditions(row.conditions.begin(), row.conditions.end());
            const Selection selection = select(raw_, row.probe, units.at(row.field), conditions);
            const std::string field(row.field);
            if (selection.found.empty()) {
                findings_.lack(field, selection.why);
                continue;
            }
            const Configuration &best = best_of(selection.found, row.better);
            findings_.give(field, evidence_of(best));
            note_others(field, selection.found, best, row.better);
        }
    }

    /// What the configurations that were not chosen showed: how far behind the best of them is.
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

    void give_params() {
        for_params(profile_, [&](const std::string &name, auto &field) {
            using Q = decltype(field->value);
            const auto at = findings_.answers.find(name);
            if (at == findings_.answers.end()) {
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
            if (interval) // what few samples give when drawn again can lie beside what they gave
                interval = Interval{std::min(interval->low, evidence.value),
                                    std::max(interval->high, evidence.value)};
            field = Param<Q>{Q(evidence.value), Source::measured, evidence.by,
                             evidence.spread,   interval,         evidence.populations};
        });
    }

    void note_populations() {
        for_params(profile_, [&](const std::string &name, auto &field) {
            if (field && field->populations.size() > 1)
                findings_.notes.push_back(fmt::format(
                    "{}: two populations, around {:.5g} and {:.5g} {}; the value is one of the samples, "
                    "not their mean",
                    name, field->populations.front(), field->populations.back(),
                    UnitOf<decltype(field->value)>::text));
        });
    }

    /// One line a probe. A clock that is not known is no slow one.
    void note_throttling() {
        const double reference = profile_.sm_clock ? profile_.sm_clock->value.value : raw_.max_sm_clock_hz;
        for (const ProbeInfo &probe : probes) {
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

    /// Configurations that none of the numbers used although their probe gave others. One line a probe.
    void note_unusable() {
        for (const ProbeInfo &probe : probes) {
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

GpuProfile analyze(const RawSamples &raw, const std::string &id) {
    return Analysis(raw, id).run();
}

} // namespace convcast
