#include "model/network/ladder.hpp"

#include "model/base/described.hpp"
#include "model/base/divide.hpp"
#include "model/base/embedded.hpp"
#include "model/base/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast {

extern const std::vector<EmbeddedFile> shipped_ladder_files;

namespace {

// Limits of CUDA on every GPU.
constexpr std::int64_t most_block_threads = 1024, constant_memory_bytes = 65536, most_blocks_along_y = 65535;
constexpr int capability_of_clusters = 90, capability_of_copies = 80;
constexpr const char *parameters_of = ".parameters";

/// Whether an operand is no array of floats of network or rung: the executor gives it to every launch.
bool is_given(const std::string &operand) {
    static const std::set<std::string> given = {"labels", "count", "total",    "groups",
                                                "turn",   "order", "settings", "none"};
    return given.contains(operand);
}

std::vector<std::string> known_operands(const Network &network, const Rung &rung) {
    std::vector<std::string> known = {"input", "labels",   "count", "total",      "groups",  "turn",
                                      "order", "settings", "none",  "parameters", "gradient"};
    for (const Operator &op : network.operators)
        known.push_back(op.name), known.push_back(op.name + parameters_of);
    for (const auto &[name, floats] : rung.memory)
        known.push_back(name);
    for (const auto &[name, floats] : rung.image_memory)
        known.push_back(name);
    return known;
}

/// Adds a problem for each operand that nothing is known of.
void check_operands(const Network &network, const Rung &rung, const std::vector<std::string> &operands,
                    const std::string &place, std::vector<InputProblem> &problems) {
    for (std::size_t i = 0; i < operands.size(); ++i)
        if (!is_given(operands[i]) && !operand_floats(network, rung, operands[i], 1))
            problems.push_back(
                {place + "/" + std::to_string(i),
                 "expected \"input\", an operator, its parameters or memory of the implementation, found \"" +
                     shortened(operands[i]) + "\"" +
                     did_you_mean(operands[i], known_operands(network, rung))});
}

/// Adds a problem unless the launches of a rung compute every operator once, in order; losses at the end may
/// be left out, and so may all launches of a rung that is refused.
void check_rung(const Network &network, const Rung &rung, const std::string &place,
                std::vector<InputProblem> &problems) {
    std::size_t next = 0; // operator that is to be computed next
    for (std::size_t i = 0; i < rung.launches.size(); ++i) {
        const LadderLaunch &launch = rung.launches[i];
        const std::string at = place + "/launches/" + std::to_string(i);
        check_operands(network, rung, launch.operands, at + "/operands", problems);
        for (std::size_t j = 0; j < launch.operators.size(); ++j, ++next)
            if (next >= network.operators.size() || network.operators[next].name != launch.operators[j]) {
                problems.push_back(
                    {at + "/operators/" + std::to_string(j),
                     "expected the operators in the network's order, " +
                         (next < network.operators.size() ? "next \"" + network.operators[next].name + "\""
                                                          : std::string("none after the last")) +
                         ", found \"" + shortened(launch.operators[j]) + "\""});
                return;
            }
    }
    for (std::size_t i = 0; i < rung.prepare.size(); ++i)
        check_operands(network, rung, rung.prepare[i].operands,
                       place + "/prepare/" + std::to_string(i) + "/operands", problems);
    for (std::size_t i = 0; i < rung.constant.size(); ++i)
        check_operands(network, rung, {rung.constant[i].operand},
                       place + "/constant/" + std::to_string(i) + "/operand", problems);
    const bool losses_left =
        std::all_of(network.operators.begin() + static_cast<std::ptrdiff_t>(next), network.operators.end(),
                    [](const Operator &op) { return is_loss(op.kind); });
    for (std::size_t i = 0; i < rung.launches.size(); ++i)
        if (rung.launches[i].each_stream.value_or(false) && !rung.streams)
            problems.push_back({place + "/launches/" + std::to_string(i) + "/each_stream",
                                "the implementation has no streams; expected for example \"streams\": 16"});
    if (!rung.launches.empty() && !losses_left)
        problems.push_back(
            {place + "/launches", "no launch computes \"" + network.operators[next].name + "\""});
}

} // namespace

void LadderLaunch::check(const FieldProblem &problem) const {
    if (block[0] * block[1] * block[2] > most_block_threads)
        problem("block", "expected at most 1024 threads, for example [32, 32, 1]");
}

std::optional<std::int64_t> operand_floats(const Network &network, const Rung &rung,
                                           const std::string &operand, std::int64_t images) {
    if (operand == "input")
        return images * elements(network.input);
    if (operand == "parameters" || operand == "gradient")
        return network.all_parameters();
    if (const auto found = rung.memory.find(operand); found != rung.memory.end())
        return found->second;
    if (const auto found = rung.image_memory.find(operand); found != rung.image_memory.end())
        return found->second * images;
    if (const auto index = network.operator_named(operand))
        return images * elements(network.operators[*index].output);
    if (operand.ends_with(parameters_of))
        if (const auto index = network.operator_named(
                operand.substr(0, operand.size() - std::string_view(parameters_of).size())))
            if (const std::int64_t count = network.parameters(*index); count > 0)
                return count;
    return std::nullopt;
}

namespace {

/// Adds what the ladder of the network `also` declares and this one does not.
void add_declared(DeclaredWork &work) {
    if (!work.also)
        return;
    const EmbeddedFile *file = find_embedded(shipped_ladder_files, *work.also + ".json");
    if (file == nullptr)
        return;
    DeclaredWork more = described::read_document<Ladder>(file->text(), file->path).work;
    work.let.merge(more.let);
    work.accesses.merge(more.accesses);
    work.phases.merge(more.phases);
}

} // namespace

