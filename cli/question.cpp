#include "cli/question.hpp"

#include "cli/document.hpp"
#include "cli/onnx_graph.hpp"
#include "cli/own_kernels.hpp"
#include "cli/progress.hpp"
#include "cli/version.hpp"
#include "executor/baselines/names.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/hash.hpp"
#include "model/base/text.hpp"
#include "model/machine/assume.hpp"
#include "model/network/onnx/import.hpp"
#include "model/predict.hpp"
#include "model/record/shape_list.hpp"
#include "model/record/shards.hpp"
#include "model/record/study.hpp"
#include "model/shape/shape_range.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

/// The condition of a document whose cases have fewer SMs than the GPU.
constexpr const char *sms_condition = "sms";

// Chosen: more is likely a slip in a step, and would take minutes.
constexpr std::size_t most_swept = 100000;  ///< shapes that --sweep may make
constexpr std::size_t most_variants = 1000; ///< GPUs times numbers of SMs times values of --set

/// Where messages say that a document's number of SMs stands.
std::string place_of_sms(const std::string &file) {
    return shown_name(file) + ": /conditions/" + sms_condition;
}

/// Adds the shapes of --shape, each with all values of every --sweep. Throws UsageError.
void add_shapes(Question &question, const Arguments &arguments) {
    std::vector<ConvShape> shapes;
    for (const std::string &text : arguments.texts("shape"))
        shapes.push_back(ConvShape::parse(text));
    for (const std::string &text : arguments.texts("sweep")) {
        const ShapeRange range = ShapeRange::parse(text);
        if (shapes.size() * range.values.size() > most_swept)
            throw UsageError("--sweep " + text + ": " + std::to_string(shapes.size()) + " shapes times " +
                             std::to_string(range.values.size()) + " values are more than the " +
                             std::to_string(most_swept) +
                             " shapes that are swept at once; take a longer step, for example --sweep "
                             "h=w=28:224:28");
        shapes = swept(shapes, range);
    }
    for (const ConvShape &shape : shapes)
        question.shapes.push_back({shape});
}

/// --pick COUNT:WORD takes so many of the shapes, as if by chance. The word is the seed.
struct Pick {
    std::size_t count = 0;
    std::string seed;

    /// Hexadecimal digits that depend on the seed, the shape and `purpose` alone, on every machine and in
    /// every list. The purpose keeps digits for the choice and for the number of images independent.
    std::string key(const ConvShape &shape, const char *purpose) const {
        return content_hash({seed, purpose, shape.id()});
    }
    /// A number of images for a list that leaves it open: one of the 7 powers of two from 1 to 64.
    std::int64_t images(const ConvShape &shape) const {
        constexpr unsigned powers = 7, digits = 16; // 16 hexadecimal digits fill a number of 64 bits
        return std::int64_t{1} << std::stoull(key(shape, "images").substr(0, digits), nullptr, 16) % powers;
    }
};

/// Absent without --pick. Throws UsageError.
std::optional<Pick> asked_pick(const Arguments &arguments) {
    if (!arguments.has("pick"))
        return std::nullopt;
    const std::string text = arguments.text("pick", "");
    const std::size_t colon = text.find(':');
    const auto count = number_of<std::size_t>(text.substr(0, colon));
    if (colon == std::string::npos || colon + 1 == text.size() || !count || *count < 1)
        arguments.refuse(
            "--pick takes how many shapes and a word to pick them by, for example --pick 40:8745c868, got '" +
            shortened(text, 60) + "'");
    return Pick{*count, text.substr(colon + 1)};
}

/// Removes the shapes that are not picked. The others are those of the smallest keys, in the order of these.
void pick(Question &question, const Pick &by) {
    const auto key = [&](const AskedShape &asked) { return by.key(asked.shape, "shape"); };
    if (question.shapes.size() < by.count)
        note(fmt::format("--pick {}: there are {} shapes, and all are taken", by.count,
                         question.shapes.size()));
    std::ranges::stable_sort(question.shapes, {}, key);
    question.shapes.erase(question.shapes.begin() +
                              static_cast<std::ptrdiff_t>(std::min(by.count, question.shapes.size())),
                          question.shapes.end());
}

