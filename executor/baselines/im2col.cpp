#include "executor/baselines/im2col.hpp"

#include "executor/baselines/cublas.hpp"
#include "executor/kernels/im2col_args.hpp"
#include "executor/launch/kernel_source.hpp"
#include "gpu/check.hpp"
#include "gpu/kernel.hpp"
#include "gpu/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <variant>

namespace convcast {
namespace {

constexpr unsigned threads = 256;
constexpr std::int64_t most_ctas = 1 << 20; // the kernel strides over what is left

std::int64_t columns_of_an_image(const ConvShape &shape) {
    return shape.c * shape.r * shape.s * shape.p() * shape.q();
}

/// What a call needs, shared by the copies that std::function makes.
class Im2col {
  public:
    Im2col(std::shared_ptr<const Cublas> cublas, const CompiledModule &compiled, const ConvShape &shape,
           std::int64_t at_once)
        : cublas_(std::move(cublas)), shape_(shape), at_once_(at_once), module_(compiled),
          kernel_(module_.kernel("convcast_im2col")),
          columns_(is_its_own_columns(shape)
                       ? 0
                       : static_cast<std::size_t>(at_once * columns_of_an_image(shape))) {}

    void enqueue(const float *input, const float *filters, float *output, cudaStream_t stream) {
        const std::int64_t image = shape_.c * shape_.h * shape_.w;
        const std::int64_t result = shape_.k * shape_.p() * shape_.q();
        for (std::int64_t first = 0; first < shape_.n; first += at_once_) {
            const std::int64_t images = std::min(at_once_, shape_.n - first);
            const float *columns = input + first * image;
            if (columns_.size() > 0) {
                lay_out(columns, images, stream);
                columns = columns_.data();
            }
            multiply(columns, images, filters, output + first * result, stream);
        }
    }

    std::size_t workspace_bytes() const { return columns_.bytes() + Cublas::workspace_bytes; }

  private:
    void lay_out(const float *input, std::int64_t images, cudaStream_t stream) {
        const auto i = [](std::int64_t value) { return static_cast<int>(value); };
        const ConvShape &s = shape_;
        const Im2colArgs args{
            images, s.c,           s.h,           s.w,        s.p(),      s.q(),           i(s.r),
            i(s.s), i(s.stride_h), i(s.stride_w), i(s.pad_h), i(s.pad_w), i(s.dilation_h), i(s.dilation_w)};
        const std::int64_t pixels = images * s.c * s.p() * s.q();
        const std::int64_t ctas = std::min(most_ctas, (pixels + threads - 1) / threads);
        kernel_.launch_with(dim3(static_cast<unsigned>(ctas)), dim3(threads), 0, stream, input,
                            columns_.data(), args);
    }

    /// One batch: the images, or one image's groups.
    void multiply(const float *columns, std::int64_t images, const float *filters, float *output,
                  cudaStream_t stream) {
        const std::int64_t groups = shape_.groups, products = shape_.products();
        const std::int64_t pixels = shape_.p() * shape_.q();
        Sgemm size;
        size.m = shape_.k / groups, size.n = pixels, size.k = products;
        size.b_distance = products * pixels;
        size.c_distance = size.m * pixels;
        if (groups == 1) {
            size.batch = images;
            cublas_->sgemm(size, filters, columns, output, stream);
            return;
        }
        size.batch = groups;
        size.a_distance = size.m * products;
        for (std::int64_t image = 0; image < images; ++image)
            cublas_->sgemm(size, filters, columns + image * groups * size.b_distance,
                           output + image * groups * size.c_distance, stream);
    }

    std::shared_ptr<const Cublas> cublas_;
    ConvShape shape_;
    std::int64_t at_once_;
    Module module_;
    Kernel kernel_;
    DeviceBuffer<float> columns_;
};

} // namespace

CompileRequest im2col_request(int compute_capability) {
    return {.name = "executor/kernels/im2col.cu",
            .source = kernel_source("im2col"),
            .compute_capability = compute_capability};
}

std::int64_t im2col_images_at_once(const ConvShape &shape, std::size_t most_bytes) {
    if (is_its_own_columns(shape))
        return shape.n;
    const auto an_image = static_cast<std::size_t>(columns_of_an_image(shape)) * sizeof(float);
    return std::min(shape.n, static_cast<std::int64_t>(most_bytes / an_image));
}

bool is_its_own_columns(const ConvShape &shape) {
    return shape.r == 1 && shape.s == 1 && shape.stride_h == 1 && shape.stride_w == 1 && shape.pad_h == 0 &&
           shape.pad_w == 0;
}

std::variant<BaselineCall, std::string> im2col_cublas(const std::shared_ptr<const Cublas> &cublas,
                                                      Compiler &compiler, int compute_capability,
                                                      const ConvShape &shape) {
    for (const std::int64_t size : {shape.h + 2 * shape.pad_h, shape.w + 2 * shape.pad_w})
        if (!std::in_range<int>(size)) // coordinates in the kernel
            return std::string("maps of 2^31 rows or columns are not laid out");
    const std::size_t most = std::min(most_workspace_bytes, device_memory().free / 2);
    const std::int64_t at_once = im2col_images_at_once(shape, most);
    if (at_once == 0)
        return fmt::format("the columns of one image take more than {} bytes", most);
    const auto im2col = std::make_shared<Im2col>(cublas, compiler.compile(im2col_request(compute_capability)),
                                                 shape, at_once);
    std::string detail = is_its_own_columns(shape) ? "the input is its own columns" : "columns";
    if (!is_its_own_columns(shape))
        detail +=
            at_once == shape.n ? " of all images at once" : fmt::format(" of {} images at once", at_once);
    detail += fmt::format("; cuBLAS {} SGEMM, CUBLAS_PEDANTIC_MATH; workspace {} bytes", cublas->version(),
                          im2col->workspace_bytes());
    return BaselineCall{[im2col](const void *input, const void *filters, void *output, cudaStream_t stream) {
                            im2col->enqueue(static_cast<const float *>(input),
                                            static_cast<const float *>(filters), static_cast<float *>(output),
                                            stream);
                        },
                        std::move(detail)};
}

} // namespace convcast
