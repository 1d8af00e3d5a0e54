#include "model/machine/architecture.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string>
#include <vector>

namespace convcast {
namespace {

std::string digits_of(const GpuProfile &profile) {
    std::string digits = profile.compute_capability;
    std::erase(digits, '.');
    return digits;
}

std::string sentence() {
    std::string text = "numbers read off compute capability 9.0 are taken for this GPU:";
    for (const ArchitectureConstant &constant : hopper::table)
        text += fmt::format(" {} {:g}{}{};", constant.name, constant.value, *constant.unit == '\0' ? "" : " ",
                            constant.unit);
    return text +
           " and the registers and instructions of kernels beside their arithmetic, as compiled for sm_90";
}

} // namespace

int capability_of(const GpuProfile &profile) {
    const std::string digits = digits_of(profile);
    int number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return number;
}

std::string architecture_of(const GpuProfile &profile) {
    return "sm_" + digits_of(profile);
}

std::string borrowed_constants(const GpuProfile &profile) {
    static const std::string all = sentence();
    return profile.compute_capability == "9.0" ? std::string() : all;
}

} // namespace convcast
