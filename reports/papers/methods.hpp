// Answers of a paper's items that are data: model/record/paper_method.hpp.
#pragma once

#include "model/base/errors.hpp"
#include "model/record/paper.hpp"
#include "reports/papers/answer.hpp"
#include "reports/papers/context.hpp"

#include <string>
#include <vector>

namespace convcast {

/// Adds a problem for every name, function, list, time and published number that is not there. `place` is the
/// method's.
void check_names(const PaperItem &item, const PaperMethod &method, const std::string &place,
                 std::vector<InputProblem> &problems);

/// The item's answer by a method. Throws InputError at `place`.
ItemAnswer answer_by(const PaperMethod &method, const PaperItem &item, const PaperContext &context,
                     const std::string &place);

} // namespace convcast
