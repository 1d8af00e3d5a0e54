#include "executor/verify/gates.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>

namespace convcast {

double rounding_bound(const ConvShape &shape) {
    if (shape.dtype == DataType::i8)
        return 0.0;
    return 4.0 * static_cast<double>(shape.products()) * 0x1p-24 +
           (shape.dtype == DataType::f16 ? 0x1p-11 : 0.0);
}

Verdict judge(Gate gate, const ConvShape &shape, const Comparison &c) {
    Verdict verdict;
    verdict.relative_l2_error =
        c.squared_error > 0.0 ? std::sqrt(c.squared_error / c.squared_reference) : 0.0; // 0 / 0 is no error
    verdict.max_error_ratio = c.max_error_ratio;
    verdict.not_a_number = c.not_a_number;
    if (c.first_bad >= 0)
        verdict.first_bad = output_index(shape, c.first_bad);

    const std::string name =
        gate == Gate::exact ? "gate 1 (small integers, every bit)" : "gate 2 (against double)";
    const auto at = [&] {
        const auto [n, k, p, q] = *verdict.first_bad;
        return fmt::format("the first at n={} k={} p={} q={}", n, k, p, q);
    };
    const double l2_limit = gate == Gate::transformed      ? transformed_l2_limit
                            : gate == Gate::tf32           ? tf32_l2_limit
                            : shape.dtype == DataType::f16 ? half_l2_limit
                                                           : rounding_l2_limit;
    if (c.not_a_number > 0)
        verdict.message = fmt::format("{}: {} of {} outputs are not written (NaN), {}", name, c.not_a_number,
                                      shape.output_elements(), at());
    else if (gate == Gate::exact && c.out_of_bound > 0)
        verdict.message = fmt::format("{}: {} of {} outputs are wrong, {}", name, c.out_of_bound,
                                      shape.output_elements(), at());
    else if (gate != Gate::exact && !(verdict.relative_l2_error <= l2_limit))
        verdict.message =
            fmt::format("{}: relative L2 error {:.2e}, allowed {:.0e}{}", name, verdict.relative_l2_error,
                        l2_limit, verdict.first_bad ? "; out of bound " + at() : std::string());
    else if (gate == Gate::rounding && c.out_of_bound > 0)
        verdict.message = fmt::format("{}: {} of {} outputs exceed {}, {}; largest ratio {:.3g}", name,
                                      c.out_of_bound, shape.output_elements(),
                                      shape.dtype == DataType::f32   ? "4 n 2^-24 sum|x w|"
                                      : shape.dtype == DataType::f16 ? "(4 n 2^-24 + 2^-11) sum|x w|"
                                                                     : "no error at all",
                                      at(), c.max_error_ratio);
    verdict.passed = verdict.message.empty();
    return verdict;
}

} // namespace convcast
