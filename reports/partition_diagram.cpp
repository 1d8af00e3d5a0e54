#include "reports/partition_diagram.hpp"

#include "model/base/divide.hpp"
#include "model/base/errors.hpp"
#include "model/base/readable.hpp"
#include "model/machine/architecture.hpp"
#include "model/strategies/list.hpp"
#include "model/work/walk.hpp"
#include "reports/explained.hpp"
#include "reports/figure_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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

/// When a CTA needs something: in the step it computes, in the next, which it copies meanwhile, or in others.
enum class When { now, next, later, halo };

When of_step(std::int64_t step) {
    return step == 0 ? When::now : step == 1 ? When::next : When::later;
}

/// A part of a direction, in shares of the whole.
struct Share {
    double from = 0.0, to = 1.0;
    bool operator==(const Share &) const = default;
};

Share share_of(IndexRange range, std::int64_t all) {
    const auto size = double(std::max<std::int64_t>(1, all));
    return {double(range.begin) / size, double(range.end) / size};
}

/// A part of a rectangle.
struct Patch {
    Share x, y;
    When when;
};

/// The map, the filters or the output, with what the CTA needs of it.
struct Thing {
    std::string title, size;
    double width, height; ///< its proportions
    std::string colour;
    bool deep = false; ///< it has a third direction, drawn beside it
    std::vector<Patch> patches = {};
    std::vector<double> columns = {}, rows = {}; ///< where other CTAs' parts begin, in shares
    std::vector<Patch> depth = {};               ///< of its third direction, downwards
    std::vector<std::string> notes = {};
};

constexpr const char *map_colour = "#0072B2";
constexpr const char *filter_colour = "#D55E00";
constexpr const char *output_colour = "#009E73";

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

/// The CTA that is drawn: one with full tiles, away from the edge.
std::int64_t drawn_cta(const Walk &walk, std::int64_t all) {
    constexpr std::int64_t tried = 200; // of very many
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

/// Adds a patch unless an earlier, more urgent one is the same. One that goes on where the last one ends
/// makes that longer.
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

/// Calls with each share of `step` of a size, and when it comes.
template <class Call> void for_each_step(std::int64_t step, std::int64_t size, Call call) {
    for (std::int64_t i = 0; step > 0 && i * step < size; ++i)
        call(share_of({i * step, std::min(size, (i + 1) * step)}, size), of_step(i));
}

/// What of the whole the CTA needs, by step.
struct Needs {
    const Walk &walk;
    std::vector<OutputBox> boxes;
    OutputBox all; ///< around all boxes

    Needs(const Walk &its_walk, std::int64_t cta)
        : walk(its_walk), boxes(outputs_of(its_walk, cta)), all(boxes.front()) {
        for (const OutputBox &box : boxes)
            for (const OutputAxis axis :
                 {&OutputBox::rows, &OutputBox::columns, &OutputBox::filters, &OutputBox::channels})
                all.*axis = {std::min((all.*axis).begin, (box.*axis).begin),
                             std::max((all.*axis).end, (box.*axis).end)};
    }

    const OutputBox &first() const { return boxes.front(); }
    /// Boxes of a flattened span are one step; pieces are steps of their own.
    When when_of(std::size_t box) const {
        if (box == 0 || !walk.flat.empty())
            return When::now;
        if (walk.rounds_resident > 1)
            return static_cast<std::int64_t>(box) < walk.rounds_resident ? When::next : When::later;
        const bool one_step = walk.step_channels == 0 || walk.step_channels >= first().channels.size();
        return box == 1 && one_step ? When::next : When::later;
    }
};

Thing map_of(const ConvShape &s, const Needs &needs) {
    Thing map{"map",  fmt::format("{} x {} x {}", s.c, s.h, s.w), double(s.w), double(s.h), map_colour,
              s.c > 1};
    // Channels of a step; 0: those of its box.
    const std::int64_t step = needs.walk.step_channels > 0 ? needs.walk.step_channels
                              : needs.walk.step_values > 0
                                  ? std::max<std::int64_t>(1, ceil_div(needs.walk.step_values, s.r * s.s))
                                  : 0;
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
        // Later halos are parts of what comes later.
        if (when == When::now && rows.end > own_rows.end)
            add(halo, {all_x, {y.to, all_y.to}, When::halo});
        if (when == When::now && columns.end > own_columns.end)
            add(halo, {{x.to, all_x.to}, y, When::halo});
        add(map.patches, {x, y, when});
        if (step == 0)
            add(map.depth, {{}, share_of(box.channels, s.c), i == 0 ? When::now : When::later});
    }
    map.patches.insert(map.patches.begin(), halo.begin(), halo.end());
    for_each_step(step, s.c, [&](Share y, When when) { add(map.depth, {{}, y, when}); });
    const IndexRange rows = map_rows(s, needs.first().rows), columns = map_columns(s, needs.first().columns);
    map.notes = {fmt::format("{} x {} pixels", grouped(rows.size()), grouped(columns.size()))};
    const std::int64_t halo_rows = rows.size() - needs.first().rows.size() * s.stride_h,
                       halo_columns = columns.size() - needs.first().columns.size() * s.stride_w;
    if (halo_rows > 0)
        map.notes.push_back(fmt::format("{} halo", count_text(halo_rows, "row")));
    if (halo_columns > 0 && columns.size() < s.w)
        map.notes.push_back(fmt::format("{} halo", count_text(halo_columns, "column")));
    if (!needs.walk.flat.empty() && needs.walk.pixels.rows > 0)
        map.notes = {fmt::format("{} lines of {}", needs.walk.pixels.rows, needs.walk.pixels.columns)};
    if (s.c > 1)
        map.notes.push_back(step > 0 ? count_text(step, "channel") + " a step"
                            : needs.all.channels.size() < s.c
                                ? count_text(needs.all.channels.size(), "channel")
                                : "all channels");
    return map;
}

