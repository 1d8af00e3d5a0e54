#include "cli/question.hpp"

#include "cli/onnx_list.hpp"
#include "cli/own_kernels.hpp"
#include "cli/progress.hpp"
#include "cli/timelines.hpp"
#include "cli/version.hpp"
#include "executor/baselines/names.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/parallel.hpp"
#include "model/machine/assume.hpp"
#include "model/predict.hpp"
#include "model/record/elsewhere.hpp"
#include "model/record/shape_list.hpp"
#include "model/record/study.hpp"
#include "model/record/sweep.hpp"
#include "model/shape/shape_range.hpp"

#include <boost/describe.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

/// What a document says when its cases have fewer SMs than the GPU.
constexpr const char *sms_condition = "sms";

constexpr std::size_t most_swept = 100000, most_variants = 1000; ///< that a --sweep and what-ifs may make

std::string place_of_sms(const std::string &file) {
    return (file == "-" ? "standard input" : file) + ": /conditions/" + sms_condition;
}

/// Of baselines that are asked all together: the one that computes on halves is no answer for another type.
bool concerns(const std::string &baseline, const ConvShape &shape) {
    return type_of(baseline) != DataType::f16 || shape.dtype == DataType::f16;
}

bool has_timeline(const Case &item) {
    return (item.prediction && item.prediction->timeline) ||
           std::any_of(item.measurements.begin(), item.measurements.end(),
                       [](const Measurement &m) { return m.timeline.has_value(); });
}

} // namespace

std::vector<Option> question_options() {
    std::vector<Option> options = {{"gpu", Option::text},        {"sms", Option::text},
                                   {"shape", Option::texts},     {"sweep", Option::texts},
                                   {"study", Option::texts},     {"shapes", Option::texts},
                                   {"input-size", Option::text}, {"strategy", Option::texts},
                                   {"json", Option::flag},       {"output,o", Option::text}};
    for (const Option &option : knowledge_options())
        options.push_back(option);
    return options;
}

std::vector<Option> what_if_options() {
    std::vector<Option> options = question_options();
    options.front().kind = Option::texts;
    options.push_back({"set", Option::texts});
    return options;
}

namespace {

void add_shapes(Question &question, const Arguments &arguments) {
    std::vector<ConvShape> shapes;
    for (const std::string &text : arguments.texts("shape"))
        shapes.push_back(ConvShape::parse(text));
    for (const std::string &text : arguments.texts("sweep")) {
        const ShapeRange range = ShapeRange::parse(text);
        if (shapes.empty())
            throw UsageError("--sweep " + text +
                             " runs through sizes of a --shape, and none is given. Example: --shape "
                             "n1c64h56w56k64r3s3 --sweep h=w=28:224:28");
        if (shapes.size() * range.values.size() > most_swept)
            throw UsageError("--sweep " + text + ": " + std::to_string(shapes.size()) + " shapes times " +
                             std::to_string(range.values.size()) + " values are more than the " +
                             std::to_string(most_swept) +
                             " shapes that are swept at once; take a longer step, for example --sweep "
                             "h=w=28:224:28");
        shapes = swept(shapes, range);
    }
    for (const ConvShape &shape : shapes)
        question.shapes.push_back({shape, std::nullopt, {}, {}, 1, ""});
}

/// --input-size, "640x640", or "". Throws UsageError where it is none.
std::string input_size(const Arguments &arguments) {
    const std::string text = arguments.text("input-size", "");
    if (text.empty())
        return text;
    if (!arguments.has("shapes"))
        throw UsageError("--input-size is of an ONNX file: --shapes model.onnx --input-size 640x640");
    int height = 0, width = 0;
    const char *const end = text.data() + text.size();
    const auto [x, first] = std::from_chars(text.data(), end, height);
    if (first == std::errc{} && x != end && *x == 'x') {
        const auto [last, second] = std::from_chars(x + 1, end, width);
        if (second == std::errc{} && last == end && std::min(height, width) > 0)
            return text;
    }
    throw UsageError(
        "--input-size takes height x width of the input, for example --input-size 640x640, got '" + text +
        "'");
}

/// Files of --shapes, in any format; - is standard input. What is asked already is asked once, more often.
void add_lists(Question &question, const Arguments &arguments) {
    std::map<std::string, std::size_t> places;
    for (std::size_t i = 0; i < question.shapes.size(); ++i)
        if (!question.shapes[i].study)
            places.emplace(question.shapes[i].shape.id(), i);
    const std::string size = input_size(arguments);
    for (const std::string &name : arguments.texts("shapes")) {
        const std::string shown = name == "-" ? "standard input" : name, text = read_file(name);
        ShapeList list = is_onnx(text) ? read_onnx(text, shown, size) : read_shape_list(text, shown);
        if (arguments.has("batch"))
            list = with_images(list, arguments.integer("batch", 1, 1, 1 << 30), shown);
        if (list.open_images && !arguments.has("batch"))
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
                {entry.shape,
                 std::nullopt,
                 {},
                 {},
                 entry.count,
                 entry.name + (several ? " and " + std::to_string(entry.entries - 1) + " more" : "")});
        }
    }
}

