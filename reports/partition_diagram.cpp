#include "reports/partition_diagram.hpp"

#include "model/base/divide.hpp"
#include "model/base/errors.hpp"
#include "model/base/readable.hpp"
#include "model/machine/architecture.hpp"
#include "model/strategies/list.hpp"
#include "model/work/walk.hpp"
#include "reports/diagram_canvas.hpp"
#include "reports/figure_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

using namespace diagram;

When when_of_step(std::int64_t step) {
    return step == 0 ? When::now : step == 1 ? When::next : When::later;
}

/// A part of an axis: where it begins and ends, 0 to 1.
struct Share {
    double from = 0.0, to = 1.0;
    bool operator==(const Share &) const = default;
};

Share share_of(IndexRange range, std::int64_t all) {
    const auto size = double(std::max<std::int64_t>(1, all));
    return {double(range.begin) / size, double(range.end) / size};
}

/// A part of a rectangle that the CTA needs, and when.
struct Patch {
    Share x, y;
    When when;
};

/// How one tensor is drawn, the map, the filters or the output: a plane and what the CTA needs of it.
struct TensorDrawing {
    std::string title, size;
    double width, height; ///< of the plane, in elements
    std::string colour;
    bool deep = false;                           ///< has a third axis, drawn as a bar beside the plane
    std::vector<Patch> patches = {};             ///< of the plane
    std::vector<double> columns = {}, rows = {}; ///< where other CTAs' parts begin, 0 to 1
    std::vector<Patch> depth = {};               ///< of the third axis, by y alone
    std::vector<std::string> notes = {};         ///< lines below the plane
};

/// "filter 3", "filters 0 to 63"
std::string span_text(const char *what, IndexRange range) {
    return range.size() == 1
               ? fmt::format("{} {}", what, grouped(range.begin))
               : fmt::format("{}s {} to {}", what, grouped(range.begin), grouped(range.end - 1));
}

const char *tensor_colour(CopiedTensor tensor) {
    return tensor == CopiedTensor::map       ? map_colour
           : tensor == CopiedTensor::filters ? filter_colour
                                             : "#777777";
}

/// The number of the CTA that is drawn, of `all`. CTAs at an edge have smaller tiles, so it is the first one,
/// from a third of the grid on, with as many outputs as any.
std::int64_t drawn_cta(const Walk &walk, std::int64_t all) {
    constexpr std::int64_t tried = 200; // chosen: enough to find a full tile, of however many CTAs
    std::int64_t best = 0, best_size = -1;
    for (std::int64_t i = 0; i < std::min(all, tried); ++i) {
        const std::int64_t cta = (all / 3 + i) % all;
        std::int64_t size = 0;
        for (const OutputBox &box : outputs_of(walk, cta))
            size += box.size();
        if (size > best_size)
            best = cta, best_size = size;
    }
    return best;
}

/// Adds a patch, unless there is one at the same place, which is needed earlier. Where it goes on at the end
/// of the last patch and is needed at the same time, that becomes longer.
void add(std::vector<Patch> &patches, const Patch &patch) {
    for (const Patch &there : patches)
        if (there.x == patch.x && there.y == patch.y)
            return;
    if (!patches.empty() && patches.back().when == patch.when) {
        Patch &last = patches.back();
        if (last.x == patch.x && last.y.to == patch.y.from) {
            last.y.to = patch.y.to;
            return;
        }
        if (last.y == patch.y && last.x.to == patch.x.from) {
            last.x.to = patch.x.to;
            return;
        }
    }
    patches.push_back(patch);
}

/// Calls with each step of `step` along an axis of `size`, as its share and when it comes; never if 0.
template <class Call> void for_each_step(std::int64_t step, std::int64_t size, Call call) {
    for (std::int64_t i = 0; step > 0 && i * step < size; ++i)
        call(share_of({i * step, std::min(size, (i + 1) * step)}, size), when_of_step(i));
}

/// What one CTA computes, and what a step of its loop needs for that.
struct Needs {
    const Walk &walk;
    std::vector<OutputBox> boxes; ///< of outputs, in the order in which the CTA computes them; never empty
    OutputBox around = boxes.front(); ///< holds all boxes
    /// Channels of the map that a step reads, and values of each filter; 0: a step reads those of its box.
    std::int64_t step_channels = 0, step_values = 0;