/// Adds the shapes of the files of --shapes, in any format; - is standard input. A shape that is asked
/// already is not added again: its count grows. Says on standard error what is to note of a file.
void add_lists(Question &question, const Arguments &arguments) {
    std::map<std::string, std::size_t> places; // in question.shapes; a study keeps its shapes to itself
    for (std::size_t i = 0; i < question.shapes.size(); ++i)
        if (!question.shapes[i].study)
            places.emplace(question.shapes[i].shape.id(), i);
    const std::string size = input_size(arguments);
    for (const std::string &name : arguments.texts("shapes")) {
        const std::string shown = shown_name(name), text = read_file(name);
        ShapeList list = is_onnx(text) ? convolutions_of(read_onnx(text, shown, size), shown)
                                       : read_shape_list(text, shown);
        if (arguments.has("batch"))
            list = with_images(list, arguments.integer("batch", 1, 1, 1 << 30), shown);
        const std::optional<Pick> picked = asked_pick(arguments);
        if (list.open_images && picked && !arguments.has("batch"))
            for (ListedShape &entry : list.shapes)
                entry = with_images({list.format, {entry}, {}}, picked->images(entry.shape), shown)
                            .shapes.front();
        else if (list.open_images && !arguments.has("batch"))
            note(shown + ": the file leaves the number of images open: 1 is taken, and --batch N sets it");
        for (const std::string &remark : list.remarks)
            note(shown + ": " + remark);
        for (const ListedShape &entry : list.shapes) {
            const auto [at, is_new] = places.try_emplace(entry.shape.id(), question.shapes.size());
            if (!is_new) {
                question.shapes[at->second].count += entry.count;
                continue;
            }
            const bool several = !entry.name.empty() && entry.entries > 1;
            question.shapes.push_back(
                {.shape = entry.shape,
                 .count = entry.count,
                 .name =
                     entry.name + (several ? " and " + std::to_string(entry.entries - 1) + " more" : "")});
        }
    }
}

/// Adds the shapes of each --study with its settings and sweeps. Throws UsageError.
void add_studies(Question &question, const Arguments &arguments) {
    for (const std::string &name : arguments.texts("study")) {
        const Study study = find_study(name);
        for (std::size_t i = 0; i < study.shapes.size(); ++i)
            question.shapes.push_back({.shape = ConvShape::parse(study.shapes[i]),
                                       .study = study.id,
                                       .further = study.settings,
                                       .count = study.counts.empty() ? 1 : study.counts[i]});
        if (!study.sweeps.empty() && arguments.has("strategy"))
            arguments.refuse("the study " + study.id + " sweeps settings of its own; leave out --strategy");
        for (const StudySweep &sweep : study.sweeps)
            for (const std::string &text : sweep.shapes)
                question.shapes.push_back(
                    {.shape = ConvShape::parse(text), .study = study.id, .settings = sweep.strategies});
    }
}

/// The baselines that a text stands for, "" for all; absent where it names none. Of a group of baselines,
/// those that compute on halves are left out for shapes of other types; one that is named itself is kept.
std::optional<std::vector<std::string>> baselines_for(const std::string &text, const ConvShape &shape) {
    if (!text.empty() && !is_baseline(text))
        return std::nullopt;
    std::vector<std::string> names = text.empty() ? baselines() : baselines_named(text);
    std::erase_if(names, [&](const std::string &name) {
        return name != text && type_of(name) == DataType::f16 && shape.dtype != DataType::f16;
    });
    return names;
}

/// What of the question does not depend on the GPU. Throws UsageError, also when no shape is asked.
Question asked_of(const Arguments &arguments) {
    Question question;
    question.baselines = baselines_for;
    add_shapes(question, arguments);
    add_studies(question, arguments);
    add_lists(question, arguments);
    if (const std::optional<Pick> picked = asked_pick(arguments))
        pick(question, *picked);
    if (question.shapes.empty())
        arguments.refuse("no shape asked; give --shape n1c64h56w56k64r3s3, --shapes FILE or --study "
                         "NAME, one of " +
                         join(shipped_studies()));
    if (arguments.has("batch"))
        question.images = ", batch " + arguments.text("batch", "");
    for (const std::string &text : arguments.texts("strategy")) {
        if (is_baseline(text))
            check_baseline(text);
        else if (text != own_word)
            parse_strategy(text); // refuse early, before any work
        question.strategies.push_back(text);
    }
    return question;
}