void add_studies(Question &question, const std::string &verb, const Arguments &arguments) {
    for (const std::string &name : arguments.texts("study")) {
        const Study study = find_study(name);
        for (std::size_t i = 0; i < study.shapes.size(); ++i)
            question.shapes.push_back({ConvShape::parse(study.shapes[i]),
                                       study.id,
                                       {},
                                       study.settings,
                                       study.counts.empty() ? 1 : study.counts[i],
                                       ""});
        if (!study.sweeps.empty() && arguments.has("strategy"))
            throw UsageError(verb + ": the study " + study.id +
                             " sweeps settings of its own; leave out --strategy");
        for (const StudySweep &sweep : study.sweeps)
            for (const std::string &text : sweep.shapes)
                question.shapes.push_back({ConvShape::parse(text), study.id, sweep.strategies, {}, 1, ""});
    }
}

/// Shapes and strategies, without a GPU.
Question asked_of(const std::string &verb, const Arguments &arguments) {
    Question question;
    add_shapes(question, arguments);
    add_studies(question, verb, arguments);
    add_lists(question, arguments);
    if (question.shapes.empty())
        throw UsageError(verb +
                         ": no shape asked; give --shape n1c64h56w56k64r3s3, --shapes FILE or --study " +
                         "NAME, one of " + join(shipped_studies()));
    if (arguments.has("batch"))
        question.images = ", batch " + arguments.text("batch", "");
    for (const std::string &text : arguments.texts("strategy")) {
        if (text == own_word && arguments.texts("kernel").empty())
            throw UsageError(verb + ": --strategy own stands for the kernels of --kernel, and none is given");
        if (text == own_word)
            ;
        else if (is_baseline(text))
            check_baseline(text);
        else
            parse_strategy(text); // refuse early, before any work
        question.strategies.push_back(text);
    }
    return question;
}

[[noreturn]] void refuse_variants(const std::string &verb) {
    throw UsageError(verb + ": more than " + std::to_string(most_variants) +
                     " GPUs, SMs and --set; give fewer values of them, or ask in several commands");
}

/// Every choice of one text of each --set: "dram_read_bandwidth=x1,x2" is two.
std::vector<std::vector<std::string>> settings_of(const std::string &verb, const Arguments &arguments,
                                                  bool beside_itself) {
    std::vector<std::vector<std::string>> all(1);
    for (const std::string &text : arguments.texts("set")) {
        const std::size_t equals = std::min(text.find('='), text.size());
        const std::string name = text.substr(0, equals),
                          values = text.substr(std::min(equals + 1, text.size()));
        std::vector<std::vector<std::string>> more;
        const auto commas = static_cast<std::size_t>(std::count(values.begin(), values.end(), ','));
        if (all.size() * (commas + 1) > most_variants)
            refuse_variants(verb);
        for (const std::vector<std::string> &before : all)
            for (std::size_t at = 0, end = 0; end < values.size() || at == 0; at = end + 1) {
                end = std::min(values.find(',', at), values.size());
                more.push_back(before);
                more.back().push_back(name + "=" + values.substr(at, end - at));
            }
        all = std::move(more);
    }
    if (beside_itself && all.size() == 1 && !all.front().empty())
        all.insert(all.begin(), std::vector<std::string>());
    return all;
}

} // namespace

