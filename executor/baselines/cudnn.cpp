#include "executor/baselines/cudnn.hpp"

#include "gpu/memory.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#ifdef CONVCAST_HAS_CUDNN
#include "executor/baselines/cudnn_library.hpp"

#include <map>
#include <utility>

namespace convcast {
namespace {

/// The functions used, typed, and the handle.
struct Functions : CudnnLibrary {
    Functions() { make_handle(); }

    decltype(&cudnnCreateTensorDescriptor) create_tensor = shared.symbol("cudnnCreateTensorDescriptor");
    decltype(&cudnnDestroyTensorDescriptor) destroy_tensor = shared.symbol("cudnnDestroyTensorDescriptor");
    decltype(&cudnnSetTensor4dDescriptor) set_tensor = shared.symbol("cudnnSetTensor4dDescriptor");
    decltype(&cudnnCreateFilterDescriptor) create_filter = shared.symbol("cudnnCreateFilterDescriptor");
    decltype(&cudnnDestroyFilterDescriptor) destroy_filter = shared.symbol("cudnnDestroyFilterDescriptor");
    decltype(&cudnnSetFilter4dDescriptor) set_filter = shared.symbol("cudnnSetFilter4dDescriptor");
    decltype(&cudnnCreateConvolutionDescriptor) create_convolution =
        shared.symbol("cudnnCreateConvolutionDescriptor");
    decltype(&cudnnDestroyConvolutionDescriptor) destroy_convolution =
        shared.symbol("cudnnDestroyConvolutionDescriptor");
    decltype(&cudnnSetConvolution2dDescriptor) set_convolution =
        shared.symbol("cudnnSetConvolution2dDescriptor");
    decltype(&cudnnSetConvolutionMathType) set_math = shared.symbol("cudnnSetConvolutionMathType");
    decltype(&cudnnSetConvolutionGroupCount) set_groups = shared.symbol("cudnnSetConvolutionGroupCount");
    decltype(&cudnnGetConvolutionForwardWorkspaceSize) workspace_size =
        shared.symbol("cudnnGetConvolutionForwardWorkspaceSize");
    decltype(&cudnnConvolutionForward) forward = shared.symbol("cudnnConvolutionForward");
};

/// What baselines() names.
const std::map<std::string, cudnnConvolutionFwdAlgo_t> algorithms = {
    {"cudnn:implicit_gemm", CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM},
    {"cudnn:implicit_precomp_gemm", CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM},
    {"cudnn:gemm", CUDNN_CONVOLUTION_FWD_ALGO_GEMM},
    {"cudnn:direct", CUDNN_CONVOLUTION_FWD_ALGO_DIRECT},
    {"cudnn:fft", CUDNN_CONVOLUTION_FWD_ALGO_FFT},
    {"cudnn:fft_tiling", CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING},
    {"cudnn:winograd", CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD},
    {"cudnn:winograd_nonfused", CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED},
};

/// Descriptors and workspace of one algorithm for one shape.
class Convolution {
  public:
    Convolution(std::shared_ptr<const Functions> library, const ConvShape &shape,
                cudnnConvolutionFwdAlgo_t algorithm)
        : library_(std::move(library)), algorithm_(algorithm) {
        const auto i = [](std::int64_t size) {
            if (!std::in_range<int>(size))
                throw GpuError("cuDNN takes sizes of 32 bits, got " + std::to_string(size));
            return static_cast<int>(size);
        };
        const Functions &cudnn = *library_;
        cudnn.check(cudnn.create_tensor(&input_), "cudnnCreateTensorDescriptor");
        cudnn.check(cudnn.create_tensor(&output_), "cudnnCreateTensorDescriptor");
        cudnn.check(cudnn.create_filter(&filters_), "cudnnCreateFilterDescriptor");
        cudnn.check(cudnn.create_convolution(&convolution_), "cudnnCreateConvolutionDescriptor");
        cudnn.check(cudnn.set_tensor(input_, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, i(shape.n), i(shape.c),
                                     i(shape.h), i(shape.w)),
                    "cudnnSetTensor4dDescriptor");
        cudnn.check(cudnn.set_tensor(output_, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, i(shape.n), i(shape.k),
                                     i(shape.p()), i(shape.q())),
                    "cudnnSetTensor4dDescriptor");
        cudnn.check(cudnn.set_filter(filters_, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, i(shape.k),
                                     i(shape.c / shape.groups), i(shape.r), i(shape.s)),
                    "cudnnSetFilter4dDescriptor");
        cudnn.check(cudnn.set_convolution(convolution_, i(shape.pad_h), i(shape.pad_w), i(shape.stride_h),
                                          i(shape.stride_w), i(shape.dilation_h), i(shape.dilation_w),
                                          CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
                    "cudnnSetConvolution2dDescriptor");
        cudnn.check(cudnn.set_groups(convolution_, i(shape.groups)), "cudnnSetConvolutionGroupCount");
        cudnn.check(cudnn.set_math(convolution_, CUDNN_FMA_MATH), "cudnnSetConvolutionMathType");
    }
    Convolution(const Convolution &) = delete;
    Convolution &operator=(const Convolution &) = delete;
    ~Convolution() {
        (void)library_->destroy_convolution(convolution_);
        (void)library_->destroy_filter(filters_);
        (void)library_->destroy_tensor(output_);
        (void)library_->destroy_tensor(input_);
    }

    /// Asks cuDNN whether it can and makes the workspace; why not otherwise, "" if it can.
    std::string why_unsupported() {
        std::size_t bytes = 0;
        const cudnnStatus_t status = library_->workspace_size(library_->handle, input_, filters_,
                                                              convolution_, output_, algorithm_, &bytes);
        if (status != CUDNN_STATUS_SUCCESS)
            return "cuDNN: " + library_->text(status);
        const std::size_t free = device_memory().free;
        if (bytes > most_workspace_bytes || bytes > free)
            return fmt::format("cuDNN wants a workspace of {} bytes; {} are free and {} allowed", bytes, free,
                               most_workspace_bytes);
        workspace_ = DeviceBuffer<unsigned char>(bytes);
        return "";
    }

    std::size_t workspace_bytes() const { return workspace_.bytes(); }

    /// Some algorithms are refused only when they are run.
    cudnnStatus_t run(const void *input, const void *filters, void *output, cudaStream_t stream) {
        const float one = 1.0F, zero = 0.0F;
        if (const cudnnStatus_t status = library_->set_stream(library_->handle, stream);
            status != CUDNN_STATUS_SUCCESS)
            return status;
        return library_->forward(library_->handle, &one, input_, input, filters_, filters, convolution_,
                                 algorithm_, workspace_.data(), workspace_.bytes(), &zero, output_, output);
    }

  private:
    std::shared_ptr<const Functions> library_;
    cudnnConvolutionFwdAlgo_t algorithm_;
    cudnnTensorDescriptor_t input_ = nullptr, output_ = nullptr;
    cudnnFilterDescriptor_t filters_ = nullptr;
    cudnnConvolutionDescriptor_t convolution_ = nullptr;
    DeviceBuffer<unsigned char> workspace_;
};

class OpenedCudnn : public Cudnn {
  public:
    std::string version() const override { return library_->version(); }

