#include "model/record/paper_method.hpp"

#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/machine/profile.hpp"
#include "model/record/sentence.hpp"
#include "model/record/study.hpp"
#include "model/shape/conv_shape.hpp"
#include "model/shape/expression.hpp"
#include "model/strategies/list.hpp"

#include <boost/describe.hpp>
#include <boost/mp11.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

namespace convcast {
namespace {

/// What the texts of a PaperMethod's field are, by its name; those of all other fields are sentences.
PaperTextKind text_kind_of(const std::string &field) {
    using enum PaperTextKind;
    static const std::map<std::string, PaperTextKind> kinds = {
        {"when", expression},  {"where", expression}, {"verdict", expression}, {"exact", expression},
        {"value", expression}, {"at", expression},    {"to", expression},      {"x", expression},
        {"style", expression}, {"least", expression}, {"values", expression},  {"each", list},
        {"over", list},        {"measured", setting}, {"except", setting},     {"forecast", setting},
        {"chosen", setting},   {"fastest", time},     {"in", recording},       {"studies", study},
        {"baseline", plain},   {"best", plain},       {"gpu", plain},          {"drawn", plain},
        {"columns", plain},    {"rows", plain},       {"shown", plain},        {"x_axis", plain},
        {"panels", list},      {"with", plain},       {"scale", plain},        {"begins", expression},
        {"y", expression},     {"width", expression}, {"height", expression},  {"parts", plain}};
    const auto found = kinds.find(field);
    return found == kinds.end() ? sentence : found->second;
}

/// Calls `call` with each text in `value`, which stands at `path`: with a text itself, with those in an
/// optional, a list or a map, and with those of a struct's members. `kind` is that of `value` where it is a
/// text. A plain text that begins with = is an expression, as in cells of PaperList.
template <class T>
void each_text(const T &value, const std::string &path, PaperTextKind kind, const EachPaperText &call) {
    if constexpr (std::is_same_v<T, std::string>) {
        const bool computed = kind == PaperTextKind::plain && value.starts_with('=');
        call(path, value.substr(computed ? 1 : 0), computed ? PaperTextKind::expression : kind);
    } else if constexpr (described::IsOptional<T>::value) {
        if (value)
            each_text(*value, path, kind, call);
    } else if constexpr (described::IsVector<T>::value) {
        for (std::size_t i = 0; i < value.size(); ++i)
            each_text(value[i], path + "/" + std::to_string(i), kind, call);
    } else if constexpr (described::IsMap<T>::value) {
        for (const auto &[name, element] : value)
            each_text(element, path + "/" + name, kind, call);
    } else if constexpr (boost::describe::has_describe_members<T>::value) {
        boost::mp11::mp_for_each<described::Members<T>>([&](auto member) {
            each_text(value.*member.pointer, path + "/" + member.name, text_kind_of(member.name), call);
        });
    }
}

} // namespace

void each_text(const PaperMethod &method, const EachPaperText &call) {
    each_text(method, "", PaperTextKind::plain, call);
}

void require_one_of(const std::string &name, const std::vector<std::string> &known, const std::string &what,
                    const std::string &field, const FieldProblem &problem, const std::string &example) {
    if (std::find(known.begin(), known.end(), name) != known.end())
        return;
    const std::string one = example.empty() && !known.empty() ? known.front() : example;
    problem(field, "expected " + what + (one.empty() ? "" : ", for example \"" + one + "\"") + ", found \"" +
                       shortened(name) + "\"" + did_you_mean(name, known));
}

void check_texts(const PaperMethod &method, const std::string &field, const FieldProblem &problem) {
    const std::vector<std::string> studies = shipped_studies();
    each_text(method, [&](const std::string &path, const std::string &text, PaperTextKind kind) {
        const bool filled_in = text.find('{') != std::string::npos;
        or_problem(problem, field + path, [&] {
            if (kind == PaperTextKind::expression)
                parse_expression(text);
            else if (kind == PaperTextKind::sentence || (kind == PaperTextKind::setting && filled_in))
                parse_sentence(text);
            else if (kind == PaperTextKind::setting)
                parse_strategy(text);
        });
        const std::string its = text.substr(0, text.find('/')); // the study of "chang_multi/settings"
        if (kind == PaperTextKind::study ||
            (kind == PaperTextKind::recording && its != "run" && its != "settings"))
            require_one_of(its, studies, "a shipped study", field + path, problem, "chang_multi");
    });
}

void PaperTime::check(const FieldProblem &problem) const {
    const int ways = !measured.empty() + baseline.has_value() + best.has_value() + forecast.has_value() +
                     chosen.has_value() + !fastest.empty();
    if (ways != 1)
        problem("", "expected one of \"measured\", \"baseline\", \"best\", \"forecast\", \"chosen\" and "
                    "\"fastest\", for example \"measured\": [\"block_register:unit=2\"]");
    if (measured.empty() && (!except.empty() || least))
        problem("", "expected \"except\" and \"least\" beside \"measured\" only");
    if (with && !forecast && !chosen)
        problem("with", "expected \"with\" beside \"forecast\" or \"chosen\" only");
}

void PaperList::check(const FieldProblem &problem) const {
    if (count && columns.size() != 1)
        problem("count", "expected one of \"columns\" beside it, for example \"columns\": [\"column\"]");
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::string row = "rows/" + std::to_string(i);
        if (rows[i].size() != columns.size())
            problem(row, "expected " + std::to_string(columns.size()) +
                             " cells, one for each of \"columns\", found " + std::to_string(rows[i].size()));
        for (std::size_t j = 0; j < std::min(rows[i].size(), columns.size()); ++j)
            or_problem(problem, row + "/" + std::to_string(j), [&] {
                if (columns[j] == "shape")
                    ConvShape::parse(rows[i][j]);
                if (columns[j] == "gpu")
                    find_profile(rows[i][j]);
            });
    }
}

