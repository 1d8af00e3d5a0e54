// Who made a document.
#pragma once

#include "model/record/run.hpp"

namespace convcast::cli {

/// The version, and the hashes of device and measuring code that this binary holds.
Producer producer();

} // namespace convcast::cli
