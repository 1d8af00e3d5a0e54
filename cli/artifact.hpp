// reproduce --artifact: a folder with all that somebody else needs to check what the papers' pages say.
#pragma once

#include "reports/papers/answer.hpp"
#include "reports/papers/recordings.hpp"

#include <string>
#include <vector>

namespace convcast::cli {

/// What an archive for reviewers of a publication holds: pages, recordings, and how to make them again.
struct Artifact {
    std::vector<Reproduction> reproductions;   ///< one at least
    std::vector<const Recording *> recordings; ///< that the pages use
    std::vector<std::string> papers;           ///< as they were asked: names or files
    std::string gpu;                           ///< as it was asked: a name, a file or a folder
};

/// Writes the artifact into `folder`, whole or not at all; the same input gives the same bytes. Throws
/// InputError for a folder that is there already and not empty.
void write_artifact(const Artifact &artifact, const std::string &folder);

/// Every judged claim as a table of tab-separated columns; the first line has their names.
std::string expected_values(const std::vector<Reproduction> &reproductions);

} // namespace convcast::cli
