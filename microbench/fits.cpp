#include "microbench/fits.hpp"

#include "microbench/statistics.hpp"

#include <boost/math/tools/minima.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace convcast {
namespace {

// The range in which p is looked for. A fit within 1 % of an end has run into it and is none.
constexpr double lowest_exponent = 0.5, highest_exponent = 20.0, off_the_bound = 1.01;

bool is_inside(double exponent) {
    return exponent > lowest_exponent * off_the_bound && exponent < highest_exponent / off_the_bound;
}

/// log T of eq. M1 from the logarithms of L0 and of V / BW. The larger of the two terms is factored out, so
/// that no power overflows.
double log_time(double log_latency, double log_transfer, double p) {
    const double larger = std::max(log_latency, log_transfer), apart = std::abs(log_latency - log_transfer);
    return larger + std::log1p(std::exp(-p * apart)) / p;
}

struct LogPoint {
    double bytes, time; ///< logarithms of bytes in flight and of T in seconds
};

std::vector<LogPoint> log_points(const FlightCurve &curve) {
    std::vector<LogPoint> points;
    for (std::size_t i = 0; i < curve.bandwidth.size(); ++i)
        points.push_back({std::log(curve.bytes_in_flight[i]),
                          std::log(curve.bytes_in_flight[i]) - std::log(curve.bandwidth[i])});
    return points;
}

using Vector3 = std::array<double, 3>; ///< what is fitted: log L0, log BW, log p

/// The sum of (log T of eq. M1 - log T measured)^2 over the points.
double squared_error(const std::vector<LogPoint> &points, const Vector3 &at) {
    double sum = 0.0;
    for (const LogPoint &point : points) {
        const double error = log_time(at[0], point.bytes - at[1], std::exp(at[2])) - point.time;
        sum += error * error;
    }
    return sum;
}

/// x with a x = b for a symmetric positive definite `a`, by elimination; absent if it is singular.
std::optional<Vector3> solve(std::array<Vector3, 3> a, Vector3 b) {
    for (std::size_t i = 0; i < 3; ++i) {
        if (!(a[i][i] > 0.0))
            return std::nullopt;
        for (std::size_t row = i + 1; row < 3; ++row) {
            const double factor = a[row][i] / a[i][i];
            for (std::size_t column = i; column < 3; ++column)
                a[row][column] -= factor * a[i][column];
            b[row] -= factor * b[i];
        }
    }
    for (std::size_t i = 3; i-- > 0;) {
        for (std::size_t column = i + 1; column < 3; ++column)
            b[i] -= a[i][column] * b[column];
        b[i] /= a[i][i];
    }
    return b;
}

/// A local minimum of squared_error() from `at`, kept within `low` and `high`, by the method of Levenberg and
/// Marquardt: each step solves the normal equations of the linearised error. More damping makes it shorter;
/// damping grows when a step fails and shrinks when one succeeds.
Vector3 descend(const std::vector<LogPoint> &points, Vector3 at, const Vector3 &low, const Vector3 &high) {
    constexpr int most_steps = 300;
    constexpr double settled = 1e-12; // ends when a step lowers the error by less than this part of it
    constexpr double first_damping = 1e-3, least_damping = 1e-12, most_damping = 1e12;
    double error = squared_error(points, at), damping = first_damping;
    for (int step = 0; step < most_steps && damping < most_damping; ++step) {
        std::array<Vector3, 3> normal{};
        Vector3 right{};
        const double p = std::exp(at[2]);
        for (const LogPoint &point : points) {
            const double transfer = point.bytes - at[1];
            const double share = 1.0 / (1.0 + std::exp(p * (transfer - at[0]))); // L0^p over T^p
            const double time = log_time(at[0], transfer, p);
            // d log T by log L0, log BW and log p
            const Vector3 slope = {share, share - 1.0, share * at[0] + (1.0 - share) * transfer - time};
            for (std::size_t i = 0; i < 3; ++i) {
                right[i] += slope[i] * (point.time - time);
                for (std::size_t j = 0; j < 3; ++j)
                    normal[i][j] += slope[i] * slope[j];
            }
        }
        for (std::size_t i = 0; i < 3; ++i)
            normal[i][i] += damping * normal[i][i] + 1e-15; // positive even where the slope is 0
        const std::optional<Vector3> change = solve(normal, right);
        if (!change)
            break;
        Vector3 next{};
        for (std::size_t i = 0; i < 3; ++i)
            next[i] = std::clamp(at[i] + (*change)[i], low[i], high[i]);
        const double next_error = squared_error(points, next);
        if (!(next_error < error)) {
            damping *= 4.0;
            continue;
        }
        const bool done = error - next_error <= settled * error;
        at = next;
        error = next_error;
        damping = std::max(damping / 4.0, least_damping);
        if (done)
            break;
    }
    return at;
}

/// Bytes in flight V at which the bandwidth V / T(V) reaches the part `part` of BW: eq. M1 solved for V.
double bytes_for(double part, double latency_s, double bandwidth, double p) {
    return latency_s * bandwidth * part / std::pow(1.0 - std::pow(part, p), 1.0 / p);
}

} // namespace

