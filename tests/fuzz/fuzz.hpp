// What the fuzz targets have in common. Each takes any bytes. What a reader refuses, it refuses by InputError
// or UsageError; what it accepts must be written, read again and written to the same text. Anything else, a
// sanitizer's finding included, ends the process.
#pragma once

#include "model/base/document.hpp"
#include "model/base/errors.hpp"
#include "model/predict.hpp"
#include "model/strategies/list.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace convcast::fuzz {

inline void require_same(const std::string &first, const std::string &second) {
    if (first == second)
        return;
    std::fprintf(stderr, "written once:\n%s\nread and written again:\n%s\n", first.c_str(), second.c_str());
    std::abort();
}

/// A document of a struct that is described.
inline constexpr auto as_document = [](const auto &its) { return to_text(described::write(its)); };

/// What `read(text, file)` makes of the bytes, if it accepts them; `write` of it must then survive a second
/// reading.
template <class Read, class Write = decltype(as_document)>
auto accepted(const std::uint8_t *data, std::size_t size, const Read &read,
              const Write &write = as_document) {
    using Document = std::invoke_result_t<Read, const std::string &, const std::string &>;
    std::optional<Document> document;
    try {
        document = read(std::string(reinterpret_cast<const char *>(data), size), "input");
    } catch (const InputError &) {
        return document;
    }
    const std::string text = write(*document);
    require_same(text, write(read(text, "written")));
    return document;
}

/// A run that was made here is a document that can be read.
inline void require_readable(const Run &run) {
    const std::string text = write_run(run);
    require_same(text, write_run(read_run(text, "forecast")));
}

inline const GpuProfile &h200() {
    static const GpuProfile profile = find_profile("h200");
    return profile;
}

/// Small shapes: one of many channels, one of a single channel, one that is strided, padded and grouped.
inline const char *const shapes[] = {"n1c16h14w14k16r3s3", "n1c1h28w28k16r3s3",
                                     "n2c8h9w11k12r3s2_str2x1_pad1x1_dil1x2_g2"};

/// One of them for each input.
inline ConvShape any_shape(std::size_t size) {
    return ConvShape::parse(shapes[size % std::size(shapes)]);
}

/// One strategy for each input, as all of them take seconds under the sanitizers.
inline Strategy any_strategy(const std::uint8_t *data, std::size_t size) {
    const std::vector<std::string> names = strategy_names();
    const std::string_view bytes(reinterpret_cast<const char *>(data), size);
    return parse_strategy(names[std::hash<std::string_view>()(bytes) % names.size()]);
}

} // namespace convcast::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);
