// How a struct of a document says which values it allows. It may have these members, and the reader
// (model/base/document.hpp) holds a document to them:
//   static constexpr Range range_of(std::string_view field);   // where the default below does not hold
//   static constexpr bool has_default(std::string_view field); // may be absent although it is no optional
//   void check(const FieldProblem &problem) const;             // what fields must have in common
#pragma once

#include "model/base/errors.hpp"

#include <functional>
#include <string>

namespace convcast {

/// The values that a number may have, both ends included. By default nothing that a document counts or
/// measures is negative, and nothing is above 1e30: sums and products of two stay far inside double.
struct Range {
    double low = 0.0, high = 1e30;
    bool unknown_allowed = false; ///< also null, which is how a NaN or an infinity is written
};

/// Of a time in seconds that something took: from a picosecond, shorter than any launch, to eleven days.
constexpr Range time_above_zero{1e-12, 1e6};
/// Of a count of 1 or more, up to 2^53: as far as a double knows every whole number.
constexpr Range count_above_zero{1.0, 9007199254740992.0};
/// Of a relative error of a result, which may not be finite.
constexpr Range result_error{0.0, 1e300, true};
/// A relative error above every limit of right results: a result further off is wrong, whatever its status.
constexpr double most_error_of_right_results = 1e-3;

/// Reports that something is wrong with a field. `field` is its name, or the path to a part of it
/// ("spread/p95"); "" means the whole struct.
using FieldProblem = std::function<void(const std::string &field, const std::string &message)>;

/// Calls `part()`, and reports a UsageError that it throws as a problem of the field.
template <class Part> void or_problem(const FieldProblem &problem, const std::string &field, Part part) {
    try {
        part();
    } catch (const UsageError &error) {
        problem(field, error.what());
    }
}

namespace described {
struct Type;
/// The table by which documents of T are read and written (model/base/document.hpp). The source file of T
/// instantiates it, so that no other file has to.
template <class T> const Type &type_of();
} // namespace described

} // namespace convcast
