#include "executor/network/whole_kernel.hpp"

#include "model/base/errors.hpp"
#include "model/base/hash.hpp"
#include "model/network/operator_type.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convcast {
namespace {

/// `prefix` and a hash of the text, so that equal texts have one name and others differ.
std::string name_of(const std::string &prefix, const std::string &text) {
    constexpr std::size_t digits = 12;
    return prefix + content_hash({text}).substr(0, digits);
}

/// The device code of operator number `i`.
std::string device_text(const Network &network, std::size_t i) {
    return type_of(network.operators[i].kind).device(network.operators[i], network.input_shapes(i));
}

/// Generates the kernel of a launch whose outputs each depend on few inputs. A thread computes a few
/// neighbouring outputs: it gathers or loads their first values, applies each operator of the launch to them,
/// and stores them. Runs record a hash of the generated text, so the text must stay as it is.
class KernelText {
  public:
    KernelText(const Network &network, const ScheduledLaunch &launch, std::int64_t batch)
        : network_(network), launch_(launch), shape_(network.shape_of(launch.writes.of)),
          per_thread_(outputs_of_thread(network, launch, batch)),
          columns_(launch.writes.columns ? batch : 1) {}

    OperatorKernel kernel() {
        const std::size_t first = launch_.operators.front();
        const bool gathers = is_function(type_of(network_.operators[first].kind).form);
        if (gathers)
            gather(first);
        else
            line("load(value, in0 + at);");
        next_read_ = gathers ? network_.sources(first).size() : 1; // those before it are read by now
        for (std::size_t i = gathers ? 1 : 0; i < launch_.operators.size(); ++i)
            apply(i);
        line("store(out + at, value);");
        OperatorKernel kernel;
        const std::string name = name_of("map_", function_ + signature() + body_);
        kernel.text =
            function(name) + "__global__ void __launch_bounds__(256) " + name + signature() + body_ + "}\n";
        kernel.name_expression = name;
        kernel.parameters.assign(parameters_.begin(), parameters_.end());
        return kernel;
    }

  private:
    void line(const std::string &text) { body_ += "    " + text + "\n"; }

    /// The kernel's parameters, and the first lines of its body: indices of the thread's first output, and
    /// its values.
    std::string signature() const {
        std::string text = "(";
        for (std::size_t i = 0; i < launch_.reads.size(); ++i)
            text += fmt::format("const float *__restrict__ in{}, ", i);
        for (std::size_t i = 0; i < parameters_.size(); ++i)
            text += fmt::format("const float *__restrict__ p{}, ", i);
        return text +
               fmt::format(
                   "float *__restrict__ out, long long count) {{\n"
                   "    using T = float;\n"
                   "    constexpr unsigned K = {}, P = {}, Q = {};\n"
                   "    wait_for_launch_before();\n"
                   "    const unsigned at = (blockIdx.x * 256u + threadIdx.x) * {};\n"
                   "    if (at >= count)\n        return;\n"
                   "    const unsigned column [[maybe_unused]] = at % Q, row [[maybe_unused]] = at / Q % P;\n"
                   "    const unsigned channel [[maybe_unused]] = at / (P * Q) % K, image [[maybe_unused]] = "
                   "at / (K * P * Q);\n"
                   "    float value[{}];\n",
                   shape_[0], shape_[1], shape_[2] * columns_, per_thread_, per_thread_);
    }

    /// Adds the call that gathers the values of operator `i`, and puts the function it calls into function_.
    /// GATHER stands for the function's name, which is known when the text is complete.
    void gather(std::size_t i) {
        const Operator &op = network_.operators[i];
        const std::vector<ImageShape> inputs = network_.input_shapes(i);
        function_ =
            fmt::format("    [[maybe_unused]] constexpr int C = {}, H = {}, W = {}, K = {}, P = {}, Q = {};",
                        inputs[0][0], inputs[0][1], inputs[0][2], op.output[0], op.output[1], op.output[2]) +
            device_text(network_, i) + "\n}\n";
        std::vector<std::string> pointers;
        for (std::size_t read = 0; read < inputs.size(); ++read)
            pointers.push_back(fmt::format("in{} + image * {}u", read, elements(inputs[read])));
        const std::string parameter = parameters(op, inputs.front()) > 0 ? parameter_name(i) : "nullptr";
        line(fmt::format("const float *const in[] = {{{}}};", fmt::join(pointers, ", ")));
        const std::string call = fmt::format("GATHER(in, {}, channel, row, column)", parameter);
        line(copies(op) ? fmt::format("load(value, {});", call) : fmt::format("value[0] = {};", call));
    }
    /// Whether the operator's device code gives the address of its input instead of a value.
    static bool copies(const Operator &op) { return type_of(op.kind).form == DeviceForm::copy; }
    /// The definition of the function that gathers, "" if there is none; replaces GATHER in body_ by its
    /// name.
    std::string function(const std::string &kernel) {
        if (function_.empty())
            return "";
        const std::string called = kernel + "_gather";
        for (std::size_t at = 0; (at = body_.find("GATHER", at)) != std::string::npos;)
            body_.replace(at, 6, called);
        const bool copy = copies(network_.operators[launch_.operators.front()]);
        return std::string("__device__ __forceinline__ ") + (copy ? "const float *" : "float ") + called +
               "(const float *const *in, const float *p, int c, int y, int x) {\n    using T = float;\n" +
               function_;
    }