    std::variant<BaselineCall, std::string> call(const std::string &baseline,
                                                 const ConvShape &shape) const override {
        const auto algorithm = algorithms.find(baseline);
        if (algorithm == algorithms.end())
            return "unknown baseline '" + baseline + "'";
        auto convolution = std::make_shared<Convolution>(library_, shape, algorithm->second);
        if (std::string why = convolution->why_unsupported(); !why.empty())
            return why;
        // One call on scratch tensors finds out what is refused only when run.
        DeviceBuffer<float> input(static_cast<std::size_t>(shape.input_elements())),
            filters(static_cast<std::size_t>(shape.filter_elements())),
            output(static_cast<std::size_t>(shape.output_elements()));
        const cudnnStatus_t status = convolution->run(input.data(), filters.data(), output.data(), nullptr);
        if (status != CUDNN_STATUS_SUCCESS) {
            check(cudaDeviceSynchronize(), "cudaDeviceSynchronize after a refused cudnnConvolutionForward");
            return "cuDNN: " + library_->text(status);
        }
        return BaselineCall{
            [library = library_, convolution](const void *x, const void *w, void *y, cudaStream_t stream) {
                library->check(convolution->run(x, w, y, stream), "cudnnConvolutionForward");
            },
            fmt::format("workspace {} bytes", convolution->workspace_bytes())};
    }

  private:
    std::shared_ptr<const Functions> library_ = std::make_shared<const Functions>();
};

} // namespace

std::shared_ptr<const Cudnn> open_cudnn() {
    return std::make_shared<const OpenedCudnn>();
}

} // namespace convcast

#else

std::shared_ptr<const convcast::Cudnn> convcast::open_cudnn() {
    throw GpuError("built without cuDNN headers: its convolutions cannot be run");
}

#endif
