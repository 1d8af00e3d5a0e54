// The few numbers of the time model that no probe gives: assumed, or fitted on the training part of recorded
// convolutions, the same for every kernel. Answers show the forecasts with both.
#pragma once

#include "model/base/checked.hpp"
#include "model/base/describe.hpp"

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

struct GpuProfile;

/// The four numbers that are fitted; the values here are those assumed without a fit. A fit may take a share
/// above 1 where measured times ask for it.
struct FittedNumbers {
    /// How far a step's loads wait for DRAM in the first wave, if other CTAs load the same data at the same
    /// time: 0 as long as L2 takes, 1 as long as DRAM does (F8).
    double first_wave_miss = 1.0;
    /// Share of a launch's first warps' wait for instructions and constants that nothing hides (F15).
    double cold_share = 1.0;
    /// Exponent of the p-norm by which the loads of a CTA's pipeline steps overlap with their arithmetic
    /// (F3). Assumed is 2, as for the knee of bytes in flight.
    double steps_overlap = 2.0;
    /// Exponent of the p-norm by which units of an SM overlap that the same instructions use in turn: issue
    /// slots and the integer pipe (F10), arithmetic and stores (F32), copying warps and arithmetic (F3).
    double units_overlap = 2.0;
    CONVCAST_MEMBERS(FittedNumbers, first_wave_miss, cold_share, steps_overlap, units_overlap)

    void check(const FieldProblem &problem) const; ///< ranges beyond which no fit looks
};

/// Equations of the time model (docs/equations.md) that can be left out, to see what each is worth.
BOOST_DEFINE_FIXED_ENUM_CLASS(Equation, std::uint8_t, F3, F4, F8, F9, F10, F11, F15, F16, F17, F20, F21, F22,
                              F23, F24, F25, F26, F27, F28, F29, F30, F31, F32, F33, F36)

/// A set of equations that a forecast leaves out. Empty except in an ablation (tests/benchmark/ablate.cpp).
class Omitted {
  public:
    Omitted() = default;
    explicit Omitted(std::initializer_list<Equation> equations) {
        for (const Equation equation : equations)
            bits_ |= bit(equation);
    }
    bool contains(Equation equation) const { return (bits_ & bit(equation)) != 0; }

  private:
    static std::uint32_t bit(Equation equation) {
        return std::uint32_t{1} << static_cast<unsigned>(equation);
    }
    std::uint32_t bits_ = 0;
};

/// The profile that a calibration was fitted on. The calibration serves every profile of the same GPU model,
/// which is a name and a compute capability. Where the numbers differ, the forecast says so.
struct FittedOn {
    std::string id, name, compute_capability; ///< as in the profile
    std::optional<std::string> date;          ///< when it was measured; absent: published numbers
    /// What a forecast computes with, by the field of the profile, in the units of profile files. No other
    /// number of a profile changes a forecast.
    std::map<std::string, double> numbers;
    CONVCAST_MEMBERS(FittedOn, id, name, compute_capability, date, numbers)

    void check(const FieldProblem &problem) const;
};

/// How forecasts did on the calls outside the training part: means of |forecast / measured - 1|. Where scale
/// and spread were fitted, each layer's calls are forecast by a fit without that layer.
struct TestErrors {
    std::int64_t cases = 0;
    double fitted = 0.0;           ///< with the facts and the fitted numbers
    double assumed = 0.0;          ///< with the facts and the numbers assumed without a fit
    double without_counters = 0.0; ///< with neither: what a GPU of another architecture gets
    CONVCAST_MEMBERS(TestErrors, cases, fitted, assumed, without_counters)

    void check(const FieldProblem &problem) const;
};

/// How far measured times lie from their forecasts, by properties of the call (I4). The spread of a call is
/// exp(constant + the sum of each coefficient times its property); that of the calls of the fit is 1 in the
/// geometric mean.
struct ResidualSpread {
    double constant = 0.0;
    double log_time = 0.0;                 ///< ln(forecast in seconds)
    double log_time_over_bound = 0;        ///< ln(forecast / speed of light)
    double log_pixels = 0.0;               ///< ln(output pixels of an image)
    double log_images = 0.0;               ///< ln(images)
    double one_by_one = 0.0;               ///< 1 if the filters are 1 x 1, else 0
    double grouped = 0.0;                  ///< 1 if there are groups, else 0
    std::map<std::string, double> kernels; ///< 1 if it is the kernel with most FMAs, else 0
    CONVCAST_MEMBERS(ResidualSpread, constant, log_time, log_time_over_bound, log_pixels, log_images,
                     one_by_one, grouped, kernels)
    /// Far beyond any fit; exp of a sum of such numbers is held between 1/4 and 4 (spread_of).
    static constexpr Range range_of(std::string_view) { return {-100.0, 100.0}; }
};

struct Calibration {
    std::string schema = "convcast/calibration/4";
    FittedOn profile;
    std::string facts_hash; ///< content of the facts it was fitted with; empty: without counters
    FittedNumbers fitted;
    /// Fits to samples of the training part's shapes, drawn with replacement: how far they lie apart says how
    /// sure `fitted` is. Empty in a calibration by `adapt`.
    std::vector<FittedNumbers> resampled;
    std::int64_t cases = 0; ///< measured calls that it was fitted on
    /// Measured over forecast time: the 5th and 95th percentile of the training part, for the interval (I1).
    /// With a `spread` they are those of a call whose spread is 1 (I4).
    double ratio_p05 = 1.0, ratio_p95 = 1.0;
    std::optional<double> scale;          ///< factor of all forecasts (F34); absent: 1
    std::optional<ResidualSpread> spread; ///< absent: the interval is that of I1
    std::optional<std::string> borrowed;  ///< the GPU that the four numbers were fitted on, if another one
    std::optional<TestErrors> test;       ///< absent: no call was outside the training part
    Omitted omitted;                      ///< in no document: only ablations leave something out
    CONVCAST_MEMBERS(Calibration, schema, profile, facts_hash, fitted, resampled, cases, ratio_p05, ratio_p95,
                     scale, spread, borrowed, test)

    void check(const FieldProblem &problem) const;
};

/// What a calibration that is fitted on `profile` says of it.
FittedOn fitted_on(const GpuProfile &profile);

/// Throws InputError with every problem at once. A document of an earlier schema is refused with the verb
/// that makes it anew: its four numbers belong to other equations. `file` only names the text in messages.
Calibration read_calibration(const std::string &text, const std::string &file);
std::string write_calibration(const Calibration &calibration);

extern template const described::Type &described::type_of<Calibration>();

} // namespace convcast
