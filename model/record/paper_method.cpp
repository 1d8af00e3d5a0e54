#include "model/record/paper_method.hpp"

#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/machine/profile.hpp"
#include "model/record/sentence.hpp"
#include "model/record/study.hpp"
#include "model/shape/conv_shape.hpp"
#include "model/shape/expression.hpp"
#include "model/strategies/list.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace convcast {
namespace {

/// What the texts of a field are; of fields that are not here sentences.
PaperTextKind text_kind_of(const std::string &field) {
    using enum PaperTextKind;
    static const std::map<std::string, PaperTextKind> kinds = {
        {"when", expression},  {"where", expression}, {"verdict", expression}, {"exact", expression},
        {"value", expression}, {"at", expression},    {"to", expression},      {"x", expression},
        {"style", expression}, {"least", expression}, {"values", expression},  {"each", list},
        {"over", list},        {"measured", setting}, {"except", setting},     {"forecast", setting},
        {"chosen", setting},   {"fastest", time},     {"in", recording},       {"studies", study},
        {"baseline", plain},   {"best", plain},       {"gpu", plain},          {"drawn", plain},
        {"columns", plain},    {"rows", plain},       {"shown", plain},        {"x_axis", plain}};
    const auto found = kinds.find(field);
    return found == kinds.end() ? sentence : found->second;
}

void each_text_of(const JsonValue &json, const std::string &path, PaperTextKind kind,
                  const EachPaperText &call) {
    if (const std::optional<std::string_view> text = json.text()) {
        const bool computed = kind == PaperTextKind::plain && text->starts_with('=');
        call(path, std::string(computed ? text->substr(1) : *text),
             computed ? PaperTextKind::expression : kind);
    }
    if (const JsonArray *array = json.array())
        for (std::size_t i = 0; i < array->size(); ++i)
            each_text_of((*array)[i], path + "/" + std::to_string(i), kind, call);
    if (const JsonObject *object = json.object())
        for (const JsonMember &member : *object) {
            const std::string key(member.first);
            const bool named = kind == PaperTextKind::expression; // the keys of "values" are names
            each_text_of(member.second, path + "/" + key, named ? kind : text_kind_of(key), call);
        }
}

} // namespace

void each_text(const PaperMethod &method, const EachPaperText &call) {
    const JsonValue json = described::write(method); // which has every field's name
    each_text_of(json, "", PaperTextKind::sentence, call);
}

void check_texts(const PaperMethod &method, const std::string &place, std::vector<InputProblem> &problems) {
    const std::vector<std::string> studies = shipped_studies();
    each_text(method, [&](const std::string &path, const std::string &text, PaperTextKind kind) {
        const bool filled_in = text.find('{') != std::string::npos;
        try {
            if (kind == PaperTextKind::expression)
                parse_expression(text, ExpressionGrammar::values);
            else if (kind == PaperTextKind::sentence || (kind == PaperTextKind::setting && filled_in))
                parse_sentence(text);
            else if (kind == PaperTextKind::setting)
                parse_strategy(text);
        } catch (const UsageError &error) {
            problems.push_back({place + path, error.what()});
        }
        const std::string its = text.substr(0, text.find('/'));
        const bool names_study = kind == PaperTextKind::study ||
                                 (kind == PaperTextKind::recording && its != "run" && its != "settings");
        if (names_study && std::find(studies.begin(), studies.end(), its) == studies.end())
            problems.push_back(
                {place + path, "expected a shipped study, for example \"chang_multi\", found \"" +
                                   shortened(its) + "\"" + did_you_mean(its, studies)});
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
}

void PaperList::check(const FieldProblem &problem) const {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::string row = "rows/" + std::to_string(i);
        if (rows[i].size() != columns.size())
            problem(row, "expected " + std::to_string(columns.size()) +
                             " cells, one for each of \"columns\", found " + std::to_string(rows[i].size()));
        for (std::size_t j = 0; j < std::min(rows[i].size(), columns.size()); ++j)
            try {
                if (columns[j] == "shape")
                    ConvShape::parse(rows[i][j]);
                if (columns[j] == "gpu")
                    find_profile(rows[i][j]);
            } catch (const UsageError &error) {
                problem(row + "/" + std::to_string(j), error.what());
            }
    }
}

void PaperTableMethod::check(const FieldProblem &problem) const {
    if (columns.empty())
        problem("columns", "expected one at least, for example {\"head\": \"shape\", \"cell\": \"{shape}\"}");
}

void PaperFigureMethod::check(const FieldProblem &problem) const {
    if (category.has_value() == x.has_value())
        problem("", "expected \"category\": a name of a row, or \"x\": a number, for example \"category\": "
                    "\"{shape}\"");
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
