// The computations of the two papers about networks, Vadlamudi's and Cibil's, that need no kernels of a
// network: sizes, occupancy, convolution layers as shapes, and the arithmetic of the published tables.
#include "model/plan/occupancy.hpp"
#include "model/shape/conv_shape.hpp"
#include "reports/papers/computations.hpp"
#include "reports/papers/ladder_answers.hpp"
#include "reports/papers/verdicts.hpp"
#include "reports/profile_figures.hpp"
#include "reports/report_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

// ---- both

/// Output edge of a filter or a pooling without padding.
std::int64_t edge_after(std::int64_t edge, std::int64_t filter, std::int64_t stride) {
    return (edge - filter) / stride + 1;
}

struct Layer {
    std::string name;
    std::int64_t edge, filter, stride, channels_out;
};

/// Edges after each layer of a network of square maps; the last one flattened.
PaperTable sizes_table(const PaperItem &item, std::int64_t edge, const std::vector<Layer> &layers) {
    PaperTable table{
        item.id, "Sizes layer by layer",
        1,       {"layer", "filter or area", "stride", "input edge", "output edge", "channels", "values"},
        {},      "Equation: (edge - filter) / stride + 1, rounded down."};
    for (const Layer &layer : layers) {
        const std::int64_t out = edge_after(edge, layer.filter, layer.stride);
        table.rows.push_back({layer.name, std::to_string(layer.filter), std::to_string(layer.stride),
                              std::to_string(edge), std::to_string(out), std::to_string(layer.channels_out),
                              count_text(out * out * layer.channels_out)});
        edge = out;
    }
    return table;
}

ItemAnswer layer_sizes(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    if (context.paper_id() == "cibil") {
        answer.tables.push_back(
            sizes_table(item, 28, {{"convolution", 0, 5, 1, 6}, {"max pooling", 0, 4, 4, 6}}));
        const std::int64_t edge = edge_after(edge_after(28, 5, 1), 4, 4);
        answer.findings.push_back({item.id, "24 x 24 after the convolution and 216 values after pooling",
                                   "24, 216", fmt::format("{}, {}", edge_after(28, 5, 1), edge * edge * 6),
                                   edge_after(28, 5, 1) == 24 && edge * edge * 6 == 216
                                       ? ClaimVerdict::follows
                                       : ClaimVerdict::differs,
                                   fmt::format("Equation (6) gives {} and {} x {} x 6 = {}.",
                                               edge_after(28, 5, 1), edge, edge, edge * edge * 6)});
        return answer;
    }
    answer.tables.push_back(sizes_table(item, 28,
                                        {{"conv1", 0, 5, 1, 32},
                                         {"maxpool1", 0, 2, 2, 32},
                                         {"conv2", 0, 5, 1, 64},
                                         {"maxpool2", 0, 2, 2, 64}}));
    const std::int64_t edge = edge_after(edge_after(edge_after(edge_after(28, 5, 1), 2, 2), 5, 1), 2, 2);
    const std::int64_t odd = edge_after(edge_after(edge_after(28, 3, 1), 2, 2), 3, 1);
    answer.findings.push_back({item.id, "1024 values go to the first dense layer", "1024",
                               count_text(edge * edge * 64),
                               edge * edge * 64 == 1024 ? ClaimVerdict::follows : ClaimVerdict::differs,
                               fmt::format("{} x {} x 64 = {}.", edge, edge, edge * edge * 64)});
    answer.findings.push_back(
        {item.id, "3 x 3 filters would ask for padding before the second pooling", "11 rows",
         fmt::format("{} rows", odd), odd == 11 ? ClaimVerdict::follows : ClaimVerdict::differs,
         fmt::format("With 3 x 3 filters the second pooling would meet {} rows, an odd number.", odd)});
    return answer;
}

