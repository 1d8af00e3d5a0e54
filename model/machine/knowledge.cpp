#include "model/machine/knowledge.hpp"

#include "model/base/embedded.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/hash.hpp"
#include "model/machine/architecture.hpp"
#include "model/machine/assume.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {

extern const std::vector<EmbeddedFile> shipped_facts_files, shipped_calibration_files;

namespace {

constexpr const char *none = "none";

const std::vector<Facts> &shipped_facts() {
    static const std::vector<Facts> all = read_each(shipped_facts_files, read_facts);
    return all;
}

const std::vector<Calibration> &shipped_calibrations() {
    static const std::vector<Calibration> all = read_each(shipped_calibration_files, read_calibration);
    return all;
}

bool same_model(const FittedOn &fitted, const GpuProfile &profile) {
    return fitted.name == profile.name && fitted.compute_capability == profile.compute_capability;
}

/// The calibration that ships for the profile's GPU model, or else the first for another model of its compute
/// capability; absent if there is neither.
std::optional<Calibration> shipped_for(const GpuProfile &profile) {
    std::optional<Calibration> found;
    for (const Calibration &calibration : shipped_calibrations())
        if (same_model(calibration.profile, profile))
            return calibration;
        else if (!found && calibration.profile.compute_capability == profile.compute_capability)
            found = calibration;
    return found;
}

/// A clause that says how good forecasts are without counters and with them, on the GPU of the first shipped
/// calibration that tells; empty if none does.
std::string error_without_counters() {
    for (const Calibration &calibration : shipped_calibrations())
        if (calibration.test)
            return fmt::format("; on an {} their mean error is {:.1f} % and, with counters and fit, {:.1f} %",
                               calibration.profile.name, 100.0 * calibration.test->without_counters,
                               100.0 * calibration.test->fitted);
    return {};
}

/// The text that names the four numbers in which a profile (`now`) differs most from that of the fit, largest
/// first, and says how many others differ; empty if none does.
std::string differences(const FittedOn &fitted, const FittedOn &now) {
    constexpr std::size_t named = 4;
    std::vector<std::pair<double, std::string>> found; // -|ln ratio|, for sorting; text
    constexpr double without_ratio = -std::numeric_limits<double>::infinity(); // before all that have a ratio
    for (const auto &[name, value] : now.numbers)
        if (const auto other = fitted.numbers.find(name); other == fitted.numbers.end())
            found.emplace_back(without_ratio, name + " (not known then)");
        else if (other->second != value && !(other->second > 0.0 && value > 0.0)) // which has no ratio
            found.emplace_back(without_ratio,
                               fmt::format("{} ({:g} then, {:g} now)", name, other->second, value));
        else if (other->second != value)
            found.emplace_back(-std::abs(std::log(value / other->second)),
                               fmt::format("{} ({:+.3g} %)", name, 100.0 * (value / other->second - 1.0)));
    for (const auto &[name, value] : fitted.numbers)
        if (now.numbers.count(name) == 0)
            found.emplace_back(without_ratio, name + " (not known now)");
    std::sort(found.begin(), found.end());
    std::vector<std::string> said;
    for (std::size_t i = 0; i < std::min(named, found.size()); ++i)
        said.push_back(found[i].second);
    return join(said) +
           (found.size() > named ? fmt::format(" and {} others by less", found.size() - named) : "");
}

/// `asked` as given, or, if that is "", the file that `own` names in the profile's folder; "" if there is
/// none, which takes what ships.
std::string asked_or_own(const std::string &asked, const GpuProfile &profile,
                         std::string (FolderOfGpu::*own)() const) {
    if (!asked.empty() || profile.folder.empty())
        return asked;
    const std::string file = (FolderOfGpu{profile.folder}.*own)();
    return file_exists(file) ? file : asked;
}

/// Sets the facts, and adds to the assumptions what they lack. `asked` as in knowledge_for.
void choose_facts(Knowledge &knowledge, const GpuProfile &profile, const std::string &asked) {
    const std::string architecture = architecture_of(profile);
    if (asked.empty()) {
        for (const Facts &facts : shipped_facts())
            if (facts.architecture == architecture)
                knowledge.facts = facts;
    } else if (asked != none) {
        knowledge.facts = read_facts(read_file(asked), shown_name(asked));
        if (knowledge.facts.architecture != architecture)
            knowledge.assumptions.push_back(fmt::format("facts of {}, borrowed: the GPU is of {}",
                                                        knowledge.facts.architecture, architecture));
    }
    if (knowledge.facts.kernels.empty())
        knowledge.assumptions.push_back("forecasts without counters" +
                                        (asked == none ? ", as asked" : ": no facts of " + architecture) +
                                        error_without_counters());
}

/// Sets the calibration, and adds to the assumptions in what it is not made for this GPU. `asked` as in
/// knowledge_for; the facts are set already.
void choose_calibration(Knowledge &knowledge, const GpuProfile &profile, const std::string &asked) {
    if (asked.empty()) {
        knowledge.calibration = shipped_for(profile);
    } else if (asked != none) {
        knowledge.calibration = read_calibration(read_file(asked), shown_name(asked));
    }
    if (!knowledge.calibration) {
        knowledge.assumptions.push_back(
            fmt::format("{}: the interval is from the speed of light to nothing overlapped",
                        asked == none ? "no calibration, as asked" : "no calibration of this GPU"));
        return;
    }
    const FittedOn &fitted = knowledge.calibration->profile, now = fitted_on(profile);
    const std::string when = fitted.date ? " measured " + *fitted.date : "";
    if (!same_model(fitted, profile))
        knowledge.assumptions.push_back(
            fmt::format("calibration of {}, borrowed: fitted on {}{}", fitted.name, fitted.id, when));
    else if (const std::string what = differences(fitted, now); !what.empty())
        knowledge.assumptions.push_back(
            fitted.date == now.date
                ? fmt::format(
                      "the calibration was fitted with the profile {}, from which this one differs in {}",
                      fitted.id, what)
                : fmt::format(
                      "the calibration was fitted with the profile {}{}; this one{} differs from it in {}",
                      fitted.id, when, now.date ? ", measured " + *now.date + "," : "", what));
    if (const std::optional<std::string> &other = knowledge.calibration->borrowed)
        knowledge.assumptions.push_back(fmt::format(
            "of the calibration the four numbers are those of {}, borrowed; scale {:.3f} and interval come "
            "from {} calls measured here",
            *other, knowledge.calibration->scale.value_or(1.0), knowledge.calibration->cases));
    if (knowledge.calibration->facts_hash != facts_hash(knowledge.facts))
        knowledge.assumptions.push_back(knowledge.facts.kernels.empty()
                                            ? "calibration fitted with facts that are left out here"
                                            : "calibration fitted with other facts than these");
}

} // namespace

