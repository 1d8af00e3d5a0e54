#include "cli/arguments.hpp"
#include "cli/device.hpp"
#include "cli/onnx_graph.hpp"
#include "cli/shipped.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "model/base/described.hpp"
#include "model/base/files.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

/// Whether a program of this name is in a folder of PATH.
bool can_start(const std::string &program) {
    const char *const path = std::getenv("PATH");
    std::istringstream folders(path == nullptr ? "" : path);
    for (std::string folder; std::getline(folders, folder, ':');)
        if (::access((folder + "/" + program).c_str(), X_OK) == 0)
            return true;
    return false;
}

} // namespace

int doctor(const Arguments &arguments) {
    std::vector<Finding> findings = {
        {"predict, choose, report", Health::works, "need no GPU; GPUs shipped: " + join(shipped_profiles())}};
    const auto examine = [&](const char *what, bool is_there, const std::string &works,
                             const std::string &lacks) {
        findings.push_back({what, is_there ? Health::works : Health::absent, is_there ? works : lacks});
    };
    examine("ONNX files", reads_onnx(), "convcast-onnx reads them",
            std::string("convcast-onnx was not built. ") + how_to_read_onnx);
    examine("figures as PDF", can_start("rsvg-convert"), "by rsvg-convert",
            "rsvg-convert is not installed: apt-get install librsvg2-bin; SVG, TeX and CSV need nothing");
    if (const auto docs = shipped_docs())
        findings.push_back({"documentation", Health::works, "what help calls docs/ lies in " + *docs});
    for (Finding &finding : examine_device())
        findings.push_back(std::move(finding));
    if (arguments.has("json")) {
        write_file_atomically("-", to_text(described::write(findings)));
    } else {
        using Line = const Finding &;
        write_file_atomically(
            "-", table(table_of<Finding>(findings,
                                         {{{"state"}, [](Line finding) { return name_of(finding.health); }},
                                          {{"what"}, &Finding::what},
                                          {{"detail", As::text, Keep::must, Fit::wrap}, &Finding::detail}})));
    }
    const bool broken = std::ranges::any_of(
        findings, [](const Finding &finding) { return finding.health == Health::broken; });
    return broken ? 1 : 0;
}

} // namespace convcast::cli
