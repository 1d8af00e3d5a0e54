#include "model/base/document.hpp"

#include "model/base/param.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convcast::described {
namespace {

using Form = Type::Form;
using Kind = JsonEvent::Kind;

// ---- writing ----

/// Passes a number on; as an integer if it is whole and below 9e15, which a double knows exactly.
void tell_number(double value, const JsonEvents &events) {
    if (value == std::floor(value) && std::abs(value) < 9.0e15)
        events({.kind = Kind::integer, .integer = static_cast<long long>(value)});
    else
        events({.kind = Kind::number, .number = value});
}

/// Calls `use(key, element)` for each element of a list, array or map, or for what an optional holds.
template <class Use> void for_each(const Type &type, const void *object, Use use) {
    type.each(
        object,
        [](void *with, const std::string *key, const void *element) {
            (*static_cast<Use *>(with))(key, element);
        },
        &use);
}

bool is_empty(const Type &type, const void *object) {
    bool empty = true;
    for_each(type, object, [&](const std::string *, const void *) { empty = false; });
    return empty;
}

std::string written(double value) {
    JsonWriter writer;
    tell_number(value, std::ref(writer));
    return writer.take();
}

} // namespace

void tell(const Type &type, const void *object, const JsonEvents &events) {
    switch (type.form) {
    case Form::boolean:
        return events({.kind = Kind::boolean, .boolean = *static_cast<const bool *>(object)});
    case Form::text:
        return events({.kind = Kind::string, .text = *static_cast<const std::string *>(object)});
    case Form::unit:
        return events({.kind = Kind::string, .text = type.unit});
    case Form::choice: {
        const auto is = [&](const auto &choice) { return choice.value == type.integer(object); };
        const auto found = std::find_if(type.choices.begin(), type.choices.end(), is);
        return events({.kind = Kind::string, .text = found == type.choices.end() ? "?" : found->name});
    }
    case Form::integer:
        return events({.kind = Kind::integer, .integer = type.integer(object)});
    case Form::number:
        return tell_number(type.number(object), events);
    case Form::optional:
        return for_each(type, object,
                        [&](const std::string *, const void *held) { tell(type.element(), held, events); });
    case Form::list:
    case Form::array:
        events({Kind::array});
        for_each(type, object,
                 [&](const std::string *, const void *held) { tell(type.element(), held, events); });
        return events({Kind::array_end});
    case Form::map:
        events({Kind::object});
        for_each(type, object, [&](const std::string *key, const void *held) {
            events({.kind = Kind::key, .text = *key});
            tell(type.element(), held, events);
        });
        return events({Kind::object_end});
    case Form::param:
    case Form::object:
        events({Kind::object});
        for (const Field &field : type.fields) {
            const Type &its = field.type();
            const void *held = field.in(const_cast<void *>(object));
            if (its.may_lack() && is_empty(its, held))
                continue;
            events({.kind = Kind::key, .text = field.name});
            tell(its, held, events);
        }
        events({Kind::object_end});
    }
}

std::string to_text(const Written &written) {
    JsonWriter writer;
    tell(written.type, written.object, std::ref(writer));
    return writer.take() + "\n";
}

std::string to_line(const Written &written) {
    JsonWriter writer(JsonWriter::Layout::one_line);
    tell(written.type, written.object, std::ref(writer));
    return writer.take() + "\n";
}

// ---- reading ----

namespace {

/// What a value of a type looks like: for messages.
std::string expected(const Type &type) {
    switch (type.form) {
    case Form::boolean:
        return "true or false";
    case Form::integer:
        return "an integer";
    case Form::number:
        return "a number";
    case Form::text:
    case Form::unit:
        return "a string";
    case Form::list:
        return "an array";
    case Form::array:
        return "an array of " + std::to_string(type.size);
    case Form::param:
        return "an object like {\"value\": 1, \"unit\": \"" + std::string(type.unit) +
               "\", \"source\": \"measured\", \"by\": \"probe\"}";
    case Form::choice: {
        std::vector<std::string> names;
        for (const Choice &choice : type.choices)
            names.emplace_back(choice.name);
        return "one of " + join(names);
    }
    default:
        return "an object";
    }
}

/// "expected a number from 0 to 1e+06, got -1"
std::string out_of_range(const Type &type, double value, const Range &range) {
    return fmt::format("expected {} from {:g} to {:g}, got {:g}",
                       type.form == Form::integer ? "an integer" : "a number", range.low, range.high, value);
}

bool is_within(double value, const Range &range) {
    return value >= range.low && value <= range.high;
}

/// Reports what is wrong with a Param: a value that is not above 0 or outside `allowed`, an interval that
/// does not contain the value, or populations that do not ascend.
void check_param(const Type &type, void *param, const Range &allowed, const FieldProblem &problem) {
    const auto part = [&](std::string_view name) {
        return std::find_if(type.fields.begin(), type.fields.end(),
                            [&](const Field &field) { return name == field.name; })
            ->in(param);
    };
    const double value = *static_cast<const double *>(part("value"));
    if (!(value > 0.0))
        problem("value", "expected a number above zero; a value that is not known "
                         "is left out and named in "
                         "\"missing\"");
    else if (!is_within(value, allowed))
        problem("value", fmt::format("expected a number from {:g} to {:g}, got {:g} {}", allowed.low,
                                     allowed.high, value, type.unit));
    constexpr double rounded = 1e-9; // both may have been written with fewer digits
    if (const auto &interval = *static_cast<const std::optional<Interval> *>(part("interval"));
        interval && value > 0.0 && is_within(value, allowed) &&
        !(value >= interval->low - rounded * value && value <= interval->high + rounded * value))
        problem("interval", "expected an interval that holds the value, for example \"low\": " +
                                written(value) + ", \"high\": " + written(value));
    const auto &populations = *static_cast<const std::vector<double> *>(part("populations"));
    if (std::adjacent_find(populations.begin(), populations.end(), std::greater_equal<>()) !=
        populations.end())
        problem("populations", "expected medians in ascending order, for example [221, 263]");
}

} // namespace

