#include "cli/resumed.hpp"

#include "cli/document.hpp"
#include "cli/progress.hpp"
#include "cli/question.hpp"
#include "executor/launch/kernel_source.hpp"
#include "model/again.hpp"
#include "model/base/errors.hpp"
#include "model/record/elsewhere.hpp"
#include "model/record/shards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>

namespace convcast::cli {

bool measured(const Run &run) {
    return std::ranges::any_of(
        run.cases, [](const Case &item) { return !item.measurements.empty() && !is_elsewhere(item); });
}

void require_same_origin(const Run &earlier, const Run &now, const std::string &file) {
    const auto added = earlier.conditions.find(added_code_condition);
    const bool other_added = added != earlier.conditions.end() && added->second != added_code_hash();
    if (other_added || earlier.producer.device_code_hash != now.producer.device_code_hash ||
        earlier.producer.measuring_code_hash != now.producer.measuring_code_hash)
        throw InputError(file,
                         "was measured by other code (version " + earlier.producer.version +
                             "); one document holds the numbers of one version. Run the same question anew");
    if (earlier.profile_hash != now.profile_hash)
        throw InputError(file, "was forecast from another profile '" + earlier.profile_id + "' than '" +
                                   now.profile_id + "'; give the one it was made with by --gpu FILE");
}

void resume(Run &run, const std::string &file) {
    Run earlier = read_document(file);
    if (measured(earlier))
        require_same_origin(earlier, run, file);
    if (sms_of(earlier, file) != sms_of(run, file))
        throw InputError(file, "was forecast for another number of SMs; give the same --sms, or none");
    join_own_kernels(run, earlier.own_kernels, file);
    run.conditions = earlier.conditions;
    run.unread = std::move(earlier.unread);
    for (UnreadCase &unread : run.unread)
        unread.before =
            std::numeric_limits<std::size_t>::max(); // behind the others: nobody knows what they ask
    std::size_t kept = 0;
    for (Case &old : earlier.cases) {
        if (old.measurements.empty() && !(was_run(earlier) && old.status == Status::unsupported))
            continue;
        kept += old.measurements.empty() ? 0 : 1;
        const auto same = std::ranges::find_if(run.cases, [&](const Case &item) {
            return old.shape == item.shape && old.strategy == item.strategy && old.baseline == item.baseline;
        });
        if (same != run.cases.end())
            *same = std::move(old);
        else
            run.cases.push_back(std::move(old));
    }
    note(fmt::format("{} measured cases taken over from {}", kept, file));
}

} // namespace convcast::cli