std::string facts_hash(const Facts &facts) {
    return facts.kernels.empty() ? std::string() : content_hash({write_facts(facts)});
}

Knowledge knowledge_for(const GpuProfile &profile, const std::string &facts, const std::string &calibration) {
    Knowledge knowledge;
    choose_facts(knowledge, profile, asked_or_own(facts, profile, &FolderOfGpu::facts));
    choose_calibration(knowledge, profile, asked_or_own(calibration, profile, &FolderOfGpu::calibration));
    for (std::string &said : assumed_of(profile))
        knowledge.assumptions.push_back(std::move(said));
    if (std::string constants = borrowed_constants(profile); !constants.empty())
        knowledge.assumptions.push_back(std::move(constants));
    if (std::string odd = odd_limits(profile); !odd.empty())
        knowledge.assumptions.push_back(std::move(odd));
    return knowledge;
}

std::map<std::string, std::string> conditions_of(const Knowledge &knowledge) {
    const std::optional<Calibration> &calibration = knowledge.calibration;
    return {{"facts", knowledge.facts.kernels.empty()
                          ? std::string("none: without counters")
                          : knowledge.facts.architecture + ", content " + facts_hash(knowledge.facts)},
            {"calibration", !calibration ? std::string("none")
                                         : calibration->profile.name + ", content " +
                                               content_hash({write_calibration(*calibration)})}};
}

} // namespace convcast
