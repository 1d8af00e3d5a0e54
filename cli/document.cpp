#include "cli/document.hpp"

#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "cli/question.hpp"
#include "executor/baselines/names.hpp"
#include "executor/launch/kernel_source.hpp"
#include "model/again.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/json.hpp"
#include "model/network/network.hpp"
#include "model/record/elsewhere.hpp"
#include "model/record/own_kernel.hpp"
#include "model/record/run_lines.hpp"
#include "model/record/shape_list.hpp"
#include "model/record/shards.hpp"
#include "reports/paper_figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

/// A file that a command reads.
struct Input {
    std::string file;
    std::string option; ///< "--gpu"; "" for a word of its own
    std::string what;   ///< "profile"
};

/// Every file that the command reads and that exists, with those that a kernel's launch file names and those
/// in a folder of --data or --gpu. With Documents::filled without the documents that may be written back.
std::vector<Input> inputs_of(const Arguments &arguments, Documents documents) {
    std::vector<Input> inputs;
    if (documents == Documents::read)
        for (const std::string &file : arguments.positional())
            inputs.push_back({file, "", "document"});
    // The value of any option may be a file that is read, except of options that write.
    const OptionTable &table = option_table();
    for (const std::string &option : arguments.given()) {
        if (table.writes.contains(option) || (option == "resume" && documents == Documents::filled))
            continue;
        const auto kind = table.reads.find(option);
        for (const std::string &file : arguments.texts(option))
            inputs.push_back({file, "--" + option, kind == table.reads.end() ? "document" : kind->second});
    }
    // Files that a launch file names, and files in a folder.
    std::vector<Input> more;
    for (const Input &input : inputs) {
        std::error_code none;
        if (input.option == "--kernel" && std::filesystem::is_regular_file(input.file, none))
            for (std::string &file : files_of_own_kernel(input.file))
                more.push_back({std::move(file), input.option, input.what});
        else if (input.option == "--data" || input.option == "--gpu")
            for (const auto &entry : std::filesystem::directory_iterator(input.file, none))
                more.push_back({entry.path().string(), input.option, input.what});
    }
    std::move(more.begin(), more.end(), std::back_inserter(inputs));
    // What is left out is no file: standard input, the name of something that ships, a folder.
    std::erase_if(inputs, [](const Input &input) {
        std::error_code none;
        return input.file == "-" || !file_exists(input.file) ||
               std::filesystem::is_directory(input.file, none);
    });
    return inputs;
}

/// What an option writes.
struct Output {
    std::string option, name; ///< "-o", and the file or folder behind it
    std::vector<std::filesystem::path>
        files; ///< that may be written: the file itself, or those in the folder
};

/// Throws UsageError where the command would write a file that it reads.
void refuse_any(const Arguments &arguments, const std::vector<Output> &outputs,
                Documents documents = Documents::read) {
    for (const Output &output : outputs)
        for (const Input &input : inputs_of(arguments, documents))
            for (const std::filesystem::path &file : output.files)
                if (same_file(file.string(), input.file))
                    arguments.refuse(fmt::format(
                        "{} {} {}would take the place of {}{}, which is read: the {} would be lost; write to "
                        "another {}",
                        output.option, output.name,
                        file == output.name ? "" : fmt::format("also writes {}, which ", file.string()),
                        input.option.empty() ? "" : input.option + " ", input.file, input.what,
                        output.files.size() == 1 ? "file" : "place"));
}

/// Says on standard error which cases of a document cannot be read, whether it comes as a whole or in pieces.
class SaysUnread {
  public:
    explicit SaysUnread(std::string shown) : shown_(std::move(shown)) {}

    void add(const Run &piece) {
        constexpr std::size_t most_said = 20; // in a document of another version all cases may have the same
        cases_ += piece.cases.size() + piece.unread.size();
        unread_ += piece.unread.size();
        for (const UnreadCase &unread : piece.unread)
            for (const InputProblem &problem : unread.problems) {
                if (problems_++ < most_said)
                    note(problem.place + ": " + problem.message);
                else
                    ++unsaid_;
            }
    }

