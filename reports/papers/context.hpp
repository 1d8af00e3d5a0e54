// What the computations of a paper draw on: its GPU, ours, forecasts for both, and what was measured.
#pragma once

#include "model/machine/knowledge.hpp"
#include "model/machine/profile.hpp"
#include "model/record/paper.hpp"
#include "model/record/run.hpp"
#include "model/record/study.hpp"
#include "reports/statistics.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// The document that holds what was measured of a study; nothing where nothing was.
using Recordings = std::function<std::optional<Run>(const std::string &study)>;

/// The recordings that ship, all of the H200: of all strategies and cuDNN, with the knobs that the model
/// chooses, and of the studies' own settings, which were recorded by themselves.
std::optional<Run> shipped_recording(const std::string &study);
std::optional<Run> shipped_settings(const std::string &study);

/// What was measured of one study, with forecasts by this version.
struct StudyResults {
    Study study;
    Run run; ///< the study's cases only
    ReportStatistics statistics;

    const CaseRow &row(std::int64_t id) const { return statistics.cases[static_cast<std::size_t>(id)]; }
};

/// A setting with its forecast.
struct ChosenSetting {
    std::string strategy; ///< with its knobs
    Seconds time;
};

/// A GPU with what its forecasts are given.
struct ForecastGpu {
    GpuProfile profile;
    Knowledge knowledge;

    explicit ForecastGpu(GpuProfile its);
    Case forecast(const std::string &strategy, const std::string &shape) const;
    /// The setting of a strategy that `convcast choose` ranks first: that of the shortest forecast, which may
    /// be another than its default. Absent where none has a time.
    const std::optional<ChosenSetting> &chosen(const std::string &strategy, const std::string &shape) const;

  private:
    mutable std::map<std::string, std::optional<ChosenSetting>> chosen_; ///< each ranked once
};

class PaperContext {
  public:
    /// `settings` has what was measured of the studies' own settings; absent where `recordings` has it too.
    PaperContext(Paper paper, GpuProfile ours, Recordings recordings, Recordings settings = {});

    const ForecastGpu &papers() const { return papers_; }
    const ForecastGpu &ours() const { return ours_; }
    /// A further GPU, by its profile's name.
    const ForecastGpu &gpu(const std::string &profile) const;
    const Paper &paper() const { return paper_; }
    /// A published number of an item; nullptr where there is none.
    const PublishedCell *cell(const std::string &item, const std::string &of, const std::string &at) const;

    /// nullptr where the study was not measured on our GPU.
    const StudyResults *measured(const std::string &study) const;
    /// The same of the study's own settings.
    const StudyResults *measured_settings(const std::string &study) const;
    const Study &study(const std::string &id) const;

    /// "" where the paper's GPU has times, else why it has none.
    std::string no_time() const;

  private:
    Paper paper_;
    ForecastGpu papers_, ours_;
    using Results = std::map<std::string, std::unique_ptr<StudyResults>>;
    const StudyResults *results_of(const std::string &study, const Recordings &from, Results &results) const;

    Recordings recordings_, settings_;
    mutable std::map<std::string, ForecastGpu> gpus_;
    mutable std::map<std::string, Study> studies_;
    mutable Results results_, settings_results_;
};

/// "GTX 1080 Ti": the name of a GPU without its vendor.
std::string short_name(const GpuProfile &profile);

/// "n1c64h56w56k64r3s3" as the papers' tables have it: "56 x 56, 64 -> 64".
std::string shape_text(const std::string &shape);

/// A cell's number with its unit, digit by digit: "2.6×", "30.5 % faster", "66,048 FMAs".
std::string printed(const PublishedCell &cell);
std::string grouped_digits(double value);

} // namespace convcast