Thing filters_of(const ConvShape &s, const Needs &needs) {
    const std::int64_t values = s.products(), taps = s.r * s.s;
    const std::string of_channels = s.c == 1 ? "" : grouped(s.c / s.groups) + " x ";
    Thing filters{"filters", fmt::format("{} of {}{} x {}", grouped(s.k), of_channels, s.r, s.s),
                  double(values), double(s.k), filter_colour};
    const std::int64_t step =
        needs.walk.step_values > 0 ? needs.walk.step_values : needs.walk.step_channels * taps;
    for (std::size_t i = 0; i < needs.boxes.size(); ++i) {
        const OutputBox &box = needs.boxes[i];
        const Share y = share_of(box.filters, s.k);
        if (step > 0 && !needs.walk.filters_stay)
            for_each_step(step, values, [&](Share x, When when) { add(filters.patches, {x, y, when}); });
        else
            add(filters.patches, {share_of({box.channels.begin * taps, box.channels.end * taps}, values), y,
                                  needs.when_of(i)});
    }
    const IndexRange first = needs.first().filters;
    filters.notes = {needs.all.filters.size() == s.k ? "all " + count_text(s.k, "filter")
                                                     : span_text("filter", needs.all.filters)};
    if (first.size() < needs.all.filters.size())
        filters.notes.push_back(fmt::format("{} at a time", grouped(first.size())));
    if (step > 0 && !needs.walk.filters_stay)
        filters.notes.push_back(count_text(std::min(step, values), "value") + " a step");
    else if (needs.all.channels.size() < s.c)
        filters.notes.push_back(count_text(needs.all.channels.size() * taps, "value") + " each");
    return filters;
}

Thing output_of(const ConvShape &s, const Needs &needs) {
    Thing output{"output",      fmt::format("{} x {} x {}", s.k, s.p(), s.q()),
                 double(s.q()), double(s.p()),
                 output_colour, true};
    for (std::size_t i = 0; i < needs.boxes.size(); ++i) {
        const OutputBox &box = needs.boxes[i];
        const When when = needs.when_of(i);
        add(output.patches, {share_of(box.columns, s.q()), share_of(box.rows, s.p()), when});
        add(output.depth, {{}, share_of(box.filters, s.k), when});
    }
    const OutputBox &first = needs.first();
    if (!needs.walk.flat.empty()) {
        std::int64_t outputs = 0;
        for (const OutputBox &box : needs.boxes)
            outputs += box.rows.size() * box.columns.size();
        output.notes = {count_text(outputs, "pixel")};
    } else {
        output.notes = {
            fmt::format("{} x {} pixels", grouped(first.rows.size()), grouped(first.columns.size()))};
        if (first.rows != needs.all.rows)
            output.notes.push_back(fmt::format("{} in turn", count_text(std::ssize(needs.boxes), "band")));
    }
    output.notes.push_back(needs.all.filters.size() == s.k
                               ? "of all filters"
                               : "of " + count_text(needs.all.filters.size(), "filter"));
    if (needs.all.channels.size() < s.c / s.groups && has_partial_sums(needs.walk))
        output.notes.push_back("a partial sum");
    return output;
}

