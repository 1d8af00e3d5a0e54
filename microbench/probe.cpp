#include "microbench/probe.hpp"

#include "microbench/probes/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace convcast {

const std::vector<Probe> &probes() {
    static const std::vector<Probe> all = [] {
        std::vector<Probe> rows;
        for (std::vector<Probe> family :
             {first_probes(), arithmetic_probes(), latency_probes(), bandwidth_probes(),
              shared_memory_probes(), synchronisation_probes(), launch_probes()})
            std::move(family.begin(), family.end(), std::back_inserter(rows));
        return rows;
    }();
    return all;
}

std::vector<std::string> probe_names() {
    std::vector<std::string> names;
    for (const Probe &probe : probes())
        names.emplace_back(probe.name);
    return names;
}

std::string fields_text(const Probe &probe) {
    std::string text;
    for (const ProbeField &field : probe.use.fields)
        text += (text.empty() ? "" : " ") + std::string(field.name);
    return text;
}

std::vector<std::string> instances(const std::string &pattern,
                                   const std::vector<std::vector<std::string>> &arguments) {
    std::vector<std::string> names = {pattern};
    for (const std::vector<std::string> &choices : arguments) {
        std::vector<std::string> longer;
        for (const std::string &name : names)
            for (const std::string &choice : choices)
                longer.push_back(std::string(name).replace(name.find("{}"), 2, choice));
        names = std::move(longer);
    }
    return names;
}

std::vector<ClockedLaunch> launches_of(const Probe &probe) {
    std::vector<ProbePoint> points(probe.how.launch ? 1 : 0);
    for (const auto &[knob, values] : probe.how.axes) {
        std::vector<ProbePoint> more;
        for (const ProbePoint &point : points)
            for (const double value : values) {
                more.push_back(point);
                more.back().knobs[std::string(knob)] = value;
            }
        points = std::move(more);
    }
    std::vector<ClockedLaunch> launches;
    for (const ProbePoint &point : points) {
        ClockedLaunch launch = probe.how.launch(point);
        if (launch.kernel.empty())
            continue;
        launch.knobs.insert(point.knobs.begin(), point.knobs.end());
        for (const auto &[knob, value] : launch.knobs)
            if (const std::size_t at = launch.kernel.find("{" + knob + "}"); at != std::string::npos)
                launch.kernel.replace(at, knob.size() + 2, fmt::format("{}", value));
        if (launch.note.empty())
            launch.note = probe.note;
        launches.push_back(std::move(launch));
    }
    return launches;
}

std::map<std::string, std::vector<std::string>> probe_files() {
    std::map<std::string, std::vector<std::string>> files;
    for (const Probe &probe : probes()) {
        if (probe.file.empty())
            continue;
        std::vector<std::string> &templates = files[std::string(probe.file)];
        const auto add = [&](const std::string &name) {
            if (std::find(templates.begin(), templates.end(), name) == templates.end())
                templates.push_back(name);
        };
        for (const std::string &name : probe.how.templates)
            add(name);
        for (const ClockedLaunch &launch : launches_of(probe))
            for (const std::string &kernel : {launch.kernel, launch.less})
                if (kernel.ends_with('>'))
                    add(kernel);
    }
    return files;
}

} // namespace convcast
