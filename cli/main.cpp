// convcast VERB [options]: finds the verb, and turns what went wrong into one sentence and an exit code.
#include "cli/arguments.hpp"
#include "cli/help.hpp"
#include "cli/interrupt.hpp"
#include "cli/progress.hpp"
#include "cli/shipped.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "cli/version.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <vector>

namespace convcast::cli {
namespace {

using Words = std::vector<std::string>;

/// Exit codes of main. Two more: `measure` returns 6 (not trustworthy), cli/interrupt.cpp ends with 130.
enum ExitCode {
    ok = 0,
    check_failed = 1,
    usage = 2,
    bad_file = 3,
    no_gpu = 4,
    no_counters = 5,
    closed_pipe = 141
};

/// Prints a page of help, also into a pipe, in the width of other answers: pagers do not wrap lines.
int print_page(const std::string &page) {
    write_file_atomically("-", fitted(page, page_width()));
    return ok;
}

std::string overview() {
    std::string text =
        program_summary() + "\n\nusage:\n  convcast VERB [options]\n  convcast VERB --help\n\n";
    for (const Verb &verb : verbs())
        text += fmt::format("  {:<10}{}\n", verb.name, verb.summary);
    text += "\nto begin:\n"
            "  convcast choose --shape n1c64h56w56k64r3s3         what to take for a layer, without a GPU\n"
            "  convcast predict --gpu gtx1080ti --study vgg16_b1  times on another GPU\n"
            "  convcast list                                      the GPUs, studies and networks\n"
            "  convcast explain \"memory bound\"                    what a word of an answer means\n";
    const std::string title = "exit codes: ";
    text += "\n" + title;
    for (const char letter : exit_codes())
        text += letter == '\n' ? "\n" + std::string(title.size(), ' ') : std::string(1, letter);
    return text + "\n";
}

/// The words with paths such as data/... replaced by those of installed files, so that the commands of help
/// and docs work in any folder. The file behind -o is written, and stays as it is.
Words with_shipped_files(Words words) {
    for (std::size_t i = 0; i < words.size(); ++i)
        if (i == 0 || (words[i - 1] != "-o" && words[i - 1] != "--output"))
            words[i] = shipped_file(words[i]);
    return words;
}

/// Does what the words of the command line ask. Returns the exit code.
int dispatch(const Words &words) {
    if (words.empty())
        throw UsageError("no verb given\n\n" + overview());
    const std::string &name = words.front();
    const bool help = name == "--help" || name == "-h" || name == "help";
    if (name == completion_verb)
        return write_file_atomically("-", completions_of(Words(words.begin() + 1, words.end()))), ok;
    if (help && words.size() == 2 && has_help(words[1]))
        return print_page(help_text(words[1]));
    if ((help || name == "--version") && words.size() > 1)
        throw UsageError("unexpected word '" + words[1] + "' after " + name + "; type convcast " + name +
                         (name == "help" ? ", or convcast VERB --help" : ""));
    if (help)
        return print_page(overview());
    if (name == "--version") {
        const Producer made = producer();
        write_file_atomically("-", "convcast " + made.version + "\ndevice code " + made.device_code_hash +
                                       "\nmeasuring code " + made.measuring_code_hash + "\n");
        return ok;
    }
    std::vector<std::string> names;
    for (const Verb &verb : verbs()) {
        if (name == verb.name) {
            const Arguments arguments(name, with_shipped_files(Words(words.begin() + 1, words.end())));
            if (arguments.has("help"))
                return print_page(help_text(name));
            if (arguments.text("progress", "text") == "json")
                say_as(Said::json);
            return verb.run(arguments);
        }
        names.push_back(verb.name);
    }
    throw UsageError("unknown verb '" + name + "'" + did_you_mean(name, names) + " Verbs: " + join(names));
}

/// Ends quietly by SIGPIPE, as other programs do that write where nobody reads; a shell shows that as 141.
int end_with_the_pipe() {
    std::signal(SIGPIPE, SIG_DFL);
    std::raise(SIGPIPE);
    return closed_pipe; // the signal is blocked
}

/// Says what failed and returns the exit code. After an interrupt it ends the program as interrupted instead:
/// files that the interrupt removed, such as a kernel that was being written, may be what is missed.
int fail(ExitCode code, const std::string &what) {
    if (OnInterrupt::flag())
        OnInterrupt::finish();
    say(what);
    return code;
}

} // namespace

const std::vector<Verb> &verbs() {
    static const std::vector<Verb> all = {
        {"measure", "what this GPU can do -> a profile", measure},
        {"adapt", "a new GPU in one command -> all that forecasts of it need", adapt},
        {"predict", "profile and shape -> time, work, regime, and why", predict},
        {"choose", "rank strategies and knobs for a shape", choose},
        {"run", "the same partitionings for real: verify, time, count", run},
        {"compile", "the kernels that a run will ask for: registers, spills; no GPU", compile},
        {"import", "an ONNX model -> a network file", import},
        {"facts", "counters of a run -> what the compiler makes of each kernel", facts},
        {"fit", "measured times -> the four numbers that no probe gives", fit},
        {"merge", "the documents of a run that was spread over machines -> one", merge},
        {"report", "a run or a profile -> the page and the figures", report},
        {"reproduce", "a paper's tables and figures: published, forecast, measured", reproduce},
        {"compare", "two runs, or profiles of several GPUs", compare},
        {"explain", "what a number, a term, a regime or a rule means", explain},
        {"list", "strategies, baselines, GPUs, studies, networks", list},
        {"doctor", "what works here, what does not, what to do", doctor}};
    return all;
}

std::string program_summary() {
    return "convcast forecasts GPU convolution kernels, runs them, and sets forecast against measurement.";
}

std::string exit_codes() {
    return "0 ok, 1 a check failed, 2 usage, 3 an input or output file, 4 no usable GPU,\n"
           "5 counters required but not permitted, 6 not trustworthy (measure --strict),\n"
           "130 interrupted, 141 nobody reads standard output any more (as after | head)";
}

} // namespace convcast::cli

int main(int argc, char **argv) {
    using namespace convcast::cli;
    // A closed pipe and a file size limit become exceptions: what is being written is still tidied up.
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
    end_on_interrupts();
    try {
        return dispatch(Words(argv + 1, argv + argc));
    } catch (const convcast::UsageError &error) {
        return fail(usage, error.what());
    } catch (const convcast::ClosedPipe &) {
        return end_with_the_pipe();
    } catch (const convcast::InputError &error) {
        return fail(bad_file, error.what());
    } catch (const std::filesystem::filesystem_error &error) { // a folder that cannot be reached
        return fail(bad_file, error.path1().string() + ": " + error.code().message());
    } catch (const convcast::CounterPermissionError &error) {
        return fail(no_counters, error.what());
    } catch (const convcast::GpuError &error) {
        return fail(no_gpu, error.what());
    } catch (const std::bad_alloc &) {
        return fail(check_failed, "out of memory; a smaller --shape or fewer cases may fit");
    } catch (const std::exception &error) {
        return fail(check_failed, std::string("internal error: ") + error.what());
    }
}