double time_in_flight(double bytes, double latency_s, double bandwidth, double exponent) {
    return std::exp(log_time(std::log(latency_s), std::log(bytes) - std::log(bandwidth), exponent));
}

double worst_error(const FlightCurve &curve, double latency_s, double bandwidth, double exponent) {
    double worst = 0.0;
    for (std::size_t i = 0; i < curve.bandwidth.size(); ++i) {
        const double bytes = curve.bytes_in_flight[i];
        const double time = time_in_flight(bytes, latency_s, bandwidth, exponent);
        worst = std::max(worst, std::abs(time * curve.bandwidth[i] / bytes - 1.0));
    }
    return worst;
}

std::optional<double> fit_knee_exponent(const FlightCurve &curve, Seconds latency, Bandwidth bandwidth) {
    if (curve.bandwidth.size() < 4)
        return std::nullopt;
    const std::vector<LogPoint> points = log_points(curve);
    const double log_latency = std::log(latency.value), log_bandwidth = std::log(bandwidth.value);
    constexpr int bits = 24; // of log p: more than the six digits that are written
    const double p = std::exp(boost::math::tools::brent_find_minima(
                                  [&](double log_p) {
                                      return squared_error(points, {log_latency, log_bandwidth, log_p});
                                  },
                                  std::log(lowest_exponent), std::log(highest_exponent), bits)
                                  .first);
    if (!is_inside(p))
        return std::nullopt;
    return p;
}

std::variant<FlightFit, std::string> fit_flight(const FlightCurve &curve) {
    constexpr std::size_t least_points = 5; // two more than the three numbers to find
    // Points must reach from half the knee to twice the knee: from one side alone L0 or BW is a guess.
    constexpr double either_side = 2.0;
    constexpr double most_wrong = 0.25; // a worse point than this shows that the curve is of another form
    const std::vector<LogPoint> points = log_points(curve);
    if (points.size() < least_points)
        return fmt::format("{} points, at least {} are needed", points.size(), least_points);
    const auto by_time = [](const LogPoint &a, const LogPoint &b) { return a.time < b.time; };
    const double least_time = std::min_element(points.begin(), points.end(), by_time)->time;
    const double most_bandwidth = std::log(*std::max_element(curve.bandwidth.begin(), curve.bandwidth.end()));
    const double a_decade = std::log(10.0);
    // L0 is near the shortest time and BW near the highest bandwidth seen; a factor of ten either way is
    // allowed.
    const Vector3 low = {least_time - a_decade, most_bandwidth - a_decade, std::log(lowest_exponent)};
    const Vector3 high = {least_time + a_decade, most_bandwidth + a_decade, std::log(highest_exponent)};
    Vector3 best{};
    double least_error = std::numeric_limits<double>::infinity();
    for (const double p : {1.0, 2.0, 4.0, 10.0}) { // from one start alone it may end in a worse local minimum
        const Vector3 found = descend(points, {least_time, most_bandwidth, std::log(p)}, low, high);
        if (const double error = squared_error(points, found); error < least_error) {
            least_error = error;
            best = found;
        }
    }
    FlightFit fit;
    fit.latency_s = six_digits(std::exp(best[0]));
    fit.bandwidth = six_digits(std::exp(best[1]));
    fit.exponent = six_digits(std::exp(best[2]));
    const double knee = fit.latency_s * fit.bandwidth, p = fit.exponent;
    if (!(std::isfinite(least_error) && knee > 0.0 && std::isfinite(knee)))
        return std::string("no finite numbers fit the points");
    if (!is_inside(p))
        return fmt::format("no exponent between {} and {} fits the {} points", lowest_exponent,
                           highest_exponent, points.size());
    fit.worst_error = six_digits(worst_error(curve, fit.latency_s, fit.bandwidth, p));
    if (!(fit.worst_error <= most_wrong))
        return fmt::format("the best fit is {:.0f} % off at one of the {} points", fit.worst_error * 100.0,
                           points.size());
    const auto [fewest, most] =
        std::minmax_element(curve.bytes_in_flight.begin(), curve.bytes_in_flight.end());
    if (!(*fewest * either_side <= knee && *most >= knee * either_side))
        return fmt::format(
            "the points, {:.4g} to {:.4g} B, do not reach a factor {} below and above the knee "
            "at {:.4g} B",
            *fewest, *most, either_side, knee);
    fit.paper_bytes = six_digits(knee);
    fit.bytes_for_90 = six_digits(bytes_for(0.90, fit.latency_s, fit.bandwidth, p));
    fit.bytes_for_95 = six_digits(bytes_for(0.95, fit.latency_s, fit.bandwidth, p));
    return fit;
}