/// Where the parts of CTAs begin along rows, columns of the output, if there are few enough to draw.
void add_borders(const ConvShape &s, const Walk &walk, std::int64_t all, Thing &output, Thing &filters) {
    constexpr std::int64_t most = 20'000, most_lines = 48;
    if (all > most)
        return;
    std::set<std::int64_t> rows, columns, begins;
    for (std::int64_t cta = 0; cta < all; ++cta)
        for (const OutputBox &box : outputs_of(walk, cta)) {
            rows.insert(box.rows.begin);
            columns.insert(box.columns.begin);
            begins.insert(box.filters.begin);
        }
    const auto shares_of = [](const std::set<std::int64_t> &values, std::int64_t size) {
        std::vector<double> shares;
        for (const std::int64_t value : values)
            if (value > 0 && std::ssize(values) <= most_lines)
                shares.push_back(share_of({0, value}, size).to);
        return shares;
    };
    output.rows = shares_of(rows, s.p());
    if (walk.flat.empty())
        output.columns = shares_of(columns, s.q());
    filters.rows = shares_of(begins, s.k);
}

constexpr double gap = 3.0, line_height = 10.5;

struct DiagramKey {
    When when;
    std::string colour, words;
};

/// Draws in points, from the top down; every text is 8 points high.
class Canvas {
  public:
    explicit Canvas(double its_width) : width(its_width) {}

    const double width;
    double y = gap; ///< where the next part begins

    double room() const { return width - 2.0 * gap; }

    void rect(double x, double top, double w, double h, const std::string &look) {
        body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" {}/>\n", coordinate(x),
                             coordinate(top), coordinate(w), coordinate(h), look);
    }
    void line(double x1, double y1, double x2, double y2, const std::string &look) {
        body_ += fmt::format("<path d=\"M{} {}L{} {}\" {}/>\n", coordinate(x1), coordinate(y1),
                             coordinate(x2), coordinate(y2), look);
    }
    /// White lines between square cells and around them.
    void grid(double x, double top, double cell, std::int64_t columns, std::int64_t rows) {
        std::string path;
        for (std::int64_t i = 0; i <= columns; ++i)
            path += fmt::format("M{0} {1}V{2}", coordinate(x + double(i) * cell), coordinate(top),
                                coordinate(top + double(rows) * cell));
        for (std::int64_t i = 0; i <= rows; ++i)
            path += fmt::format("M{0} {1}H{2}", coordinate(x), coordinate(top + double(i) * cell),
                                coordinate(x + double(columns) * cell));
        body_ += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"#fff\" stroke-width=\"0.5\"/>\n", path);
    }
    /// `top` is the upper end of the line of text.
    void text(double x, double top, const std::string &words, const char *anchor = "start",
              const std::string &look = "") {
        body_ += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\"{}>{}</text>\n", coordinate(x),
                             coordinate(top + 0.95 * paper_text_bp), anchor,
                             look.empty() ? "" : " class=\"" + look + "\"", escape_xml(words));
    }

    void patch(double x, double top, double w, double h, const std::string &colour, When when) {
        constexpr double least = 1.2; // narrower is not seen
        rect(x, top, std::max(w, least), std::max(h, least),
             when == When::halo ? fmt::format("fill=\"url(#hatch)\" stroke=\"{}\" stroke-width=\"0.6\" "
                                              "stroke-dasharray=\"2 1.2\"",
                                              colour)
                                : fmt::format("fill=\"{}\"{}", colour,
                                              when == When::now    ? ""
                                              : when == When::next ? " fill-opacity=\"0.5\""
                                                                   : " fill-opacity=\"0.22\""));
    }

    void heading(const std::string &words) {
        text(gap, y, words, "start", "strong");
        y += line_height + gap;
    }
    void line_of_text(const std::string &words) {
        text(gap, y, words);
        y += line_height;
    }
    /// A patch and what it means. Returns where the next one has room.
    double key(double x, const DiagramKey &entry) {
        patch(x, y + 1.5, 9.0, 6.5, entry.colour, entry.when);
        text(x + 12.0, y, entry.words);
        return x + (12.0 + text_width(entry.words, paper_text_bp) + 9.0);
    }
    void legend(const std::vector<DiagramKey> &entries) {
        double x = gap;
        for (const DiagramKey &entry : entries)
            x = key(x, entry);
        y += line_height + gap;
    }

    std::string finish(const std::string &title) const {
        return fmt::format(
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"figure\" viewBox=\"0 0 {0} {1}\" "
                   "width=\"{0}pt\" height=\"{1}pt\" role=\"img\" aria-label=\"{2}\">\n<title>{2}</title>\n"
                   "<style>text{{font:{3}px 'DejaVu Sans',Verdana,sans-serif;fill:#222}}"
                   ".strong{{font-weight:bold}}.light{{fill:#fff}}</style>\n<defs><pattern id=\"hatch\" "
                   "width=\"3\" height=\"3\" patternUnits=\"userSpaceOnUse\"><path d=\"M0 3L3 0\" "
                   "stroke=\"#555\" stroke-width=\"0.5\"/></pattern></defs>\n"
                   "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
                   coordinate(width), coordinate(y), escape_xml(title), coordinate(paper_text_bp)) +
               body_ + "</svg>\n";
    }

  private:
    std::string body_;
};

