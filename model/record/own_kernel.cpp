#include "model/record/own_kernel.hpp"

#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/text.hpp"
#include "model/plan/occupancy.hpp"
#include "model/shape/number_expression.hpp"
#include "model/work/tensors.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace convcast {
namespace {

/// Limits of CUDA.
constexpr std::int64_t most_grid_x = 2147483647, most_grid_yz = 65535, most_cta_threads = 1024;
constexpr std::int64_t lanes = 32; ///< of a warp
/// Registers of a thread that neither author nor compiler says. Chosen: two CTAs of 512 threads fit an SM.
constexpr std::int64_t assumed_registers = 64;

/// Whether a text may be the name of a function in C++, with its namespaces.
bool is_identifier(const std::string &text) {
    return !text.empty() && text.size() <= 200 &&
           text.find_first_not_of("abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_:") == std::string::npos;
}

/// The value of an expression. Throws UsageError that begins with the name of the field.
std::int64_t value_of_field(const char *field, const std::string &text, const Names &names) {
    try {
        return evaluate(text, names);
    } catch (const UsageError &error) {
        throw UsageError(std::string(field) + ": " + error.what());
    }
}

/// Whether a parameter, argument or condition has a size, as "stride_h": then the author has thought of it.
bool mentions(const OwnKernel &kernel, const std::string &size) {
    std::vector<std::string> all = kernel.parameters;
    all.insert(all.end(), kernel.template_arguments.begin(), kernel.template_arguments.end());
    all.insert(all.end(), kernel.conditions.begin(), kernel.conditions.end());
    for (const auto &[name, value] : kernel.defines)
        all.push_back(value);
    return std::any_of(all.begin(), all.end(),
                       [&](const std::string &text) { return text.find(size) != std::string::npos; });
}

/// Why the kernel would compute something else than the shape: a stride, padding, dilation or groups that are
/// not usual and of which its launch tells it nothing; "" if there is none.
std::string untold(const OwnKernel &kernel, const ConvShape &s) {
    for (const auto &[name, size, usual] : shape_sizes)
        if (usual && s.*size != usual && !mentions(kernel, name))
            return "the shape's " + std::string(name) + " is " + std::to_string(s.*size) +
                   ", which is not passed to the kernel; if the kernel can compute such shapes, put " + name +
                   " among its \"parameters\"";
    return "";
}

/// The sizes x, y and z of a grid or a block; those that are not given are 1.
std::array<std::int64_t, 3> extent(const char *field, const std::vector<std::string> &texts,
                                   const Names &names) {
    std::array<std::int64_t, 3> values{1, 1, 1};
    for (std::size_t i = 0; i < std::min(texts.size(), values.size()); ++i)
        values[i] = value_of_field(field, texts[i], names);
    return values;
}

} // namespace

bool is_own(const std::string &baseline) {
    return baseline.starts_with(own_prefix);
}

bool same_kernel(const OwnKernel &one, const OwnKernel &other) {
    const auto text = [](OwnKernel kernel) {
        kernel.file.clear();
        kernel.compiled.clear();
        std::string source; // without the lines that name files
        for (const std::string_view line : lines_of(kernel.source))
            if (!line.starts_with("#line "))
                source.append(line) += '\n';
        kernel.source = std::move(source);
        return to_text(described::write(kernel));
    };
    return text(one) == text(other);
}

void OwnKernel::check(const FieldProblem &problem) const {
    if (name.empty() || name.size() > 100 || name.find_first_of(" \t\n\"',;:") != std::string::npos)
        problem("name", "expected a name without spaces, commas and colons, for example \"my_conv\"");
    if (!is_identifier(function))
        problem("function", "expected the name of a __global__ function, for example \"my_conv\"");
    for (const auto &[field, list] : {std::pair{"grid", &grid}, {"block", &block}})
        if (list->empty() || list->size() > 3)
            problem(field, "expected one to three expressions, x first, for example [\"ceil_div(p * q, "
                           "128)\", \"k\", \"n\"]");
    for (const auto &[macro, value] : defines)
        if (!is_identifier(macro) || macro.find(':') != std::string::npos)
            problem("defines", "expected names of macros, got \"" + shortened(macro) + "\"");
    if (std::count(parameters.begin(), parameters.end(), "output") != 1)
        problem("parameters", "expected \"output\" once among them, for example [\"input\", \"filters\", "
                              "\"output\", \"n\", \"c\"]");
}

Names own_names(const ConvShape &shape, const Gpu &gpu) {
    Names names = names_of(shape);
    names["sms"] = gpu.limits.sm_count;
    return names;
}