    Needs(const ConvShape &s, const Walk &its_walk, std::int64_t cta)
        : walk(its_walk), boxes(outputs_of(its_walk, cta)) {
        for (const OutputBox &box : boxes)
            for (const OutputAxis axis :
                 {&OutputBox::rows, &OutputBox::columns, &OutputBox::filters, &OutputBox::channels})
                around.*axis = {std::min((around.*axis).begin, (box.*axis).begin),
                                std::max((around.*axis).end, (box.*axis).end)};
        const std::int64_t taps = s.r * s.s;
        step_channels = walk.step_values > 0 && walk.step_channels == 0
                            ? std::max<std::int64_t>(1, ceil_div(walk.step_values, taps))
                            : walk.step_channels;
        if (!walk.filters_stay)
            step_values = walk.step_values > 0 ? walk.step_values : walk.step_channels * taps;
    }

    /// When the CTA computes a box. Boxes of one span of positions (Walk::flat) come at once, others in turn.
    When when_of(std::size_t box) const {
        if (box == 0 || !walk.flat.empty())
            return When::now;
        if (walk.rounds_resident > 1)
            return static_cast<std::int64_t>(box) < walk.rounds_resident ? When::next : When::later;
        return box == 1 && !more_steps_in_box() ? When::next : When::later;
    }
    /// Whether the first box takes several steps, so that the next step is still of this box.
    bool more_steps_in_box() const {
        return walk.step_channels > 0 && walk.step_channels < boxes.front().channels.size();
    }
};

/// The map: rows and columns as the plane, channels as the bar beside it.
TensorDrawing map_of(const ConvShape &s, const Needs &needs) {
    TensorDrawing map{
        "map", fmt::format("{} x {} x {}", s.c, s.h, s.w), double(s.w), double(s.h), map_colour, s.c > 1};
    std::vector<Patch> halo;
    for (std::size_t i = 0; i < needs.boxes.size(); ++i) {
        const OutputBox &box = needs.boxes[i];
        const IndexRange rows = map_rows(s, box.rows), columns = map_columns(s, box.columns);
        const IndexRange own_rows{rows.begin, std::min(rows.end, rows.begin + box.rows.size() * s.stride_h)},
            own_columns{columns.begin,
                        std::min(columns.end, columns.begin + box.columns.size() * s.stride_w)};
        const Share x = share_of(own_columns, s.w), y = share_of(own_rows, s.h),
                    all_x = share_of(columns, s.w), all_y = share_of(rows, s.h);
        const When when = needs.when_of(i);
        // The halo of a later box lies in other boxes that come later.
        if (when == When::now && rows.end > own_rows.end)
            add(halo, {all_x, {y.to, all_y.to}, When::halo});
        if (when == When::now && columns.end > own_columns.end)
            add(halo, {{x.to, all_x.to}, y, When::halo});
        add(map.patches, {x, y, when});
        if (needs.step_channels == 0)
            add(map.depth, {{}, share_of(box.channels, s.c), i == 0 ? When::now : When::later});
    }
    map.patches.insert(map.patches.begin(), halo.begin(), halo.end());
    for_each_step(needs.step_channels, s.c, [&](Share y, When when) { add(map.depth, {{}, y, when}); });
    const IndexRange rows = map_rows(s, needs.boxes.front().rows),
                     columns = map_columns(s, needs.boxes.front().columns);
    map.notes = {fmt::format("{} x {} pixels", grouped(rows.size()), grouped(columns.size()))};
    const std::int64_t halo_rows = rows.size() - needs.boxes.front().rows.size() * s.stride_h,
                       halo_columns = columns.size() - needs.boxes.front().columns.size() * s.stride_w;
    if (halo_rows > 0)
        map.notes.push_back(fmt::format("{} halo", count_text(halo_rows, "row")));
    if (halo_columns > 0 && columns.size() < s.w)
        map.notes.push_back(fmt::format("{} halo", count_text(halo_columns, "column")));
    if (!needs.walk.flat.empty() && needs.walk.pixels.rows > 0)
        map.notes = {fmt::format("{} lines of {}", needs.walk.pixels.rows, needs.walk.pixels.columns)};
    if (s.c > 1)
        map.notes.push_back(needs.step_channels > 0 ? count_text(needs.step_channels, "channel") + " a step"
                            : needs.around.channels.size() < s.c
                                ? count_text(needs.around.channels.size(), "channel")
                                : "all channels");
    return map;
}

