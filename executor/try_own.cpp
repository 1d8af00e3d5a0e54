#include "executor/try_own.hpp"

#include "executor/case_call.hpp"
#include "executor/kept_run.hpp"
#include "executor/verify/inputs.hpp"
#include "gpu/device.hpp"
#include "gpu/memory.hpp"
#include "model/base/errors.hpp"
#include "model/base/spawn.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <functional>
#include <optional>
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

/// What went wrong with a single call; "" if nothing did.
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

std::string on_one_line(std::string text) {
    std::replace(text.begin(), text.end(), '\n', '\v');
    return text;
}

/// A process that reads `input` and what it says on its standard output.
class Trial {
  public:
    Trial(const std::string &program, const std::vector<std::string> &words, const std::string &input) try
        : input_(input) {
        std::array<int, 2> from{};
        if (::pipe2(from.data(), O_CLOEXEC) != 0)
            throw std::system_error(errno, std::generic_category(), "no pipe");
        output_ = from[0];
        std::vector<std::string> all = {program};
        all.insert(all.end(), words.begin(), words.end());
        child_.emplace(std::move(all), std::array{input_.descriptor(), from[1], -1});
        ::close(from[1]);
    } catch (const std::system_error &error) {
        throw GpuError(std::string("no process of its own for own kernels: ") + error.what());
    }
    Trial(const Trial &) = delete;
    Trial &operator=(const Trial &) = delete;
    ~Trial() { ::close(output_); }

    /// Absent where it said all that it will say.
    std::optional<std::string> line() {
        for (std::size_t end = 0; (end = said_.find('\n')) == std::string::npos;) {
            std::array<char, 4096> more{};
            const ssize_t got = ::read(output_, more.data(), more.size());
            if (got == 0 || (got < 0 && errno != EINTR))
                return std::nullopt;
            said_.append(more.data(), static_cast<std::size_t>(std::max<ssize_t>(0, got)));
        }
        std::string line = said_.substr(0, said_.find('\n'));
        said_.erase(0, line.size() + 1);
        return line;
    }

    /// Waits for its end; the signal that ended it, or 0.
    int end() { return child_->end().signal; }

  private:
    MemoryFile input_;
    std::optional<Child> child_;
    int output_ = -1;
    std::string said_;
};

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
                if (const auto *call = std::get_if<CaseCall>(&made)) // else the run says why
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
            if (item.status == Status::failed) // an earlier run's word may be out of date
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
        Trial child(program, words, write_run(rest));
        const auto fails = [&](std::string why) {
            std::replace(why.begin(), why.end(), '\v', '\n');
            open[at]->status = Status::failed;
            open[at]->reason = std::move(why);
            failed.insert(static_cast<std::size_t>(open[at++] - run.cases.data()));
        };
        const std::size_t began = at;
        bool called = false;
        while (const std::optional<std::string> line = child.line()) {
            called = *line == call_line;
            if (*line == ok_line)
                ++at;
            else if (line->starts_with(bad_line) && at < open.size())
                fails(line->substr(std::strlen(bad_line)));
            if (at == open.size())
                break;
        }
        const int signal = child.end();
        if (called && at < open.size())
            fails(signal == SIGALRM ? fmt::format("it did not return within {} s and was stopped; the other "
                                                  "cases were run",
                                                  own_trial_seconds)
                                    : "the process that called it for the first time ended");
        else if (at == began)
            throw GpuError("the process that tries own kernels ended before it called one");
    }
    return failed;
}

} // namespace convcast
