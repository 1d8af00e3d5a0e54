// A kernel of the user's own: its text, how a shape is launched, and the work that its author says it does.
// docs/own_kernel.md has the format of the file.
#pragma once

#include "model/base/checked.hpp"
#include "model/base/describe.hpp"
#include "model/machine/architecture.hpp"
#include "model/plan/plan.hpp"
#include "model/shape/expression.hpp"

#include <boost/describe.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace convcast {

/// What a launch does, as expressions; of the whole launch unless it says otherwise. Absent ones are what
/// their comments say.
struct OwnWork {
    std::optional<std::string> fmas;              ///< thread-level; the convolution's own
    std::string instructions;                     ///< of warps, FFMAs included
    std::string l2_read_bytes;                    ///< that SMs ask L2 for, in sectors of 32 bytes
    std::optional<std::string> l2_write_bytes;    ///< the output
    std::optional<std::string> dram_read_bytes;   ///< input and filters once
    std::optional<std::string> dram_write_bytes;  ///< the output, but for what L2 keeps
    std::optional<std::string> shared_wavefronts; ///< passes through shared memory; none
    std::optional<std::string> l1_wavefronts;     ///< passes of global loads through L1; none
    std::optional<std::string> steps;             ///< of a CTA: times that it waits for loads; 1
    std::optional<std::string> stages;            ///< steps that are loaded ahead, and one; 1
    std::optional<std::string> barriers;          ///< of a step; 0
    std::optional<std::string> independent_sums;  ///< accumulators of a thread; 1
    CONVCAST_MEMBERS(OwnWork, fmas, instructions, l2_read_bytes, l2_write_bytes, dram_read_bytes,
                     dram_write_bytes, shared_wavefronts, l1_wavefronts, steps, stages, barriers,
                     independent_sums)
};

/// What the compiler made of it for one shape.
struct OwnCompiled {
    std::int64_t registers = 0, static_shared_bytes = 0;
    CONVCAST_MEMBERS(OwnCompiled, registers, static_shared_bytes)
};

/// How its results are judged.
enum class Arithmetic {
    direct,      ///< products of floats, summed in any order
    transformed, ///< Winograd, FFT: relative L2 error only
    tf32         ///< factors may be rounded to TF32: relative L2 error only, and tensor cores are allowed
};
BOOST_DESCRIBE_ENUM(Arithmetic, direct, transformed, tf32)

/// How a kernel is launched and what that does, as expressions. A launch file says it.
struct OwnTerms {
    std::vector<std::string> template_arguments;
    std::map<std::string, std::string> defines; ///< macros
    /// "input", "filters", "output", or an int's expression; "int64:..." is a long long and "float:0.5" a
    /// float.
    std::vector<std::string> parameters;
    std::vector<std::string> grid, block;               ///< x, y, z
    std::optional<std::string> shared_bytes, registers; ///< dynamic, of a CTA; cap of a thread
    std::vector<std::string> conditions;                ///< that a shape must meet
    std::optional<Arithmetic> arithmetic;               ///< absent: direct
    std::optional<OwnWork> work;
};

struct OwnKernel : OwnTerms {
    std::string name;                            ///< shown as own:NAME
    std::string file;                            ///< of the source, as messages call it
    std::string source;                          ///< its text, with its own includes put in place
    std::string function;                        ///< the __global__ function
    std::map<std::string, OwnCompiled> compiled; ///< by shape, where it was compiled
    CONVCAST_MEMBERS(OwnKernel, name, file, source, function, template_arguments, defines, parameters, grid,
                     block, shared_bytes, registers, conditions, arithmetic, work, compiled)

    void check(const FieldProblem &problem) const; ///< refuses what no launch can have
};

/// A case of an own kernel has a baseline of this prefix and the kernel's name.
inline constexpr const char *own_prefix = "own:";
bool is_own(const std::string &baseline);

/// Whether both are compiled and launched alike, whatever file they were read from.
bool same_kernel(const OwnKernel &one, const OwnKernel &other);

/// How a kernel is launched for one shape: the values of the expressions of OwnTerms.
struct OwnLaunch {
    std::string expression; ///< "my_conv<3, 128>": what the compiler is asked for
    std::map<std::string, std::int64_t> defines;
    std::array<std::int64_t, 3> grid{1, 1, 1}, block{1, 1, 1};
    std::int64_t shared_bytes = 0;
    std::optional<std::int64_t> registers;
    std::int64_t threads() const { return block[0] * block[1] * block[2]; }
};

/// What the expressions of a launch may name: the shape's sizes, and `sms`.
Names own_names(const ConvShape &shape, const Gpu &gpu);

/// How `kernel` is launched for a shape, or why not. Throws UsageError, of a wrong expression.
std::variant<OwnLaunch, std::string> own_launch(const OwnKernel &kernel, const ConvShape &shape,
                                                const Gpu &gpu);

/// What is passed for a parameter: its type in C++ and its value, which tensors have not.
struct OwnArgument {
    enum class Type { tensor, int32, int64, float32 } type = Type::tensor;
    std::int64_t integer = 0;
    float real = 0.0F;
};
/// Throws UsageError where the parameter (OwnTerms::parameters) has no value that its type holds.
OwnArgument own_argument(const std::string &parameter, const Names &names);

/// The launch as a partition, of which a time can be forecast: with the work that the author declares, or
/// instead that which was `counted` in a call (nullptr: none). Absent without either. Adds to `assumptions`
/// what had to be assumed. Throws UsageError where the declared work is wrong.
std::optional<Partition> own_partition(const OwnKernel &kernel, const OwnLaunch &launch,
                                       const ConvShape &shape, const Gpu &gpu, const Work *counted,
                                       std::vector<std::string> &assumptions);

/// Reads a kernel: from a launch file in JSON, whose source stands beside it, or from a .cu file with the
/// text of --launch, "grid=ceil_div(p*q,128),k,n; block=128", which is "" for a launch file. The source gets
/// the files that it includes in quotes put in. Throws InputError and UsageError.
OwnKernel read_own_kernel(const std::string &file, const std::string &launch);

/// The files that read_own_kernel reads, as far as they exist: launch file, source, and what that includes.
std::vector<std::string> files_of_own_kernel(const std::string &file);

extern template const described::Type &described::type_of<OwnKernel>();

} // namespace convcast
