#include "model/base/described.hpp"

#include <fmt/format.h>

#include <string>

namespace convcast::described {

std::string out_of_range(const char *what, double value, const Range &range) {
    return fmt::format("expected {} from {:g} to {:g}, got {:g}", what, range.low, range.high, value);
}

} // namespace convcast::described
