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

/// The facts and the calibration to forecast with: those of --facts and --calibration, by default what ships
/// and matches the GPU. Throws InputError for a file that cannot be read.
Knowledge read_knowledge(const Arguments &arguments, const GpuProfile &profile);

/// Gives a profile the numbers of --assume. Throws UsageError, also where it has one other than assumed.
void supply_assumed(GpuProfile &profile, const Arguments &arguments);

/// Throws InputError, with what to do for this GPU, where the profile lacks a number that forecasts of times
/// need. `what` is the verb or option that needs times: "choose".
void require_times(const GpuProfile &profile, const std::string &what);

/// Names in the document's conditions the facts and the calibration that its forecasts were made with.
void note_knowledge(Run &run, const Knowledge &knowledge);

/// Writes the answer of `facts` or `fit` to -o, and says how to use it: with `option` of other verbs.
void write_with_its_use(const Arguments &arguments, const std::string &option, const std::string &text);

/// The number of SMs that the GPU at hand gives to a program that asks for a number of them: cli/device.hpp.
using SmsGiven = std::function<int(int asked)>;

/// Reads what the command line asks of one GPU. With `sms_given` the number of --sms becomes what the GPU at
/// hand gives. Throws UsageError for no shape, and for several GPUs, numbers of SMs or values of --set.
Question read_question(const Arguments &arguments, const SmsGiven &sms_given = {});

/// The same question for each --gpu, each number of --sms and each value of --set. With `beside_itself` a
/// single setting of --set has the GPU without it before it, to compare with. If there are several, `variant`
/// of each says what it differs in. Throws UsageError, also for more than 1000.
std::vector<Question> read_questions(const Arguments &arguments, bool beside_itself,
                                     const SmsGiven &sms_given = {});

/// Each --gpu (h200 without it) with each number of --sms and each value of --set, as in read_questions.
std::vector<GpuVariant> asked_gpus(const Arguments &arguments, bool beside_itself,
                                   const SmsGiven &sms_given = {});

/// The only GPU that is asked. Throws UsageError where there are several: the message says that `who` takes
/// one, and `instead`, which begins with ";", what to type for several.
GpuVariant asked_gpu(const Arguments &arguments, const std::string &who, const std::string &instead = "");

/// How many SMs a document's cases are limited to; absent: not. Throws InputError if that is no number.
std::optional<int> sms_of(const Run &document, const std::string &file);

/// The profile to forecast a document's cases from: that of --gpu, or else the one that the document names;
/// with what --assume supposes, and with the document's number of SMs. Throws UsageError where the document's
/// own profile does not ship, or has changed since its forecasts were made.
GpuProfile document_profile(const Run &document, const Arguments &arguments, const std::string &file);

/// What --shard or --only asks of a question's shapes.
struct AskedPart {
    std::string shard;              ///< "2/8"; "" of --only
    std::vector<std::string> parts; ///< the ids of all shapes of the question, also those left out
    bool kept = false;              ///< shapes were left out; not where there are fewer shapes than shards
};
/// Leaves the other shapes out of the question. Absent without --shard and --only. Throws UsageError for an
/// id that no shape of the question has.
std::optional<AskedPart> keep_part_of(Question &question, const Arguments &arguments);

/// The shapes of --shape, --sweep, --study, --shapes and --pick. Throws UsageError when there is none.
std::vector<AskedShape> asked_shapes(const Arguments &arguments);

/// A document with these cases of a question. It says who made it, from which profile, with which facts,
/// calibration and kernels of the user's own, and, if `part` is there, which part of the question it is.
Run new_run(const Question &question, std::vector<Case> cases, const std::optional<AskedPart> &part = {});

/// --input-size, "640x640" (height x width), or "" without it. Throws UsageError for another text.
std::string input_size(const Arguments &arguments);

} // namespace convcast::cli
