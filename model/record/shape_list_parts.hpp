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

    /// Adds `count` convolutions of a shape, which `entries` lines of the list gave. The first name that a
    /// shape gets stays. Throws UsageError for a name or a count that a list may not have.
    void add(const ConvShape &shape, const std::string &name, std::int64_t count, std::int64_t entries = 1);
    void remark(const std::string &text) { list_.remarks.push_back(text); }
    /// Notes a problem, unless the list is full of them.
    void problem(std::size_t line, const std::string &message);
    /// Runs `part`, whose UsageError becomes a problem of the line.
    void at(std::size_t line, const std::function<void()> &part);
    /// Calls `take(line, text)` for each line that is neither blank nor a comment, until the list is full;
    /// its UsageError becomes a problem of the line.
    void at_lines(std::string_view text, const std::function<void(std::size_t line, std::string_view)> &take);
    bool full() const; ///< of problems
    bool has_problems() const { return !problems_.empty(); }
    /// Gives the list away. Throws InputError with all problems or of an empty list, with `example`: a line.
    ShapeList finish(const std::string &example);

  private:
    std::string file_;
    ShapeList list_;
    std::unordered_map<std::string, std::size_t> places_; ///< in the list, of a shape's id
    std::int64_t total_ = 0;
    std::vector<InputProblem> problems_;
};

/// One padding for both sides that gives as many outputs as the window's two; absent where none does.
std::optional<std::int64_t> symmetric_pad(const Window &window);

/// The shape `common`, which has images, channels, filters, groups and type, with the sizes of its rows and
/// columns. Both have a symmetric_pad; sets `moved` where it is not the padding given. Throws UsageError.
ConvShape shape_of(ConvShape common, const Window &rows, const Window &columns, bool &moved);
inline constexpr const char *moved_remark =
    "padding that differs by one between both sides counts as the same on both, which gives the same output";

/// The whole number from `low` to 2^30 that a text is. Throws UsageError that names `what` the text is.
std::int64_t whole_number(std::string_view text, const std::string &what, std::int64_t low);

/// The type by a name that libraries use: "float16", in letters of any size. Throws UsageError.
DataType data_type(std::string_view name);

/// Whether a line is blank or a comment, which begins with #.
bool is_comment(std::string_view line);

/// The cells of a line, without blanks around them; in a cell in quotes "" is a quote. Throws UsageError.
std::vector<std::string> csv_cells(std::string_view line, char separator);

ShapeList read_csv(std::string_view text, const std::string &file);
ShapeList read_benchdnn(std::string_view text, const std::string &file);

/// Whether a line may be the header of a CSV file: it has a separator, or is the name of a column.
bool is_csv_header(std::string_view line);
/// Whether a line may be one of benchdnn: it begins with an option, its call, or a size such as "mb1".
bool is_benchdnn(std::string_view line);

} // namespace convcast
