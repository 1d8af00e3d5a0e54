#include "cli/arguments.hpp"
#include "cli/device.hpp"
#include "cli/document.hpp"
#include "cli/forecasts.hpp"
#include "cli/progress.hpp"
#include "cli/question.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "executor/baselines/names.hpp"
#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/json.hpp"
#include "model/record/paper.hpp"
#include "reports/papers/context.hpp"
#include "reports/papers/paper_text.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

/// What the answer to a paper threw, with the file that has the paper, and the lines where it is a file.
[[noreturn]] void rethrow_with_file(const InputError &error, const std::string &file) {
    std::vector<InputProblem> problems = error.problems;
    for (InputProblem &problem : problems)
        if (problem.place.starts_with("/"))
            problem.place = file + ": " + problem.place;
    if (file_exists(file))
        problems = described::with_lines(std::move(problems), read_file(file), file);
    throw InputError(std::move(problems));
}

/// `files`: by a paper's id, what it was asked by.
std::vector<Paper> asked_papers(const Arguments &arguments, std::map<std::string, std::string> &files) {
    const std::vector<std::string> known = shipped_papers();
    if (arguments.positional().empty())
        arguments.refuse("no paper given, for example: convcast reproduce chang -o papers; known: " +
                         join(known) + ", all");
    std::vector<Paper> papers;
    std::set<std::string> ids;
    for (const std::string &name : arguments.positional())
        for (const std::string &one : name == "all" ? known : std::vector<std::string>{name}) {
            Paper paper = find_paper(one);
            files.emplace(paper.id, shown_name(one));
            if (ids.insert(paper.id).second)
                papers.push_back(std::move(paper));
        }
    return papers;
}

/// Keeps the items that --only names. Throws UsageError for one that no paper has.
void keep_only(std::vector<Paper> &papers, const Arguments &arguments) {
    const std::vector<std::string> only = arguments.texts("only");
    std::vector<std::string> known;
    for (const Paper &paper : papers)
        for (const PaperItem &item : paper.items)
            known.push_back(item.id);
    for (const std::string &id : only)
        if (std::ranges::find(known, id) == known.end())
            arguments.refuse("no item '" + id + "' in " +
                             (papers.size() == 1 ? papers.front().id : std::string("these papers")) +
                             did_you_mean(id, known) + " There are: " + join(known));
    if (only.empty())
        return;
    for (Paper &paper : papers)
        std::erase_if(paper.items,
                      [&](const PaperItem &item) { return std::ranges::find(only, item.id) == only.end(); });
    std::erase_if(papers, [](const Paper &paper) { return paper.items.empty(); });
}

/// What the items ask of a study: all strategies and baselines with these settings beside them, or these
/// strategies alone.
struct AskedStudy {
    std::set<std::string> settings;
    bool all = false;
};

/// Every study of the papers. An item whose settings are strategies without knobs needs no others.
std::map<std::string, AskedStudy> studies_of(const std::vector<Paper> &papers) {
    std::map<std::string, AskedStudy> studies;
    for (const Paper &paper : papers)
        for (const PaperItem &item : paper.items)
            if (item.answer.study) {
                const std::vector<std::string> &settings = item.answer.settings;
                AskedStudy &asked = studies[*item.answer.study];
                asked.settings.insert(settings.begin(), settings.end());
                asked.all = asked.all || settings.empty() ||
                            std::ranges::any_of(settings, [](const std::string &setting) {
                                return setting.find(':') != std::string::npos;
                            });
            }
    return studies;
}

/// All that `convcast run --study NAME --choose 3` asks, and the settings; or the strategies alone.
Run asked_run(const std::string &study, const AskedStudy &asked, const Arguments &arguments) {
    const std::vector<std::string> words = {"--study", study, "--gpu", arguments.text("gpu")};
    Question question = read_question(Arguments("run", words));
    constexpr int best = 3;
    std::vector<Case> cases;
    if (asked.all)
        cases = predict_all(question, {true, best, 0});
    question.strategies.assign(asked.settings.begin(), asked.settings.end());
    if (!asked.settings.empty())
        for (Case &item : predict_all(question, {})) {
            const bool there = std::ranges::any_of(cases, [&](const Case &other) {
                return other.shape == item.shape && other.strategy == item.strategy;
            });
            if (!there && item.status != Status::unsupported)
                cases.push_back(std::move(item));
        }
    return new_run(question.profile, question.knowledge, std::nullopt, std::move(cases));
}

/// Runs the studies on the GPU at hand; each document stays in `folder` too. Throws GpuError where there is
/// none.
std::map<std::string, Run> measure_studies(const std::vector<Paper> &papers, const Arguments &arguments,
                                           const std::filesystem::path &folder) {
    std::map<std::string, Run> runs;
    const auto save = [&](const std::string &study, const Run &run) {
        make_folder(folder.string());
        write_file_atomically((folder / (study + ".json.gz")).string(), write_run(run));
    };
    const GpuProfile profile = find_profile(arguments.text("gpu"));
    for (const auto &[study, asked] : studies_of(papers)) {
        Run run = asked_run(study, asked, arguments);
        RunRequest request;
        request.device = arguments.integer("device");
        request.keep = [&, name = study](const Run &so_far) { save(name, so_far); };
        request.last_words = [&, name = study](const Run &so_far) { save(name, so_far); };
        try {
            if (run_on_device(run, profile, request) == RunEnd::device_lost)
                throw GpuError("the GPU stopped answering; finished cases are in " + folder.string());
        } catch (const GpuError &e) {
            if (!runs.empty())
                throw;
            throw GpuError(
                std::string(e.what()) +
                ". Without --measure `convcast reproduce` answers from the recordings of an H200 that "
                "ship, on any machine");
        }
        save(study, run);
        runs.emplace(study, std::move(run));
    }
    return runs;
}