[[noreturn]] void refuse_variants(const Arguments &arguments) {
    arguments.refuse("more than " + std::to_string(most_variants) +
                     " GPUs, SMs and --set; give fewer values of them, or ask in several commands");
}

/// All combinations that take one value from each --set: "dram_read_bandwidth=x1,x2" gives two. With
/// `beside_itself` a single combination has the profile without changes before it.
std::vector<std::vector<std::string>> settings_of(const Arguments &arguments, bool beside_itself) {
    std::vector<std::vector<std::string>> all(1);
    for (const std::string &text : arguments.texts("set")) {
        const std::size_t equals = std::min(text.find('='), text.size());
        const std::string name = text.substr(0, equals),
                          values = text.substr(std::min(equals + 1, text.size()));
        std::vector<std::vector<std::string>> more; // each combination so far with each value
        const auto commas = static_cast<std::size_t>(std::ranges::count(values, ','));
        if (all.size() * (commas + 1) > most_variants)
            refuse_variants(arguments);
        for (const std::vector<std::string> &before : all)
            for (const std::string &value : split(values, ',')) {
                more.push_back(before);
                more.back().push_back(name + "=" + value);
            }
        all = std::move(more);
    }
    if (beside_itself && all.size() == 1 && !all.front().empty())
        all.insert(all.begin(), std::vector<std::string>());
    return all;
}

/// A GPU in titles: "NVIDIA H200 with 64 of its 132 SMs and dram_read_bandwidth=x2".
std::string gpu_title(const GpuProfile &whole, const std::optional<int> &sms,
                      const std::vector<std::string> &setting) {
    std::vector<std::string> supposed = setting;
    if (sms)
        supposed.insert(supposed.begin(),
                        std::to_string(*sms) + " of its " + std::to_string(whole.limits.sm_count) + " SMs");
    return whole.name + (supposed.empty() ? "" : " with " + join(supposed, " and "));
}

} // namespace

Knowledge read_knowledge(const Arguments &arguments, const GpuProfile &profile) {
    Knowledge knowledge =
        knowledge_for(profile, arguments.text("facts", ""), arguments.text("calibration", ""));
    if (!knowledge.facts.kernels.empty() && knowledge.facts.device_code_hash != producer().device_code_hash)
        knowledge.assumptions.push_back("facts counted on kernels of another version, device code " +
                                        knowledge.facts.device_code_hash.substr(0, 8));
    return knowledge;
}

void supply_assumed(GpuProfile &profile, const Arguments &arguments) {
    for (const std::string &text : arguments.texts("assume"))
        assume(profile, text);
}

void require_times(const GpuProfile &profile, const std::string &what) {
    if (const std::string missing = missing_for_forecast(profile); !missing.empty())
        throw InputError("profile " + profile.id, what + " needs times; " + no_time(profile, missing));
}

void note_knowledge(Run &run, const Knowledge &knowledge) {
    for (auto &[name, text] : conditions_of(knowledge))
        run.conditions[name] = text;
}

void write_with_its_use(const Arguments &arguments, const std::string &option, const std::string &text) {
    const std::string output = arguments.text("output", "-");
    write_file_atomically(output, text);
    const bool file = output != "-";
    note((file ? std::string("to use it: ") : "to use it, write it to a file with -o: ") +
         "convcast predict --" + option + " " + (file ? output : option + ".json") +
         " --shape n1c64h56w56k64r3s3; choose, run, report and compile take it too");
}