/// The filters: a row for each filter, a column for each of its values, channel after channel.
TensorDrawing filters_of(const ConvShape &s, const Needs &needs) {
    const std::int64_t values = s.products(), taps = s.r * s.s;
    const std::string of_channels = s.c == 1 ? "" : grouped(s.c / s.groups) + " x ";
    TensorDrawing filters{"filters", fmt::format("{} of {}{} x {}", grouped(s.k), of_channels, s.r, s.s),
                          double(values), double(s.k), filter_colour};
    const std::int64_t step = needs.step_values;
    for (std::size_t i = 0; i < needs.boxes.size(); ++i) {
        const OutputBox &box = needs.boxes[i];
        const Share y = share_of(box.filters, s.k);
        if (step > 0)
            for_each_step(step, values, [&](Share x, When when) { add(filters.patches, {x, y, when}); });
        else
            add(filters.patches, {share_of({box.channels.begin * taps, box.channels.end * taps}, values), y,
                                  needs.when_of(i)});
    }
    const IndexRange first = needs.boxes.front().filters;
    filters.notes = {needs.around.filters.size() == s.k ? "all " + count_text(s.k, "filter")
                                                        : span_text("filter", needs.around.filters)};
    if (first.size() < needs.around.filters.size())
        filters.notes.push_back(fmt::format("{} at a time", grouped(first.size())));
    if (step > 0)
        filters.notes.push_back(count_text(std::min(step, values), "value") + " a step");
    else if (needs.around.channels.size() < s.c)
        filters.notes.push_back(count_text(needs.around.channels.size() * taps, "value") + " each");
    return filters;
}

/// The output: rows and columns as the plane, filters as the bar beside it.
TensorDrawing output_of(const ConvShape &s, const Needs &needs) {
    TensorDrawing output{"output",      fmt::format("{} x {} x {}", s.k, s.p(), s.q()),
                         double(s.q()), double(s.p()),
                         output_colour, true};
    for (std::size_t i = 0; i < needs.boxes.size(); ++i) {
        const OutputBox &box = needs.boxes[i];
        const When when = needs.when_of(i);
        add(output.patches, {share_of(box.columns, s.q()), share_of(box.rows, s.p()), when});
        add(output.depth, {{}, share_of(box.filters, s.k), when});
    }
    const OutputBox &first = needs.boxes.front();
    if (!needs.walk.flat.empty()) {
        std::int64_t outputs = 0;
        for (const OutputBox &box : needs.boxes)
            outputs += box.rows.size() * box.columns.size();
        output.notes = {count_text(outputs, "pixel")};
    } else {
        output.notes = {
            fmt::format("{} x {} pixels", grouped(first.rows.size()), grouped(first.columns.size()))};
        if (first.rows != needs.around.rows)
            output.notes.push_back(fmt::format("{} in turn", count_text(std::ssize(needs.boxes), "band")));
    }
    output.notes.push_back(needs.around.filters.size() == s.k
                               ? "of all filters"
                               : "of " + count_text(needs.around.filters.size(), "filter"));
    if (needs.around.channels.size() < s.c / s.groups && has_partial_sums(needs.walk))
        output.notes.push_back("a partial sum");
    return output;
}