constexpr const char *frame = "fill=\"none\" stroke=\"#444\" stroke-width=\"0.6\"";
constexpr const char *thin_frame = "fill=\"none\" stroke=\"#999\" stroke-width=\"0.35\"";
constexpr const char *thin = "stroke=\"#999\" stroke-width=\"0.35\"";

/// A thing's plane with what the CTA needs of it, its depth beside it, its notes below. Returns its lower
/// end.
double draw_thing(Canvas &canvas, const Thing &thing, double x, double width) {
    const double y = canvas.y;
    canvas.text(x, y, thing.title, "start", "strong");
    canvas.text(x, y + line_height, fitted(thing.size, width + gap, paper_text_bp));
    const double top = y + 2.0 * line_height + gap;
    constexpr double high = 58.0, bar = 6.0, room_for_bar = 14.0;
    const double wide = width - (thing.deep ? room_for_bar : 0.0);
    // Proportions as they are, unless the shorter side would be too thin to show anything.
    const double ratio = std::clamp(thing.width / thing.height, 0.5, 2.0);
    const double w = std::min(wide, high * ratio), h = std::min(high, w / ratio);
    for (const When when : {When::later, When::next, When::now, When::halo})
        for (const Patch &patch : thing.patches)
            if (patch.when == when)
                canvas.patch(x + patch.x.from * w, top + patch.y.from * h, (patch.x.to - patch.x.from) * w,
                             (patch.y.to - patch.y.from) * h, thing.colour, when);
    for (const double at : thing.columns)
        canvas.line(x + at * w, top, x + at * w, top + h, thin);
    for (const double at : thing.rows)
        canvas.line(x, top + at * h, x + w, top + at * h, thin);
    canvas.rect(x, top, w, h, frame);
    if (thing.deep) {
        const double left = x + w + gap;
        for (const Patch &part : thing.depth)
            canvas.patch(left, top + part.y.from * h, bar, (part.y.to - part.y.from) * h, thing.colour,
                         part.when);
        canvas.rect(left, top, bar, h, frame);
    }
    double at = top + high + gap;
    for (const std::string &note : thing.notes) {
        canvas.text(x, at, fitted(note, width + gap, paper_text_bp));
        at += line_height;
    }
    return at;
}

