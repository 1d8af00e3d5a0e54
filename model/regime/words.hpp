// The words by which answers, figures and pages name a regime. Documents keep the names of the enumeration.
#pragma once

#include "model/regime/regimes.hpp"

namespace convcast {

inline const char *words_of(Regime regime) {
    switch (regime) {
    case Regime::compute_hidden:
        return "compute bound";
    case Regime::bulk_hidden:
        return "memory bound";
    default:
        return "exposed";
    }
}

} // namespace convcast
