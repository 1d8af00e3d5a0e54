#include "model/record/run_lines.hpp"

#include "model/base/document.hpp"
#include "model/base/errors.hpp"
#include "model/base/parallel.hpp"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {
namespace {

constexpr std::size_t lines_of_a_piece = 4096;  ///< chosen: all cores have work, and a piece is small
constexpr std::size_t longest_line = 256 << 20; ///< bytes; chosen: above this only broken files come

/// The text of an unread case on one line. A text that is no JSON was read from a line of a document of
/// lines, so it has one line and stays as it is. A text of several lines was read from a JSON document and is
/// written anew.
std::string in_one_line(const std::string &json) {
    if (json.find('\n') == std::string::npos)
        return json;
    JsonWriter writer(JsonWriter::Layout::one_line);
    parse_json(json, "an unread case", std::ref(writer));
    return writer.take();
}

/// The line of a case, with its end, without the tree of terms, which is long and can be computed anew.
std::string line_of_case(const Case &item) {
    if (!item.prediction || !item.prediction->term)
        return to_line(described::write(item));
    Case bare = item;
    bare.prediction->term.reset();
    return to_line(described::write(bare));
}

/// A document but for its cases.
Run head_of(const Run &run) {
    return {run.schema, run.producer, run.profile_id, run.profile_hash, run.conditions, run.own_kernels, {},
            {}};
}

std::string head_line(const Run &run) {
    return to_line(described::write(head_of(run)));
}

/// Calls `take` with the texts of a run's cases and unread cases in their order. `text_of`, which is called
/// on all cores, makes the text of a case, `text_of_unread` that of an unread one.
void texts_of(const Run &run, const std::function<std::string(const Case &)> &text_of,
              const std::function<std::string(const UnreadCase &)> &text_of_unread,
              const std::function<void(std::string)> &take) {
    auto unread = run.unread.begin();
    const auto take_unread = [&](std::size_t before) { // those in front of the case of this index
        for (; unread != run.unread.end() && unread->before <= before; ++unread)
            take(text_of_unread(*unread));
    };
    std::vector<std::string> texts;
    for (std::size_t begin = 0; begin < run.cases.size(); begin += lines_of_a_piece) {
        texts.assign(std::min(lines_of_a_piece, run.cases.size() - begin), {});
        in_parallel(texts.size(), [&](std::size_t i) { texts[i] = text_of(run.cases[begin + i]); });
        for (std::size_t i = 0; i < texts.size(); ++i) {
            take_unread(begin + i);
            take(std::move(texts[i]));
        }
    }
    take_unread(std::numeric_limits<std::size_t>::max());
}

/// A line without the carriage return and the blanks at its end.
std::string_view without_end(std::string_view line) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' '))
        line.remove_suffix(1);
    return line;
}

/// The lines of a text, or of a file, packed by gzip or not, that is read as it is needed.
class LineSource {
  public:
    explicit LineSource(std::string_view text) : rest_(text) {} ///< keeps no copy
    /// Throws InputError where the file cannot be opened.
    explicit LineSource(const std::string &file) : file_(gzopen(file.c_str(), "rb"), gzclose), name_(file) {
        if (!file_)
            throw InputError(file, std::string("cannot be read: ") + std::strerror(errno));
        gzbuffer(file_.get(), 1 << 18); // chosen
    }

    /// Puts the next line into `line`, without its end; false at the end of the text. Throws InputError.
    bool next(std::string &line) {
        line.clear();
        ++number_;
        for (;;) {
            const std::size_t end = rest_.find('\n');
            line += rest_.substr(0, end);
            if (end != std::string_view::npos) {
                rest_.remove_prefix(end + 1);
                return true;
            }
            if (line.size() > longest_line)
                throw InputError(name_ + ":" + std::to_string(number_), "a line of more than 256 MiB");
            rest_ = file_ ? next_block() : std::string_view();
            if (rest_.empty())
                return !line.empty();
        }
    }
    int number() const { return number_; } ///< of the line that next() gave last, from 1

    /// What follows in the file, up to 4 MiB of it; empty at the end.
    std::string_view next_block() {
        buffer_.resize(1 << 22);
        const int got = gzread(file_.get(), buffer_.data(), static_cast<unsigned>(buffer_.size()));
        int error = Z_OK;
        const char *said = gzerror(file_.get(), &error);
        if (got < 0 || error == Z_BUF_ERROR) // the latter where the data end too early
            throw InputError(name_, error == Z_ERRNO  ? std::string("cannot be read: ") + std::strerror(errno)
                                    : said == nullptr ? "cannot be read"
                                                      : "is a damaged or cut gzip file");
        return std::string_view(buffer_).substr(0, static_cast<std::size_t>(got));
    }

  private:
    std::unique_ptr<gzFile_s, int (*)(gzFile)> file_{nullptr, gzclose};
    std::string name_, buffer_;
    std::string_view rest_; ///< what next() has not given yet: of the text, or of `buffer_`
    int number_ = 0;
};

/// A case's line with its number in the file.
struct Line {
    std::string text;
    int number = 0;
};

/// The next lines that are not empty, at most `most`; none only at the end.
std::vector<Line> next_lines(LineSource &source, std::size_t most) {
    std::vector<Line> lines;
    for (std::string line; lines.size() < most && source.next(line);)
        if (const std::string_view text = without_end(line); !text.empty())
            lines.push_back({std::string(text), source.number()});
    return lines;
}

