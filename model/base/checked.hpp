// What a struct of a document says of its own numbers, for the reader of model/base/described.hpp to hold it
// to:
//   static constexpr Range range_of(std::string_view field);   // where the default below is not what holds
//   static constexpr bool has_default(std::string_view field); // may be absent although it is no optional
//   void check(const FieldProblem &problem) const;             // what fields must have in common
#pragma once

#include "model/base/errors.hpp"

#include <functional>
#include <string>

namespace convcast {

/// Of a number, both ends included. By default nothing that a document counts or measures is negative, and
/// nothing is above 1e30: sums and products of two stay far inside double.
struct Range {
    double low = 0.0, high = 1e30;
    bool unknown_allowed = false; ///< null, which is how a NaN or an infinity is written
};

/// Of what took or takes time: no launch is shorter than a picosecond.
constexpr Range time_above_zero{1e-12, 1e6};
/// Of a count of what there is at least one of.
constexpr Range count_above_zero{1.0, 9007199254740992.0};
/// Of a relative error of a result, which may not be finite.
constexpr Range result_error{0.0, 1e300, true};
/// Above every limit that results are held to: what is further off is not right, whatever its status says.
constexpr double most_error_of_right_results = 1e-3;

/// Says what is wrong with a field: its name, or the path to a part of it ("spread/p95"); "" for all of the
/// struct.
using FieldProblem = std::function<void(const std::string &field, const std::string &message)>;

/// Does `part`, whose UsageError becomes a problem of the field.
template <class Part> void or_problem(const FieldProblem &problem, const std::string &field, Part part) {
    try {
        part();
    } catch (const UsageError &error) {
        problem(field, error.what());
    }
}

namespace described {
struct Type;
/// The table that documents of T are read and written by (model/base/document.hpp). A document's own source
/// file instantiates it, so that no other has to.
template <class T> const Type &type_of();
} // namespace described

} // namespace convcast