    /// Adds the parameters of operator `op` to the kernel's arguments; returns the argument's name.
    std::string parameter_name(std::size_t op) {
        parameters_.push_back(op);
        return fmt::format("p{}", parameters_.size() - 1);
    }

    /// Adds what the launch's operator number `i` does to the values. Of two inputs, one is the value so far.
    void apply(std::size_t i) {
        const std::size_t op = launch_.operators[i];
        const std::vector<std::size_t> sources = network_.sources(op);
        std::string before = "value[j]", other = "other[j]";
        line("{");
        if (sources.size() == 2) {
            const std::size_t loaded = i == 0 ? 1 : sources[0] == launch_.operators[i - 1] ? 1 : 0;
            load_other(network_.shape_of(sources[loaded]), next_read_++);
            if (loaded == 0)
                std::swap(before, other);
        }
        if (network_.parameters(op) > 0)
            line(fmt::format("    const float p = __ldg({} + channel);", parameter_name(op)));
        line("#pragma unroll");
        line(fmt::format("    for (int j = 0; j < {}; ++j) {{", per_thread_));
        line(fmt::format("        const T x = {};", before));
        if (sources.size() == 2)
            line(fmt::format("        const T y = {};", other));
        line(fmt::format("        value[j] = {};", device_text(network_, op)));
        line("    }");
        line("}");
    }

    /// Adds loads of the other input's numbers for the thread's outputs. A size of 1 in its shape is
    /// broadcast.
    void load_other(const ImageShape &other, std::size_t read) {
        line(fmt::format("    float other[{}];", per_thread_));
        if (other == shape_)
            return line(fmt::format("    load(other, in{} + at);", read));
        const auto place = [](std::int64_t size, const char *index) { return size == 1 ? "0u" : index; };
        line("#pragma unroll");
        line(fmt::format("    for (unsigned j = 0; j < {}; ++j) {{", per_thread_));
        line("        const unsigned its_column = (at + j) % Q, its_row = (at + j) / Q % P;");
        line(fmt::format("        other[j] = __ldg(in{} + image * {}u + ({} * {}u + {}) * {}u + {});", read,
                         elements(other), place(other[0], "channel"), other[1], place(other[1], "its_row"),
                         other[2], place(other[2], "its_column")));
        line("    }");
    }

    const Network &network_;
    const ScheduledLaunch &launch_;
    const ImageShape &shape_;
    std::int64_t per_thread_; ///< outputs of a thread
    std::int64_t columns_;    ///< images side by side; 1: image after image
    std::string body_, function_;
    std::vector<std::size_t> parameters_; ///< operators whose parameters are arguments
    std::size_t next_read_ = 0;           ///< of launch_.reads
};

/// The template argument of the kernel `dense`: a type with a function of(sum) that is applied to each
/// output.
struct EndType {
    std::string name = "Kept"; ///< in whole.cu: the sum as it is
    std::string text;          ///< defines the type; "" for Kept
};
/// The type that applies the functions which end a dense layer.
EndType end_type(const Network &network, const ElementSteps &steps) {
    if (steps.functions.empty())
        return {};
    const std::string body = " {\n    static __device__ __forceinline__ float of(float sum) {\n        using "
                             "T = float;\n        T x = sum;\n        " +
                             function_text(network, steps.functions) + "\n        return x;\n    }\n};\n";
    const std::string name = name_of("End_", body);
    return {name, "struct " + name + body};
}

/// The kernel of a layer norm, in which `threads_of_pixel` threads share a pixel.
OperatorKernel norm_kernel(const Operator &op, const ImageShape &shape, std::int64_t threads_of_pixel) {
    const std::string body =
        fmt::format("(const float *__restrict__ input, float *__restrict__ output) {{\n"
                    "    using T = float;\n    layer_norm<{}, {}, 256 / {}>(input, output, {});\n}}\n",
                    shape[0], shape[1] * shape[2], threads_of_pixel, device_number(*op.alpha));
    OperatorKernel kernel;
    kernel.name_expression = name_of("norm_", body);
    kernel.text = "__global__ void __launch_bounds__(256) " + kernel.name_expression + body;
    return kernel;
}

} // namespace

