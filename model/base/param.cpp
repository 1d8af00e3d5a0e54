#include "model/base/param.hpp"

namespace convcast {

void Spread::check(const FieldProblem &problem) const {
    if (!(p05 <= p50 && p50 <= p95))
        problem("", "expected p05 <= p50 <= p95, for example 9, 10 and 12");
}

void Interval::check(const FieldProblem &problem) const {
    if (!(low <= high))
        problem("", "expected low <= high, for example 9 and 11");
}

} // namespace convcast