std::vector<GpuVariant> asked_gpus(const Arguments &arguments, bool beside_itself,
                                   const SmsGiven &sms_given) {
    std::vector<std::string> gpus = arguments.texts("gpu");
    if (gpus.empty())
        gpus.emplace_back("h200");
    std::vector<std::optional<std::int64_t>> sms = {std::nullopt};
    if (const std::string text = arguments.text("sms", ""); !text.empty()) {
        sms.clear();
        for (const std::int64_t number : number_list(text, arguments.verb() + ": --sms"))
            sms.emplace_back(number);
    }
    const std::vector<std::vector<std::string>> settings = settings_of(arguments, beside_itself);
    const bool several = gpus.size() * sms.size() * settings.size() > 1;
    if (gpus.size() * sms.size() * settings.size() > most_variants)
        refuse_variants(arguments);
    std::vector<GpuVariant> variants;
    for (const std::string &gpu : gpus)
        for (const std::optional<std::int64_t> &limit : sms)
            for (const std::vector<std::string> &setting : settings) {
                GpuVariant &variant = variants.emplace_back();
                variant.profile = find_profile(gpu);
                supply_assumed(variant.profile, arguments);
                for (const std::string &text : setting)
                    set_number(variant.profile, text);
                if (limit) {
                    if (*limit < 1 || *limit > variant.profile.limits.sm_count)
                        arguments.refuse("--sms must be integers from 1 to " +
                                         std::to_string(variant.profile.limits.sm_count) + ", the SMs of " +
                                         variant.profile.id + ", got '" + std::to_string(*limit) + "'");
                    variant.sms = static_cast<int>(*limit);
                    if (sms_given && !several)
                        variant.sms = sms_given(*variant.sms);
                }
                variant.title = gpu_title(variant.profile, variant.sms, setting);
                if (variant.sms)
                    variant.profile = with_sms(std::move(variant.profile), *variant.sms);
                if (several) // a name is needed to tell them apart
                    variant.variant = variant.profile.id +
                                      (limit ? ", " + std::to_string(*limit) + " SMs" : "") +
                                      (setting.empty() ? "" : ", " + join(setting));
            }
    return variants;
}

GpuVariant asked_gpu(const Arguments &arguments, const std::string &who, const std::string &instead) {
    std::vector<GpuVariant> variants = asked_gpus(arguments, false);
    if (variants.size() > 1)
        arguments.refuse(who + " takes one GPU, one number of SMs and one value of each --set" + instead);
    return std::move(variants.front());
}

namespace {

/// Recorded times of this GPU that ship, and those of --recorded. Throws UsageError for another GPU's.
std::shared_ptr<const KnownTimes> known_times(const Arguments &arguments, const GpuProfile &profile) {
    auto known = std::make_shared<KnownTimes>(profile);
    if (is_supposed(profile))
        return known; // nobody has measured a GPU that does not exist
    for (const std::string &file : arguments.texts("recorded")) {
        const Run run = read_document(file);
        const auto gpu = run.conditions.find("gpu");
        if (gpu == run.conditions.end())
            throw UsageError("--recorded " + file +
                             ": nothing in it was measured; it takes what `convcast run` wrote");
        if (gpu->second != profile.name)
            throw UsageError("--recorded " + file + " was measured on " + gpu->second +
                             ", the forecast is for " + profile.name);
        if (sms_of(run, file).value_or(profile.limits.sm_count) == profile.limits.sm_count)
            known->add(run, std::filesystem::path(file).filename().string());
    }
    return known;
}

} // namespace

std::vector<Question> read_questions(const Arguments &arguments, bool beside_itself,
                                     const SmsGiven &sms_given) {
    const Question asked = asked_of(arguments);
    std::vector<Question> questions;
    for (GpuVariant &gpu : asked_gpus(arguments, beside_itself, sms_given)) {
        Question &question = questions.emplace_back(asked);
        static_cast<GpuVariant &>(question) = std::move(gpu);
        question.knowledge = read_knowledge(arguments, question.profile);
        question.own_kernels = read_own_kernels(arguments, question.shapes, question.profile);
        question.known = known_times(arguments, question.profile);
    }
    return questions;
}

Question read_question(const Arguments &arguments, const SmsGiven &sms_given) {
    std::vector<Question> questions = read_questions(arguments, false, sms_given);
    if (questions.size() > 1)
        arguments.refuse("it takes one GPU, one number of SMs and one value of each --set");
    return std::move(questions.front());
}

std::optional<int> sms_of(const Run &document, const std::string &file) {
    const auto found = document.conditions.find(sms_condition);
    if (found == document.conditions.end())
        return std::nullopt;
    const std::optional<int> sms = number_of<int>(found->second);
    if (!sms || *sms < 1)
        throw InputError(place_of_sms(file),
                         "expected the number of SMs, for example \"64\", found \"" + found->second + "\"");
    return sms;
}

