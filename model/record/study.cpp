#include "model/record/study.hpp"

#include "model/base/described.hpp"
#include "model/base/embedded.hpp"
#include "model/base/readable.hpp"
#include "model/base/text.hpp"
#include "model/record/paper.hpp"
#include "model/shape/conv_shape.hpp"
#include "model/strategies/list.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace convcast {

extern const std::vector<EmbeddedFile> shipped_study_files;

namespace {

/// Tells `problem` of every text that is no shape.
void check_shapes(const std::vector<std::string> &shapes, const FieldProblem &problem) {
    for (std::size_t i = 0; i < shapes.size(); ++i)
        or_problem(problem, "shapes/" + std::to_string(i), [&] { ConvShape::parse(shapes[i]); });
}

void make_canonical(std::vector<std::string> &shapes) {
    for (std::string &shape : shapes)
        shape = ConvShape::parse(shape).id();
}

/// An id (is_id) for a study whose document has none, made of its file's name: "my_layers" of "nets/My
/// layers.json.gz". The name is cut at its first point and at the longest id; every other character becomes
/// _. Of a name that begins with a point only that is left, so that the id is "_" and not empty.
std::string id_of_file(const std::string &file) {
    const std::string name = std::filesystem::path(file).filename().string();
    std::string id = lower(name.substr(0, std::min(longest_id, std::max<std::size_t>(name.find('.'), 1))));
    for (char &c : id)
        if (!is_id(std::string_view(&c, 1)))
            c = '_';
    return id;
}

} // namespace

void StudySweep::check(const FieldProblem &problem) const {
    check_shapes(shapes, problem);
    if (shapes.empty() || strategies.empty())
        problem("", "expected at least one shape and one strategy");
    bool knob_of_all = true;
    for (std::size_t i = 0; i < strategies.size(); ++i)
        or_problem(problem, "strategies/" + std::to_string(i), [&] {
            const std::string canonical = to_text(parse_strategy(strategies[i]));
            knob_of_all = knob_of_all && (canonical.find(":" + swept + "=") != std::string::npos ||
                                          canonical.find("," + swept + "=") != std::string::npos);
        });
    if (swept != "h" && !knob_of_all)
        problem("swept", "expected \"h\" or a knob of all its strategies, found \"" + swept + "\"");
    if (!is_id(id)) // names a figure's file
        problem("id", expected_id("map_split_q", id));
}

void Study::check(const FieldProblem &problem) const {
    check_shapes(shapes, problem);
    for (std::size_t i = 0; i < settings.size(); ++i)
        or_problem(problem, "settings/" + std::to_string(i), [&] {
            const Strategy setting = parse_strategy(settings[i]);
            if (to_text(setting) == to_text(parse_strategy(name_of(setting))))
                throw UsageError("expected a strategy with a knob that is set, for example "
                                 "\"stride_fixed_block:tile_k=64\", found \"" +
                                 settings[i] + "\", which is asked in any case");
        });
    if (!settings.empty() && shapes.empty())
        problem("settings", "expected shapes that they are asked of");
    for (std::size_t i = 0; i < paper_kernels.size(); ++i)
        require_one_of(paper_kernels[i], strategy_names(), "a strategy's name",
                       "paper_kernels/" + std::to_string(i), problem);
    if (paper_kernels.size() > 2)
        problem("paper_kernels", "expected two at most, which rule 4 chooses from");
    if (!id.empty() && !is_id(id)) // names a figure's file and a member of the archive
        problem("id", expected_id("my_layers", id));
    if (shapes.empty() && sweeps.empty())
        problem("shapes", "expected at least one shape, for example \"n1c1h28w28k512r3s3\"");
    if (!counts.empty() && counts.size() != shapes.size())
        problem("counts", "expected one count for each of the " + std::to_string(shapes.size()) +
                              " shapes, got " + std::to_string(counts.size()));
    for (std::size_t i = 0; i < counts.size(); ++i)
        if (counts[i] < 1)
            problem("counts/" + std::to_string(i),
                    "expected a count of 1 or more, got " + std::to_string(counts[i]));
}

Study read_study(const std::string &text, const std::string &file) {
    Study study;
    described::Reader reader(study, file);
    parse_json(text, file, std::ref(reader));
    if (reader.has_schema() ||
        (study.shapes.empty() && study.sweeps.empty())) // else it is shapes and nothing else
        reader.require_schema(Study().schema);
    if (std::vector<InputProblem> problems = reader.problems(text); !problems.empty())
        throw InputError(std::move(problems));
    if (study.id.empty())
        study.id = id_of_file(file);
    make_canonical(study.shapes);
    for (StudySweep &sweep : study.sweeps)
        make_canonical(sweep.shapes);
    return study;
}

std::vector<std::string> shipped_studies() {
    return names_of(shipped_study_files);
}

Study find_study(const std::string &name_or_file) {
    const NamedText file = named_file("study", name_or_file, shipped_study_files,
                                      "; or a study file, for example --study mine.json");
    Study study = read_study(file.text, file.place);
    if (file.ships) {
        study.published = published_gains(study.id);
        study.paper_kernels = kernels_of_papers(study.id);
    }
    return study;
}

template const described::Type &described::type_of<Study>();

} // namespace convcast