Reader::Reader(const Type &type, void *out, std::string file, std::string path)
    : type_(type), out_(out), file_(std::move(file)), path_(std::move(path)) {}

void Reader::operator()(const JsonEvent &event) {
    line_ = line_ == 0 ? event.line : line_;
    if (event.kind == Kind::key)
        return take_key(event);
    if (event.ends())
        return end();
    if (open_.size() == 1 && event.kind == Kind::string && open_.front().key == "schema")
        schema_ = event.text;
    Target target = next();
    while (target.type != nullptr && target.type->form == Form::optional)
        target = {&target.type->element(), target.type->add(target.object, {}, 0), target.range};
    if (event.begins())
        begin(event, target);
    else if (target.type != nullptr)
        take_scalar(event, target);
}

/// Where the next value goes. Makes the element of a list or map that it goes to.
Reader::Target Reader::next() {
    if (open_.empty())
        return {&type_, out_, std::nullopt};
    Frame &frame = open_.back();
    if (frame.type == nullptr || full())
        return {};
    switch (frame.type->form) {
    case Form::list:
    case Form::array:
    case Form::map:
        if (frame.values++ >= frame.type->size)
            return {};
        return {&frame.type->element(), frame.type->add(frame.object, frame.key, frame.values - 1),
                frame.range};
    default:
        if (frame.field == nullptr)
            return {};
        return {&frame.field->type(), frame.field->in(frame.object), frame.field->range};
    }
}

void Reader::take_key(const JsonEvent &event) {
    Frame &frame = open_.back();
    if (open_.size() == 1 || (frame.type != nullptr && frame.type->form == Form::map))
        frame.key = event.text;
    if (frame.type == nullptr || frame.type->form == Form::map || full())
        return;
    const std::span<const Field> fields = frame.type->fields;
    // Members mostly come in the order of the fields, so the search begins behind the last one.
    const std::size_t after =
        frame.field == nullptr ? 0 : static_cast<std::size_t>(frame.field - fields.data()) + 1;
    frame.field = nullptr;
    for (std::size_t i = 0; i < fields.size() && frame.field == nullptr; ++i)
        if (const Field &field = fields[(after + i) % fields.size()]; event.text == field.name)
            frame.field = &field;
    if (frame.field != nullptr) {
        frame.seen[static_cast<std::size_t>(frame.field - fields.data())] = true;
        return;
    }
    frame.key = shortened(event.text);
    const std::span<const char *const> former = frame.type->former;
    // Keys that begin with x_ are the user's own, and never a problem.
    if (event.text.starts_with("x_") || std::find(former.begin(), former.end(), event.text) != former.end())
        return;
    constexpr std::size_t longest_name = 100;
    std::vector<std::string> known(former.begin(), former.end());
    for (const Field &field : fields)
        known.emplace_back(field.name);
    say(event.line, path(),
        "unknown field" + did_you_mean(std::string(event.text.substr(0, longest_name)), known));
}

