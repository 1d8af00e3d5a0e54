#include "model/record/shape_list.hpp"

#include "model/base/readable.hpp"
#include "model/base/text.hpp"
#include "model/record/shape_list_parts.hpp"
#include "model/record/study.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convcast {

// ---- what readers have in common ----

void ListBuilder::add(const ConvShape &shape, const std::string &name, std::int64_t count,
                      std::int64_t entries) {
    if (!name.empty() && !is_printable(name))
        throw UsageError("expected a name of at most 200 bytes without control characters, for example "
                         "conv2_1, found '" +
                         shortened(name) + "'");
    if (count < 1 || count > most_listed_count || total_ > most_listed_count - count)
        throw UsageError("expected counts from 1 to " + std::to_string(most_listed_count) +
                         " together, found " + std::to_string(count));
    total_ += count;
    const auto [at, is_new] = places_.try_emplace(shape.id(), list_.shapes.size());
    if (is_new) {
        if (list_.shapes.size() == most_listed_shapes)
            throw UsageError("expected at most " + std::to_string(most_listed_shapes) +
                             " different shapes; split the list into several files");
        list_.shapes.push_back({shape, name, count, entries});
        return;
    }
    ListedShape &earlier = list_.shapes[at->second];
    earlier.count += count;
    earlier.entries += entries;
    if (earlier.name.empty())
        earlier.name = name;
}

void ListBuilder::problem(std::size_t line, const std::string &message) {
    if (!full())
        problems_.push_back({file_ + ":" + std::to_string(line) + " (" + list_.format + ")", message});
}

void ListBuilder::at(std::size_t line, const std::function<void()> &part) {
    try {
        part();
    } catch (const UsageError &error) {
        problem(line, error.what());
    }
}

void ListBuilder::at_lines(std::string_view text,
                           const std::function<void(std::size_t, std::string_view)> &take) {
    std::size_t number = 0;
    for (const std::string_view line : lines_of(text))
        if (++number; !full() && !is_comment(line))
            at(number, [&] { take(number, line); });
}

bool ListBuilder::full() const {
    return problems_.size() >= 1000; // chosen: nobody reads more
}

ShapeList ListBuilder::finish(const std::string &example) {
    if (!problems_.empty())
        throw InputError(std::move(problems_));
    if (list_.shapes.empty())
        throw InputError(file_ + " (" + list_.format + ")",
                         "expected at least one convolution, for example: " + example);
    return std::move(list_);
}

std::optional<std::int64_t> symmetric_pad(const Window &window) {
    if (window.begin == window.end)
        return window.begin;
    const std::int64_t sum = window.begin + window.end;
    for (const std::int64_t pad :
         {sum / 2, (sum + 1) / 2}) { // with a stride, one of them may give as many outputs
        Window same = window;
        same.begin = same.end = pad;
        if (same.places() > 0 && same.places() == window.places())
            return pad;
    }
    return std::nullopt;
}

ConvShape shape_of(ConvShape shape, const Window &rows, const Window &columns, bool &moved) {
    shape.h = rows.input;
    shape.w = columns.input;
    shape.r = rows.window;
    shape.s = columns.window;
    shape.stride_h = rows.stride;
    shape.stride_w = columns.stride;
    shape.dilation_h = rows.dilation;
    shape.dilation_w = columns.dilation;
    shape.pad_h = *symmetric_pad(rows);
    shape.pad_w = *symmetric_pad(columns);
    shape.validate();
    moved = moved || rows.begin != rows.end || columns.begin != columns.end;
    return shape;
}

std::int64_t whole_number(std::string_view text, const std::string &what, std::int64_t low) {
    constexpr std::int64_t most = std::int64_t{1} << 30; // so that no product of two overflows
    const std::optional<std::int64_t> value = number_of<std::int64_t>(text);
    if (!value || *value < low || *value > most)
        throw UsageError(what + ": expected an integer from " + std::to_string(low) + " to 2^30, found '" +
                         shortened(text, 40) + "'. Example: " + std::to_string(low + 2));
    return *value;
}

