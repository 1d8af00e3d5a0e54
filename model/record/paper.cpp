#include "model/record/paper.hpp"

#include "model/base/described.hpp"
#include "model/base/embedded.hpp"
#include "model/base/readable.hpp"
#include "model/machine/profile.hpp"
#include "model/record/images.hpp"
#include "model/record/study.hpp"
#include "model/shape/conv_shape.hpp"
#include "model/strategies/list.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast {

extern const std::vector<EmbeddedFile> shipped_paper_files;

namespace {

/// Tells `problem` of each text that is no strategy with its knobs.
void require_strategies(const std::vector<std::string> &texts, const std::string &field,
                        const FieldProblem &problem) {
    for (std::size_t i = 0; i < texts.size(); ++i)
        or_problem(problem, field + "/" + std::to_string(i), [&] { parse_strategy(texts[i]); });
}

/// Every paper that ships, read once.
const std::vector<Paper> &papers_that_ship() {
    static const std::vector<Paper> papers = read_each(shipped_paper_files, read_paper);
    return papers;
}

} // namespace

void PublishedCell::check(const FieldProblem &problem) const {
    if (of.empty())
        problem("of", "expected a row or a series, for example \"prefetch\", found nothing");
    if (at.empty())
        problem("at", "expected a column or a place on the axis, for example \"3x3\", found nothing");
    const bool compares = ratio_of(*this).has_value();
    if (compares && !against)
        problem("", "expected \"against\": what the number is over, for example \"cuDNN 7.1\"");
    const bool is_time =
        unit == PaperUnit::second || unit == PaperUnit::millisecond || unit == PaperUnit::clock;
    if (is_time && !(value > 0.0))
        problem("value", "expected a time above 0, for example 0.0137");
    if (compares && !(value > 0.0))
        problem("value", "expected a number above 0, for example 1.39");
    if ((unit == PaperUnit::percent_slower || unit == PaperUnit::percent_saved) && value >= 100.0)
        problem("value", "expected less than 100, for example 19");
}

void PaperBanks::check(const FieldProblem &problem) const {
    for (const auto &[field, value] : {std::pair{"element_bytes", element_bytes}, std::pair{"unit", unit}})
        if (value == 3 || value > 4)
            problem(field, "expected 1, 2 or 4, found " + std::to_string(value));
    if (row && loads)
        problem("loads", "expected \"loads\" of one warp or \"row\" of all, not both");
    if (halo && (!row || *halo >= *row))
        problem("halo", "expected less than the elements of \"row\"");
}

void PaperAnswer::check(const FieldProblem &problem) const {
    if (kind == AnswerKind::computed && !by && !images && !(method && method->answers()))
        problem("",
                "expected \"method\" with tables, figures or claims, or \"by\": the method that answers it, "
                "for example \"gains\"");
    if (!also.empty() && !by && !(method && method->answers()))
        problem("also", "expected \"by\" before them: the method that they follow, for example \"gains\"");
    if (drawn.empty() == (drawn_shape.has_value() || !drawn_shapes.empty()))
        problem("drawn", "expected strategies and the shape that is drawn of them, for example \"drawn\": "
                         "[\"map_split\"], \"drawn_shape\": \"n1c1h56w56k256r3s3\"");
    if (!drawn_titles.empty() && drawn_titles.size() != drawn.size())
        problem("drawn_titles", "expected as many as there are in \"drawn\"");
    if (!drawn_shapes.empty() && (drawn_shapes.size() != drawn.size() || drawn_shape))
        problem("drawn_shapes", "expected as many as there are in \"drawn\", and no \"drawn_shape\"");
    if (kind == AnswerKind::here && !where)
        problem("", "expected \"where\": where it is, for example \"docs/notation.md\"");
    if (kind == AnswerKind::not_computed && !why)
        problem("", "expected \"why\": the reason, for example \"the text is an introduction\"");
    if (!rungs.empty() && !network)
        problem("", "expected \"network\": whose rungs these are, for example \"fashion_mnist\"");
    if (paper_kernels.size() > 2)
        problem("paper_kernels", "expected two at most, which rule 4 chooses from");
}

void PaperItem::check(const FieldProblem &problem) const {
    if (!is_id(id)) // names files
        problem("id", expected_id("figure_4", id));
    if (says.empty())
        problem("says", "expected what it claims, in a sentence, found nothing");
}

void BibtexEntry::check(const FieldProblem &problem) const {
    for (const char *field : {"author", "title", "year"})
        if (!fields.contains(field))
            problem("fields", std::string("expected a field \"") + field + "\"");
    for (const auto &[name, text] : fields)
        if (std::count(text.begin(), text.end(), '{') != std::count(text.begin(), text.end(), '}'))
            problem("fields/" + name, "expected as many { as }");
}