namespace {

/// A GPU in titles: its name, and what --sms and --set suppose of it.
std::string gpu_title(const GpuProfile &whole, const std::optional<int> &sms,
                      const std::vector<std::string> &setting) {
    std::vector<std::string> supposed = setting;
    if (sms)
        supposed.insert(supposed.begin(),
                        std::to_string(*sms) + " of its " + std::to_string(whole.limits.sm_count) + " SMs");
    return whole.name + (supposed.empty() ? "" : " with " + join(supposed, " and "));
}

} // namespace

Question read_question(const std::string &verb, const Arguments &arguments,
                       const std::function<int(int asked)> &sms_given) {
    Question question = asked_of(verb, arguments);
    question.profile = find_profile(arguments.text("gpu", "h200"));
    supply_assumed(question.profile, arguments);
    question.gpu = question.profile.name;
    if (arguments.has("sms")) {
        const int asked = arguments.integer("sms", 1, 1, question.profile.limits.sm_count);
        question.sms = sms_given ? sms_given(asked) : asked;
        question.gpu = gpu_title(question.profile, question.sms, {});
        question.profile = with_sms(std::move(question.profile), *question.sms);
    }
    question.knowledge = read_knowledge(arguments, question.profile);
    question.own_kernels = read_own_kernels(arguments, question.shapes, question.profile);
    return question;
}

std::vector<ProfileVariant> asked_profiles(const std::string &verb, const Arguments &arguments,
                                           bool beside_itself) {
    std::vector<std::string> gpus = arguments.texts("gpu");
    if (gpus.empty())
        gpus.emplace_back("h200");
    std::vector<std::optional<std::int64_t>> sms = {std::nullopt};
    if (const std::string text = arguments.text("sms", ""); !text.empty()) {
        sms.clear();
        for (const std::int64_t number : number_list(text, verb + ": --sms"))
            sms.emplace_back(number);
    }
    const std::vector<std::vector<std::string>> settings = settings_of(verb, arguments, beside_itself);
    const bool several = gpus.size() * sms.size() * settings.size() > 1;
    if (gpus.size() * sms.size() * settings.size() > most_variants)
        refuse_variants(verb);
    std::vector<ProfileVariant> variants;
    for (const std::string &gpu : gpus)
        for (const std::optional<std::int64_t> &limit : sms)
            for (const std::vector<std::string> &setting : settings) {
                ProfileVariant &variant = variants.emplace_back();
                variant.profile = find_profile(gpu);
                supply_assumed(variant.profile, arguments);
                for (const std::string &text : setting)
                    set_number(variant.profile, text);
                if (limit) {
                    if (*limit < 1 || *limit > variant.profile.limits.sm_count)
                        throw UsageError(verb + ": --sms must be integers from 1 to " +
                                         std::to_string(variant.profile.limits.sm_count) + ", the SMs of " +
                                         variant.profile.id + ", got '" + std::to_string(*limit) + "'");
                    variant.sms = static_cast<int>(*limit);
                }
                variant.title = gpu_title(variant.profile, limit, setting);
                if (variant.sms)
                    variant.profile = with_sms(std::move(variant.profile), *variant.sms);
                if (several)
                    variant.name = variant.profile.id +
                                   (limit ? ", " + std::to_string(*limit) + " SMs" : "") +
                                   (setting.empty() ? "" : ", " + join(setting));
            }
    return variants;
}

std::vector<Question> read_questions(const std::string &verb, const Arguments &arguments,
                                     bool beside_itself) {
    const Question asked = asked_of(verb, arguments);
    std::vector<Question> questions;
    for (ProfileVariant &variant : asked_profiles(verb, arguments, beside_itself)) {
        Question &question = questions.emplace_back(asked);
        question.profile = std::move(variant.profile);
        question.sms = variant.sms;
        question.variant = std::move(variant.name);
        question.gpu = std::move(variant.title);
        question.knowledge = read_knowledge(arguments, question.profile);
        question.own_kernels = read_own_kernels(arguments, question.shapes, question.profile);
    }
    return questions;
}

std::optional<int> sms_of(const Run &document, const std::string &file) {
    const auto found = document.conditions.find(sms_condition);
    if (found == document.conditions.end())
        return std::nullopt;
    const std::string &text = found->second;
    int sms = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), sms);
    if (error != std::errc{} || end != text.data() + text.size() || sms < 1)
        throw InputError(place_of_sms(file),
                         "expected the number of SMs, for example \"64\", found \"" + text + "\"");
    return sms;
}