DataType data_type(std::string_view name) {
    const std::string small = lower(name.substr(0, 20));
    for (const char *f32 : {"f32", "fp32", "float32", "float", "single"})
        if (small == f32)
            return DataType::f32;
    for (const char *f16 : {"f16", "fp16", "float16", "half"})
        if (small == f16)
            return DataType::f16;
    for (const char *i8 : {"i8", "s8", "u8", "int8", "uint8"})
        if (small == i8)
            return DataType::i8;
    throw UsageError("expected the type f32, f16 or i8, which are forecast, found '" + shortened(name, 40) +
                     "'. Example: f16");
}

bool is_comment(std::string_view line) {
    const std::string_view content = trimmed(line);
    return content.empty() || content.front() == '#';
}

namespace {

// ---- a shape per line ----

constexpr const char *line_example = "n1c64h56w56k64r3s3_pad1x1 conv2_1 3";

/// The count "3" or "x3"; absent where the word is a name. Throws UsageError of 0, and of a number with a
/// sign, as "-1.5", so that it is not taken for a name.
std::optional<std::int64_t> count_of(std::string_view word) {
    if (word.size() > 1 && word.front() == 'x')
        word.remove_prefix(1);
    if (word.size() > 1 && (word.front() == '-' || word.front() == '+') &&
        word.find_first_not_of("0123456789.eE", 1) == std::string_view::npos)
        return whole_number(word, "the count", 1); // throws
    if (word.empty() || word.find_first_not_of("0123456789") != std::string_view::npos)
        return std::nullopt;
    return whole_number(word, "the count", 1);
}

/// Adds the shape of a line to the list. A line is "SHAPE", "SHAPE NAME", "SHAPE COUNT" or "SHAPE NAME
/// COUNT", parted by blanks or tabs; a name may have blanks itself, so the last word is looked at for the
/// count. A # at the beginning of the line or behind a blank begins a comment; within a word, as in "conv#2",
/// it is part of the name. Throws UsageError.
void take_line(ListBuilder &list, std::string_view line) {
    for (std::size_t hash = line.find('#'); hash != std::string_view::npos; hash = line.find('#', hash + 1))
        if (hash == 0 || line[hash - 1] == ' ' || line[hash - 1] == '\t') {
            line = line.substr(0, hash);
            break;
        }
    line = trimmed(line);
    const std::size_t shape_end = std::min(line.find_first_of(" \t"), line.size());
    // Shortened, as the message of what is no shape repeats the text, which may be a line of any length.
    const ConvShape shape = ConvShape::parse(shortened(line.substr(0, shape_end)));
    std::string_view name = trimmed(line.substr(shape_end)); // and the count
    const std::size_t blank = name.find_last_of(" \t");
    const std::string_view last_word = name.substr(blank == std::string_view::npos ? 0 : blank + 1);
    const std::optional<std::int64_t> count = count_of(last_word);
    if (count)
        name = trimmed(name.substr(0, name.size() - last_word.size()));
    list.add(shape, std::string(name), count.value_or(1));
}

ShapeList read_lines(std::string_view text, const std::string &file) {
    ListBuilder list(file, "a shape per line");
    list.at_lines(text, [&](std::size_t, std::string_view line) { take_line(list, line); });
    return list.finish(line_example);
}

// ---- a study document ----

/// The shapes of a study with their counts; all of them are on line 1 in messages.
ShapeList read_study_shapes(const std::string &text, const std::string &file) {
    const Study study = read_study(text, file);
    ListBuilder list(file, "a study document");
    for (std::size_t i = 0; i < study.shapes.size(); ++i)
        list.at(1, [&] {
            list.add(ConvShape::parse(study.shapes[i]), "", study.counts.empty() ? 1 : study.counts[i]);
        });
    if (!study.sweeps.empty() || !study.settings.empty())
        list.remark("settings and sweeps of the study are asked by --study " + file);
    return list.finish("{\"shapes\": [\"n1c64h56w56k64r3s3\"]}");
}

// ---- which format ----

/// Throws InputError that names the lines which are no UTF-8 or hold a byte of value 0: a list must be text.
void require_text(std::string_view text, const std::string &file) {
    if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
        throw InputError(file + ":1", "expected UTF-8, found UTF-16; save the file as UTF-8");
    std::vector<InputProblem> problems;
    std::size_t number = 0;
    for (const std::string_view line : lines_of(text)) {
        ++number;
        const char *found = line.find('\0') != std::string_view::npos ? "a byte of value 0"
                            : !is_utf8(line)                          ? "bytes that are no UTF-8"
                                                                      : nullptr;
        if (found != nullptr && problems.size() < 20) // chosen: a binary file has a problem in every line
            problems.push_back({file + ":" + std::to_string(number),
                                std::string("expected text in UTF-8, found ") + found +
                                    "; a list of shapes has lines like: " + line_example});
    }
    if (!problems.empty())
        throw InputError(std::move(problems));
}

/// Whether a cell of a line of CSV is a number. No column is named so: the line is no header.
bool has_number(std::string line) {
    std::replace_if(
        line.begin(), line.end(), [](char c) { return c == ';' || c == '\t'; }, ',');
    const std::vector<std::string> cells = split(line, ',');
    return std::any_of(cells.begin(), cells.end(), [](std::string_view cell) {
        return !trimmed(cell).empty() &&
               trimmed(cell).find_first_not_of("0123456789") == std::string_view::npos;
    });
}

/// The first line that is neither blank nor comment, with its number from 1; empty where there is none.
std::pair<std::size_t, std::string_view> first_line(std::string_view text) {
    std::size_t number = 0;
    for (const std::string_view line : lines_of(text))
        if (++number; !is_comment(line))
            return {number, trimmed(line)};
    return {};
}

} // namespace