void draw_legend(Canvas &canvas, const std::vector<Thing> &things) {
    std::vector<DiagramKey> entries;
    for (const auto &[when, words] : {std::pair{When::now, "computed now"},
                                      {When::next, "copied meanwhile"},
                                      {When::later, "later"},
                                      {When::halo, "halo"}})
        if (when == When::now || std::ranges::any_of(things, [&](const Thing &thing) {
                const auto then = [&](const Patch &patch) { return patch.when == when; };
                return std::ranges::any_of(thing.patches, then) || std::ranges::any_of(thing.depth, then);
            }))
            entries.push_back({when, "#444444", words});
    canvas.legend(entries);
}

/// Shared memory as a bar, to scale.
void draw_shared(Canvas &canvas, const Partition &launch, const Walk &walk) {
    std::int64_t used = 0, most = 0;
    for (const SharedBuffer &buffer : walk.buffers) {
        used += buffer.bytes * buffer.buffers;
        most = std::max(most, buffer.buffers);
    }
    const std::int64_t all = std::max(launch.shared_bytes, used);
    if (all == 0)
        return;
    canvas.heading("Shared memory: " + count_text(all, "byte"));
    constexpr double high = 11.0;
    const double y = canvas.y;
    double x = gap;
    // All kinds of the first buffer, then all of the second: as they lie.
    for (std::int64_t i = 0; i < most; ++i)
        for (const SharedBuffer &buffer : walk.buffers)
            if (i < buffer.buffers) {
                const double wide = share_of({0, buffer.bytes}, all).to * canvas.room();
                canvas.patch(x, y, wide, high, tensor_colour(buffer.of), of_step(i));
                canvas.line(x, y, x, y + high, frame);
                if (text_width(buffer.name, paper_text_bp) + 2.0 * gap < wide)
                    canvas.text(x + wide / 2.0, y + 1.2, buffer.name, "middle", i == 0 ? "light" : "");
                x += wide;
            }
    canvas.rect(gap, y, canvas.room(), high, frame);
    canvas.y += high + gap;
    for (const SharedBuffer &buffer : walk.buffers) {
        canvas.key(gap, {When::now, tensor_colour(buffer.of),
                         fmt::format("{}: {}{} bytes", buffer.name,
                                     buffer.buffers > 1 ? fmt::format("{} buffers of ", buffer.buffers) : "",
                                     grouped(buffer.bytes))});
        canvas.y += line_height;
    }
    canvas.y += gap;
}

/// How a thread's pixels lie.
std::string placed_text(const ThreadTile &threads) {
    if (threads.rows * threads.columns == 1)
        return "";
    if (threads.rows > 1)
        return " in a column";
    return threads.apart == 1 ? " in a row" : fmt::format(", {} apart", threads.apart);
}

/// Words in lines that fit the drawing.
void draw_paragraph(Canvas &canvas, const std::string &words) {
    std::string line;
    std::istringstream in(words);
    for (std::string word; in >> word;) {
        const std::string longer = line.empty() ? word : line + " " + word;
        const bool fits = line.empty() || text_width(longer, paper_text_bp) <= canvas.room();
        if (!fits)
            canvas.line_of_text(line);
        line = fits ? longer : word;
    }
    if (!line.empty())
        canvas.line_of_text(line);
    canvas.y += gap;
}

