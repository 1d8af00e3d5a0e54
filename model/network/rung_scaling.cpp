#include "model/network/rung_scaling.hpp"

#include "model/network/rung_forecast.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace convcast {
namespace {

/// As one CUDA graph, where the profile knows how launches of one follow each other.
std::optional<Seconds> step_time(const Rung &rung, const Network &network, std::int64_t images,
                                 const GpuProfile &profile) {
    const RungForecast forecast = forecast_rung(rung, network, images, profile);
    return forecast.graph_s ? forecast.graph_s : forecast.stream_s;
}

} // namespace

std::optional<Seconds> exchange_time(const Network &network, std::int64_t gpus, const GpuProfile &profile) {
    if (gpus <= 1)
        return Seconds(0.0);
    double latency = 0.0, bandwidth = std::numeric_limits<double>::infinity();
    bool known = false;
    for (const PeerLink &link : profile.peers)
        if (link.latency_s && link.bandwidth_bytes_per_s) {
            latency = std::max(latency, link.latency_s->value);
            bandwidth = std::min(bandwidth, link.bandwidth_bytes_per_s->value);
            known = true;
        }
    if (!known || !profile.graph_launch_period)
        return std::nullopt;
    double bytes = 0.0;
    for (std::size_t i = 0; i < network.operators.size(); ++i)
        bytes += sizeof(float) *
                 static_cast<double>(parameters(network.operators[i], network.input_shapes(i).front()));
    return Seconds(profile.graph_launch_period->value.value + dependent_gap_s + latency +
                   static_cast<double>(gpus - 1) * bytes / bandwidth);
}

std::vector<ScalingPoint> forecast_scaling(const Rung &rung, const Network &network, std::int64_t batch,
                                           const GpuProfile &profile, std::span<const std::int64_t> gpus) {
    std::vector<ScalingPoint> points;
    const auto one = step_time(rung, network, batch, profile);
    for (const std::int64_t count : gpus) {
        const auto share = step_time(rung, network, (batch + count - 1) / count, profile),
                   exchange = exchange_time(network, count, profile);
        if (!one || !share || !exchange)
            return {};
        ScalingPoint point;
        point.gpus = count, point.exchange_s = *exchange;
        point.strong_s = *share + *exchange, point.weak_s = *one + *exchange;
        point.strong_efficiency = *one / point.strong_s / static_cast<double>(count);
        point.weak_efficiency = *one / point.weak_s;
        points.push_back(point);
    }
    return points;
}

std::optional<std::int64_t> smallest_batch(const Rung &rung, const Network &network, double efficiency,
                                           std::int64_t most, const GpuProfile &profile) {
    constexpr std::array<std::int64_t, 1> two = {2};
    for (std::int64_t batch = 2; batch <= most; batch *= 2) {
        const auto points = forecast_scaling(rung, network, batch, profile, two);
        if (!points.empty() && points.front().strong_efficiency >= efficiency)
            return batch;
    }
    return std::nullopt;
}

} // namespace convcast