bool is_onnx(std::string_view bytes) {
    return bytes.size() > 1 && bytes[0] == '\x08' && bytes[1] != '\0'; // ModelProto.ir_version
}

ShapeList with_images(const ShapeList &list, std::int64_t images, const std::string &file) {
    ListBuilder out(file, list.format + ", " + std::to_string(images) + " images");
    for (const std::string &remark : list.remarks)
        out.remark(remark);
    for (const ListedShape &entry : list.shapes)
        out.at(1, [&] {
            ConvShape shape = entry.shape;
            shape.n = images;
            shape.validate();
            out.add(shape, entry.name, entry.count, entry.entries);
        });
    return out.finish(line_example);
}

ShapeList read_shape_list(const std::string &text, const std::string &file) {
    std::string_view content = text;
    if (content.starts_with("\xEF\xBB\xBF"))
        content.remove_prefix(3);
    require_text(content, file);
    const auto [number, line] = first_line(content);
    if (line.empty())
        throw InputError(file, std::string("expected a list of shapes, found nothing. Example of a line: ") +
                                   line_example);
    if (line.front() == '{')
        return read_study_shapes(std::string(content), file);
    const bool shape = line.size() > 1 && line[0] == 'n' && line[1] >= '0' && line[1] <= '9';
    if (shape && line.find_first_of(",;") == std::string_view::npos)
        return read_lines(content, file);
    if (is_benchdnn(line))
        return read_benchdnn(content, file);
    if (!shape && is_csv_header(line) && has_number(std::string(line)))
        throw InputError(
            file + ":" + std::to_string(number),
            "expected a header above '" + shortened(line, 60) +
                "', for example: name,c,h,w,k,r,s,stride,pad,count (docs/study.md has all columns)");
    if (!shape && is_csv_header(line))
        return read_csv(content, file);
    throw InputError(
        file + ":" + std::to_string(number),
        std::string(shape ? "expected a header above lines with separators" : "expected a list of shapes") +
            ", found '" + shortened(line, 60) +
            "'. A list is one of: a shape per line (n1c64h56w56k64r3s3_pad1x1 conv2 3), CSV with a header "
            "(n,c,h,w,k,r,s,stride,pad,name,count), benchdnn lines of oneDNN (mb1ic64ih56oc64oh56kh3ph1), a "
            "study document, an ONNX file; see docs/study.md");
}

} // namespace convcast