void Reader::take_scalar(const JsonEvent &event, const Target &target) {
    const Type &type = *target.type;
    const Range &range = target.range ? *target.range : type.range;
    switch (type.form) {
    case Form::boolean:
        if (event.kind != Kind::boolean)
            return wrong(event, type);
        *static_cast<bool *>(target.object) = event.boolean;
        return;
    case Form::text:
        if (event.kind != Kind::string)
            return wrong(event, type);
        *static_cast<std::string *>(target.object) = event.text;
        return;
    case Form::unit:
        if (event.kind != Kind::string)
            return wrong(event, type);
        if (event.text != type.unit)
            say(event.line, path(),
                "expected unit \"" + std::string(type.unit) + "\", got \"" + shortened(event.text) + "\"");
        return;
    case Form::choice: {
        if (event.kind != Kind::string)
            return wrong(event, type);
        std::vector<std::string> names;
        for (const auto &[name, value] : type.choices) {
            if (event.text == name)
                return void(type.set_integer(target.object, value));
            names.emplace_back(name);
        }
        return say(event.line, path(),
                   "expected " + expected(type) + ", got \"" + shortened(event.text) + "\"" +
                       did_you_mean(std::string(event.text), names));
    }
    case Form::integer:
        if (event.kind != Kind::integer)
            return wrong(event, type);
        if (!is_within(static_cast<double>(event.integer), range) ||
            !type.set_integer(target.object, event.integer))
            say(event.line, path(), out_of_range(type, static_cast<double>(event.integer), range));
        return;
    case Form::number: {
        if (event.kind == Kind::null && range.unknown_allowed)
            return type.set_number(target.object, std::numeric_limits<double>::quiet_NaN());
        if (event.kind != Kind::integer && event.kind != Kind::number)
            return wrong(event, type);
        const double value = event.kind == Kind::integer ? static_cast<double>(event.integer) : event.number;
        type.set_number(target.object, value);
        if (!is_within(value, range))
            say(event.line, path(), out_of_range(type, value, range));
        return;
    }
    default:
        wrong(event, type);
    }
}

/// Opens an array or object; one that is not what the target's type asks for is a problem and is skipped.
void Reader::begin(const JsonEvent &event, const Target &target) {
    const Type *type = target.type;
    if (type != nullptr) {
        const bool is_list = type->form == Form::list || type->form == Form::array;
        const bool fits = event.kind == Kind::array ? is_list
                                                    : type->form == Form::object || type->form == Form::map ||
                                                          type->form == Form::param;
        if (!fits) {
            wrong(event, *type);
            type = nullptr;
        }
    }
    open_.push_back({.type = type,
                     .object = target.object,
                     .range = target.range,
                     .line = event.line,
                     .problems_before = problems_.size()});
}

/// Closes the array or object that was opened last, and checks it as a whole.
void Reader::end() {
    const Frame frame = std::move(open_.back());
    open_.pop_back();
    if (frame.type == nullptr || full())
        return;
    const Type &type = *frame.type;
    if (type.form == Form::array ? frame.values != type.size : frame.values > type.size && type.size > 0)
        say(frame.line, path(),
            type.form == Form::array
                ? "expected " + expected(type) + ", got array"
                : "expected " + expected(type) + " of at most " + std::to_string(type.size) + ", got " +
                      std::to_string(frame.values));
    if (type.trim != nullptr)
        type.trim(frame.object);
    if (type.form == Form::object || type.form == Form::param)
        end_object(frame);
}

/// Reports the fields that an object lacks, and what its own check reports.
void Reader::end_object(const Frame &frame) {
    const Type &type = *frame.type;
    const std::string its_path = path();
    for (std::size_t i = 0; i < type.fields.size(); ++i)
        if (!frame.seen[i] && !type.fields[i].may_lack)
            say(frame.line, its_path, "missing required field \"" + std::string(type.fields[i].name) + "\"");
    // A problem that the check reports is left out if the field is missing or was not read, since that has
    // been reported. Its line is that of the deepest part of the field that the text has: for a list or map
    // that is absent, which counts as empty, the line of the object.
    const FieldProblem more = [&](const std::string &field, const std::string &message) {
        if (field.empty())
            return say(frame.line, its_path, message);
        const std::string lacks = "missing required field \"" + field.substr(0, field.find('/')) + "\"";
        for (std::size_t i = frame.problems_before; i < problems_.size(); ++i)
            if (problems_[i].path == its_path && problems_[i].message == lacks)
                return;
        problem(its_path + "/" + field, message);
    };
    if (type.form == Form::param)
        check_param(type, frame.object, frame.range ? *frame.range : type.range, more);
    else if (type.check != nullptr)
        type.check(frame.object, more);
}

void Reader::wrong(const JsonEvent &event, const Type &type) {
    say(event.line, path(), "expected " + expected(type) + ", got " + event.name());
}

std::string Reader::path() const {
    std::string path = path_;
    for (const Frame &frame : open_) {
        if (frame.type == nullptr)
            break;
        path += '/';
        if (frame.type->form == Form::list || frame.type->form == Form::array)
            path += std::to_string(frame.values - 1);
        else if (frame.type->form == Form::map)
            path += shortened(frame.key);
        else
            path += frame.field != nullptr ? frame.field->name : frame.key;
    }
    return path;
}