/// Adds the lines where the parts of all CTAs begin, along rows and columns of the output and along the
/// filters, if there are few enough to draw.
void add_borders(const ConvShape &s, const Walk &walk, std::int64_t all, TensorDrawing &output,
                 TensorDrawing &filters) {
    constexpr std::int64_t most = 20'000, most_lines = 48; // CTAs that are asked; lines along an axis; chosen
    if (all > most)
        return;
    std::set<std::int64_t> rows, columns, begins;
    for (std::int64_t cta = 0; cta < all; ++cta)
        for (const OutputBox &box : outputs_of(walk, cta)) {
            rows.insert(box.rows.begin);
            columns.insert(box.columns.begin);
            begins.insert(box.filters.begin);
        }
    const auto add_shares = [](const std::set<std::int64_t> &values, std::int64_t size,
                               std::vector<double> &shares) {
        if (std::ssize(values) <= most_lines)
            for (const std::int64_t value : values)
                if (value > 0)
                    shares.push_back(share_of({0, value}, size).to);
    };
    add_shares(rows, s.p(), output.rows);
    if (walk.flat.empty())
        add_shares(columns, s.q(), output.columns);
    add_shares(begins, s.k, filters.rows);
}

/// Draws a tensor's plane, beside it the third axis, below it the notes. Returns the lower end.
double draw_tensor(Canvas &canvas, const TensorDrawing &tensor, double x, double y, double width) {
    canvas.text(x, y, tensor.title, "start", "strong");
    canvas.text(x, y + line_height, fitted(tensor.size, width + gap, paper_text_bp));
    const double top = y + 2.0 * line_height + gap;
    constexpr double high = 58.0, bar = 6.0, room_for_bar = 14.0; // points
    const double wide = width - (tensor.deep ? room_for_bar : 0.0);
    // Proportions as they are, unless the shorter side would be too thin to show anything.
    const double ratio = std::clamp(tensor.width / tensor.height, 0.5, 2.0);
    const double w = std::min(wide, high * ratio), h = std::min(high, w / ratio);
    for (const When when : {When::later, When::next, When::now, When::halo})
        for (const Patch &patch : tensor.patches)
            if (patch.when == when)
                canvas.patch(x + patch.x.from * w, top + patch.y.from * h, (patch.x.to - patch.x.from) * w,
                             (patch.y.to - patch.y.from) * h, tensor.colour, when);
    for (const double at : tensor.columns)
        canvas.line(x + at * w, top, x + at * w, top + h, thin);
    for (const double at : tensor.rows)
        canvas.line(x, top + at * h, x + w, top + at * h, thin);
    canvas.rect(x, top, w, h, frame);
    if (tensor.deep) {
        const double left = x + w + gap;
        for (const Patch &part : tensor.depth)
            canvas.patch(left, top + part.y.from * h, bar, (part.y.to - part.y.from) * h, tensor.colour,
                         part.when);
        canvas.rect(left, top, bar, h, frame);
    }
    double at = top + high + gap;
    for (const std::string &note : tensor.notes) {
        canvas.text(x, at, fitted(note, width + gap, paper_text_bp));
        at += line_height;
    }
    return at;
}

/// Draws what the shades mean that occur in the drawings. Returns the lower end.
double draw_legend(Canvas &canvas, double y, const std::vector<const TensorDrawing *> &tensors) {
    std::vector<DiagramKey> entries;
    for (const auto &[when, words] : {std::pair{When::now, "computed now"},
                                      {When::next, "copied meanwhile"},
                                      {When::later, "later"},
                                      {When::halo, "halo"}})
        if (when == When::now ||
            std::any_of(tensors.begin(), tensors.end(), [&](const TensorDrawing *tensor) {
                const auto then = [&](const Patch &patch) { return patch.when == when; };
                return std::any_of(tensor->patches.begin(), tensor->patches.end(), then) ||
                       std::any_of(tensor->depth.begin(), tensor->depth.end(), then);
            }))
            entries.push_back({when, "#444444", words});
    return canvas.legend(y, entries);
}

