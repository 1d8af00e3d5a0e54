// A ladder: implementations (rungs) of one network, each a step from the one before, as data. Which kernel
// computes which operators, with which grid, from which memory. Files: data/ladders; docs/ladders.md.
#pragma once

#include "model/base/checked.hpp"
#include "model/base/describe.hpp"
#include "model/network/kernel_work.hpp"
#include "model/network/network.hpp"
#include "model/network/ranks.hpp"
#include "model/record/run.hpp"

#include <boost/describe.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

/// Steps of velocity = momentum * velocity + gradient of the mean loss + decay * parameters, and
/// parameters -= rate * velocity.
struct Descent {
    std::int64_t batch = 1, epochs = 1;
    double rate = 0.0; ///< of the first epoch; rate_of_epoch has that of the others
    double momentum = 0.0, decay = 0.0;
    CONVCAST_MEMBERS(Descent, batch, epochs, rate, momentum, decay)

    // A share, or a wide range beyond which only slips lie.
    static constexpr Range range_of(std::string_view name) {
        if (name == "momentum" || name == "decay")
            return {0.0, 1.0};
        if (name == "rate")
            return {1e-9, 1e3};
        return name == "epochs" ? Range{0.0, 1e6} : Range{1.0, 1e6};
    }
};

/// A line of a rung: launches of a kernel of the rung's source. Its operands are named:
/// "input" is the images, "labels" their labels, "order" which image comes when (null: as they lie).
/// "conv1" is the output of the operator conv1. A launch that computes several writes that of the last one.
/// "conv1.parameters" is the filters of conv1, "parameters" those of all operators, one behind the other.
/// "gradient" is that of all parameters, in the same order.
/// "settings" is rate, momentum and decay of a step of training.
/// "count" is the number of images, "total" that of all streams, or of all GPUs that share a batch, together.
/// "groups" is the number of groups of `group_images` that the images make.
/// "turn" is which repetition of the launch this is, from 0.
/// "none" is a null pointer.
/// Any other name is of the rung's `memory` or `image_memory`.
/// A launch on every stream gets of each operand that has images the part of the stream's share.
struct LadderLaunch {
    std::string kernel;
    std::vector<std::string> operators; ///< that it computes; none: it prepares or updates
    std::vector<std::string> operands;
    std::array<std::int64_t, 3> grid{1, 1, 1}; ///< blocks of an image; those of more images lie along y
    std::array<std::int64_t, 3> block{1, 1, 1};
    std::optional<std::int64_t>
        group_images;                    ///< the grid is of a group of images instead; groups lie along x
    std::optional<bool> stays;           ///< no more blocks than SMs, in whole groups; absent: no
    std::optional<std::int64_t> cluster; ///< blocks along x that share their memory
    std::optional<bool> copies_ahead;    ///< copies to shared memory by cp.async; absent: no
    std::optional<std::int64_t> shared_bytes; ///< dynamic
    std::optional<std::int64_t> repeat;       ///< so many times in a row; absent: once
    std::optional<bool> each_stream;          ///< on every stream of the rung, for its share of the images
    std::optional<bool> meet;                 ///< behind it all streams wait for each other; absent: no
    /// Before it, the gradients of all GPUs that share a batch are added up in each "gradient"; absent: no
    std::optional<bool> sums_gradients;
    std::map<std::string, double> values; ///< of names that its kernel's work is declared with
    CONVCAST_MEMBERS(LadderLaunch, kernel, operators, operands, grid, block, group_images, stays, cluster,
                     copies_ahead, shared_bytes, repeat, each_stream, meet, sums_gradients, values)

    // Above this only broken files come.
    static constexpr Range range_of(std::string_view) { return {1.0, 1e6}; }
    void check(const FieldProblem &problem) const; ///< at most 1024 threads
};

/// What a rung keeps in constant memory.
struct ConstantCopy {
    std::string variable;   ///< __constant__ variable of the rung's source
    std::string operand;    ///< what is copied to it
    bool each_call = false; ///< false: once for each set of parameters
    CONVCAST_MEMBERS(ConstantCopy, variable, operand, each_call)
};

/// How images lie in pinned memory of the host, from which every call copies them to the device.
enum class Upload {
    plain,      ///< one behind the other, in one copy
    interleaved ///< pixel x image for each stream's share, a copy a stream
};
BOOST_DESCRIBE_ENUM(Upload, plain, interleaved)