std::variant<OwnLaunch, std::string> own_launch(const OwnKernel &kernel, const ConvShape &shape,
                                                const Gpu &gpu) {
    if (shape.dtype != DataType::f32)
        return "own kernels are called with floats";
    if (const std::string why = untold(kernel, shape); !why.empty())
        return why;
    const Names names = own_names(shape, gpu);
    for (const std::string &condition : kernel.conditions)
        if (value_of_field("conditions", condition, names) == 0)
            return "the kernel does only shapes with " + condition;
    OwnLaunch launch;
    std::vector<std::string> arguments;
    for (const std::string &argument : kernel.template_arguments)
        arguments.push_back(std::to_string(value_of_field("template_arguments", argument, names)));
    launch.expression = kernel.function + (arguments.empty() ? "" : "<" + join(arguments) + ">");
    for (const auto &[macro, value] : kernel.defines)
        launch.defines[macro] = value_of_field("defines", value, names);
    launch.grid = extent("grid", kernel.grid, names);
    launch.block = extent("block", kernel.block, names);
    if (kernel.shared_bytes)
        launch.shared_bytes = value_of_field("shared_bytes", *kernel.shared_bytes, names);
    if (kernel.registers)
        launch.registers = value_of_field("registers", *kernel.registers, names);
    for (const std::string &parameter : kernel.parameters)
        (void)own_argument(parameter, names); // throws where it has no value
    for (std::size_t i = 0; i < 3; ++i)
        if (launch.grid[i] < 1 || launch.grid[i] > (i == 0 ? most_grid_x : most_grid_yz))
            return "its grid is " + std::to_string(launch.grid[i]) + " along " + "xyz"[i] +
                   ", which no GPU launches";
    for (const std::int64_t size : launch.block)
        if (size < 1 || size > most_cta_threads)
            return "its block has " + std::to_string(size) + " threads along an axis, expected 1 to 1024";
    if (launch.threads() > most_cta_threads)
        return "its block has " + std::to_string(launch.threads()) + " threads, more than 1024";
    if (launch.shared_bytes < 0 || launch.shared_bytes > gpu.limits.shared_bytes_per_cta)
        return "it asks for " + std::to_string(launch.shared_bytes) +
               " bytes of dynamic shared memory, a CTA of this GPU can have " +
               std::to_string(gpu.limits.shared_bytes_per_cta);
    if (launch.registers && (*launch.registers < 16 || *launch.registers > 255))
        return "its cap of " + std::to_string(*launch.registers) + " registers is none from 16 to 255";
    return launch;
}

OwnArgument own_argument(const std::string &parameter, const Names &names) {
    if (parameter == "input" || parameter == "filters" || parameter == "output")
        return {};
    constexpr std::string_view wide = "int64:", real = "float:";
    OwnArgument out;
    if (parameter.starts_with(real)) {
        out.type = OwnArgument::Type::float32;
        const auto number = number_of<float>(std::string_view(parameter).substr(real.size()));
        if (!number)
            throw UsageError("parameters: expected a number behind float:, for example float:0.5, got '" +
                             shortened(parameter) + "'");
        out.real = *number;
        return out;
    }
    const bool is_wide = parameter.starts_with(wide);
    out.type = is_wide ? OwnArgument::Type::int64 : OwnArgument::Type::int32;
    out.integer = value_of_field("parameters", parameter.substr(is_wide ? wide.size() : 0), names);
    if (!is_wide && !std::in_range<std::int32_t>(out.integer))
        throw UsageError("parameters: " + shortened(parameter) + " is " + std::to_string(out.integer) +
                         ", which no int holds; int64:" + shortened(parameter) + " is a long long");
    return out;
}