void Paper::check(const FieldProblem &problem) const {
    require_one_of(gpu, shipped_profiles(), "the name of a shipped profile", "gpu", problem);
    if (!is_id(id)) // names a folder
        problem("id", expected_id("chang", id));
    std::set<std::string> ids;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const PaperAnswer &answer = items[i].answer;
        const std::string item = "items/" + std::to_string(i), its = item + "/answer/";
        if (!ids.insert(items[i].id).second)
            problem(item + "/id", "expected an id of its own, found \"" + shortened(items[i].id) +
                                      "\" for the second time");
        if (answer.study)
            require_one_of(*answer.study, shipped_studies(), "a shipped study", its + "study", problem);
        for (std::size_t j = 0; j < answer.paper_kernels.size(); ++j)
            require_one_of(answer.paper_kernels[j], strategy_names(), "a strategy's name",
                           its + "paper_kernels/" + std::to_string(j), problem);
        if (answer.images)
            require_one_of(*answer.images, shipped_images(), "a data set of which images ship",
                           its + "images", problem);
        if (answer.method)
            check_texts(*answer.method, its + "method", problem);
        require_strategies(answer.settings, its + "settings", problem);
        require_strategies(answer.drawn, its + "drawn", problem);
        if (answer.drawn_shape)
            or_problem(problem, its + "drawn_shape", [&] { ConvShape::parse(*answer.drawn_shape); });
        for (std::size_t j = 0; j < answer.drawn_shapes.size(); ++j)
            or_problem(problem, its + "drawn_shapes/" + std::to_string(j),
                       [&] { ConvShape::parse(answer.drawn_shapes[j]); });
    }
    for (const auto &[name, method] : methods)
        check_texts(method, "methods/" + shortened(name), problem);
    if (items.empty())
        problem("items", "expected at least one item");
}

Paper read_paper(const std::string &text, const std::string &file) {
    return described::read_document<Paper>(text, file);
}

const PaperMethod *find_method(const Paper &paper, const std::string &name) {
    if (const auto own = paper.methods.find(name); own != paper.methods.end())
        return &own->second;
    for (const Paper &other : papers_that_ship())
        if (const auto its = other.methods.find(name); its != other.methods.end())
            return &its->second;
    return nullptr;
}

std::vector<std::string> method_names(const Paper &paper) {
    std::vector<std::string> names;
    for (const auto &[name, method] : paper.methods)
        names.push_back(name);
    for (const Paper &other : papers_that_ship())
        for (const auto &[name, method] : other.methods)
            if (!paper.methods.contains(name))
                names.push_back(name);
    return names;
}

std::vector<std::string> shipped_papers() {
    return names_of(shipped_paper_files);
}

Paper find_paper(const std::string &name_or_file) {
    for (const Paper &paper : papers_that_ship())
        if (paper.id == name_or_file)
            return paper;
    const NamedText file = named_file("paper", name_or_file, shipped_paper_files,
                                      ", all; or a paper's file, for example mine.json");
    return read_paper(file.text, file.place);
}

std::string unit_text(PaperUnit unit) {
    static constexpr const char *in_order[] = {
        "",      "×",       "%",       "% faster", "% slower", "% of the time saved",
        "s",     "ms",      "clk",     "B",        "KB",       "B/clk",
        "GB/s",  "MHz",     "GFLOP/s", "FMAs",     "FMA/clk",  "threads",
        "warps", "filters", "pixels"};
    static_assert(std::size(in_order) ==
                  boost::mp11::mp_size<boost::describe::describe_enumerators<PaperUnit>>());
    return in_order[static_cast<std::size_t>(unit)];
}

std::optional<double> ratio_of(const PublishedCell &cell) {
    switch (cell.unit) {
    case PaperUnit::times:
        return cell.value;
    case PaperUnit::percent_faster:
        return 1.0 + cell.value / 100.0;
    case PaperUnit::percent_slower:
    case PaperUnit::percent_saved:
        return 1.0 / (1.0 - cell.value / 100.0);
    default:
        return std::nullopt;
    }
}

std::vector<PublishedGain> published_gains(const std::string &study) {
    std::vector<PublishedGain> gains;
    for (const Paper &paper : papers_that_ship())
        for (const PaperItem &item : paper.items) {
            if (item.answer.study != study)
                continue;
            for (const PublishedCell &cell : item.published) {
                const std::optional<double> ratio = ratio_of(cell);
                if (!ratio || cell.at != "all" || !cell.gpu)
                    continue;
                auto gain = std::find_if(gains.begin(), gains.end(), [&](const PublishedGain &g) {
                    return g.gpu == *cell.gpu && g.baseline == *cell.against;
                });
                if (gain == gains.end()) {
                    gain = gains.emplace(gains.end());
                    gain->gpu = *cell.gpu;
                    gain->baseline = *cell.against;
                }
                const Statistic statistic = cell.statistic.value_or(Statistic::average);
                (statistic == Statistic::least  ? gain->low
                 : statistic == Statistic::most ? gain->high
                                                : gain->average) = ratio;
                if (cell.remark)
                    gain->remark += (gain->remark.empty() ? "" : "; ") + *cell.remark;
            }
        }
    return gains;
}

std::vector<std::string> kernels_of_papers(const std::string &study) {
    for (const Paper &paper : papers_that_ship())
        for (const PaperItem &item : paper.items)
            if (item.answer.study == study && !item.answer.paper_kernels.empty())
                return item.answer.paper_kernels;
    return {};
}

template const described::Type &described::type_of<Paper>();

} // namespace convcast