/// Reads a document of lines: calls `take` with each piece of it, which has the head and up to
/// lines_of_a_piece cases, read or unread. Throws InputError where there are cases and none can be read:
/// before any piece is taken if all of them are in one, else at the end.
void take_pieces(LineSource &source, const std::string &file, const BaselineCheck &check_baseline,
                 const std::function<void(Run)> &take) {
    const std::vector<Line> first = next_lines(source, 1);
    if (first.empty())
        throw InputError(file + ":1", "expected a Run document, got an empty file");
    const auto head = described::read_document<Run>(first.front().text, file);
    std::size_t before = 0, readable = 0; // cases in the pieces up to now
    std::vector<InputProblem> problems;   // of unread cases, for the case that none is readable
    std::vector<Line> lines = next_lines(source, lines_of_a_piece);
    do { // once also where there are no cases
        std::vector<std::variant<Case, UnreadCase>> read(lines.size());
        in_parallel(lines.size(), [&](std::size_t i) {
            read[i] = read_case(lines[i].text, file, lines[i].number, before + i, check_baseline);
        });
        Run piece = head;
        for (auto &item : read)
            if (UnreadCase *unread = std::get_if<UnreadCase>(&item)) {
                if (problems.size() < 1000) // chosen: nobody reads more
                    problems.insert(problems.end(), unread->problems.begin(), unread->problems.end());
                piece.unread.push_back(
                    {piece.cases.size(), std::move(unread->json), std::move(unread->problems)});
            } else {
                piece.cases.push_back(std::move(std::get<Case>(item)));
            }
        before += lines.size();
        readable += piece.cases.size();
        if (before > 0 && readable == 0 && lines.size() < lines_of_a_piece)
            throw InputError(std::move(problems));
        take(std::move(piece));
        lines = next_lines(source, lines_of_a_piece);
    } while (!lines.empty());
    if (before > 0 && readable == 0)
        throw InputError(std::move(problems));
}

/// Calls `take` with the line of each case, read or unread.
void add_lines(const Run &piece, const std::function<void(std::string)> &take) {
    texts_of(
        piece, line_of_case, [](const UnreadCase &unread) { return in_one_line(unread.json) + "\n"; }, take);
}

} // namespace

bool names_lines(const std::string &file) {
    return file.ends_with(".jsonl") || file.ends_with(".jsonl.gz");
}

bool are_run_lines(std::string_view text) {
    const std::string_view first = without_end(text.substr(0, text.find('\n')));
    // A document of JSON on one line holds its cases there.
    return first.starts_with("{") && first.ends_with("}") &&
           first.find("\"convcast/run/") != std::string_view::npos &&
           first.find("\"cases\"") == std::string_view::npos;
}

RunLineWriter::RunLineWriter(const std::string &file, const Run &head) : file_(file) {
    file_.write(head_line(head));
}

void RunLineWriter::add(const Run &piece) {
    add_lines(piece, [&](const std::string &line) { file_.write(line); });
}

std::string write_run_lines(const Run &run) {
    std::string text = head_line(run);
    add_lines(run, [&](const std::string &line) { text += line; });
    return text;
}

std::string write_run(const Run &run) {
    std::string out = to_text(described::write(head_of(run)));
    if (run.cases.empty() && run.unread.empty())
        return out;
    out.resize(out.size() - 3); // the head's end "\n}\n", before which the cases stand
    out += ",\n  \"cases\": [";
    bool first = true;
    constexpr std::size_t depth = 2; // of a case
    texts_of(
        run,
        [](const Case &item) {
            JsonWriter writer(JsonWriter::Layout::lines, depth);
            described::tell(described::type_of<Case>(), &item, std::ref(writer));
            return writer.take();
        },
        [](const UnreadCase &unread) {
            try {
                JsonWriter writer(JsonWriter::Layout::lines, depth);
                parse_json(unread.json, "an unread case", std::ref(writer));
                return writer.take();
            } catch (
                const InputError &) { // a line that is no JSON: kept as a string, which is no case either
                JsonWriter writer(JsonWriter::Layout::lines, depth);
                writer({.kind = JsonEvent::Kind::string, .text = unread.json});
                return writer.take();
            }
        },
        [&](const std::string &text) {
            out += first ? "\n    " : ",\n    ";
            out += text;
            first = false;
        });
    return out + "\n  ]\n}\n";
}

void write_run_file(const std::string &file, const Run &run) {
    if (!names_lines(file))
        return write_file_atomically(file, write_run(run));
    RunLineWriter writer(file, run);
    writer.add(run);
    writer.finish();
}

bool file_holds_lines(const std::string &file) {
    std::error_code none;
    if (file == "-" || !std::filesystem::is_regular_file(file, none))
        return false;
    try {
        LineSource source(file);
        return are_run_lines(source.next_block());
    } catch (const InputError &) { // whoever reads it says what is wrong
        return false;
    }
}

std::size_t cases_in_lines(const std::string &file) {
    LineSource source(file);
    std::string line;
    while (source.next(line)) {
    }
    return static_cast<std::size_t>(std::max(0, source.number() - 2)); // without the head and the end
}

void read_run_pieces(const std::string &file, const BaselineCheck &check_baseline,
                     const std::function<void(Run)> &take) {
    LineSource source(file);
    take_pieces(source, file, check_baseline, take);
}

void append(std::optional<Run> &run, Run piece) {
    if (!run) {
        run = std::move(piece);
        return;
    }
    for (UnreadCase &unread : piece.unread)
        run->unread.push_back(
            {run->cases.size() + unread.before, std::move(unread.json), std::move(unread.problems)});
    std::move(piece.cases.begin(), piece.cases.end(), std::back_inserter(run->cases));
}

Run read_run_lines(const std::string &text, const std::string &file, const BaselineCheck &check_baseline) {
    std::optional<Run> run;
    LineSource source{std::string_view(text)};
    take_pieces(source, file, check_baseline, [&](Run piece) { append(run, std::move(piece)); });
    return std::move(*run);
}

} // namespace convcast