void label(Case &item, const AskedShape &asked) {
    item.study = asked.study;
    if (!asked.name.empty())
        item.name = asked.name;
    if (!asked.study && asked.count != 1) // a study's document has its counts
        item.count = asked.count;
}

namespace {

/// What is asked of each shape beside the strategies that the question names.
struct Beside {
    bool baselines = false;
    int best = 0, drawn = 0;
};

std::vector<Case> predict_shape(const Question &question, const AskedShape &asked, const Beside &beside) {
    std::vector<Case> cases;
    for (const std::string &text : asked.settings) {
        cases.push_back(predict(parse_strategy(text), asked.shape, question.profile, question.knowledge));
        label(cases.back(), asked);
    }
    if (!asked.settings.empty())
        return cases;
    std::set<std::string> there;
    const auto add = [&](Case item) {
        label(item, asked);
        if (!item.strategy || there.insert(*item.strategy).second)
            cases.push_back(std::move(item));
    };
    if (question.strategies.empty()) {
        std::vector<Case> unsupported;
        for (const std::string &name : strategy_names()) {
            Case item = predict(parse_strategy(name), asked.shape, question.profile, question.knowledge);
            if (item.status == Status::unsupported)
                unsupported.push_back(std::move(item));
            else
                add(std::move(item));
        }
        for (const std::string &text : asked.further) {
            Case item = predict(parse_strategy(text), asked.shape, question.profile, question.knowledge);
            if (item.status != Status::unsupported)
                add(std::move(item));
        }
        if (there.empty()) // silence would not be an answer
            for (Case &item : unsupported)
                add(std::move(item));
        if (beside.baselines)
            for (const std::string &name : baselines())
                if (concerns(name, asked.shape))
                    add(predict_baseline(name, asked.shape, question.profile));
    }
    for (const std::string &text : question.strategies) {
        if (text == own_word)
            continue;
        if (!is_baseline(text))
            add(predict(parse_strategy(text), asked.shape, question.profile, question.knowledge));
        else
            for (const std::string &name : baselines_named(text))
                if (name == text || concerns(name, asked.shape))
                    add(predict_baseline(name, asked.shape, question.profile));
    }
    if (beside.drawn > 0)
        for (const std::string &name : strategy_names())
            for (const std::string &text :
                 sweep_settings(name, asked.shape, question.profile, question.knowledge.facts,
                                static_cast<std::size_t>(beside.drawn)))
                add(predict(parse_strategy(text), asked.shape, question.profile, question.knowledge));
    for (const OwnKernel &kernel : question.own_kernels)
        add(predict_own(kernel, asked.shape, question.profile, question.knowledge));
    int rank = 0;
    if (beside.best > 0)
        for (Case &item : choose(asked.shape, question.profile, question.knowledge, {},
                                 static_cast<std::size_t>(beside.best)))
            if (item.status == Status::ok && rank++ < beside.best)
                add(std::move(item));
    return cases;
}

void predict_pieces(const Question &question, const Beside &beside,
                    const std::function<void(std::vector<Case>)> &take) {
    if (beside.best > 0)
        require_times(question.profile, "--choose");
    std::set<std::pair<std::string, std::string>> swept; // a case may stand in several sweeps
    Progress progress("forecast", Progress::Where::terminal_after_a_while);
    const std::vector<AskedShape> &shapes = question.shapes;
    constexpr std::size_t at_once = 256;
    for (std::size_t begin = 0; begin < shapes.size(); begin += at_once) {
        progress.show(begin, shapes.size(), shapes[begin].shape.id());
        std::vector<std::vector<Case>> found(std::min(at_once, shapes.size() - begin));
        const auto one = [&](std::size_t i) {
            found[i] = predict_shape(question, shapes[begin + i], beside);
        };
        if (beside.best > 0 && found.size() < usable_cores()) // all cores rank the settings of each
            for (std::size_t i = 0; i < found.size(); ++i)
                one(i);
        else
            in_parallel(found.size(), one);
        std::vector<Case> piece;
        for (std::size_t i = 0; i < found.size(); ++i)
            for (Case &item : found[i])
                if (shapes[begin + i].settings.empty() || swept.emplace(item.shape, *item.strategy).second)
                    piece.push_back(std::move(item));
        take(std::move(piece));
    }
}

} // namespace