/// The CTA's threads over its tile of pixels and filters, and the sums of one of them.
void draw_threads(Canvas &canvas, const Partition &launch, const Walk &walk) {
    const ThreadTile &threads = walk.threads;
    canvas.heading(fmt::format("Threads: {} a CTA, {} a warp", launch.threads, 32));
    constexpr double high = 44.0, wide = 84.0;
    const double left = gap + line_height, y = canvas.y, top = y + line_height, below = top + high + 1.0;
    // All of them as one block, a warp of them dark: filters down, pixels across.
    const double warps_across = std::max(1.0, double(threads.along_pixels) / 32.0);
    double warp_w = wide / warps_across, warp_h = high / double(threads.along_filters);
    if (!threads.warp_along_pixels) { // neighbouring threads take neighbouring filters
        const double down = std::min<double>(32.0, double(threads.along_filters));
        warp_h = high * down / double(threads.along_filters);
        warp_w = wide * (32.0 / down) / double(threads.along_pixels);
    }
    canvas.patch(left, top, wide, high, output_colour, When::later);
    canvas.patch(left, top, std::min(warp_w, wide), std::min(warp_h, high), output_colour, When::now);
    canvas.rect(left, top, wide, high, frame);
    canvas.text(left, y, "pixels");
    canvas.text(left + wide, y, grouped(threads.along_pixels) + " threads", "end");
    canvas.text(left, below,
                threads.along_filters > 1 ? "filters: " + count_text(threads.along_filters, "thread")
                                          : "a warp is dark");
    // One thread's sums: its pixels across, filters down.
    const double x = left + wide + 16.0;
    const std::int64_t pixels = threads.rows * threads.columns;
    constexpr std::int64_t most = 16; // cells that are drawn along a side
    const std::int64_t columns = std::min(pixels, most), rows = std::min(threads.filters, most);
    const double cell = std::min({7.0, (canvas.width - x - gap) / double(columns), high / double(rows)});
    canvas.patch(x, top, double(columns) * cell, double(rows) * cell, output_colour, When::now);
    canvas.grid(x, top, cell, columns, rows);
    canvas.text(x, y, "one thread's sums");
    canvas.text(x, below, count_text(pixels, "pixel") + placed_text(threads));
    canvas.text(x, below + line_height,
                fmt::format("of {} = {}", count_text(threads.filters, "filter"),
                            count_text(pixels * threads.filters, "sum")));
    if (threads.along_filters > 1)
        canvas.text(left, below + line_height, "a warp is dark");
    canvas.y += 3.0 * line_height + high + gap;
}

/// Which of `size` rows or columns are drawn where not all can be: the first, -1 for what is left out, the
/// last.
std::vector<std::int64_t> shown_of(std::int64_t size, std::int64_t first, std::int64_t last) {
    std::vector<std::int64_t> shown;
    for (std::int64_t i = 0; i < size; ++i)
        if (size <= first + last + 1 || i < first || i >= size - last)
            shown.push_back(i);
        else if (shown.back() != -1)
            shown.push_back(-1);
    return shown;
}

/// When the CTA needs a value of the filters, by its place in memory; absent where it does not.
std::optional<When> when_needed(const ConvShape &shape, const Needs &needs, std::int64_t place) {
    const OutputBox &first = needs.first();
    const std::int64_t taps = shape.r * shape.s, filter = place / shape.products(),
                       value = place % shape.products(), channel = value / taps;
    if (filter < needs.all.filters.begin || filter >= needs.all.filters.end ||
        channel < first.channels.begin || channel >= first.channels.end)
        return std::nullopt;
    const std::int64_t step = needs.walk.filters_stay      ? 0
                              : needs.walk.step_values > 0 ? value / needs.walk.step_values
                              : needs.walk.step_channels > 0
                                  ? (channel - first.channels.begin) / needs.walk.step_channels
                                  : 0;
    return step == 0 && filter >= first.filters.end ? When::later : of_step(step);
}

/// The first filter values of the CTA as they lie in memory: channel after channel, filter after filter, and
/// what of them a step brings.
void draw_memory(Canvas &canvas, const ConvShape &shape, const Needs &needs) {
    const OutputBox &first = needs.first();
    const std::int64_t taps = shape.r * shape.s, values = shape.products(),
                       begin = first.filters.begin * values + first.channels.begin * taps;
    canvas.heading("Filters in memory, from filter " + grouped(first.filters.begin) +
                   (shape.c > 1 ? ", channel " + grouped(first.channels.begin) : "") + " on");
    constexpr double cell = 6.0, high = 9.0;
    const double y = canvas.y;
    const std::int64_t end =
        std::min(begin + static_cast<std::int64_t>(canvas.room() / cell), shape.k * values);
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
    canvas.y += high + gap + 1.0;
    canvas.line_of_text(
        shape.c > 1 ? fmt::format("strokes: channels of {} x {}; long strokes: filters", shape.r, shape.s)
                    : fmt::format("strokes: filters of {} x {}", shape.r, shape.s));
    canvas.y += gap;
}

