// Parts of the answers of a paper's items.
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

/// "/items/3/answer": where an item's answer stands in its paper's document.
std::string place_of(const PaperItem &item, const Paper &paper);

/// What an item draws, of plans for the paper's GPU.
std::vector<PaperDrawing> drawings_of(const PaperItem &item, const PaperContext &context);

/// A cell of the item; nullptr where it has none. `at` "" takes any.
const PublishedCell *cell_of(const PaperItem &item, const std::string &of, const std::string &at = "");

/// A finding of a claim that is one number which must come out the same.
ClaimAnswer exact(const PaperItem &item, const PublishedCell &cell, double found, const std::string &where);

/// The knobs of a strategy's text: "buffers=1,map_shares=1".
std::string knobs_text(const std::string &setting);
/// A knob of such a text; 0 where it has none of this name.
std::int64_t knob_value(const std::string &strategy, const std::string &knob);
/// Whether a canonical text is the strategy of `setting` with all of its knobs.
bool has_setting(const std::string &strategy, const std::string &setting);
} // namespace convcast
