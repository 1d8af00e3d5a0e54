// What the answers to a paper are computed from: its GPU, ours, forecasts for both, and what was measured.
#pragma once

#include "model/machine/knowledge.hpp"
#include "model/machine/profile.hpp"
#include "model/network/network_run.hpp"
#include "model/network/rung_forecast.hpp"
#include "model/record/paper.hpp"
#include "model/record/run.hpp"
#include "model/record/study.hpp"
#include "reports/papers/recordings.hpp"
#include "reports/statistics.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// The value of a key in a map; where it is not there yet, `make()` makes it.
template <class Map, class Make> auto &made_once(Map &map, const typename Map::key_type &key, Make make) {
    const auto found = map.find(key);
    return (found != map.end() ? found : map.emplace(key, make()).first)->second;
}

/// What was measured of one study; forecasts of our kernels are by this version, not the recorded ones.
struct StudyResults {
    Run run; ///< the study's cases only
    ReportStatistics statistics;
    std::vector<const Recording *> from;
};

/// A setting with its forecast time.
struct ChosenSetting {
    std::string strategy; ///< with its knobs
    Seconds time;
};

/// A GPU and what its forecasts need: its profile, and the facts and calibration that ship for it.
struct ForecastGpu {
    GpuProfile profile;
    Knowledge knowledge;

    explicit ForecastGpu(GpuProfile its);
    /// Throws UsageError where one of the two texts is none.
    Case forecast(const std::string &strategy, const std::string &shape) const;
    /// The setting of a strategy that `convcast choose` ranks first: that of the shortest forecast, which may
    /// be another than its default. Absent where none has a time.
    const std::optional<ChosenSetting> &chosen(const std::string &strategy, const std::string &shape) const;

    /// The forecast of a rung of the network's ladder for `images` images a call.
    const RungForecast &rung(const Network &network, const Ladder &ladder, const Rung &rung,
                             std::int64_t images) const;

  private:
    mutable std::map<std::string, std::optional<ChosenSetting>> chosen_; ///< each ranked once
    mutable std::map<std::string, RungForecast> rungs_;                  ///< each forecast once
};

class PaperContext {
  public:
    PaperContext(Paper paper, GpuProfile ours, Recordings recordings);

    const ForecastGpu &papers() const { return papers_; }
    const ForecastGpu &ours() const { return ours_; }
    /// Any GPU, by the name of a shipped profile or its file.
    const ForecastGpu &gpu(const std::string &profile) const;
    /// `gpu` as if a number of its profile were another: "bank_width=4" (--set). Throws as set_number does.
    const ForecastGpu &with_number(const ForecastGpu &gpu, const std::string &number) const;
    const Paper &paper() const { return paper_; }

    /// What was measured of a study on our GPU: "chang_multi" with the knobs that the model chooses,
    /// "chang_multi/settings" with those of its paper. nullptr where nothing was.
    const StudyResults *measured(const std::string &recording) const;
    /// What was recorded of a network (RecordedPart::ladder, steps or training) on our GPU. Where that is not
    /// `wanted`, the first recording of any GPU that is; where none is, ours all the same. Empty `wanted`
    /// takes all. nullptr where nothing was recorded.
    const NetworkRun *measured(const RecordedOf &of,
                               const std::function<bool(const NetworkRun &)> &wanted = {}) const;
    const Recordings &recordings() const { return recordings_; }
    const Study &study(const std::string &id) const;

    /// Some forecast for the paper's GPU: it has the assumptions of all of them, and a time if they have one.
    Case sample() const;
    /// "" where the paper's GPU has times, else why it has none.
    std::string no_time() const;

  private:
    Paper paper_;
    ForecastGpu papers_, ours_;
    Recordings recordings_;
    mutable std::map<std::string, ForecastGpu> gpus_;
    mutable std::map<std::string, Study> studies_;
    mutable std::map<std::string, std::optional<StudyResults>> results_;
};

/// "GTX 1080 Ti": the name of a GPU without its vendor.
std::string short_name(const GpuProfile &profile);
std::string short_name(std::string name);

/// "n1c64h56w56k64r3s3" as the papers' tables have it: "56 x 56, 64 -> 64".
std::string shape_text(const std::string &shape);

/// Images of a call in the network's paper (Ladder::published_images); one where the ladder says none.
std::int64_t batch_of_paper(const std::string &network);

/// The item's number in row `of` and column `at` ("": the first of the row); nullptr where it has none.
const PublishedCell *cell_of(const PaperItem &item, const std::string &of, const std::string &at = "");

/// A cell's number with its unit, digit by digit: "2.6×", "30.5 % faster", "66,048 FMAs".
std::string printed(const PublishedCell &cell);
/// "66,048", with every digit that the number has: "1,234.5".
std::string grouped_digits(double value);

} // namespace convcast