std::string answer_text(const Reproduction &reproduction, const ReportFiles &files) {
    std::string text = bold(reproduction.paper.authors + ": " + reproduction.paper.title) + "\n" +
                       wrapped(summary_of(reproduction));
    if (!reproduction.not_measured.empty())
        text += wrapped(reproduction.not_measured);
    if (!reproduction.no_time.empty())
        text += wrapped("no time for " + reproduction.paper_gpu + ": " + reproduction.no_time);
    for (std::size_t i = 0; i < reproduction.answers.size(); ++i)
        for (const ClaimAnswer &f : reproduction.answers[i].findings)
            if (f.counted.empty())
                text += wrapped(title_of(reproduction.paper.items[i]) + ": " + f.claim) +
                        headed("  " + verdict_text(f.verdict),
                               "published " + f.published + "; here " + f.found, 12);
    return text + "page:    " + files.page.string() + "\nfigures: " + std::to_string(files.figures.size()) +
           " files in " + (files.page.parent_path() / "figures").string() + "\n";
}

/// What --json prints of one paper.
struct PaperAnswers {
    std::string paper, summary, measured, not_measured, no_time;
    std::vector<ClaimAnswer> findings;
    std::vector<PaperTable> tables;
    BOOST_DESCRIBE_CLASS(PaperAnswers, (),
                         (paper, summary, measured, not_measured, no_time, findings, tables), (), ())
};

PaperAnswers answers_of(const Reproduction &r) {
    PaperAnswers out{r.paper.id, summary_of(r), r.measured, r.not_measured, r.no_time, {}, {}};
    for (const ItemAnswer &answer : r.answers) {
        out.findings.insert(out.findings.end(), answer.findings.begin(), answer.findings.end());
        out.tables.insert(out.tables.end(), answer.tables.begin(), answer.tables.end());
    }
    return out;
}

} // namespace

int reproduce(const Arguments &arguments) {
    std::map<std::string, std::string> files_of_papers;
    std::vector<Paper> papers = asked_papers(arguments, files_of_papers);
    const std::vector<Paper> whole = papers;
    keep_only(papers, arguments);
    const GpuProfile ours = find_profile(arguments.text("gpu"));
    const std::filesystem::path folder = arguments.text("output");
    // A folder that has the name of the only paper is that paper's own.
    const bool own = papers.size() == 1 && (folder / "").parent_path().filename() == papers.front().id;
    const auto folder_of = [&](const Paper &paper) { return own ? folder : folder / paper.id; };
    for (const Paper &paper : papers)
        refuse_overwriting_in(folder_of(paper).string(), arguments,
                              {"claims.csv", paper.id + ".tex", paper.id + ".bib"});
    for (const Paper &paper : papers)
        if (arguments.has("docs"))
            refuse_overwriting_in(arguments.text("docs", ""), arguments, {paper.id + ".md"}, "--docs");
    refuse_file_name(arguments, "-o", folder.string(), "pages and figures");
    if (arguments.has("docs"))
        refuse_file_name(arguments, "--docs", arguments.text("docs", ""), "a page of each paper");
    Recordings recordings = shipped_recording;
    std::map<std::string, Run> measured;
    if (arguments.has("measure")) {
        measured = measure_studies(papers, arguments, folder / "measured");
        recordings = [&](const std::string &recording) -> std::optional<Run> {
            const auto found = measured.find(study_of(recording)); // whose run has the settings too
            return found == measured.end() ? std::nullopt : std::optional<Run>(found->second);
        };
    }
    const bool json = arguments.has("json"), files_wanted = !json || arguments.has("output");
    std::string text;
    std::vector<PaperAnswers> answers;
    for (const Paper &paper : papers) {
        const PaperContext context(
            *std::ranges::find_if(whole, [&](const Paper &p) { return p.id == paper.id; }), ours, recordings);
        const Reproduction reproduction = [&] {
            try {
                return convcast::reproduce(paper, context);
            } catch (const InputError &error) {
                rethrow_with_file(error, files_of_papers.at(paper.id));
            }
        }();
        answers.push_back(answers_of(reproduction));
        if (arguments.has("docs")) {
            make_folder(arguments.text("docs", ""));
            const std::string file =
                (std::filesystem::path(arguments.text("docs", "")) / (paper.id + ".md")).string();
            write_file_atomically(file, paper_markdown(reproduction));
            text += file + "\n";
        } else if (files_wanted) {
            const ReportFiles files = write_reproduction(reproduction, folder_of(paper));
            text += (text.empty() ? "" : "\n") + answer_text(reproduction, files);
        }
    }
    write_file_atomically("-", json ? to_text(described::write(answers)) : printable(text));
    return 0;
}

} // namespace convcast::cli
