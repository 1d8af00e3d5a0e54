// What most verbs are asked: which GPU, which shapes, which strategies, and what forecasts are given besides.
#pragma once

#include "cli/arguments.hpp"
#include "model/machine/knowledge.hpp"
#include "model/machine/profile.hpp"
#include "model/question.hpp"
#include "model/record/run.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace convcast::cli {

/// By --facts and --calibration; by default what ships and matches the GPU. Throws InputError for a file that
/// cannot be read.
Knowledge read_knowledge(const Arguments &arguments, const GpuProfile &profile);

/// Supposes what --assume names. Throws UsageError.
void supply_assumed(GpuProfile &profile, const Arguments &arguments);

/// Throws InputError, with what to do on this GPU, where the profile lacks a number that times need. `what`
/// needs them.
void require_times(const GpuProfile &profile, const std::string &what);

/// Names in the document what its forecasts were made with.
void note_knowledge(Run &run, const Knowledge &knowledge);

/// Writes the answer of `facts` or `fit` to -o, and says on standard error what it is for: `option` is the
/// option that takes the file.
void write_with_its_use(const Arguments &arguments, const std::string &option, const std::string &text);

/// What a GPU at hand makes of a number of --sms.
using SmsGiven = std::function<int(int asked)>;

/// Throws UsageError when no shape is asked, and for several GPUs, numbers of SMs or values of --set.
Question read_question(const Arguments &arguments, const SmsGiven &sms_given = {});

/// The same question for each --gpu, each number of --sms and each value of --set. Where one number is set
/// and `beside_itself`, the profile as it is comes first. Each has what it differs in as its `variant`, if
/// there are several. Throws UsageError, also where they are too many to read.
std::vector<Question> read_questions(const Arguments &arguments, bool beside_itself,
                                     const SmsGiven &sms_given = {});

/// Each --gpu with each number of --sms and each value of --set, in the order of read_questions.
std::vector<GpuVariant> asked_gpus(const Arguments &arguments, bool beside_itself,
                                   const SmsGiven &sms_given = {});

/// The only one of them. Throws UsageError where there are several: `who` takes one; `instead` says what else
/// there is.
GpuVariant asked_gpu(const Arguments &arguments, const std::string &who, const std::string &instead = "");

/// The SMs that a document's cases are limited to, of its conditions. Throws InputError if they are no
/// number.
std::optional<int> sms_of(const Run &document, const std::string &file);

/// The profile that a document's cases are forecast from: --gpu, or the document's own where it ships as it
/// was; with what --assume supposes and the document's number of SMs.
GpuProfile document_profile(const Run &document, const Arguments &arguments, const std::string &file);

/// What --shard or --only asks of a question's shapes.
struct AskedPart {
    std::string shard;              ///< "2/8"; "" of --only
    std::vector<std::string> parts; ///< all shapes of the question
    bool kept = false;              ///< others are left out; not where there are fewer shapes than shards
};
/// Leaves the other shapes out of the question. Absent without --shard and --only. Throws UsageError for an
/// id that no shape of the question has.
std::optional<AskedPart> keep_part_of(Question &question, const Arguments &arguments);

/// The shapes that --shape, --study, --shapes and --pick ask, without a GPU. Throws UsageError when no shape
/// is asked.
std::vector<AskedShape> asked_shapes(const Arguments &arguments);

/// The document around cases of a question: who made it, from which profile, with which facts and
/// calibration, with the user's kernels, and which part of the question it is.
Run new_run(const Question &question, std::vector<Case> cases, const std::optional<AskedPart> &part = {});

/// --input-size, "640x640", or "". Throws UsageError where it is none.
std::string input_size(const Arguments &arguments);

} // namespace convcast::cli