/// The tile of pixels that a CTA computes from, and the window of one of its threads.
void draw_pixels(Canvas &canvas, const ConvShape &shape, const Walk &walk) {
    const PixelTile &tile = walk.pixels;
    if (tile.rows == 0)
        return;
    canvas.heading(fmt::format("Pixels: {} x {}, and a thread's window", tile.rows, grouped(tile.columns)));
    constexpr double cell = 6.0;
    const double y = canvas.y;
    const auto room = static_cast<std::int64_t>(canvas.room() / cell);
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
    canvas.y += double(rows.size()) * cell + gap;
    std::vector<DiagramKey> entries = {
        {When::now, map_colour, count_text(threads.rows * threads.columns, "output")},
        {When::next, map_colour, fmt::format("window of {} x {}", window_h, window_w)}};
    if (tile.rows > tile.own_rows || tile.columns > tile.own_columns)
        entries.push_back({When::halo, "#222222", "halo"});
    canvas.legend(entries);
}

/// What lanes read of the banks of shared memory in one instruction: Chen's n.
void draw_banks(Canvas &canvas, const ConvShape &shape, const Walk &walk, std::int64_t bank_bytes) {
    const std::int64_t unit = walk.threads.unit, element = shape.element_bytes();
    canvas.heading(fmt::format("A read of {} (n = {}) by lanes 0 to 3", count_text(unit, "element"), unit));
    constexpr std::int64_t lanes = 4;
    constexpr double high = 11.0;
    const double y = canvas.y;
    const std::int64_t elements = std::max<std::int64_t>(lanes * unit, 8);
    const double cell = std::min(14.0, canvas.room() / double(elements));
    for (std::int64_t i = 0; i < elements; ++i) {
        const std::int64_t lane = i / unit;
        const double x = gap + double(i) * cell;
        if (lane < lanes)
            canvas.patch(x, y, cell, high, map_colour, lane % 2 == 0 ? When::now : When::next);
        canvas.rect(x, y, cell, high, "fill=\"none\" stroke=\"#fff\" stroke-width=\"0.5\"");
    }
    const double all = double(elements) * cell;
    for (std::int64_t bytes = 0; bytes <= elements * element; bytes += bank_bytes) {
        const double x = gap + all * share_of({0, bytes}, elements * element).to;
        canvas.line(x, y - 1.5, x, y + high + 1.5, "stroke=\"#222\" stroke-width=\"0.8\"");
    }
    canvas.y += high + gap;
    canvas.line_of_text(fmt::format("cells: elements of {}; strokes: banks of {}",
                                    count_text(element, "byte"), count_text(bank_bytes, "byte")));
    canvas.y += gap;
}

/// Several launches that do the same for other filters are alike, and partial sums are added behind the
/// first.
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
    const Needs needs(walk, cta);
    std::vector<Thing> things = {map_of(shape, needs), filters_of(shape, needs), output_of(shape, needs)};
    add_borders(shape, walk, launch.ctas, things[2], things[1]);
    Canvas canvas(width.bp);
    canvas.heading(fmt::format("CTA {} of {} reads and computes", grouped(cta), grouped(launch.ctas)));
    constexpr double between = 7.0;
    const double column = (canvas.room() - 2.0 * between) / 3.0;
    double lower = canvas.y, x = gap;
    for (const Thing &thing : things) {
        lower = std::max(lower, draw_thing(canvas, thing, x, column));
        x += column + between;
    }
    canvas.y = lower + gap;
    draw_legend(canvas, things);
    draw_paragraph(canvas, walk.remark);
    if (walk.draws_memory)
        draw_memory(canvas, shape, needs);
    draw_shared(canvas, launch, walk);
    draw_pixels(canvas, shape, walk);
    draw_threads(canvas, launch, walk);
    if (walk.draws_banks)
        draw_banks(canvas, shape, walk, bank_bytes_of(profile));
    return canvas.finish(shape.id() + " by " + launch.kernel);
}

std::string partition_caption(const Case &item) {
    const Partition &launch = drawn_launch(item);
    return remark("partition", item.shape, *item.strategy, launch.grid[0], launch.grid[1], launch.grid[2],
                  launch.threads, launch.ctas_per_sm);
}

} // namespace convcast