/// Of convolution layers as shapes: every strategy that does them, forecast for both GPUs.
PaperTable layers_table(const PaperItem &item, const PaperContext &context,
                        const std::vector<std::pair<std::string, std::string>> &layers,
                        const std::vector<std::string> &strategies) {
    PaperTable table{item.id + "_forecast",
                     "The convolutions as shapes, forecast",
                     3,
                     {"layer", "shape", "strategy", short_name(context.papers().profile) + ", µs",
                      short_name(context.ours().profile) + ", µs"},
                     {},
                     "One kernel each, without the other layers."};
    for (const auto &[name, shape] : layers)
        for (const std::string &strategy : strategies) {
            const auto papers = context.papers().time(strategy, shape),
                       ours = context.ours().time(strategy, shape);
            if (papers || ours)
                table.rows.push_back({name, shape, strategy, micro_text(papers), micro_text(ours)});
        }
    if (const std::string why = context.no_time(); !why.empty())
        table.note += " " + short_name(context.papers().profile) + ": no time: " + why + ".";
    return table;
}

// ---- Vadlamudi

ItemAnswer conv_layers(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    const std::vector<std::pair<std::string, std::string>> layers = {{"conv1", "n1c1h28w28k32r5s5"},
                                                                     {"conv2", "n1c32h12w12k64r5s5"}};
    answer.tables.push_back(layers_table(item, context, layers,
                                         {"naive_global", "naive_shared", "row_register", "block_register",
                                          "patch_register", "implicit_gemm"}));
    if (const PublishedCell *cell = cell_of(item, "conv2", "products of a thread"))
        answer.findings.push_back(exact(
            item, *cell, static_cast<double>(ConvShape::parse(layers[1].second).products()), "5 x 5 x 32"));
    return answer;
}

/// A kernel of section 5 with what a CTA of it has in shared memory.
struct Kernel {
    const char *name;
    std::int64_t ctas, threads, shared_bytes;
};

ItemAnswer occupancy(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    // Shared arrays of the listings of appendix A, 4 bytes a value.
    constexpr std::array<Kernel, 6> kernels = {{{"conv1", 32, 1024, 25 * 4},
                                                {"pool1", 32, 256, 576 * 4},
                                                {"conv2", 64, 64, (800 + 4608) * 4},
                                                {"pool2", 64, 64, 64 * 4},
                                                {"dense1", 64, 1024, 3 * 1024 * 4},
                                                {"dense2", 10, 64, 3 * 64 * 4}}};
    const GpuProfile &profile = context.papers().profile;
    const Gpu gpu(profile);
    const GpuLimits &limits = profile.limits;
    PaperTable table{item.id,
                     "Occupancy of the kernels in shared memory, " + short_name(profile),
                     1,
                     {"kernel", "blocks", "threads", "shared, B", "printed", "by threads alone",
                      "with shared memory", "of the whole GPU, one grid"},
                     {},
                     "By threads: resident threads over what an SM holds, 16 blocks at most. Registers are "
                     "not in the listings and taken as 32. One grid: its threads over those of all SMs."};
    for (const Kernel &kernel : kernels) {
        const auto share = [&](std::int64_t shared) {
            return static_cast<double>(resident_ctas(gpu, kernel.threads, 32, shared) * kernel.threads) /
                   static_cast<double>(limits.max_threads_per_sm);
        };
        const PublishedCell *cell = cell_of(item, kernel.name, "occupancy");
        const double threads = share(0), all = share(kernel.shared_bytes);
        const double grid =
            std::min(1.0, static_cast<double>(kernel.ctas * kernel.threads) /
                              static_cast<double>(limits.max_threads_per_sm * limits.sm_count));
        table.rows.push_back({kernel.name, std::to_string(kernel.ctas), std::to_string(kernel.threads),
                              count_text(kernel.shared_bytes), cell == nullptr ? "–" : printed(*cell),
                              fmt::format("{:.0f} %", 100.0 * threads), fmt::format("{:.0f} %", 100.0 * all),
                              fmt::format("{:.0f} %", 100.0 * grid)});
        if (cell == nullptr)
            continue;
        ClaimAnswer finding{item.id,
                            std::string("occupancy of ") + kernel.name,
                            printed(*cell),
                            fmt::format("{:.0f} %", 100.0 * all),
                            verdict_of_number(cell->value, 100.0 * all),
                            ""};
        finding.sentence = fmt::format("{} threads a block fill {:.0f} % of an SM by threads, {:.0f} % with "
                                       "{} B of shared memory each; its "
                                       "{} blocks fill {:.0f} % of the GPU.",
                                       kernel.threads, 100.0 * threads, 100.0 * all,
                                       count_text(kernel.shared_bytes), kernel.ctas, 100.0 * grid);
        answer.findings.push_back(std::move(finding));
    }
    answer.tables.push_back(std::move(table));
    return answer;
}