Ladder read_ladder(const std::string &text, const std::string &file, const Network &network) {
    Ladder ladder = described::read_document<Ladder>(text, file);
    add_declared(ladder.work);
    std::vector<InputProblem> problems;
    if (ladder.network != network.id)
        problems.push_back({file + ": /network",
                            "expected \"" + network.id + "\", found \"" + shortened(ladder.network) + "\""});
    for (std::size_t i = 0; i < ladder.rungs.size(); ++i)
        check_rung(network, ladder.rungs[i], file + ": /rungs/" + std::to_string(i), problems);
    if (ladder.divided_rung) {
        const Rung *divided = rung_named(ladder, *ladder.divided_rung);
        if (divided == nullptr || !divided->any_batch.value_or(false) || !divided->constant.empty())
            problems.push_back({file + ": /divided_rung",
                                "expected the id of an implementation for any number of images without "
                                "constant memory, found \"" +
                                    shortened(*ladder.divided_rung) + "\""});
    }
    if (!problems.empty())
        throw InputError(described::with_lines(std::move(problems), text, file));
    return ladder;
}

bool is_as_it_ships(const Network &network, bool losses) {
    Network shipped = find_network(network.id);
    shipped.title = network.title, shipped.citation = network.citation;
    const auto text = [&](const Network &its) {
        return to_text(described::write(losses ? its : without_losses(its)));
    };
    return text(shipped) == text(network);
}

bool has_ladder(const Network &network) {
    return find_embedded(shipped_ladder_files, network.id + ".json") != nullptr &&
           is_as_it_ships(network, false);
}

std::optional<std::string> why_no_ladder(const std::string &network) {
    if (find_embedded(shipped_ladder_files, network + ".json") != nullptr)
        return std::nullopt;
    const std::vector<std::string> names = names_of(shipped_ladder_files);
    return "expected a network that has a ladder, one of " + join(names) + ", got \"" + shortened(network) +
           "\"" + did_you_mean(network, names);
}

const Rung *rung_named(const Ladder &ladder, const std::string &id) {
    for (const std::vector<Rung> *rungs : {&ladder.rungs, &ladder.shared_rungs})
        for (const Rung &rung : *rungs)
            if (rung.id == id)
                return &rung;
    return nullptr;
}

std::optional<Descent> descent_of(const Ladder &ladder) {
    const auto said =
        std::ranges::find_if(ladder.rungs, [](const Rung &rung) { return rung.descent.has_value(); });
    return said == ladder.rungs.end() ? std::nullopt : said->descent;
}

std::vector<std::string> networks_with_splits() {
    std::vector<std::string> names;
    for (const EmbeddedFile &file : shipped_ladder_files)
        if (const auto ladder = described::read_document<Ladder>(file.text(), file.path);
            !ladder.splits.empty())
            names.push_back(ladder.network);
    return names;
}

Ladder find_ladder(const Network &network) {
    if (const EmbeddedFile *file = find_embedded(shipped_ladder_files, network.id + ".json")) {
        if (!is_as_it_ships(network, false))
            throw UsageError(
                "the network given as '" + network.id +
                "' is another one than ships under that name, whose ladder it is; give yours an \"id\" "
                "of its own");
        return read_ladder(file->text(), file->path, network);
    }
    throw UsageError(
        "the network '" + network.id +
        "' has no ladder, and so no kernels for training; ladders: " + join(names_of(shipped_ladder_files)));
}

std::optional<std::string> refusal(const Rung &rung, const Network &network, std::int64_t images,
                                   int compute_capability) {
    if (images > 1 && !rung.any_batch.value_or(false))
        return "its kernels compute one image";
    if (rung.most_images && images > *rung.most_images)
        return fmt::format("has memory for {} images", *rung.most_images);
    std::int64_t bytes = 0;
    for (const ConstantCopy &copy : rung.constant)
        bytes += 4 * operand_floats(network, rung, copy.operand, images).value_or(0);
    if (bytes > constant_memory_bytes)
        return fmt::format("needs {} bytes of constant memory ({:#x}), of which there are {} ({:#x})", bytes,
                           bytes, constant_memory_bytes, constant_memory_bytes);
    for (const LadderLaunch &launch : rung.launches) {
        if (launch.cluster && compute_capability < capability_of_clusters)
            return "its blocks share their memory, which needs compute capability 9.0";
        if (launch.copies_ahead.value_or(false) && compute_capability < capability_of_copies)
            return "copies to shared memory while it computes, which needs compute capability 8.0";
        if (!launch.group_images && !launch.operators.empty() && images > most_blocks_along_y)
            return fmt::format("has a row of blocks for each image, at most {}", most_blocks_along_y);
    }
    return std::nullopt;
}

ImageShare share_of(const Rung &rung, std::int64_t images, std::int64_t stream) {
    const std::int64_t streams = rung.streams.value_or(1), equal = ceil_div(images, streams),
                       first = std::min(images, stream * equal);
    return {first, std::min(images, first + equal) - first};
}

std::array<std::int64_t, 3> grid_of(const LadderLaunch &launch, std::int64_t images, int sms) {
    std::array<std::int64_t, 3> grid = launch.grid;
    if (!launch.group_images) {
        grid[1] *= launch.operators.empty() ? 1 : images;
        return grid;
    }
    const std::int64_t groups = ceil_div(images, *launch.group_images);
    const std::int64_t most =
        launch.stays.value_or(false) ? std::max<std::int64_t>(1, sms / grid[0]) : groups;
    grid[0] *= std::min(groups, most);
    return grid;
}

template const described::Type &described::type_of<Ladder>();

} // namespace convcast