void Reader::problem(const std::string &path, const std::string &message) {
    if (std::none_of(problems_.begin(), problems_.end(),
                     [&](const Problem &earlier) { return earlier.path.starts_with(path); }))
        say(0, path, message);
}

void Reader::say(int line, const std::string &path, const std::string &message) {
    if (!full())
        problems_.push_back({path, message, line});
}

std::vector<InputProblem> Reader::problems(std::string_view text, int first_line) {
    std::vector<InputProblem> all;
    for (Problem &problem : problems_) {
        const bool find = problem.line == 0 && !text.empty();
        all.push_back({file_ + (find ? "" : ":" + std::to_string(problem.line)) + ": " +
                           (problem.path.empty() ? "/" : problem.path),
                       std::move(problem.message)});
    }
    return with_lines(std::move(all), text, file_, first_line, path_);
}

std::vector<InputProblem> with_lines(std::vector<InputProblem> problems, std::string_view text,
                                     const std::string &file, int first_line, const std::string &above) {
    const std::string begin = file + ": ";
    std::vector<std::string> paths; // in the text
    for (const InputProblem &problem : problems)
        if (problem.place.starts_with(begin + "/"))
            paths.push_back(problem.place.substr(begin.size() + above.size()));
    if (paths.empty())
        return problems;
    const JsonParts parts = parts_of_json(text, file, paths, {}, first_line);
    std::size_t next = 0;
    for (InputProblem &problem : problems)
        if (problem.place.starts_with(begin + "/")) {
            problem.place = file + ":" + std::to_string(parts.lines[next]) + ": " + above + paths[next];
            ++next;
        }
    return problems;
}

namespace {

/// The end of the message about a document whose schema is not the expected one: which verb writes it anew if
/// another version of convcast wrote it, or else whether it is the right kind of file and what writes that.
std::string advice_on_schema(std::string_view got, std::string_view expected) {
    struct Renewed {
        std::string_view kind;        ///< the schema without its version
        std::string_view replaced_by; ///< the kind that took its place; "": none
        std::string_view verb;        ///< the command that writes it anew
        std::string_view why = "";    ///< what more the message says
    };
    static constexpr Renewed all[] = {
        {"convcast/facts", "", "facts"},
        {"convcast/calibration", "", "fit run.json.gz -o calibration.json",
         ", whose numbers were fitted to other equations"},
        {"convcast/profile", "", "measure"},
        {"convcast/network_forecast", "convcast/network_run", "predict --network"},
        {"convcast/network_run", "", "run --network"},
        {"convcast/ladder_run", "convcast/network_run", "run --network"},
        {"convcast/scaling", "convcast/network_run", "run --network"},
        {"convcast/training", "convcast/network_run", "run --network"}};
    const auto kind_of = [](std::string_view schema) { return schema.substr(0, schema.rfind('/')); };
    const std::string_view kind = kind_of(got), now = kind_of(expected);
    const auto renewed = std::find_if(std::begin(all), std::end(all), [&](const Renewed &its) {
        return its.kind == kind && (its.replaced_by.empty() ? its.kind : its.replaced_by) == now;
    });
    if (renewed != std::end(all))
        return fmt::format("another version of convcast wrote it{}; `convcast {}` writes it anew",
                           renewed->why, renewed->verb);
    if (kind == now)
        return "another version of convcast wrote it";
    if (now == "convcast/run")
        return "is this the right kind of file? `convcast predict` and `convcast run` write the right kind "
               "with -o FILE";
    const auto writer = std::find_if(std::begin(all), std::end(all), [&](const Renewed &its) {
        return its.kind == now && its.replaced_by.empty();
    });
    return writer == std::end(all)
               ? "is this the right kind of file?"
               : fmt::format("is this the right kind of file? `convcast {}` writes the right kind",
                             writer->verb);
}

} // namespace

void Reader::require_schema(const std::string &expected) const {
    if (schema_ != expected)
        throw InputError(file_ + ":" + std::to_string(line_) + ": /schema",
                         "expected \"schema\": \"" + expected + "\", got " +
                             (schema_ ? "\"" + shortened(*schema_) + "\"" : std::string("none")) + "; " +
                             advice_on_schema(schema_.value_or(""), expected));
}

void read_document(const std::string &text, const std::string &file, const std::string &schema,
                   const Type &type, void *out) {
    Reader reader(type, out, file, "");
    parse_json(text, file, std::ref(reader));
    if (!schema.empty())
        reader.require_schema(schema);
    if (std::vector<InputProblem> problems = reader.problems(text); !problems.empty())
        throw InputError(std::move(problems));
}

} // namespace convcast::described