std::string function_text(const Network &network, const std::vector<std::size_t> &functions) {
    std::string text;
    for (const std::size_t i : functions)
        text += "x = " + device_text(network, i) + ";";
    return text;
}

OperatorKernel operator_kernel(const Network &network, const ScheduledLaunch &launch, std::int64_t batch) {
    const ImageShape &read = network.shape_of(launch.reads.front().of);
    const std::int64_t outputs = batch * elements(network.shape_of(launch.writes.of));
    const LaunchGrid grid = grid_of(network, launch, batch);
    OperatorKernel kernel;
    switch (launch.kind) {
    case LaunchKind::dense: {
        const ElementSteps steps = element_steps(network, launch);
        const EndType end = end_type(network, steps);
        const ConvShape &shape = *launch.shape;
        kernel.name_expression = fmt::format("dense<{}, {}, {}, {}, {}, {}>", shape.n, shape.c, shape.k,
                                             grid.threads_per_result, steps.bias ? 1 : 0, end.name);
        kernel.text = end.text;
        kernel.parameters = {launch.operators.front(), steps.bias};
        break;
    }
    case LaunchKind::pooling: {
        const Operator &op = network.operators[launch.operators.front()];
        if (!is_whole_channel(op, read))
            kernel = KernelText(network, launch, batch).kernel();
        else
            kernel.name_expression =
                fmt::format("pool_channels<{}, {}, {}>", op.kind == OperatorKind::max_pooling ? 1 : 0,
                            read[1] * read[2], grid.threads_per_result);
        kernel.count = outputs;
        break;
    }
    case LaunchKind::gather:
    case LaunchKind::elementwise:
        kernel = KernelText(network, launch, batch).kernel();
        kernel.count = outputs;
        break;
    case LaunchKind::softmax:
        kernel.name_expression = fmt::format("softmax<{}>", elements(read));
        break;
    case LaunchKind::layer_norm:
        kernel = norm_kernel(network.operators[launch.operators.front()], read, grid.threads_per_result);
        break;
    case LaunchKind::to_columns:
        kernel.name_expression = fmt::format("turn<{}, {}>", batch, elements(read));
        break;
    case LaunchKind::to_rows:
        kernel.name_expression = fmt::format("turn<{}, {}>", elements(read), batch);
        break;
    default:
        throw UsageError("no kernel computes " + (launch.operators.empty()
                                                      ? network.id
                                                      : network.operators[launch.operators.front()].name));
    }
    kernel.grid = grid;
    return kernel;
}

ReferenceKernel reference_kernel(const Operator &op, const std::vector<ImageShape> &inputs) {
    const OperatorType &type = type_of(op.kind);
    std::string text = "(int C, int H, int W, int K, int P, int Q, ";
    for (std::size_t i = 0; i < inputs.size(); ++i)
        text += fmt::format("const double *in{}, ", i);
    text += "const float *parameters, double *out, long long count) {\n"
            "    using T = double;\n"
            "    const long long at = blockIdx.x * 256LL + threadIdx.x;\n"
            "    if (at >= count)\n        return;\n"
            "    const int x0 = at % Q, y0 = at / Q % P, c0 = at / (P * Q) % K;\n"
            "    const long long image = at / (static_cast<long long>(K) * P * Q);\n";
    if (is_function(type.form)) {
        std::vector<std::string> pointers;
        for (std::size_t i = 0; i < inputs.size(); ++i)
            pointers.push_back(fmt::format("in{} + image * {}", i,
                                           i == 0 ? "C * H * W" : std::to_string(elements(inputs[i]))));
        text += fmt::format("    const double *const in[] = {{{}}};\n", fmt::join(pointers, ", ")) +
                "    const int c = c0, y = y0, x = x0;\n"
                "    const float *const p = parameters;\n"
                "    const auto gathered = [&]() -> " +
                (type.form == DeviceForm::copy ? "const T *" : "T") + " {" + type.device(op, inputs) +
                "\n    };\n    out[at] = " + (type.form == DeviceForm::copy ? "*" : "") + "gathered();\n}\n";
    } else {
        text += "    const T x = in0[at];\n";
        if (inputs.size() == 2) {
            const auto place = [](std::int64_t size, const char *index) { return size == 1 ? "0" : index; };
            text += fmt::format("    const T y = in1[image * {} + ({} * {} + {}) * {} + {}];\n",
                                elements(inputs[1]), place(inputs[1][0], "c0"), inputs[1][1],
                                place(inputs[1][1], "y0"), inputs[1][2], place(inputs[1][2], "x0"));
        }
        if (type.parameters)
            text += "    const T p = parameters[c0];\n";
        text += "    out[at] = " + type.device(op, inputs) + ";\n}\n";
    }
    const std::string name = name_of("reference_", text);
    return {name, "extern \"C\" __global__ void " + name + text};
}

} // namespace convcast