/// Draws shared memory to scale, and a line for each kind of data. Returns the lower end.
double draw_shared(Canvas &canvas, const Partition &launch, const Walk &walk, double y) {
    std::int64_t used = 0, most = 0;
    for (const SharedBuffer &buffer : walk.buffers) {
        used += buffer.bytes * buffer.buffers;
        most = std::max(most, buffer.buffers);
    }
    const std::int64_t all = std::max(launch.shared_bytes, used);
    if (all == 0)
        return y;
    y = canvas.heading(y, "Shared memory: " + count_text(all, "byte"));
    const double width = canvas.width() - 2.0 * gap, high = 11.0;
    double x = gap;
    // As the buffers lie in memory: the first one of each kind of data, then the second one of each.
    for (std::int64_t i = 0; i < most; ++i)
        for (const SharedBuffer &buffer : walk.buffers)
            if (i < buffer.buffers) {
                const double wide = share_of({0, buffer.bytes}, all).to * width;
                canvas.patch(x, y, wide, high, tensor_colour(buffer.of), when_of_step(i));
                canvas.line(x, y, x, y + high, frame);
                if (text_width(buffer.name, paper_text_bp) + 2.0 * gap < wide)
                    canvas.text(x + wide / 2.0, y + 1.2, buffer.name, "middle", i == 0 ? "light" : "");
                x += wide;
            }
    canvas.rect(gap, y, width, high, frame);
    y += high + gap;
    for (const SharedBuffer &buffer : walk.buffers) {
        canvas.rect(gap, y + 1.5, 9.0, 6.5, fmt::format("fill=\"{}\"", tensor_colour(buffer.of)));
        canvas.text(gap + 12.0, y,
                    buffer.buffers > 1 ? fmt::format("{}: {} buffers of {} bytes", buffer.name,
                                                     buffer.buffers, grouped(buffer.bytes))
                                       : fmt::format("{}: {} bytes", buffer.name, grouped(buffer.bytes)));
        y += line_height;
    }
    return y + gap;
}

/// How a thread's pixels lie: " in a row", ", 16 apart"; "" of one pixel.
std::string placed_text(const ThreadTile &threads) {
    if (threads.rows * threads.columns == 1)
        return "";
    if (threads.rows > 1)
        return " in a column";
    return threads.apart == 1 ? " in a row" : fmt::format(", {} apart", threads.apart);
}

/// Draws words in as many lines as they need. Returns the lower end.
double draw_paragraph(Canvas &canvas, const std::string &words, double y) {
    std::string line;
    std::istringstream in(words);
    for (std::string word; in >> word;) {
        const std::string longer = line.empty() ? word : line + " " + word;
        if (!line.empty() && text_width(longer, paper_text_bp) > canvas.width() - 2.0 * gap) {
            canvas.text(gap, y, line);
            y += line_height;
            line = word;
        } else {
            line = longer;
        }
    }
    if (line.empty())
        return y;
    canvas.text(gap, y, line);
    return y + line_height;
}

/// Draws the CTA's threads by pixels (across) and filters (down), and a thread's sums. Returns the lower end.
double draw_threads(Canvas &canvas, const Partition &launch, const Walk &walk, double y) {
    const ThreadTile &threads = walk.threads;
    y = canvas.heading(y, fmt::format("Threads: {} a CTA, {} a warp", launch.threads, 32));
    constexpr double high = 44.0, wide = 84.0;
    const double left = gap + line_height;
    // All threads as one block, of which one warp is dark.
    const double warps_across = std::max(1.0, double(threads.along_pixels) / 32.0);
    double warp_w = wide / warps_across, warp_h = high / double(threads.along_filters);
    if (!threads.warp_along_pixels) { // neighbouring threads take neighbouring filters
        const double down = std::min<double>(32.0, double(threads.along_filters));
        warp_h = high * down / double(threads.along_filters);
        warp_w = wide * (32.0 / down) / double(threads.along_pixels);
    }
    canvas.patch(left, y + line_height, wide, high, output_colour, When::later);
    canvas.patch(left, y + line_height, std::min(warp_w, wide), std::min(warp_h, high), output_colour,
                 When::now);
    canvas.rect(left, y + line_height, wide, high, frame);
    canvas.text(left, y, "pixels");
    canvas.text(left + wide, y, grouped(threads.along_pixels) + " threads", "end");
    canvas.text(left, y + line_height + high + 1.0,
                threads.along_filters > 1 ? "filters: " + count_text(threads.along_filters, "thread")
                                          : "a warp is dark");
    // One thread's sums: its pixels across, filters down.
    const double x = left + wide + 16.0;
    const std::int64_t pixels = threads.rows * threads.columns;
    constexpr std::int64_t most = 16; // cells that are drawn along a side
    const std::int64_t columns = std::min(pixels, most), rows = std::min(threads.filters, most);
    const double cell = std::min({7.0, (canvas.width() - x - gap) / double(columns), high / double(rows)});
    canvas.patch(x, y + line_height, double(columns) * cell, double(rows) * cell, output_colour, When::now);
    canvas.grid(x, y + line_height, cell, columns, rows);
    canvas.text(x, y, "one thread's sums");
    canvas.text(x, y + line_height + high + 1.0, count_text(pixels, "pixel") + placed_text(threads));
    canvas.text(x, y + 2.0 * line_height + high + 1.0,
                fmt::format("of {} = {}", count_text(threads.filters, "filter"),
                            count_text(pixels * threads.filters, "sum")));
    if (threads.along_filters > 1)
        canvas.text(left, y + 2.0 * line_height + high + 1.0, "a warp is dark");
    return y + 3.0 * line_height + high + gap;
}

