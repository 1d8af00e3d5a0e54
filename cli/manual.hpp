// Manual pages, made from the pages of docs/cli.
#pragma once

#include <string>

namespace convcast::cli {

/// convcast(1) for "convcast", convcast-VERB(1) for a verb, as roff. Throws UsageError for any other name.
std::string manual_page(const std::string &name);

} // namespace convcast::cli