ItemAnswer constant_memory(const PaperItem &item, const PaperContext &) {
    ItemAnswer answer;
    // Image, filters of conv1, filters of conv2.
    const std::int64_t bytes = 4 * (28 * 28 + 32 * 5 * 5 + 64 * 32 * 5 * 5);
    const PublishedCell &data = *cell_of(item, "constant data"), &limit = *cell_of(item, "limit");
    answer.findings.push_back(
        exact(item, data, static_cast<double>(bytes), "4 B times 784 pixels, 800 and 51,200 filter values"));
    const bool refused = static_cast<double>(bytes) > limit.value;
    answer.findings.push_back(
        {item.id, "constant memory refuses both filters", "0x338c0 > 0x10000",
         fmt::format("{:#x} {} {:#x}", bytes, refused ? ">" : "<=", static_cast<std::int64_t>(limit.value)),
         refused ? ClaimVerdict::follows : ClaimVerdict::differs,
         fmt::format("{} B are {} the {} that constant memory has.", count_text(bytes),
                     times(static_cast<double>(bytes) / limit.value), printed(limit))});
    return answer;
}

// ---- Cibil

const PublishedCell &time_of(const Paper &paper, const char *of, const char *at) {
    for (const PaperItem &item : paper.items)
        if (item.id == "table_3")
            if (const PublishedCell *cell = cell_of(item, of, at))
                return *cell;
    static const PublishedCell none;
    return none;
}

ItemAnswer scaling(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    const Paper paper = find_paper(context.paper_id());
    const double naive = time_of(paper, "total", "naive").value,
                 one = time_of(paper, "total", "optimized").value,
                 two = time_of(paper, "total", "two GPUs").value;
    PaperTable table{
        item.id,
        "Speed-up and efficiency of the totals of Table 3",
        1,
        {"", "time, ms", "S over naive", "S over one optimized GPU", "GPUs", "E over one optimized GPU"},
        {},
        ""};
    for (const auto &[name, time, gpus] :
         {std::tuple{"naive", naive, 1}, {"optimized", one, 1}, {"two GPUs", two, 2}})
        table.rows.push_back({name, grouped_digits(time), times(naive / time), times(one / time),
                              std::to_string(gpus), fmt::format("{:.3f}", one / time / gpus)});
    answer.tables.push_back(std::move(table));
    if (const PublishedCell *efficiency = cell_of(item, "efficiency"))
        answer.findings.push_back(exact(item, *efficiency, one / two / 2.0, "the printed totals"));
    if (const PublishedCell *loss = cell_of(item, "loss"))
        answer.findings.push_back(exact(item, *loss, 100.0 * (1.0 - one / two / 2.0), "the printed totals"));
    return answer;
}

ItemAnswer communication(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    const Paper paper = find_paper(context.paper_id());
    PaperTable table{item.id, "Computation over communication in Table 3",
                     1,       {"", "computation, ms", "copies, ms", "ratio"},
                     {},      ""};
    for (const char *at : {"naive", "optimized", "two GPUs"}) {
        const double copies = time_of(paper, "memory copies", at).value;
        const double rest = time_of(paper, "total", at).value - copies;
        table.rows.push_back(
            {at, fmt::format("{:.3f}", rest), grouped_digits(copies), fmt::format("{:.0f}", rest / copies)});
    }
    answer.tables.push_back(std::move(table));
    return answer;
}

