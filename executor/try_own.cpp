#include "executor/try_own.hpp"

#include "executor/case_call.hpp"
#include "executor/kept_run.hpp"
#include "executor/verify/inputs.hpp"
#include "gpu/device.hpp"
#include "gpu/memory.hpp"
#include "model/base/errors.hpp"
#include "model/base/spawn.hpp"
#include "model/base/text.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {
namespace {

constexpr const char *call_line = "call", *ok_line = "ok", *bad_line = "bad ";

/// Calls a kernel once. Returns what went wrong; "" if nothing did. Throws DeviceLost if the GPU's state is
/// broken.
std::string tried(const ConvCall &call, const ConvShape &shape, const std::function<void()> &before_call) {
    const Inputs inputs = real_inputs(shape, 1);
    const DeviceBuffer<float> input{std::span(inputs.input)}, filters{std::span(inputs.filters)};
    GuardedBuffer<float> output(static_cast<std::size_t>(shape.output_elements()));
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    before_call();
    call(input.data(), filters.data(), output.data(), nullptr);
    if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
        const std::string why =
            fmt::format("the GPU stopped it: {} ({})", cudaGetErrorString(error), cudaGetErrorName(error));
        if (is_sticky(error))
            throw DeviceLost(why);
        (void)cudaGetLastError();
        return why;
    }
    if (!output.guards_intact())
        return "it writes outside its output";
    if (input.to_host() != inputs.input || filters.to_host() != inputs.filters)
        return "it writes over its input or its filters";
    return "";
}

/// Ends of lines become vertical tabs, which try_own_kernels_apart() turns back.
std::string on_one_line(std::string text) {
    std::replace(text.begin(), text.end(), '\n', '\v');
    return text;
}

struct Said {
    std::vector<std::string> lines;
    int signal = 0; ///< that ended the program; 0: none
};
/// Runs a program with `input` on its standard input. Returns the whole lines that it wrote until it ended.
/// Throws GpuError if it cannot be started.
Said said_by(std::vector<std::string> words, const std::string &input) try {
    const MemoryFile in(input), out;
    const int signal = Child(std::move(words), {in.descriptor(), out.descriptor(), -1}).end().signal;
    std::vector<std::string> lines = split(out.content(), '\n');
    if (!lines.empty())
        lines.pop_back(); // the rest behind the last end of a line: no whole line
    return {std::move(lines), signal};
} catch (const std::system_error &error) {
    throw GpuError(std::string("no process of its own for own kernels: ") + error.what());
}

bool is_open_own(const Case &item) {
    return item.baseline && is_own(*item.baseline) && is_open(item);
}

} // namespace

void try_own_kernels(const Run &run, Compiler &compiler, const Device &device, const GpuProfile &profile,
                     const std::function<void(const std::string &)> &say) {
    for (const Case &open : run.cases) {
        if (!is_open_own(open))
            continue;
        Case item = open;
        const OwnKernel *kernel = run.own_kernel(*item.baseline);
        std::string wrong = kernel ? "" : "the document does not hold this kernel";
        try {
            const ConvShape shape = ConvShape::parse(item.shape);
            if (kernel != nullptr) {
                const MadeCall made = own_kernel_call(item, *kernel, shape, profile, compiler,
                                                      device.facts().compute_capability());
                if (const auto *call = std::get_if<CaseCall>(&made)) // else run_case gives the reason
                    wrong = tried(call->call, shape, [&] {
                        say(call_line);
                        ::alarm(own_trial_seconds);
                    });
            }
        } catch (const DeviceLost &error) {
            ::alarm(0);
            say(bad_line + on_one_line(error.what()));
            return; // nothing more can be tried in this process
        } catch (const GpuError &error) {
            (void)cudaGetLastError();
            wrong = error.what();
        } catch (const UsageError &error) { // an expression of the document
            wrong = error.what();
        }
        ::alarm(0);
        say(wrong.empty() ? ok_line : bad_line + on_one_line(wrong));
    }
}

std::set<std::size_t> try_own_kernels_apart(Run &run, const std::string &program,
                                            const std::vector<std::string> &words) {
    std::vector<Case *> open;
    for (Case &item : run.cases)
        if (is_open_own(item)) {
            open.push_back(&item);
            if (item.status == Status::failed) // found by an earlier run, and perhaps no longer so
                item.status = Status::not_run, item.reason = "not run yet";
        }
    std::set<std::size_t> failed;
    for (std::size_t at = 0; at < open.size();) {
        Run rest = run;
        rest.cases.clear();
        rest.unread.clear();
        for (std::size_t i = at; i < open.size(); ++i) {
            Case &item = rest.cases.emplace_back();
            item.shape = open[i]->shape;
            item.baseline = open[i]->baseline;
        }
        std::vector<std::string> all = {program};
        all.insert(all.end(), words.begin(), words.end());
        const Said said = said_by(std::move(all), write_run(rest));
        const auto fails = [&](std::string why) { // the case `at`; goes on to the next
            std::replace(why.begin(), why.end(), '\v', '\n');
            open[at]->status = Status::failed;
            open[at]->reason = std::move(why);
            failed.insert(static_cast<std::size_t>(open[at++] - run.cases.data()));
        };
        const std::size_t began = at;
        bool called = false;
        for (const std::string &line : said.lines) {
            if (at == open.size())
                break;
            called = line == call_line;
            if (line == ok_line)
                ++at;
            else if (line.starts_with(bad_line))
                fails(line.substr(std::strlen(bad_line)));
        }
        if (called && at < open.size())
            fails(said.signal == SIGALRM
                      ? fmt::format("it did not return within {} s and was stopped; the other "
                                    "cases were run",
                                    own_trial_seconds)
                      : "the process that called it for the first time ended");
        else if (at == began)
            throw GpuError("the process that tries own kernels ended before it called one");
    }
    return failed;
}

} // namespace convcast