/// The rows or columns to draw: all `size`, or the `first` ones, -1 for a gap, and the `last` ones.
std::vector<std::int64_t> shown_of(std::int64_t size, std::int64_t first, std::int64_t last) {
    std::vector<std::int64_t> shown;
    for (std::int64_t i = 0; i < size; ++i)
        if (size <= first + last + 1 || i < first || i >= size - last)
            shown.push_back(i);
        else if (shown.back() != -1)
            shown.push_back(-1);
    return shown;
}

/// When the CTA needs the filter value at `place` in memory; absent where it never does.
std::optional<When> when_needed(const ConvShape &shape, const Needs &needs, std::int64_t place) {
    const OutputBox &first = needs.boxes.front();
    const std::int64_t taps = shape.r * shape.s, filter = place / shape.products(),
                       value = place % shape.products(), channel = value / taps;
    if (filter < needs.around.filters.begin || filter >= needs.around.filters.end ||
        channel < first.channels.begin || channel >= first.channels.end)
        return std::nullopt;
    const std::int64_t step = needs.step_values > 0 ? value / needs.step_values : 0;
    return step == 0 && filter >= first.filters.end ? When::later : when_of_step(step);
}

/// Draws the first filter values of the CTA as they lie in memory, channel after channel and filter after
/// filter, in the shades of the steps that bring them. Returns the lower end.
double draw_memory(Canvas &canvas, const ConvShape &shape, const Needs &needs, double y) {
    const OutputBox &first = needs.boxes.front();
    const std::int64_t taps = shape.r * shape.s, values = shape.products(),
                       begin = first.filters.begin * values + first.channels.begin * taps;
    y = canvas.heading(y, "Filters in memory, from filter " + grouped(first.filters.begin) +
                              (shape.c > 1 ? ", channel " + grouped(first.channels.begin) : "") + " on");
    constexpr double cell = 6.0, high = 9.0;
    const std::int64_t end =
        std::min(begin + static_cast<std::int64_t>((canvas.width() - 2.0 * gap) / cell), shape.k * values);
    const auto x_of = [&](std::int64_t place) { return gap + double(place - begin) * cell; };
    for (std::int64_t from = begin, to = begin; from < end; from = to) {
        const std::optional<When> when = when_needed(shape, needs, from);
        while (to < end && when_needed(shape, needs, to) == when)
            ++to;
        if (when)
            canvas.patch(x_of(from), y, x_of(to) - x_of(from), high, filter_colour, *when);
    }
    for (std::int64_t place = begin; place < end; ++place)
        canvas.line(x_of(place), y, x_of(place), y + high, "stroke=\"#fff\" stroke-width=\"0.5\"");
    canvas.rect(gap, y, x_of(end) - gap, high, thin_frame);
    for (std::int64_t place = begin; place < end; ++place)
        if (place % taps == 0) {
            const bool whole = place % values == 0;
            const double beyond = whole ? 3.0 : 1.5;
            canvas.line(x_of(place), y - beyond, x_of(place), y + high + beyond,
                        fmt::format("stroke=\"#222\" stroke-width=\"{}\"", whole ? 1.4 : 0.7));
        }
    y += high + gap + 1.0;
    canvas.text(gap, y,
                shape.c > 1
                    ? fmt::format("strokes: channels of {} x {}; long strokes: filters", shape.r, shape.s)
                    : fmt::format("strokes: filters of {} x {}", shape.r, shape.s));
    return y + line_height + gap;
}