ItemAnswer latencies(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    PaperTable table{item.id, "Latencies", 1, {"GPU", "L1, clk", "shared memory, clk", "global memory, clk"},
                     {},      ""};
    const auto clocks = [](const std::optional<Param<Cycles>> &p) {
        return p ? fmt::format("{:.0f}", p->value.value) : std::string("–");
    };
    for (const ForecastGpu *gpu : {&context.papers(), &context.ours()})
        table.rows.push_back({short_name(gpu->profile), clocks(gpu->profile.l1_latency),
                              clocks(gpu->profile.shared_latency), clocks(gpu->profile.dram_latency)});
    answer.tables.push_back(std::move(table));
    for (const char *of :
         {"latency of global memory", "latency of global memory, section 4.2", "latency of L1"}) {
        const PublishedCell *low = nullptr, *high = nullptr;
        for (const PublishedCell &cell : item.published)
            if (cell.of == of)
                (cell.statistic == Statistic::most ? high : low) = &cell;
        if (low == nullptr || high == nullptr)
            continue;
        for (const ForecastGpu *gpu : {&context.papers(), &context.ours()}) {
            const bool l1 = std::string(of) == "latency of L1";
            const auto &latency = l1 ? gpu->profile.l1_latency : gpu->profile.dram_latency;
            if (!latency)
                continue;
            const double found = latency->value.value;
            const std::string name = short_name(gpu->profile);
            const bool assumed = latency->source == Source::assumed;
            answer.findings.push_back(
                {item.id, fmt::format("{}, {}", of, name), printed(*low) + " to " + printed(*high),
                 fmt::format("{:.0f} clk ({}{})", found, assumed ? "assumed, " : "", name),
                 assumed ? ClaimVerdict::open
                         : verdict_of_number(std::clamp(found, low->value, high->value), found),
                 assumed
                     ? fmt::format("The profile of the {} assumes {:.0f} clocks; nothing was measured on it.",
                                   name, found)
                     : fmt::format("Measured on {}: {:.0f} clocks.", name, found)});
        }
    }
    return answer;
}

ItemAnswer strides(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    const GpuProfile &ours = context.ours().profile;
    const auto curve = ours.curves.find("stride_granularity");
    if (curve == ours.curves.end())
        return answer;
    answer.figures.push_back(curve_figure("stride_granularity", curve->second, ours));
    answer.figures.back().id = item.id;
    const CurveSeries &time = curve->second.series.front();
    const double worst = *std::max_element(time.y.begin(), time.y.end());
    answer.findings.push_back(
        {item.id, "neighbouring threads that read neighbouring data are served best", "without a number",
         fmt::format("up to {} of the time for each useful byte", times(worst)),
         worst > 1.1 ? ClaimVerdict::holds : ClaimVerdict::differs,
         fmt::format(
             "On {} a warp whose lanes read {:.0f} B apart takes {} of the time for each useful byte.",
             short_name(ours), time.x.back(), times(worst))});
    return answer;
}

ItemAnswer launch_shape(const PaperItem &item, const PaperContext &) {
    ItemAnswer answer;
    PaperTable table{
        item.id, "Equations (3) and (4)", 1, {"calculations", "blocks", "threads of a block"}, {}, ""};
    for (const std::int64_t n : {std::int64_t{32}, std::int64_t{73728}, std::int64_t{7077888}}) {
        const std::int64_t blocks = (n + 1023) / 1024, threads = (n + blocks - 1) / blocks;
        table.rows.push_back({count_text(n), count_text(blocks), count_text(threads)});
    }
    table.note = "73,728 = 128 images of 24 x 24 are the 72 blocks of 1024 threads of section 4.2.";
    answer.tables.push_back(std::move(table));
    return answer;
}

ItemAnswer limits(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    PaperTable table{item.id, "Limits of an SM",
                     1,       {"", short_name(context.papers().profile), short_name(context.ours().profile)},
                     {},      ""};
    const GpuProfile &a = context.papers().profile, &b = context.ours().profile;
    const auto row = [&](const char *name, std::int64_t left, std::int64_t right) {
        table.rows.push_back({name, count_text(left), count_text(right)});
    };
    table.rows.push_back({"compute capability", a.compute_capability, b.compute_capability});
    row("SMs", a.limits.sm_count, b.limits.sm_count);
    row("threads of an SM", a.limits.max_threads_per_sm, b.limits.max_threads_per_sm);
    row("threads of a block", a.limits.max_threads_per_cta, b.limits.max_threads_per_cta);
    row("blocks of an SM", a.limits.max_ctas_per_sm, b.limits.max_ctas_per_sm);
    row("registers of an SM", a.limits.registers_per_sm, b.limits.registers_per_sm);
    row("shared memory of an SM, B", a.limits.shared_bytes_per_sm, b.limits.shared_bytes_per_sm);
    answer.tables.push_back(std::move(table));
    return answer;
}

