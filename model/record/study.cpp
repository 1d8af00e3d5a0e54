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

void make_canonical(std::vector<std::string> &shapes, const std::string &place,
                    std::vector<InputProblem> &problems) {
    for (std::size_t i = 0; i < shapes.size(); ++i)
        or_problem(problems, place + "/" + std::to_string(i),
                   [&] { shapes[i] = ConvShape::parse(shapes[i]).id(); });
}

void check_settings(const Study &study, const std::string &file, std::vector<InputProblem> &problems) {
    for (std::size_t i = 0; i < study.settings.size(); ++i) {
        const std::string place = file + ": /settings/" + std::to_string(i);
        or_problem(problems, place, [&] {
            const Strategy setting = parse_strategy(study.settings[i]);
            if (to_text(setting) == to_text(parse_strategy(name_of(setting))))
                throw UsageError("expected a strategy with a knob that is set, for example "
                                 "\"stride_fixed_block:tile_k=64\", found \"" +
                                 study.settings[i] + "\", which is asked in any case");
        });
    }
    if (!study.settings.empty() && study.shapes.empty())
        problems.push_back({file + ": /settings", "expected shapes that they are asked of"});
}

void check_sweep(StudySweep &sweep, const std::string &place, std::vector<InputProblem> &problems) {
    make_canonical(sweep.shapes, place + "/shapes", problems);
    if (sweep.shapes.empty() || sweep.strategies.empty())
        problems.push_back({place, "expected at least one shape and one strategy"});
    bool knob_of_all = true;
    for (std::size_t i = 0; i < sweep.strategies.size(); ++i)
        or_problem(problems, place + "/strategies/" + std::to_string(i), [&] {
            const std::string canonical = to_text(parse_strategy(sweep.strategies[i]));
            knob_of_all = knob_of_all && (canonical.find(":" + sweep.swept + "=") != std::string::npos ||
                                          canonical.find("," + sweep.swept + "=") != std::string::npos);
        });
    if (sweep.swept != "h" && !knob_of_all)
        problems.push_back({place + "/swept",
                            "expected \"h\" or a knob of all its strategies, found \"" + sweep.swept + "\""});
    if (!is_id(sweep.id)) // names a figure's file
        problems.push_back({place + "/id", expected_id("map_split_q", sweep.id)});
}

/// "my_layers" of "nets/My layers.json.gz"
std::string id_of_file(const std::string &file) {
    constexpr std::size_t longest = 60;
    const std::string name = std::filesystem::path(file).filename().string();
    std::string id = lower(name.substr(0, std::min(longest, std::max<std::size_t>(name.find('.'), 1))));
    for (char &c : id)
        if (!is_id(std::string_view(&c, 1)))
            c = '_';
    return id;
}

/// The document as it stands, with what it may leave out.
Study read_fields(const std::string &text, const std::string &file) {
    Study study;
    described::Reader reader(study, file);
    parse_json(text, file, std::ref(reader));
    if (reader.has_schema() || (study.shapes.empty() && study.sweeps.empty()))
        reader.require_schema(Study().schema);
    if (std::vector<InputProblem> problems = reader.problems(text); !problems.empty())
        throw InputError(std::move(problems));
    if (study.id.empty())
        study.id = id_of_file(file);
    return study;
}

} // namespace

Study read_study(const std::string &text, const std::string &file) {
    Study study = read_fields(text, file);
    std::vector<InputProblem> problems;
    make_canonical(study.shapes, file + ": /shapes", problems);
    for (std::size_t i = 0; i < study.sweeps.size(); ++i)
        check_sweep(study.sweeps[i], file + ": /sweeps/" + std::to_string(i), problems);
    check_settings(study, file, problems);
    const std::vector<std::string> known = strategy_names();
    for (std::size_t i = 0; i < study.paper_kernels.size(); ++i)
        if (std::find(known.begin(), known.end(), study.paper_kernels[i]) == known.end())
            problems.push_back({file + ": /paper_kernels/" + std::to_string(i),
                                "expected a strategy's name, for example \"" + known.front() +
                                    "\", found \"" + study.paper_kernels[i] + "\"" +
                                    did_you_mean(study.paper_kernels[i], known)});
    if (study.paper_kernels.size() > 2)
        problems.push_back({file + ": /paper_kernels", "expected two at most, which rule 4 chooses from"});
    if (!is_id(study.id)) // names a figure's file and a member of the archive
        problems.push_back({file + ": /id", expected_id("my_layers", study.id)});
    if (study.shapes.empty() && study.sweeps.empty())
        problems.push_back(
            {file + ": /shapes", "expected at least one shape, for example \"n1c1h28w28k512r3s3\""});
    if (!study.counts.empty() && study.counts.size() != study.shapes.size())
        problems.push_back({file + ": /counts", "expected one count for each of the " +
                                                    std::to_string(study.shapes.size()) + " shapes, got " +
                                                    std::to_string(study.counts.size())});
    for (std::size_t i = 0; i < study.counts.size(); ++i)
        if (study.counts[i] < 1)
            problems.push_back({file + ": /counts/" + std::to_string(i),
                                "expected a count of 1 or more, got " + std::to_string(study.counts[i])});
    if (!problems.empty())
        throw InputError(described::with_lines(std::move(problems), text, file));
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