namespace {

/// The work of the whole launch as its author declares it; what he leaves out is as OwnWork says. Throws
/// UsageError of an expression below zero, and of more FMAs than the instructions can do.
Work declared_work(const OwnWork &declared, const ConvShape &shape, const Gpu &gpu, const Names &names) {
    const auto value = [&](const char *field, const std::string &text) {
        const std::int64_t its = value_of_field(field, text, names);
        if (its < 0)
            throw UsageError(std::string("work: ") + field + " is " + std::to_string(its) +
                             ", expected no number below zero");
        return static_cast<double>(its);
    };
    const auto or_else = [&](const char *field, const std::optional<std::string> &text, double otherwise) {
        return text ? value(field, *text) : otherwise;
    };
    Work work;
    work.fmas = or_else("fmas", declared.fmas, shape.fmas().value);
    work.instructions = value("instructions", declared.instructions);
    work.l2_read_bytes = value("l2_read_bytes", declared.l2_read_bytes);
    fill_dram(work, shape, gpu); // sets both numbers of DRAM
    work.l2_write_bytes =
        or_else("l2_write_bytes", declared.l2_write_bytes, static_cast<double>(shape.output_bytes()));
    work.dram_read_bytes = or_else("dram_read_bytes", declared.dram_read_bytes, *work.dram_read_bytes);
    work.dram_write_bytes = or_else("dram_write_bytes", declared.dram_write_bytes, *work.dram_write_bytes);
    work.shared_wavefronts = or_else("shared_wavefronts", declared.shared_wavefronts, 0.0);
    if (*work.fmas > static_cast<double>(lanes) * *work.instructions)
        throw UsageError("work: fmas are more than 32 for each of the instructions, which are of warps and "
                         "include FFMAs");
    return work;
}

} // namespace

std::optional<Partition> own_partition(const OwnKernel &kernel, const OwnLaunch &launch,
                                       const ConvShape &shape, const Gpu &gpu, const Work *counted,
                                       std::vector<std::string> &assumptions) {
    if (!kernel.work && counted == nullptr)
        return std::nullopt;
    Partition part;
    part.kernel = own_prefix + kernel.name;
    part.grid = launch.grid;
    part.threads = launch.threads();
    part.shared_bytes = launch.shared_bytes;
    std::int64_t registers = launch.registers.value_or(assumed_registers), static_shared = 0;
    if (const auto found = kernel.compiled.find(shape.id()); found != kernel.compiled.end()) {
        registers = found->second.registers;
        static_shared = found->second.static_shared_bytes;
    } else if (!launch.registers) {
        assumptions.push_back("a thread has " + std::to_string(assumed_registers) +
                              " registers: its launch names no cap, and it was not compiled");
    }
    part.register_cap = registers;
    part.ctas_per_sm = resident_ctas(gpu, part.threads, registers, launch.shared_bytes + static_shared);
    if (part.ctas_per_sm < 1) {
        assumptions.push_back("no CTA of it fits an SM; the forecast assumes that one does");
        part.ctas_per_sm = 1;
    }
    fill_schedule(part, gpu.limits);
    part.busy_warps = (part.threads + lanes - 1) / lanes;
    part.filter_count = shape.k;

    Names names = own_names(shape, gpu);
    names["ctas"] = part.ctas;
    names["threads"] = part.threads;
    const OwnWork declared = kernel.work.value_or(OwnWork{});
    const auto number = [&](const char *field, const std::optional<std::string> &text, std::int64_t least,
                            std::int64_t otherwise) {
        return std::max(least, text ? value_of_field(field, *text, names) : otherwise);
    };
    part.steps = number("steps", declared.steps, 1, 1);
    part.stages = number("stages", declared.stages, 1, 1);
    part.barriers = number("barriers", declared.barriers, 0, 0);
    part.independent_sums = number("independent_sums", declared.independent_sums, 1, 1);
    if (kernel.work)
        part.work = declared_work(*kernel.work, shape, gpu, names);
    if (counted != nullptr) {
        for (const auto field :
             {&Work::fmas, &Work::instructions, &Work::l2_read_bytes, &Work::l2_write_bytes,
              &Work::dram_read_bytes, &Work::dram_write_bytes, &Work::shared_wavefronts})
            if (counted->*field)
                part.work.*field = counted->*field;
        if (!part.work.fmas)
            part.work.fmas = shape.fmas().value;
        assumptions.emplace_back("the forecast uses the work that was counted in a call");
    }
    // The work of the launch, in equal parts, as that of a step of one CTA.
    const double ctas = static_cast<double>(part.ctas),
                 of_step = 1.0 / (ctas * static_cast<double>(part.steps));
    const double l1 = static_cast<double>(number("l1_wavefronts", declared.l1_wavefronts, 0, 0));
    const Work &work = part.work;
    part.step.fmas = work.fmas.value_or(0.0) * of_step;
    part.step.instructions = std::max(work.instructions.value_or(0.0) * of_step, part.step.fmas / lanes);
    part.step.shared_wavefronts = (work.shared_wavefronts.value_or(0.0) + l1) * of_step;
    part.step.load_bytes = work.l2_read_bytes.value_or(0.0) * of_step;
    part.drain.store_bytes = work.l2_write_bytes.value_or(0.0) / ctas;
    return part;
}

template const described::Type &described::type_of<OwnKernel>();

} // namespace convcast