ItemAnswer batch_sizes(const PaperItem &item, const PaperContext &) {
    ItemAnswer answer;
    const auto value = [&](const char *of) { return cell_of(item, of)->value; };
    const double out = value("image edge") - value("filter edge") + 1.0;
    const double pooled = std::floor(out / value("pooling edge"));
    answer.findings.push_back(
        exact(item, *cell_of(item, "streams"), value("batch") / value("images of a stream"), "2048 / 128"));
    answer.findings.push_back(exact(item, *cell_of(item, "weights of an output"),
                                    pooled * pooled * value("filters"), "the sizes of the layers"));
    answer.findings.push_back(exact(item, *cell_of(item, "elements of the convolution"),
                                    out * out * value("batch") * value("filters"), "24 x 24 x 2048 x 6"));
    return answer;
}

ItemAnswer conv_layer(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    answer.tables.push_back(layers_table(item, context, {{"convolution of a batch", "n2048c1h28w28k6r5s5"}},
                                         {"naive_global", "naive_shared", "row_register", "block_register",
                                          "patch_register", "implicit_gemm"}));
    const Paper paper = find_paper(context.paper_id());
    const PublishedCell &published = time_of(paper, "convolution", "naive");
    const auto time = context.papers().time("naive_global", "n2048c1h28w28k6r5s5");
    const std::string gpu = short_name(context.papers().profile);
    ClaimAnswer finding{item.id,
                        "time of the naive convolution",
                        printed(published),
                        "–",
                        ClaimVerdict::open,
                        gpu + ": no time: " + context.no_time() + "."};
    if (time) {
        const double ms = time->value * 1e3;
        finding.found = fmt::format("{:.2f} ms (forecast of naive_global, {})", ms, gpu);
        finding.verdict = verdict_of_number(published.value, ms);
        finding.sentence = fmt::format("Our naive kernel, which sums in registers, is forecast to take "
                                       "{:.2f} ms on the {}, {} less than "
                                       "published.",
                                       ms, gpu, times(published.value / ms));
    }
    answer.findings.push_back(std::move(finding));
    return answer;
}

ItemAnswer halo_rows(const PaperItem &item, const PaperContext &) {
    ItemAnswer answer;
    PaperTable table{item.id,
                     "Rows of each GPU by (14) and (15), 5 x 5 filters",
                     1,
                     {"rows", "LastRow (14)", "FirstRow (15)", "first GPU reads", "second GPU reads",
                      "both read", "outputs"},
                     {},
                     "(14) is an exclusive end and (15) a 0-based start."};
    bool covered = true;
    for (const std::int64_t rows : {28, 32, 56, 224}) {
        constexpr std::int64_t k = 5;
        const std::int64_t last = (rows - k + 1) / 2 + k - 1, first = last - k + 1;
        const std::int64_t outputs = (last - k + 1) + (rows - first - k + 1);
        covered = covered && outputs == rows - k + 1;
        table.rows.push_back({std::to_string(rows), std::to_string(last), std::to_string(first),
                              fmt::format("0 to {}", last - 1), fmt::format("{} to {}", first, rows - 1),
                              std::to_string(last - first), std::to_string(outputs)});
    }
    answer.tables.push_back(std::move(table));
    answer.findings.push_back(
        {item.id, "both halves together give every output row once", "16 and 12 for 28 rows", "16 and 12",
         covered ? ClaimVerdict::follows : ClaimVerdict::differs,
         covered ? "Read as an exclusive end and a 0-based start, (14) and (15) give each "
                   "output row to one GPU."
                 : "The rows of both GPUs do not add up to the output."});
    return answer;
}