struct Rung {
    std::string id; ///< "constant"
    std::string title;
    std::string source; ///< file of executor/network without .cu
    std::vector<ConstantCopy> constant;
    /// Device memory of its own by name, in floats; set to zero whenever parameters are loaded.
    std::map<std::string, std::int64_t> memory;
    std::map<std::string, std::int64_t> image_memory; ///< the same, in floats of each image
    std::vector<LadderLaunch> prepare;                ///< once for each set of parameters
    std::vector<LadderLaunch> launches;
    std::optional<Upload> upload;            ///< absent: the images are in device memory
    std::optional<std::int64_t> streams;     ///< that share the images of a call; absent: one
    std::optional<bool> any_batch;           ///< absent: one image only
    std::optional<std::int64_t> most_images; ///< that its memory has room for; absent: no limit
    std::optional<bool> trains;              ///< one step of training instead of an inference; absent: no
    std::optional<Descent> descent;     ///< of a rung that trains: what training takes unless told otherwise
    std::optional<Seconds> published_s; ///< for the ladder's `published_images`
    CONVCAST_MEMBERS(Rung, id, title, source, constant, memory, image_memory, prepare, launches, upload,
                     streams, any_batch, most_images, trains, descent, published_s)
};

/// How a step of training is divided over GPUs: what the GPU with the largest share computes, and how many
/// floats it sends to each other GPU, expressions of the names in the ladder's work.
struct DeclaredSplit {
    std::optional<std::string> forward; ///< id of a rung; absent: the step's kernels do both ways at once
    std::string step;                   ///< id of a rung
    std::optional<std::string> forward_floats,
        step_floats; ///< within the forward part, and behind it; absent: none
    /// Ids of the rungs that are forecast instead for a GPU whose SMs have no room for those kernels.
    std::optional<std::string> small_forward, small_step;
    CONVCAST_MEMBERS(DeclaredSplit, forward, step, forward_floats, step_floats, small_forward, small_step)
};

struct Ladder {
    std::string schema = "convcast/ladder/1";
    std::string network; ///< that it is of
    std::string title, citation;
    std::optional<std::string> published_gpu;
    std::optional<Seconds> published_cpu_s;       ///< one thread, one image
    std::optional<std::int64_t> published_images; ///< that published times are of; absent: one
    std::vector<Rung> rungs;
    std::vector<Rung> shared_rungs;              ///< of one of several GPUs; values: rows, devices
    std::map<std::string, DeclaredSplit> splits; ///< by name: one, rows, parameters, batch, batch_nccl
    std::vector<std::int64_t> split_batches;     ///< images of a step that splits are asked of
    /// Id of the rung that several GPUs run too, each for its share of `published_images`.
    std::optional<std::string> divided_rung;
    DeclaredWork work; ///< of the rungs' kernels
    CONVCAST_MEMBERS(Ladder, schema, network, title, citation, published_gpu, published_cpu_s,
                     published_images, rungs, shared_rungs, splits, split_batches, divided_rung, work)

    static constexpr bool has_default(std::string_view field) { return field == "work"; }
};

/// A ladder of this network, with what its `work` takes from another ladder. Throws InputError with every
/// problem: launches that do not compute the operators in order, once each, unknown operands.
Ladder read_ladder(const std::string &text, const std::string &file, const Network &network);

/// Whether the network is the one that ships under its id, for which the kernels of ladders are made. Title
/// and citation may differ, and without `losses` the losses at its end too. Throws UsageError if none ships.
bool is_as_it_ships(const Network &network, bool losses);

/// Whether a ladder ships for a network.
bool has_ladder(const Network &network);

/// Why a case of a ladder, of training or of several GPUs cannot be of the network of this name, a
/// sentence; absent if one with a ladder ships under it.
std::optional<std::string> why_no_ladder(const std::string &network);

/// The rung of this id, also of shared_rungs; null if there is none.
const Rung *rung_named(const Ladder &ladder, const std::string &id);

/// The first descent of a rung: what training takes unless told otherwise. Absent if no rung has one.
std::optional<Descent> descent_of(const Ladder &ladder);

/// Networks whose ladder has splits.
std::vector<std::string> networks_with_splits();

/// The ladder that ships for a network. Throws UsageError if none does, or the network is not as it ships.
Ladder find_ladder(const Network &network);

/// Floats of an operand of `images` images; absent for one that is no array of floats, or is not known.
std::optional<std::int64_t> operand_floats(const Network &network, const Rung &rung,
                                           const std::string &operand, std::int64_t images);

/// Why a rung cannot be run for a batch on a GPU of a compute capability (90 for 9.0); absent if it can.
std::optional<std::string> refusal(const Rung &rung, const Network &network, std::int64_t images,
                                   int compute_capability);

/// Blocks of a launch along x, y and z for `images` images on a GPU of `sms` SMs.
std::array<std::int64_t, 3> grid_of(const LadderLaunch &launch, std::int64_t images, int sms);

/// The images of a stream of a rung: an equal part, rounded up, until none are left.
ImageShare share_of(const Rung &rung, std::int64_t images, std::int64_t stream);

extern template const described::Type &described::type_of<Ladder>();

} // namespace convcast