/// Draws the tile of pixels in shared memory that a CTA computes from, and the window of one of its threads.
/// Rows and columns in the middle may be left out, for which dots stand. Returns the lower end.
double draw_pixels(Canvas &canvas, const ConvShape &shape, const Walk &walk, double y) {
    const PixelTile &tile = walk.pixels;
    if (tile.rows == 0)
        return y;
    y = canvas.heading(
        y, fmt::format("Pixels: {} x {}, and a thread's window", tile.rows, grouped(tile.columns)));
    constexpr double cell = 6.0;
    const auto room = static_cast<std::int64_t>((canvas.width() - 2.0 * gap) / cell);
    const std::int64_t last = std::min<std::int64_t>(tile.columns - tile.own_columns + 2, 8);
    const std::vector<std::int64_t> columns = shown_of(tile.columns, room - last - 1, last),
                                    rows = shown_of(tile.rows, 6,
                                                    std::min<std::int64_t>(tile.rows - tile.own_rows + 1, 5));
    const ThreadTile &threads = walk.threads;
    const bool spread = threads.apart > 1;
    const std::int64_t side_by_side = spread ? threads.unit : threads.columns,
                       apart = spread ? threads.apart : std::max<std::int64_t>(1, tile.columns),
                       groups = spread ? threads.columns / threads.unit : 1;
    const std::int64_t window_w = side_by_side + shape.s - 1, window_h = threads.rows + shape.r - 1;
    for (std::size_t i = 0; i < rows.size(); ++i)
        for (std::size_t j = 0; j < columns.size(); ++j) {
            const double left = gap + double(j) * cell, top = y + double(i) * cell;
            if (rows[i] < 0 || columns[j] < 0) {
                if (rows[i] < 0 ? j % 4 == 1 : i % 2 == 0)
                    canvas.rect(left + 2.5, top + 2.5, 1.0, 1.0, "fill=\"#222\"");
                continue;
            }
            if (rows[i] >= tile.own_rows || columns[j] >= tile.own_columns)
                canvas.rect(left, top, cell, cell, "fill=\"url(#hatch)\"");
            const bool in_window =
                rows[i] < window_h && columns[j] % apart < window_w && columns[j] / apart < groups;
            const bool target = in_window && rows[i] < threads.rows && columns[j] % apart < side_by_side;
            canvas.patch(left, top, cell, cell, map_colour,
                         target      ? When::now
                         : in_window ? When::next
                                     : When::later);
        }
    canvas.grid(gap, y, cell, std::ssize(columns), std::ssize(rows));
    y += double(rows.size()) * cell + gap;
    std::vector<DiagramKey> entries = {
        {When::now, map_colour, count_text(threads.rows * threads.columns, "output")},
        {When::next, map_colour, fmt::format("window of {} x {}", window_h, window_w)}};
    if (tile.rows > tile.own_rows || tile.columns > tile.own_columns)
        entries.push_back({When::halo, "#222222", "halo"});
    return canvas.legend(y, entries);
}

/// Draws which banks of shared memory the first lanes of a warp read in one instruction: of each lane `unit`
/// elements, Chen's n. Returns the lower end.
double draw_banks(Canvas &canvas, const ConvShape &shape, const Walk &walk, std::int64_t bank_bytes,
                  double y) {
    const std::int64_t unit = walk.threads.unit, element = shape.element_bytes();
    y = canvas.heading(
        y, fmt::format("A read of {} (n = {}) by lanes 0 to 3", count_text(unit, "element"), unit));
    constexpr std::int64_t lanes = 4;
    const std::int64_t elements = std::max<std::int64_t>(lanes * unit, 8);
    const double cell = std::min(14.0, (canvas.width() - 2.0 * gap) / double(elements));
    for (std::int64_t i = 0; i < elements; ++i) {
        const std::int64_t lane = i / unit;
        const double x = gap + double(i) * cell;
        if (lane < lanes)
            canvas.patch(x, y, cell, 11.0, map_colour, lane % 2 == 0 ? When::now : When::next);
        canvas.rect(x, y, cell, 11.0, "fill=\"none\" stroke=\"#fff\" stroke-width=\"0.5\"");
    }
    const double all = double(elements) * cell;
    for (std::int64_t bytes = 0; bytes <= elements * element; bytes += bank_bytes) {
        const double x = gap + all * share_of({0, bytes}, elements * element).to;
        canvas.line(x, y - 1.5, x, y + 12.5, "stroke=\"#222\" stroke-width=\"0.8\"");
    }
    y += 11.0 + gap;
    canvas.text(gap, y,
                fmt::format("cells: elements of {}; strokes: banks of {}", count_text(element, "byte"),
                            count_text(bank_bytes, "byte")));
    return y + line_height + gap;
}