std::size_t most_cases_of(const Question &question) {
    std::size_t cases = 0;
    for (const AskedShape &asked : question.shapes)
        cases += !asked.settings.empty() ? asked.settings.size()
                 : question.strategies.empty()
                     ? strategy_names().size() + asked.further.size() + question.own_kernels.size()
                     : question.strategies.size() + question.own_kernels.size();
    return cases;
}

std::vector<Case> predict_all(const Question &question, bool with_baselines, int best, int drawn) {
    const std::size_t of_a_shape =
        static_cast<std::size_t>(best) + static_cast<std::size_t>(drawn) * strategy_names().size();
    const std::size_t most = most_cases_of(question) + question.shapes.size() * of_a_shape;
    if (most > most_held)
        throw UsageError(
            fmt::format("up to {} cases are asked, more than the {} of a document that is held in "
                        "memory; name a strategy with --strategy, or give fewer shapes",
                        most, most_held));
    std::vector<Case> cases;
    predict_pieces(question, {with_baselines, best, drawn}, [&](std::vector<Case> piece) {
        for (Case &item : piece) {
            if (most > most_with_terms && item.prediction)
                item.prediction->term.reset();
            cases.push_back(std::move(item));
        }
    });
    return cases;
}

void predict_in_pieces(const Question &question, const std::function<void(std::vector<Case>)> &take) {
    predict_pieces(question, {}, take);
}

void Refusals::add(const Question &question, const std::vector<Case> &cases) {
    std::map<std::string, bool> done; // by shape
    for (const Case &item : cases) {
        const bool refused = item.status == Status::infeasible || item.status == Status::unsupported ||
                             item.status == Status::failed; // of an own kernel's expressions
        const bool elsewhere = item.baseline && is_elsewhere(*item.baseline);
        if (!elsewhere) {
            bool &is_done = done[item.shape];
            is_done = is_done || !refused;
        }
        if (!refused)
            continue;
        const std::string text = item.strategy.value_or(item.baseline.value_or(""));
        std::string name = item.strategy ? text.substr(0, text.find(':')) : text;
        const auto &asked = question.strategies;
        const bool exactly = std::find(asked.begin(), asked.end(), name) != asked.end();
        const bool is_named =
            exactly || text.starts_with(own_prefix) ||
            (item.strategy && std::any_of(asked.begin(), asked.end(), [&](const auto &other) {
                 return other.substr(0, other.find(':')) == name;
             }));
        if (!is_named)
            continue;
        if (!exactly)
            name = text;
        const std::string why =
            std::string(boost::describe::enum_to_string(item.status, "?")) + ": " + item.reason.value_or("");
        const auto [place, is_new] = places_.try_emplace({name, why}, named_.size());
        if (is_new)
            named_.push_back({name, why, item.shape, 0});
        ++named_[place->second].cases;
    }
    for (const auto &[shape, is_done] : done)
        if (!is_done && known_.insert(shape).second)
            nothing_.push_back(shape);
}

void Refusals::say(bool named) const {
    constexpr std::size_t most_named = 100, most_said = 5;
    for (std::size_t i = 0; named && i < std::min(most_named, named_.size()); ++i) {
        const Named &refused = named_[i];
        note(refused.first_shape +
             (refused.cases > 1 ? " and " + std::to_string(refused.cases - 1) + " more" : "") + ": " +
             refused.text + " is " + refused.why);
    }
    if (named && named_.size() > most_named)
        note(fmt::format("and {} more reasons; the document has them", named_.size() - most_named));
    if (named_.empty() && !nothing_.empty()) // what is named has its reason already
        note(join({nothing_.begin(),
                   nothing_.begin() + static_cast<std::ptrdiff_t>(std::min(most_said, nothing_.size()))}) +
             (nothing_.size() > most_said ? " and " + std::to_string(nothing_.size() - most_said) + " more"
                                          : "") +
             ": no strategy does this" + (named ? "; the document has the reasons" : ""));
}

