#include "model/shape/conv_shape.hpp"

#include "model/base/errors.hpp"
#include "model/base/text.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <system_error>

namespace convcast {
namespace {

constexpr std::string_view example = "n1c64h56w56k64r3s3_pad1x1";

[[noreturn]] void reject(const std::string &text, const std::string &why) {
    throw UsageError("shape '" + text + "': " + why + ". Example: " + std::string(example));
}

/// Takes an integer, 0 or more, off the front of `rest`. Throws UsageError, which names the size `what`.
std::int64_t take_number(const std::string &text, std::string_view &rest, const std::string &what) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error == std::errc::result_out_of_range)
        reject(text, what + " is too large; sizes are at most 2^40, and padding is at most 2^20");
    if (error != std::errc{} || rest.starts_with("-"))
        reject(text, "expected a number for " + what + " " +
                         (rest.empty() ? "at the end" : "at '" + std::string(rest) + "'"));
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return value;
}

/// Reads "AxB", or "A" for "AxA", in the same way.
void take_pair(const std::string &text, std::string_view &rest, const std::string &what, std::int64_t &first,
               std::int64_t &second) {
    first = take_number(text, rest, what);
    if (!rest.starts_with("x")) {
        second = first;
        return;
    }
    rest.remove_prefix(1);
    second = take_number(text, rest, what);
}

} // namespace

std::int64_t ConvShape::p() const {
    return (h + 2 * pad_h - dilation_h * (r - 1) - 1) / stride_h + 1;
}
std::int64_t ConvShape::q() const {
    return (w + 2 * pad_w - dilation_w * (s - 1) - 1) / stride_w + 1;
}

std::int64_t ConvShape::element_bytes() const {
    return dtype == DataType::f32 ? 4 : dtype == DataType::f16 ? 2 : 1;
}

std::int64_t ConvShape::result_bytes() const {
    return dtype == DataType::i8 ? 4 : element_bytes();
}

std::int64_t ConvShape::output_bytes() const {
    return output_elements() * result_bytes();
}

Fmas ConvShape::fmas() const {
    return Fmas(static_cast<double>(output_elements()) * static_cast<double>(products()));
}

Bytes ConvShape::bytes() const {
    return Bytes(static_cast<double>(input_bytes()) + static_cast<double>(filter_bytes()) +
                 static_cast<double>(output_bytes()));
}

std::string ConvShape::id() const {
    const auto text = [](std::int64_t v) { return std::to_string(v); };
    std::string id = "n" + text(n) + "c" + text(c) + "h" + text(h) + "w" + text(w) + "k" + text(k) + "r" +
                     text(r) + "s" + text(s);
    if (stride_h != 1 || stride_w != 1)
        id += "_str" + text(stride_h) + "x" + text(stride_w);
    if (pad_h != 0 || pad_w != 0)
        id += "_pad" + text(pad_h) + "x" + text(pad_w);
    if (dilation_h != 1 || dilation_w != 1)
        id += "_dil" + text(dilation_h) + "x" + text(dilation_w);
    if (groups != 1)
        id += "_g" + text(groups);
    if (dtype != DataType::f32)
        id += dtype == DataType::f16 ? "_f16" : "_i8";
    return id;
}

ConvShape ConvShape::parse(const std::string &text) {
    ConvShape shape;
    const std::string small = lower(text); // papers write N, C, H, W, K, R, S
    std::string_view rest = small;
    for (const auto &[name, size, usual] : shape_sizes) {
        if (usual)
            break; // what need not be said follows, in any order
        if (!rest.starts_with(name))
            reject(text, std::string("expected '") + name + "' " +
                             (rest.empty() ? "at the end" : "at '" + std::string(rest) + "'") +
                             "; the sizes n c h w k r s come in this order");
        rest.remove_prefix(1);
        shape.*size = take_number(text, rest, name);
    }
    std::string seen;
    while (!rest.empty()) {
        const std::string_view tail = rest;
        const auto part = [&](const char *name) { // whether it follows; if so, takes it
            if (!tail.starts_with(name))
                return false;
            if (seen.find(name) != std::string::npos)
                reject(text, "'" + std::string(name) + "' stands twice");
            seen += name;
            rest.remove_prefix(std::string_view(name).size());
            return true;
        };
        if (part("_str"))
            take_pair(text, rest, "str", shape.stride_h, shape.stride_w);
        else if (part("_pad"))
            take_pair(text, rest, "pad", shape.pad_h, shape.pad_w);
        else if (part("_dil"))
            take_pair(text, rest, "dil", shape.dilation_h, shape.dilation_w);
        else if (part("_f16"))
            shape.dtype = DataType::f16;
        else if (part("_i8"))
            shape.dtype = DataType::i8;
        else if (part("_f32"))
            shape.dtype = DataType::f32;
        else if (part("_g"))
            shape.groups = take_number(text, rest, "g");
        else
            reject(
                text,
                "unexpected '" + std::string(rest) +
                    "'; after the sizes may stand _strAxB, _padAxB, _dilAxB (A for AxA), _gN, _f16 or _i8");
    }
    shape.validate();
    return shape;
}

void ConvShape::validate() const {
    const auto fail = [&](const std::string &why) { reject(id(), why); };
    for (const auto &[name, size, usual] : shape_sizes) {
        if (usual != 0 && this->*size < 1)
            fail("every size, stride and dilation must be at least 1");
        if (usual != 0 && this->*size > std::int64_t{1} << 40)
            fail(std::string(name) + " is larger than 2^40");
    }
    if (pad_h < 0 || pad_w < 0 || pad_h > (1 << 20) || pad_w > (1 << 20))
        fail("padding must be between 0 and 1048576");
    if (c % groups != 0 || k % groups != 0)
        fail("groups must divide both c and k");
    const auto too_large = [](std::initializer_list<std::int64_t> sizes) {
        double product = 8.0; // bytes of an element, more than any type has
        for (const std::int64_t size : sizes)
            product *= static_cast<double>(size);
        return product > 4.6e18; // 2^62
    };
    if (too_large({dilation_h, r}) || too_large({dilation_w, s}) ||
        dilation_h * (r - 1) + 1 > h + 2 * pad_h || dilation_w * (s - 1) + 1 > w + 2 * pad_w)
        fail("the filter (with dilation) is larger than the padded input");
    if (too_large({n, c, h, w}) || too_large({k, c, r, s}) || too_large({n, k, p(), q()}))
        fail("a tensor has more than 2^62 bytes");
}

} // namespace convcast
