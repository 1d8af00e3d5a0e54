// The documents in which the papers' studies and networks were measured, each on one GPU.
#pragma once

#include "model/network/network_run.hpp"
#include "model/record/run.hpp"

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {

/// What of a study or of a network a document records.
enum class RecordedPart {
    study,    ///< all strategies and the baselines, with the knobs that the model chooses
    settings, ///< the settings that the study's paper names, without baselines
    ladder,   ///< the implementations of a network's ladder, with so many images a call
    steps,    ///< steps of training that two GPUs share
    training, ///< a whole training, tested with the test images
};

/// What a page of a paper may ask recordings for: a part of a study or of a network.
struct RecordedOf {
    RecordedPart part = RecordedPart::study;
    std::string name;       ///< of the study or the network
    std::int64_t batch = 0; ///< images of a call, of a ladder only
    auto operator<=>(const RecordedOf &) const = default;
};

/// "the study chang_multi", "the ladder of mnist with 2048 images a call"
std::string to_text(const RecordedOf &of);

/// Device code by its hashes, as programs and recordings name it.
struct DeviceCode {
    std::string convolutions; ///< of studies
    std::string ladders;      ///< of ladders and trainings of networks
    std::string steps;        ///< of steps over several GPUs
};

/// A document with measurements.
struct Recording {
    std::string file;
    std::variant<Run, NetworkRun> document;
    std::string gpu{};            ///< that it was measured on, by its name; "" where it says none
    std::vector<RecordedOf> of{}; ///< what it records; empty where no page can use it
    std::string why_not{};        ///< then the reason: "it has no measured case of a study"
    std::string version{};        ///< of the program that measured it; "" where it says none
    std::string code{};           ///< hash of the device code that was measured; "" where it says none
    std::string DeviceCode::*part = &DeviceCode::convolutions; ///< to compare `code` with
    bool ships = false;                                        ///< `file` is part of the program

    const std::map<std::string, std::string> &conditions() const;
};

/// A document with what it says of itself: GPU, code, and what it records or why no page can use it.
Recording recording_of(std::variant<Run, NetworkRun> document, std::string file);

/// The recordings that the pages of papers may use. It remembers what it was asked for and what was used, so
/// that a page can say on which recordings it stands.
class Recordings {
  public:
    /// `here`: the device code of this program.
    explicit Recordings(DeviceCode here) : here_(std::move(here)) {}
    /// With the recordings that are part of the program, which are unpacked when one is asked for.
    static Recordings shipped(DeviceCode here);

    void add(Recording recording);
    /// The recordings of `of` on a GPU, by its name, or on any GPU where that is "", in the order in which
    /// they were added. A study that was recorded only with its paper's settings gives these, and the other
    /// way round. `only` says which of them are wanted; empty takes all.
    std::vector<const Recording *> find(const RecordedOf &of, const std::string &gpu,
                                        const std::function<bool(const Recording &)> &only = {}) const;

    /// The recordings that were added and are no part of the program.
    std::vector<const Recording *> given() const;
    const std::set<RecordedOf> &asked() const { return asked_; } ///< of every find()
    /// Notes that recordings which an earlier find() gave are used for the current answer too.
    void use(const std::vector<const Recording *> &again) const { used_.insert(again.begin(), again.end()); }
    /// The recordings that were used since this function was called last.
    std::set<const Recording *> take_used() const { return std::exchange(used_, {}); }
    /// A sentence that names those of some recordings whose device code is not this program's: "Recorded with
    /// other device code than this program has: the training of mnist (version 0.1.0, device code
    /// 2c926809)."; "" where there are none.
    std::string of_other_code(const std::set<const Recording *> &recordings) const;

  private:
    void load(bool runs) const;
    DeviceCode here_;

    mutable std::vector<std::shared_ptr<const Recording>> all_;
    mutable bool runs_to_load_ = false, networks_to_load_ = false;
    mutable std::set<RecordedOf> asked_;
    mutable std::set<const Recording *> used_;
};

/// Whether one of the recordings that are part of the program has this text.
bool is_shipped_recording(const std::string &text);

/// The bytes of a recording that is part of the program, by the file that Recording::file names.
std::string shipped_bytes(const std::string &file);

} // namespace convcast