/// What a layer of Table 3 takes of a rung's graph, by the operators of its launches; launches without
/// operators clear what the convolution adds to. Absent where there is no forecast of it.
std::optional<Seconds> layer_time(const KnownRung &known, const std::string &layer) {
    if (layer == "total")
        return known.forecast();
    if (layer == "memory copies")
        return known.ours.copy_s;
    const auto layer_of = [](const std::vector<std::string> &operators) -> std::string {
        if (operators.empty() || operators.front().starts_with("conv"))
            return "convolution";
        const std::string &last = operators.back();
        return last.starts_with("relu")   ? "ReLU"
               : last.starts_with("pool") ? "max pooling"
                                          : "fully connected";
    };
    std::optional<Seconds> sum;
    for (const RungLaunchForecast &launch : known.ours.launches)
        if (launch.in_graph_s && layer_of(launch.operators) == layer)
            sum = (sum ? *sum : Seconds(0.0)) + *launch.in_graph_s;
    return sum;
}

/// The layers of Table 3 here: our GPU's forecast for the kernels of both columns, beside the published.
PaperTable layers_here(const PaperItem &item, const std::vector<KnownRung> &known,
                       const PaperContext &context) {
    const std::string gpu = short_name(context.ours().profile);
    PaperTable table{
        item.id + "_layers",
        "The layers here, forecast for " + gpu,
        1,
        {"layer", "naive, published, ms", "naive here, ms", "optimized, published, ms", "optimized here, ms"},
        {},
        "Here: the implementations naive and data_oriented, the same kernels written anew. The thesis' "
        "fully connected layer has our bias and logistic function with it. Copies and kernels "
        "of several streams overlap, so layers may add up to more than the total. The total is "
        "of the call as one CUDA graph."};
    for (const PublishedCell &cell : item.published) {
        if (cell.at != "naive" || cell.unit != PaperUnit::millisecond)
            continue;
        std::vector<std::string> row = {cell.of};
        for (const auto &[column, id] : {std::pair{"naive", "naive"}, {"optimized", "data_oriented"}}) {
            const PublishedCell *its = cell_of(item, cell.of, column);
            row.push_back(its == nullptr ? "–" : grouped_digits(its->value));
            std::optional<Seconds> time;
            for (const KnownRung &rung : known)
                if (rung.rung.id == id)
                    time = layer_time(rung, cell.of);
            row.push_back(time ? fmt::format("{:.4f}", time->value * 1e3) : "–");
        }
        table.rows.push_back(std::move(row));
    }
    return table;
}

ItemAnswer layer_times(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    PaperTable table{item.id,
                     "Published times, ms, and what follows",
                     1,
                     {"layer", "naive", "optimized", "two GPUs", "optimized over naive", "two GPUs over one",
                      "share of the naive total"},
                     {},
                     ""};
    std::array<double, 3> sums{};
    constexpr std::array<const char *, 3> ways = {"naive", "optimized", "two GPUs"};
    const PublishedCell *total = cell_of(item, "total", "naive");
    for (const PublishedCell &cell : item.published) {
        if (cell.at != "naive" || cell.unit != PaperUnit::millisecond)
            continue;
        std::array<const PublishedCell *, 3> row{};
        for (std::size_t i = 0; i < ways.size(); ++i) {
            row[i] = cell_of(item, cell.of, ways[i]);
            if (row[i] == nullptr)
                return answer;
            if (cell.of != "total")
                sums[i] += row[i]->value;
        }
        table.rows.push_back({cell.of, grouped_digits(row[0]->value), grouped_digits(row[1]->value),
                              grouped_digits(row[2]->value), times(row[0]->value / row[1]->value),
                              times(row[1]->value / row[2]->value),
                              fmt::format("{:.1f} %", 100.0 * cell.value / total->value)});
    }
    answer.tables.push_back(std::move(table));
    for (std::size_t i = 0; i < ways.size(); ++i)
        answer.findings.push_back(
            exact(item, *cell_of(item, "total", ways[i]), sums[i], "the sum of the layers"));
    for (const char *way : {"optimized", "two GPUs"})
        if (const PublishedCell *cell = cell_of(item, "speed-up", way))
            answer.findings.push_back(
                exact(item, *cell, total->value / cell_of(item, "total", way)->value, "the printed totals"));
    if (item.answer.network) {
        const std::int64_t batch = batch_of_paper(*item.answer.network);
        const std::vector<KnownRung> known = known_rungs(*item.answer.network, batch, {}, context);
        answer.tables.push_back(rungs_table(item, "The same batch here", known, batch, context));
        answer.tables.push_back(layers_here(item, known, context));
    }
    return answer;
}