std::optional<Line> fit_line(const std::vector<double> &x, const std::vector<double> &y) {
    if (x.empty() || std::all_of(x.begin(), x.end(), [&](double value) { return value == x[0]; }))
        return std::nullopt;
    const auto n = static_cast<double>(x.size());
    double mean_x = 0.0, mean_y = 0.0, xx = 0.0, xy = 0.0, yy = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        mean_x += x[i] / n;
        mean_y += y[i] / n;
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
        xx += (x[i] - mean_x) * (x[i] - mean_x);
        xy += (x[i] - mean_x) * (y[i] - mean_y);
        yy += (y[i] - mean_y) * (y[i] - mean_y);
    }
    const double slope = xy / xx;
    return Line{mean_y - slope * mean_x, slope, yy > 0.0 ? xy * xy / (xx * yy) : 1.0};
}

int conflict_degree(int stride_words, int width_bytes, int bank_count) {
    std::vector<int> rows(static_cast<std::size_t>(bank_count)); // different rows read in each bank
    for (int lane = 0, last = -1; lane < 32; ++lane) {
        const int row = lane * stride_words * 4 / width_bytes;
        if (row != last) // lanes in the same row share one access, and rows ascend with the lanes
            ++rows[static_cast<std::size_t>(row % bank_count)];
        last = row;
    }
    return *std::max_element(rows.begin(), rows.end());
}

std::optional<FittedBanks> fit_banks(const std::vector<double> &stride_words,
                                     const std::vector<double> &cycles) {
    constexpr double good = 0.98;            // R^2
    constexpr double clearly_better = 0.005; // R^2 of the best above that of the second
    constexpr std::size_t least_points = 4;
    if (cycles.size() < least_points)
        return std::nullopt;
    std::optional<FittedBanks> best;
    double second = 0.0;
    // In logarithms the step from one pass to two counts most: there the layouts differ.
    std::vector<double> log_cycles(cycles.size()), log_degrees(cycles.size());
    std::ranges::transform(cycles, log_cycles.begin(), [](double value) { return std::log(value); });
    for (const int width : {4, 8}) // no NVIDIA GPU had others
        for (const int count : {16, 32, 64}) {
            std::ranges::transform(stride_words, log_degrees.begin(), [&](double stride) {
                return std::log(conflict_degree(static_cast<int>(stride), width, count));
            });
            const std::optional<Line> line = fit_line(log_degrees, log_cycles);
            if (!line || !(line->slope > 0.8 && line->slope < 1.2)) // twice the passes, twice the time
                continue;
            if (!best || line->r_squared > best->r_squared) {
                second = best ? best->r_squared : 0.0;
                best = FittedBanks{width, count, line->r_squared};
            } else {
                second = std::max(second, line->r_squared);
            }
        }
    if (!best || best->r_squared < good || best->r_squared - second < clearly_better)
        return std::nullopt;
    return best;
}

} // namespace convcast