GpuProfile document_profile(const Run &document, const Arguments &arguments, const std::string &file) {
    GpuProfile profile;
    try {
        profile =
            find_profile(arguments.text("gpu", document.profile_id.empty() ? "h200" : document.profile_id));
    } catch (const UsageError &) {
        if (arguments.has("gpu"))
            throw;
        arguments.refuse("the document was forecast from the profile '" + document.profile_id +
                         "', which does not ship; give it again with --gpu FILE");
    }
    supply_assumed(profile, arguments);
    if (const std::optional<int> sms = sms_of(document, file)) {
        if (*sms > profile.limits.sm_count)
            throw InputError(place_of_sms(file), "the document's cases have " + std::to_string(*sms) +
                                                     " SMs, the GPU '" + profile.id + "' only " +
                                                     std::to_string(profile.limits.sm_count));
        profile = with_sms(std::move(profile), *sms);
    }
    // Cases without forecasts may be forecast from any profile of their GPU, also one that is measured later.
    const bool has_forecasts =
        std::ranges::any_of(document.cases, [](const Case &item) { return item.prediction.has_value(); });
    if (has_forecasts && !arguments.has("gpu") && !document.profile_hash.empty() &&
        document.profile_hash != profile_hash(profile))
        arguments.refuse(
            "the document was forecast from a profile '" + document.profile_id +
            "' that is not the one that ships; give it again with --gpu FILE, or with the --assume it "
            "was made with");
    return profile;
}

namespace {

/// Removes the shapes that --only does not name. Throws UsageError for an id that none of them has.
void keep_only(std::vector<AskedShape> &shapes, const std::vector<std::string> &ids,
               const Arguments &arguments) {
    const std::set<std::string> wanted(ids.begin(), ids.end());
    std::set<std::string> known;
    for (const AskedShape &shape : shapes)
        known.insert(shape.shape.id());
    for (const std::string &id : wanted)
        if (!known.contains(id))
            arguments.refuse("--only " + shortened(id) + ": no shape of the question has this id" +
                             did_you_mean(id, {known.begin(), known.end()}) +
                             " `convcast list --ids` with the same --study, --shapes or --shape prints them");
    std::erase_if(shapes, [&](const AskedShape &shape) { return !wanted.contains(shape.shape.id()); });
}

} // namespace

std::optional<AskedPart> keep_part_of(Question &question, const Arguments &arguments) {
    if (!arguments.has("shard") && !arguments.has("only"))
        return std::nullopt;
    AskedPart asked{.shard = arguments.text("shard", ""), .parts = {}, .kept = true};
    std::vector<ConvShape> shapes;
    for (const AskedShape &shape : question.shapes) {
        shapes.push_back(shape.shape);
        asked.parts.push_back(shape.shape.id());
    }
    if (asked.shard.empty())
        keep_only(question.shapes, arguments.texts("only"), arguments);
    else if (const auto mine = shapes_of(parse_shard(asked.shard), shapes))
        std::erase_if(question.shapes, [&](const auto &shape) { return !mine->contains(shape.shape.id()); });
    else
        asked.kept = false;
    return asked;
}

std::vector<AskedShape> asked_shapes(const Arguments &arguments) {
    return asked_of(arguments).shapes;
}

Run new_run(const Question &question, std::vector<Case> cases, const std::optional<AskedPart> &part) {
    Run run;
    run.producer = producer();
    run.profile_id = question.profile.id;
    run.profile_hash = profile_hash(question.profile);
    run.own_kernels = question.own_kernels;
    if (question.sms)
        run.conditions[sms_condition] = std::to_string(*question.sms);
    note_knowledge(run, question.knowledge);
    if (part)
        note_part(run, part->shard, part->parts);
    run.cases = std::move(cases);
    return run;
}

std::string input_size(const Arguments &arguments) {
    const std::string text = arguments.text("input-size", "");
    if (text.empty())
        return text;
    const std::vector<std::string> sizes = split(text, 'x');
    const bool are_sizes = std::ranges::all_of(
        sizes, [](const std::string &size) { return number_of<int>(size).value_or(0) > 0; });
    if (sizes.size() == 2 && are_sizes)
        return text;
    throw UsageError(
        "--input-size takes height x width of the input, for example --input-size 640x640, got '" + text +
        "'");
}

} // namespace convcast::cli