/// The rung that does what a column of Table 3 did: its kernels written anew. Two GPUs have none.
const KnownRung *rung_of(const std::vector<KnownRung> &known, const std::string &column) {
    const std::string id = column == "naive" ? "naive" : column == "optimized" ? "data_oriented" : "";
    for (const KnownRung &rung : known)
        if (rung.rung.id == id)
            return &rung;
    return nullptr;
}

/// A row of Table 3 as bars, and the same layer of the kernels written anew as points.
ItemAnswer layer_bars(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    std::vector<const PublishedCell *> cells;
    for (const PublishedCell &cell : item.published)
        cells.push_back(&cell);
    const bool ratios = !cells.empty() && cells.front()->unit == PaperUnit::times;
    Figure figure{item.id, title_of(item) + ": " + item.title, "", {}, {}};
    const std::string gpu = short_name(context.ours().profile), papers = short_name(context.papers().profile);
    figure.x = {ratios ? "speed-up" : "time, ms", Scale::logarithmic, {}, {}, {}};
    figure.y.scale = Scale::category;
    figure.caption = fmt::format(
        "A batch of 2048 images. Published: {}. Here: the forecast for the {} of the same kernels written "
        "anew, on one GPU.",
        papers, gpu);
    Series published{"published, " + papers, drawn_as::cudnn},
        here{"forecast, " + gpu, drawn_as::papers_kernel, Drawn::points, true},
        measured{"measured, " + gpu, drawn_as::papers_kernel};
    const std::string network = context.paper_id() == "cibil" ? "mnist" : "fashion_mnist";
    const std::vector<KnownRung> known = known_rungs(network, batch_of_paper(network), {}, context);
    const KnownRung *naive = rung_of(known, "naive");
    for (const PublishedCell *cell : cells) {
        const auto y = static_cast<double>(figure.y.categories.size());
        figure.y.categories.push_back(cell->at);
        const auto add = [&](Series &series, double value, const std::string &text) {
            series.points.push_back({value, y, cell->of + ", " + cell->at + ", " + text, {}});
        };
        add(published, cell->value, "published: " + printed(*cell));
        const KnownRung *rung = rung_of(known, cell->at);
        if (rung == nullptr || naive == nullptr)
            continue;
        if (ratios) {
            if (rung->forecast() && naive->forecast())
                add(here, *naive->forecast() / *rung->forecast(), "forecast");
            if (rung->measured_s() && naive->measured_s())
                add(measured, *naive->measured_s() / *rung->measured_s(), "measured");
            continue;
        }
        if (const auto time = layer_time(*rung, cell->of))
            add(here, time->value * 1e3, "forecast: " + microseconds(*time) + " µs");
        if (cell->of == "total" && rung->measured_s())
            add(measured, rung->measured_s()->value * 1e3,
                "measured: " + microseconds(*rung->measured_s()) + " µs");
    }
    for (Series *series : {&published, &here, &measured})
        if (!series->points.empty())
            figure.series.push_back(std::move(*series));
    figure.no_data = "no value is published";
    answer.figures.push_back(std::move(figure));
    return answer;
}

} // namespace

std::map<std::string, Computation> network_computations() {
    return {{"layer_sizes", {layer_sizes}},
            {"conv_layers", {conv_layers}},
            {"occupancy", {occupancy}},
            {"constant_memory", {constant_memory, false, 0, {"constant data", "limit"}}},
            {"scaling", {scaling}},
            {"communication", {communication}},
            {"latencies", {latencies}},
            {"strides", {strides}},
            {"launch_shape", {launch_shape}},
            {"limits", {limits}},
            {"batch_sizes",
             {batch_sizes,
              false,
              0,
              {"image edge", "filter edge", "pooling edge", "filters", "batch", "images of a stream",
               "streams", "weights of an output", "elements of the convolution"}}},
            {"conv_layer", {conv_layer}},
            {"halo_rows", {halo_rows}},
            {"layer_times", {layer_times, false, 0, {"total"}}},
            {"layer_bars", {layer_bars}}};
}

} // namespace convcast
