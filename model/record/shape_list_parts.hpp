// What the readers of shape_list.hpp have in common.
#pragma once

#include "model/base/errors.hpp"
#include "model/base/text.hpp"
#include "model/record/shape_list.hpp"
#include "model/shape/window.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace convcast {

/// A list while it is read: shapes that are equal become one, problems are collected.
class ListBuilder {
  public:
    ListBuilder(std::string file, std::string format) : file_(std::move(file)) {
        list_.format = std::move(format);
    }

    /// `entries` is how many lines the name stands for. Throws UsageError for a name or a count that a list
    /// may not have.
    void add(const ConvShape &shape, const std::string &name, std::int64_t count, std::int64_t entries = 1);
    void remark(const std::string &text) { list_.remarks.push_back(text); }
    void problem(std::size_t line, const std::string &message);
    /// Runs `part`, whose UsageError becomes a problem of the line.
    void at(std::size_t line, const std::function<void()> &part);
    /// Calls `take(line, text)` at each line that says something, as long as the list is not full of
    /// problems.
    void at_lines(std::string_view text, const std::function<void(std::size_t line, std::string_view)> &take);
    bool full() const;
    bool has_problems() const { return !problems_.empty(); }
    /// Throws InputError if there was a problem, or no shape; `example` is what a line may look like.
    ShapeList finish(const std::string &example);

  private:
    std::string file_;
    ShapeList list_;
    std::unordered_map<std::string, std::size_t> places_; ///< in the list, of a shape's id
    std::int64_t total_ = 0;
    std::vector<InputProblem> problems_;
};

/// The padding on both sides that gives the same output as those of a window, which may differ by one from
/// each other. Absent where there is none.
std::optional<std::int64_t> symmetric_pad(const Window &window);

/// `common`, which has images, channels, filters, groups and type, with the sizes of rows and columns, whose
/// padding has a symmetric_pad. `moved` is set where that is not what the windows have.
ConvShape shape_of(ConvShape common, const Window &rows, const Window &columns, bool &moved);
inline constexpr const char *moved_remark =
    "padding that differs by one between both sides counts as the same on both, which gives the same output";

/// A number from `low` to 2^30. Throws UsageError that names `what`.
std::int64_t whole_number(std::string_view text, const std::string &what, std::int64_t low);

/// Of names that libraries use: "float16" is f16. Throws UsageError with those that are forecast.
DataType data_type(std::string_view name);

/// A line that says nothing: blank, or a comment.
bool is_comment(std::string_view line);

/// The cells of a line: bare, or in quotes, in which "" is a quote. Throws UsageError.
std::vector<std::string> csv_cells(std::string_view line, char separator);

ShapeList read_csv(std::string_view text, const std::string &file);
ShapeList read_benchdnn(std::string_view text, const std::string &file);

/// Whether a line can be the header of a CSV file: it has a separator, or is the name of a column.
bool is_csv_header(std::string_view line);
/// Whether a line can be one of benchdnn: an option, or sizes that begin as its do.
bool is_benchdnn(std::string_view line);

} // namespace convcast
