// What most verbs are asked: which GPU, which shapes, which strategies.
#pragma once

#include "cli/arguments.hpp"
#include "cli/knowledge.hpp"
#include "model/machine/profile.hpp"
#include "model/record/run.hpp"
#include "model/shape/conv_shape.hpp"
#include "model/strategies/list.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {

/// --gpu, --sms, --shape, --sweep, --study, --shapes, --strategy, --json, --output, and those of knowledge
std::vector<Option> question_options();

/// The same with --gpu repeatable, and --set: of the verbs that answer for several GPUs at once.
std::vector<Option> what_if_options();

struct AskedShape {
    ConvShape shape;
    std::optional<std::string> study;
    std::vector<std::string> settings; ///< of the study's sweep: these strategies and no others
    std::vector<std::string> further;  ///< of the study: besides what each strategy takes of itself
    std::int64_t count = 1;            ///< layers of the network or the list that have it
    std::string name;                  ///< of the layer, where a list gives one
};

struct Question {
    GpuProfile profile;     ///< with what --assume supposes
    std::optional<int> sms; ///< that `profile` was limited to
    Knowledge knowledge;
    std::vector<AskedShape> shapes;
    std::vector<OwnKernel> own_kernels;  ///< of --kernel, asked of every shape
    std::vector<std::string> strategies; ///< texts as given: strategies with knobs, or baselines
    std::string variant; ///< of several questions what this one has of its own: "h200, 64 SMs"
    std::string gpu;     ///< for titles: its name and what is supposed of it
    std::string images;  ///< for titles: ", batch 64" where --batch replaces the images of a list
};

/// Throws UsageError when no shape is asked. `sms_given`: what a GPU at hand makes of --sms.
Question read_question(const std::string &verb, const Arguments &arguments,
                       const std::function<int(int asked)> &sms_given = {});

/// The same question for each --gpu, each number of --sms and each value of --set. Where one number is set
/// and `beside_itself`, the profile as it is comes first. Each has what it differs in as its `variant`, if
/// there are several. Throws UsageError, also where they are too many to read.
std::vector<Question> read_questions(const std::string &verb, const Arguments &arguments, bool beside_itself);

/// A GPU as it is asked about.
struct ProfileVariant {
    GpuProfile profile;     ///< with what --assume and --set suppose, limited to `sms`
    std::optional<int> sms; ///< of --sms
    std::string name;       ///< of several, what this one has of its own: "h200, 64 SMs"; "" of one
    std::string title;      ///< "NVIDIA H200 with 64 of its 132 SMs and dram_read_bandwidth=x2"
};

/// Each --gpu with each number of --sms and each value of --set, in the order of read_questions.
std::vector<ProfileVariant> asked_profiles(const std::string &verb, const Arguments &arguments,
                                           bool beside_itself);

/// The SMs that a document's cases are limited to, of its conditions. Throws InputError if they are no
/// number.
std::optional<int> sms_of(const Run &document, const std::string &file);

/// Sets the study, the name and the count of a case to those that its shape was asked with.
void label(Case &item, const AskedShape &asked);

/// The cases that a question asks for, with their forecasts. For each shape these are what --strategy names,
/// or without --strategy every strategy that does the shape, followed by every cuDNN algorithm if
/// `with_baselines`. For each shape it adds the `best` settings that `choose` ranks first, and `drawn` random
/// settings of each strategy (model/record/sweep.hpp). Throws UsageError where they may be more than
/// `most_held`; more than `most_with_terms` come without their terms.
std::vector<Case> predict_all(const Question &question, bool with_baselines, int best = 0, int drawn = 0);

/// The cases of predict_all, without baselines and settings beyond those asked, some shapes at a time.
void predict_in_pieces(const Question &question, const std::function<void(std::vector<Case>)> &take);

/// How many cases predict_in_pieces forecasts at most.
std::size_t most_cases_of(const Question &question);

/// A document with more cases says no more where its times go: the terms would fill gigabytes.
constexpr std::size_t most_with_terms = 20000;

/// More cases are written as they come, into a document of lines, and not held in memory.
constexpr std::size_t most_held = 200000;

/// What of a question has no answer: a strategy or a kernel that it names does not do a shape, or nothing
/// does it. The exit code of the verb is 1 then.
class Refusals {
  public:
    /// Cases of one question, all that there are of each of their shapes.
    void add(const Question &question, const std::vector<Case> &cases);

    bool any() const { return !named_.empty() || !nothing_.empty(); }

    /// On standard error, what is common to many cases once. `named`: also what the question names, which
    /// only answers that are documents do not show themselves.
    void say(bool named) const;

  private:
    struct Named {
        std::string text, why, first_shape; ///< "winograd", "unsupported: the stride is 2"
        std::size_t cases = 0;
    };
    std::vector<Named> named_;
    std::map<std::pair<std::string, std::string>, std::size_t> places_; ///< in named_, by text and why
    std::vector<std::string> nothing_;                                  ///< shapes that nothing does
    std::set<std::string> known_;                                       ///< of nothing_
};

/// The profile that a document's cases are forecast from: --gpu, or the document's own where it ships as it
/// was; with what --assume supposes and the document's number of SMs.
GpuProfile document_profile(const std::string &verb, const Run &document, const Arguments &arguments,
                            const std::string &file);

/// What becomes of the forecasts of measured cases when a document is forecast again.
enum class MeasuredCases {
    keep,             ///< as they were when measured: what will be run must be planned by one version
    renew,            ///< by this code, beside the measurements as they are: how good is today's model?
    renew_given_work, ///< likewise, from the work that was counted: how good is its time alone?
};

/// Whether `run` made the document, or went on with it: its statuses are findings then, not forecasts.
bool was_run(const Run &document);

/// Forecasts the cases of a document again, by this code. What a run found of a case stays, its status and
/// the reason for it too.
/// `progress` is told how many are done, by this thread; without it a progress line is shown.
void forecast_again(Run &document, const GpuProfile &profile, const Knowledge &knowledge,
                    MeasuredCases measured, const std::function<void(std::size_t done)> &progress = {});

/// A document already says what is asked. Throws UsageError if the command line says it too.
void refuse_question_beside_document(const std::string &verb, const Arguments &arguments);

/// The document around cases: who made it, from which profile, and with which facts and calibration.
Run new_run(const GpuProfile &profile, const Knowledge &knowledge, std::optional<int> sms,
            std::vector<Case> cases);

} // namespace convcast::cli