void PaperTableMethod::check(const FieldProblem &problem) const {
    if (columns.empty())
        problem("columns", "expected one at least, for example {\"head\": \"shape\", \"cell\": \"{shape}\"}");
}

void PaperSeries::check(const FieldProblem &problem) const {
    if ((drawn == PaperDrawn::bars) != begins.has_value())
        problem("", "expected \"begins\" with \"drawn\": \"bars\" and only there, for example \"begins\": "
                    "\"0\"");
}

void PaperFigureMethod::check(const FieldProblem &problem) const {
    if (category.has_value() == x.has_value())
        problem("", "expected \"category\": a name of a row, or \"x\": a number, for example \"category\": "
                    "\"{shape}\"");
    if (panels.empty() == panel.has_value())
        problem("", "expected \"panels\": lists, and \"panel\": the title of each plot, or neither");
    for (std::size_t i = 0; x && i < series.size(); ++i)
        if (series[i].drawn == PaperDrawn::bars)
            problem("series/" + std::to_string(i) + "/drawn",
                    "expected points or lines, for example \"lines\": bars stand in a row of a category");
}

void PaperDrawingMethod::check(const FieldProblem &problem) const {
    if (boxes.empty())
        problem("boxes", "expected one at least, for example {\"x\": \"0\", \"y\": \"0\", \"width\": \"4\", "
                         "\"height\": \"1\", \"text\": \"an image\"}");
}

void PaperClaim::check(const FieldProblem &problem) const {
    if (exact ? cell.empty() || cell.size() > 2 || !from || verdict || claim
              : !(claim && verdict && found && says))
        problem(
            "",
            "expected \"claim\", \"verdict\", \"found\" and \"says\"; or \"cell\", \"exact\" and \"from\", "
            "for example \"cell\": [\"n\", \"float on Kepler\"], \"exact\": \"8 / 4\", \"from\": "
            "\"equation (1)\"");
}

} // namespace convcast