    /// When all pieces were added.
    void finish() const {
        if (unread_ == 0)
            return;
        if (unsaid_ > 0)
            note(fmt::format("and {} more problems", unsaid_));
        note(fmt::format(
            "{}: {} of {} cases cannot be read and {} left out; where the document is written they stay as "
            "they are",
            shown_, unread_, cases_, unread_ == 1 ? "is" : "are"));
    }

  private:
    std::string shown_;
    std::size_t cases_ = 0, unread_ = 0, problems_ = 0, unsaid_ = 0;
};

/// Throws InputError for a document whose cases name their GPU, as `predict` with several GPUs writes it.
void refuse_several_gpus(const Run &run, const std::string &shown) {
    if (std::ranges::any_of(run.cases, [](const Case &item) { return item.variant.has_value(); }))
        throw InputError(shown, "is an answer for several GPUs, numbers of SMs or supposed numbers; expected "
                                "a document of one GPU, for example of convcast predict with one --gpu");
}

Run read_document(const std::string &text, const std::string &shown) {
    if (is_onnx(text))
        throw InputError(shown,
                         "is an ONNX file, no document of convcast; the network is asked with --network " +
                             shown + ", its convolutions with --shapes " + shown);
    Run run = read_run(text, shown, check_baseline);
    refuse_several_gpus(run, shown);
    SaysUnread says(shown);
    says.add(run);
    says.finish();
    return run;
}

} // namespace

void read_document_pieces(const std::string &file, const std::function<void(Run, std::size_t lines)> &take) {
    const std::size_t cases = cases_in_lines(file);
    SaysUnread says(file);
    read_run_pieces(file, check_baseline, [&](Run piece) {
        says.add(piece);
        take(std::move(piece), cases);
    });
    says.finish();
}

NamedDocument look_at(const std::string &name) {
    // A longer text is taken for a run without looking for its schema: only runs become so long.
    constexpr std::size_t longest_other = 16 << 20; // bytes
    const std::vector<std::string> shipped = shipped_profiles();
    NamedDocument found{name, shown_name(name), std::nullopt, ""};
    std::error_code none;
    const bool is_file = name == "-" || (file_exists(name) && !std::filesystem::is_directory(name, none));
    if (!is_file) { // whoever reads it says what is wrong
        const std::vector<std::string> networks = shipped_networks();
        if (std::ranges::find(shipped, name) != shipped.end() || file_exists(FolderOfGpu{name}.profile()))
            found.schema = GpuProfile().schema;
        else if (std::ranges::find(networks, name) != networks.end())
            found.schema = Network().schema;
    } else if (file_holds_lines(name)) {
        found.schema = Run().schema;
    } else {
        found.text = read_file(name);
        found.schema = is_onnx(*found.text) ? "onnx"
                       : found.text->size() > longest_other || are_run_lines(*found.text)
                           ? Run().schema
                           : member_of_json(*found.text, found.shown, "schema").value_or("");
    }
    return found;
}

GpuProfile NamedDocument::profile() const {
    return text ? read_profile(*text, shown) : find_profile(name);
}

Run NamedDocument::run(const std::function<void(Run &piece, std::size_t of)> &each) const {
    if (text || !file_holds_lines(name)) {
        Run run = read_document(text ? *text : read_file(name), shown);
        if (each)
            each(run, run.cases.size());
        return run;
    }
    Progress progress("read " + name, Progress::Where::terminal_after_a_while);
    std::optional<Run> run;
    read_document_pieces(name, [&](Run piece, std::size_t of) {
        if (each)
            each(piece, of);
        append(run, std::move(piece));
        progress.show(std::min(run->cases.size(), of), of, "cases");
    });
    return std::move(*run);
}

Run read_document(const std::string &file) {
    return NamedDocument{file, shown_name(file), std::nullopt, ""}.run();
}

bool measured(const Run &run) {
    return std::ranges::any_of(
        run.cases, [](const Case &item) { return !item.measurements.empty() && !is_elsewhere(item); });
}

