// Who made a document.
#pragma once

#include "model/record/run.hpp"

namespace convcast::cli {

/// The version, and the hashes of device and measuring code that this binary holds.
Producer producer();

/// The commit of the source that this binary was built from, with "-dirty" behind it where files differed
/// from the commit; "" where the source was no checkout of git.
std::string commit();

/// The compiler that this binary was built by: "g++ 14.2.0".
std::string compiler();

} // namespace convcast::cli
