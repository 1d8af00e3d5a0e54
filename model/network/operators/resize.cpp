// Rows and columns to other numbers of them. A pixel covers the square around its middle.
#include "model/network/operator_type.hpp"

#include "every_operator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace convcast {
namespace {

ShapeAnswer resize_shape(const Operator &op, const std::vector<ImageShape> &inputs) {
    ImageShape out = op.output;
    out[0] = inputs.front()[0];
    return {out, "", ""};
}

/// Where rows (or columns) of the output lie in the input: row y at row y * by + from.
struct Places {
    double by = 1.0, from = 0.0;
};
/// For `in` rows of the input and `out` of the output.
Places places_of(ResizeMode mode, std::int64_t in, std::int64_t out) {
    const double ratio = static_cast<double>(in) / static_cast<double>(out);
    if (mode == ResizeMode::nearest || mode == ResizeMode::bilinear_asymmetric)
        return {ratio, 0.0};
    if (mode == ResizeMode::bilinear)
        return {ratio, 0.5 * ratio - 0.5};
    return {out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0.0, 0.0};
}

/// Each output is a pixel of the input, or the mean of four by how near they are.
void resize_forward(const OperatorStep &step, double *out) {
    const ImageShape &in = step.in_shape(), &to = step.op.output;
    const ResizeMode mode = *step.op.mode;
    const Places rows = places_of(mode, in[1], to[1]), columns = places_of(mode, in[2], to[2]);
    const auto place = [](const Places &places, std::int64_t at, std::int64_t size) {
        return std::clamp(static_cast<double>(at) * places.by + places.from, 0.0,
                          static_cast<double>(size - 1));
    };
    for (std::int64_t c = 0; c < to[0]; ++c)
        for (std::int64_t y = 0; y < to[1]; ++y)
            for (std::int64_t x = 0; x < to[2]; ++x) {
                const double h = place(rows, y, in[1]), w = place(columns, x, in[2]);
                const bool nearest = mode == ResizeMode::nearest;
                const auto h0 = nearest ? y * in[1] / to[1] : static_cast<std::int64_t>(h),
                           w0 = nearest ? x * in[2] / to[2] : static_cast<std::int64_t>(w);
                const auto pixel = [&](std::int64_t row, std::int64_t column) {
                    return step
                        .in[0][(c * in[1] + std::min(row, in[1] - 1)) * in[2] + std::min(column, in[2] - 1)];
                };
                const double down = h - static_cast<double>(h0), right = w - static_cast<double>(w0);
                *out++ = nearest
                             ? pixel(h0, w0)
                             : (1.0 - down) * ((1.0 - right) * pixel(h0, w0) + right * pixel(h0, w0 + 1)) +
                                   down * ((1.0 - right) * pixel(h0 + 1, w0) + right * pixel(h0 + 1, w0 + 1));
            }
}

std::string resize_device(const Operator &op, const std::vector<ImageShape> &inputs) {
    if (*op.mode == ResizeMode::nearest)
        return "\n    return in[0][(c * H + y * H / P) * W + x * W / Q];";
    const ResizeMode mode = *op.mode;
    const Places rows = places_of(mode, inputs.front()[1], op.output[1]),
                 columns = places_of(mode, inputs.front()[2], op.output[2]);
    return fmt::format(R"(
    const T h = min(max(T(y) * {rows} + {row0}, T(0)), T(H - 1)), w = min(max(T(x) * {columns} + {column0}, T(0)), T(W - 1));
    const int h0 = int(h), w0 = int(w);
    const T *const map = in[0] + c * (H * W);)",
                       fmt::arg("rows", device_number(rows.by)), fmt::arg("row0", device_number(rows.from)),
                       fmt::arg("columns", device_number(columns.by)),
                       fmt::arg("column0", device_number(columns.from))) +
           R"(
    const int h1 = min(h0 + 1, H - 1), w1 = min(w0 + 1, W - 1);
    const T down = h - T(h0), right = w - T(w0);
    return (T(1) - down) * ((T(1) - right) * map[h0 * W + w0] + right * map[h0 * W + w1]) +
           down * ((T(1) - right) * map[h1 * W + w0] + right * map[h1 * W + w1]);)";
}

/// Operations of an output: a mean of four pixels by two weights has 11.
double resize_operations(const Operator &op, const ImageShape &) {
    return *op.mode == ResizeMode::nearest ? 0.0 : 11.0;
}

} // namespace

std::vector<OperatorType> operators::resize() {
    OperatorType row;
    row.kind = OperatorKind::resize;
    row.needs = {"mode"};
    row.shape = resize_shape;
    row.operations = resize_operations;
    row.forward = resize_forward;
    row.form = DeviceForm::gather;
    row.device = resize_device;
    return {row};
}

} // namespace convcast