void require_same_origin(const Run &earlier, const Run &now, const std::string &file) {
    // Kernels written after the large recordings have a hash of their own, which a run carries only if it
    // launched one of them: so a new kernel does not make recordings that never ran it look outdated.
    const auto added_hash = earlier.conditions.find(added_code_condition);
    const bool other_added_kernels =
        added_hash != earlier.conditions.end() && added_hash->second != added_code_hash();
    if (other_added_kernels || earlier.producer.device_code_hash != now.producer.device_code_hash ||
        earlier.producer.measuring_code_hash != now.producer.measuring_code_hash)
        throw InputError(
            file,
            "was measured by other code (version " + earlier.producer.version +
                "); one document holds the numbers of one version. To measure the question anew give "
                "its shapes again, with -o and the name of a new file: convcast run --shape SHAPE -o FILE");
    if (earlier.profile_hash != now.profile_hash)
        throw InputError(file, "was forecast from another profile '" + earlier.profile_id + "' than '" +
                                   now.profile_id + "'; give the one it was made with by --gpu FILE");
}

void resume(Run &run, const std::string &file) {
    Run earlier = read_document(file);
    if (measured(earlier))
        require_same_origin(earlier, run, file);
    if (sms_of(earlier, file) != sms_of(run, file))
        throw InputError(file, "was forecast for another number of SMs; give the same --sms, or none");
    join_own_kernels(run, earlier.own_kernels, file);
    run.conditions = earlier.conditions;
    run.unread = std::move(earlier.unread);
    for (UnreadCase &unread : run.unread) // go behind all others: nobody knows which case they are
        unread.before = std::numeric_limits<std::size_t>::max();
    std::size_t kept = 0;
    for (Case &old : earlier.cases) {
        if (old.measurements.empty() && !(was_run(earlier) && old.status == Status::unsupported))
            continue;
        kept += old.measurements.empty() ? 0 : 1;
        const auto same = std::ranges::find_if(run.cases, [&](const Case &item) {
            return old.shape == item.shape && old.strategy == item.strategy && old.baseline == item.baseline;
        });
        if (same != run.cases.end())
            *same = std::move(old);
        else
            run.cases.push_back(std::move(old));
    }
    note(fmt::format("{} measured cases taken over from {}", kept, file));
}

std::ptrdiff_t wrong_cases(const std::vector<Case> &cases) {
    return std::ranges::count_if(cases, [](const Case &item) {
        return item.status == Status::wrong_result || item.status == Status::failed;
    });
}

void say_what_is_written(const FigureFiles &written) {
    for (const std::filesystem::path &file : written.files)
        say("wrote " + file.string());
    if (!written.note.empty())
        note(written.note);
}

void refuse_overwriting(const Arguments &arguments, Documents documents) {
    std::vector<Output> outputs;
    for (const auto &[option, kind] : option_table().writes)
        if (arguments.has(option) && kind != "folder") {
            const std::string name = arguments.text(option, "");
            outputs.push_back({option == "output" ? "-o" : "--" + option, name,
                               kind == "file" ? std::vector<std::filesystem::path>{name}
                                              : files_of_paper_figure(name, "who_wins")});
        }
    refuse_any(arguments, outputs, documents);
}

void refuse_overwriting_by_figure(const std::string &id, const Arguments &arguments) {
    const std::string name = arguments.text("output", "");
    refuse_any(arguments, {{"-o", name, files_of_paper_figure(name, id)}});
}

void refuse_overwriting_in(const std::string &folder, const Arguments &arguments,
                           const std::vector<std::string> &besides, const std::string &option) {
    namespace fs = std::filesystem;
    std::vector<fs::path> written = {fs::path(folder), fs::path(folder) / "page.html"};
    for (const std::string &name : besides)
        written.push_back(fs::path(folder) / name);
    std::error_code none;
    for (const char *part : {"figures", "tables"})
        for (const fs::directory_entry &file : fs::directory_iterator(fs::path(folder) / part, none))
            written.push_back(file.path());
    refuse_any(arguments, {{option, folder, written}});
}

void refuse_file_name(const Arguments &arguments, const std::string &option, const std::string &folder,
                      const std::string &holds, const std::string &for_a_file) {
    if (ends_as_file(folder))
        arguments.refuse(option + " " + folder + " would be a folder, for " + holds +
                         ", though its name ends as a file's" +
                         (for_a_file.empty() ? "" : "; for a file say of what: " + for_a_file) +
                         "; for a folder of this name type " + folder + "/");
}

} // namespace convcast::cli
