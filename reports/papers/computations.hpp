// The computations that a paper's items name, by the files that hold them.
#pragma once

#include "reports/papers/answer.hpp"
#include "reports/papers/context.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// A computation, and what an item must have for it: it may count on that.
struct Computation {
    ItemAnswer (*run)(const PaperItem &item, const PaperContext &context);
    bool study = false;
    std::size_t settings = 0;
    std::vector<std::string> cells{}; ///< PublishedCell::of
};

ItemAnswer gains(const PaperItem &item, const PaperContext &context);        ///< gains.cpp
ItemAnswer own_settings(const PaperItem &item, const PaperContext &context); ///< own_settings.cpp
/// What an item draws, of plans for the paper's GPU.
std::vector<PaperDrawing> drawings_of(const PaperItem &item, const PaperContext &context);
std::map<std::string, Computation> chang_setting_computations(); ///< chang_settings.cpp
std::map<std::string, Computation> chen_setting_computations();  ///< chen_settings.cpp
std::map<std::string, Computation> chang_computations();
std::map<std::string, Computation> chen_computations();
std::map<std::string, Computation> network_computations();
std::map<std::string, Computation> ladder_computations();

/// A cell of the item; nullptr where it has none. `at` "" takes any.
const PublishedCell *cell_of(const PaperItem &item, const std::string &of, const std::string &at = "");

std::string factor_text(std::optional<double> ratio); ///< "1.56×", a dash of none
std::string micro_text(std::optional<Seconds> time);  ///< "3.14", a dash of none
std::string count_text(std::int64_t n);               ///< "66,048"

/// A finding of a claim that is one number which must come out the same.
ClaimAnswer exact(const PaperItem &item, const PublishedCell &cell, double found, const std::string &where);

/// "12 of 18 shapes"
std::string of_shapes(std::size_t n, std::size_t all);

/// Of a study's shape, the fastest measured setting of a strategy.
std::optional<Seconds> fastest_of(const StudyResults &results, const std::string &shape,
                                  const std::string &group);
const CaseRow *fastest_row_of(const StudyResults &results, const std::string &shape,
                              const std::string &group);

/// The knobs of a strategy's text: "buffers=1,map_shares=1".
std::string knobs_text(const std::string &setting);
/// A knob of such a text; 0 where it has none of this name.
std::int64_t knob_value(const std::string &strategy, const std::string &knob);
/// Whether a canonical text is the strategy of `setting` with all of its knobs.
bool has_setting(const std::string &strategy, const std::string &setting);
/// The measured case of a shape with a setting; nullptr where there is none.
const CaseRow *row_with(const StudyResults &results, const std::string &shape, const std::string &setting);

/// Chen's general kernel "with n floats", block_register:unit=n, in the configuration that his Table 1 prints
/// for the shape's filter; any other setting as it is.
std::string setting_for(const std::string &setting, const std::string &shape);
/// The recorded case of a paper's setting of a shape. Where Table 1's width was never run, which is so at
/// 7x7 filters on maps of 32 x 32, the narrower block of the same configuration that was.
const CaseRow *own_row(const StudyResults &settings, const std::string &shape, const std::string &setting);
/// Whether the paper takes this setting for a shape: of two divisions it takes one by its rule 4.
bool takes(const PaperItem &item, const std::string &setting, const std::string &shape,
           const ForecastGpu &gpu);

/// What is left open where nothing was measured.
ClaimAnswer not_measured(const PaperItem &item, const std::string &claim, const std::string &published,
                         const PaperContext &context);

/// Colours and marks of what is drawn in several figures.
namespace drawn_as {
inline constexpr std::size_t papers_kernel = 0, best = 1, cudnn = 2, papers_gpu = 3;
}

} // namespace convcast