GpuProfile document_profile(const std::string &verb, const Run &document, const Arguments &arguments,
                            const std::string &file) {
    GpuProfile profile;
    try {
        profile =
            find_profile(arguments.text("gpu", document.profile_id.empty() ? "h200" : document.profile_id));
    } catch (const UsageError &) {
        if (arguments.has("gpu"))
            throw;
        throw UsageError(verb + ": the document was forecast from the profile '" + document.profile_id +
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
    // Measured cases without forecasts hold for any profile of their GPU, also one that is measured later.
    const bool forecast = std::any_of(document.cases.begin(), document.cases.end(),
                                      [](const Case &item) { return item.prediction.has_value(); });
    if (forecast && !arguments.has("gpu") && !document.profile_hash.empty() &&
        document.profile_hash != profile_hash(profile))
        throw UsageError(
            verb + ": the document was forecast from a profile '" + document.profile_id +
            "' that is not the one that ships; give it again with --gpu FILE, or with the --assume it "
            "was made with");
    return profile;
}

bool was_run(const Run &document) {
    return document.conditions.contains("gpu");
}

namespace {

/// Forecasts a case of `document` again; see forecast_again.
void forecast_case_again(Case &item, const Run &document, const GpuProfile &profile,
                         const Knowledge &knowledge, MeasuredCases measured) {
    if (!item.measurements.empty() && measured == MeasuredCases::keep)
        return;
    const ConvShape shape = ConvShape::parse(item.shape);
    const Measurement *cold = item.measured(L2State::cold);
    const Work *counted =
        measured == MeasuredCases::renew_given_work && cold && cold->work ? &*cold->work : nullptr;
    const OwnKernel *kernel = item.baseline ? document.own_kernel(*item.baseline) : nullptr;
    const Work *its = kernel && !kernel->work && cold && cold->work ? &*cold->work : counted;
    Case now = item.strategy ? predict(parse_strategy(*item.strategy), shape, profile, knowledge, counted)
               : kernel      ? predict_own(*kernel, shape, profile, knowledge, its)
                             : predict_baseline(*item.baseline, shape, profile);
    for (Measurement &m : item.measurements)
        m.rates = rates_of(shape, m.work, m.time_s, profile);
    if (has_timeline(item))
        add_forecast_timeline(now, profile, knowledge);
    // Only a run gives these statuses; whether a strategy fits, a forecast says too.
    const bool found = item.status == Status::wrong_result || item.status == Status::failed ||
                       item.status == Status::not_run ||
                       (item.status != Status::ok && (item.baseline || was_run(document)));
    if (found || !item.measurements.empty()) {
        item.prediction = std::move(now.prediction); // absent where this code would not run it
    } else {
        now.study = std::move(item.study);
        now.name = std::move(item.name);
        now.count = item.count;
        item = std::move(now);
    }
}

} // namespace

void forecast_again(Run &document, const GpuProfile &profile, const Knowledge &knowledge,
                    MeasuredCases measured, const std::function<void(std::size_t)> &progress) {
    constexpr std::size_t at_once = 1024;
    Progress own("forecast", Progress::Where::terminal_after_a_while);
    std::vector<Case> &cases = document.cases;
    const bool with_terms = cases.size() <= most_with_terms;
    for (std::size_t begin = 0; begin < cases.size(); begin += at_once) {
        if (progress)
            progress(begin);
        else
            own.show(begin, cases.size(), cases[begin].shape);
        in_parallel(std::min(at_once, cases.size() - begin), [&](std::size_t i) {
            Case &item = cases[begin + i];
            forecast_case_again(item, document, profile, knowledge, measured);
            if (!with_terms && item.prediction)
                item.prediction->term.reset();
        });
    }
    if (!with_terms)
        note("terms are left out of documents of more than " + std::to_string(most_with_terms) + " cases");
}

void refuse_question_beside_document(const std::string &verb, const Arguments &arguments) {
    for (const char *other :
         {"sms", "shape", "sweep", "study", "shapes", "strategy", "set", "choose", "draw", "network"})
        if (arguments.has(other))
            throw UsageError(verb + ": a Run document and --" + other +
                             " were both given; the document already says what to " + verb);
}

Run new_run(const GpuProfile &profile, const Knowledge &knowledge, std::optional<int> sms,
            std::vector<Case> cases) {
    Run run;
    run.producer = producer();
    run.profile_id = profile.id;
    run.profile_hash = profile_hash(profile);
    if (sms)
        run.conditions[sms_condition] = std::to_string(*sms);
    note_knowledge(run, knowledge);
    run.cases = std::move(cases);
    return run;
}

} // namespace convcast::cli