/// The first launch. Others do the same for other filters, or add up its partial sums.
const Partition &drawn_launch(const Case &item) {
    return item.prediction.value().plan.value().launches.front();
}

} // namespace

std::string cannot_draw(const std::string &strategy) {
    const Strategy asked = parse_strategy(strategy);
    if (asked.kind->walk != nullptr)
        return "";
    std::vector<std::string> drawn;
    for (const StrategyKind *kind : strategy_kinds())
        if (kind->walk != nullptr)
            drawn.push_back(kind->name);
    return "no diagram is known of " + asked.kind->name + "; there is one of " + join(drawn);
}

std::int64_t bank_bytes_of(const GpuProfile &profile) {
    return profile.bank_width ? std::llround(profile.bank_width->value.value) : 4;
}

std::string partition_diagram(const Case &item, const GpuProfile &profile, const PaperWidth &width) {
    if (const std::string why = cannot_draw(item.strategy.value()); !why.empty())
        throw std::invalid_argument(why);
    const ConvShape shape = ConvShape::parse(item.shape);
    const Strategy strategy = parse_strategy(*item.strategy);
    const Partition &launch = drawn_launch(item);
    const Walk walk = strategy.kind->walk(strategy, shape, Gpu(profile), launch);
    const std::int64_t cta = drawn_cta(walk, launch.ctas);
    const Needs needs(shape, walk, cta);
    TensorDrawing map = map_of(shape, needs), filters = filters_of(shape, needs),
                  output = output_of(shape, needs);
    add_borders(shape, walk, launch.ctas, output, filters);
    Canvas canvas(width.bp);
    double y = gap;
    y = canvas.heading(y, fmt::format("CTA {} of {} reads and computes", grouped(cta), grouped(launch.ctas)));
    constexpr double between = 7.0;
    const double column = (width.bp - 2.0 * gap - 2.0 * between) / 3.0;
    double lower = y, x = gap;
    const std::vector<const TensorDrawing *> tensors = {&map, &filters, &output};
    for (const TensorDrawing *tensor : tensors) {
        lower = std::max(lower, draw_tensor(canvas, *tensor, x, y, column));
        x += column + between;
    }
    y = draw_legend(canvas, lower + gap, tensors);
    y = draw_paragraph(canvas, walk.remark, y) + gap;
    if (walk.draws_memory)
        y = draw_memory(canvas, shape, needs, y);
    y = draw_shared(canvas, launch, walk, y);
    y = draw_pixels(canvas, shape, walk, y);
    y = draw_threads(canvas, launch, walk, y);
    if (walk.draws_banks)
        y = draw_banks(canvas, shape, walk, bank_bytes_of(profile), y);
    return canvas.finish(y, shape.id() + " by " + launch.kernel);
}

std::string partition_caption(const Case &item) {
    const Partition &launch = drawn_launch(item);
    return fmt::format("{} by {}: a grid of {} x {} x {} CTAs of {} threads, {} on an SM at once. The grey "
                       "lines are where other "
                       "CTAs' parts begin, the bars beside map and output their channels and filters. Parts "
                       "too thin to be seen are "
                       "drawn thicker, and proportions beyond 2 to 1 are drawn as 2 to 1.",
                       item.shape, *item.strategy, launch.grid[0], launch.grid[1], launch.grid[2],
                       launch.threads, launch.ctas_per_sm);
}

} // namespace convcast
