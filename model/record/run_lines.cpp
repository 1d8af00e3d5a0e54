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
#include <optional>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {
namespace {

constexpr std::size_t lines_of_a_piece = 4096; ///< the cores have enough to do, and a piece is small
constexpr std::size_t longest_line = 256 << 20;

/// A document's JSON in one line; no text in it has a line break of its own.
std::string in_one_line(const std::string &json) {
    std::string line;
    line.reserve(json.size());
    for (std::size_t i = 0; i < json.size(); ++i) {
        if (json[i] != '\n') {
            line += json[i];
            continue;
        }
        while (i + 1 < json.size() && json[i + 1] == ' ')
            ++i;
    }
    return line;
}

/// A case's line, without the tree of its terms.
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

/// Texts of a run's cases and unread ones in order, made on all cores; `text_of` makes one.
void texts_of(const Run &run, const std::function<std::string(const Case &)> &text_of,
              const std::function<std::string(const UnreadCase &)> &text_of_unread,
              const std::function<void(std::string)> &take) {
    auto unread = run.unread.begin();
    const auto take_unread = [&](std::size_t before) {
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

/// A file, packed by gzip or not.
using OpenFile = std::unique_ptr<gzFile_s, int (*)(gzFile)>;

OpenFile open_to_read(const std::string &file) {
    OpenFile opened(gzopen(file.c_str(), "rb"), gzclose);
    if (!opened)
        throw InputError(file, std::string("cannot be read: ") + std::strerror(errno));
    gzbuffer(opened.get(), 1 << 18);
    return opened;
}

/// How much of a block a file still had.
std::size_t read_block(const OpenFile &file, char *block, std::size_t size, const std::string &name) {
    const int got = gzread(file.get(), block, static_cast<unsigned>(size));
    int error = Z_OK;
    const char *said = gzerror(file.get(), &error);
    if (got < 0 || error == Z_BUF_ERROR) // the latter where the data end too early
        throw InputError(name, error == Z_ERRNO  ? std::string("cannot be read: ") + std::strerror(errno)
                               : said == nullptr ? "cannot be read"
                                                 : "is a damaged or cut gzip file");
    return static_cast<std::size_t>(got);
}

std::string_view without_end(std::string_view line) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' '))
        line.remove_suffix(1);
    return line;
}

/// A case's line with its number in the file.
struct Line {
    std::string_view text;
    int number = 0;
};

/// Lines of a text, or of a file that is read as it is needed.
class LineSource {
  public:
    explicit LineSource(std::string_view text) : rest_(text) {}
    explicit LineSource(const std::string &file) : file_(open_to_read(file)), name_(file) {}

    /// At most `most` lines that are not empty, and none only at the end; they are good until the next call.
    std::vector<Line> next(std::size_t most) {
        fill(most);
        std::vector<Line> lines;
        while (lines.size() < most && !rest_.empty()) {
            const std::size_t end = std::min(rest_.find('\n'), rest_.size());
            const std::string_view text = without_end(rest_.substr(0, end));
            rest_.remove_prefix(std::min(end + 1, rest_.size()));
            ++number_;
            if (!text.empty())
                lines.push_back({text, number_});
            if (rest_.empty() && lines.empty())
                fill(most);
        }
        return lines;
    }

  private:
    /// Reads on until there are `most` lines, or the file ends.
    void fill(std::size_t most) {
        if (!file_)
            return;
        constexpr std::size_t block = 1 << 22;
        buffer_.erase(0, buffer_.size() - rest_.size());
        auto ends = static_cast<std::size_t>(std::count(buffer_.begin(), buffer_.end(), '\n'));
        for (std::size_t got = 1; ends < most && got > 0;) {
            const std::size_t size = buffer_.size();
            if (ends == 0 && size > longest_line)
                throw InputError(name_ + ":" + std::to_string(number_ + 1), "a line of more than 256 MiB");
            buffer_.resize(size + block);
            got = read_block(file_, buffer_.data() + size, block, name_);
            buffer_.resize(size + got);
            ends += static_cast<std::size_t>(
                std::count(buffer_.begin() + static_cast<std::ptrdiff_t>(size), buffer_.end(), '\n'));
        }
        rest_ = buffer_;
    }

    std::string_view rest_; ///< what is not told yet: of the text, or of `buffer_`
    OpenFile file_{nullptr, gzclose};
    std::string name_, buffer_;
    int number_ = 0;
};

/// Calls `take` with each piece. Throws InputError where there are cases and none can be read.
void take_pieces(LineSource &source, const std::string &file, const BaselineCheck &check_baseline,
                 const std::function<void(Run)> &take) {
    const std::vector<Line> first = source.next(1);
    if (first.empty())
        throw InputError(file + ":1", "expected a Run document, got an empty file");
    const auto head = described::read_document<Run>(std::string(first.front().text), file);
    std::size_t before = 0, readable = 0;
    std::vector<InputProblem> problems;
    std::vector<Line> lines = source.next(lines_of_a_piece);
    do { // once also where there are no cases
        std::vector<std::variant<Case, UnreadCase>> read(lines.size());
        in_parallel(lines.size(), [&](std::size_t i) {
            read[i] = read_case(lines[i].text, file, lines[i].number, before + i, check_baseline);
        });
        Run piece = head;
        for (auto &item : read)
            if (UnreadCase *unread = std::get_if<UnreadCase>(&item)) {
                if (problems.size() < 1000)
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
        lines = source.next(lines_of_a_piece);
    } while (!lines.empty());
    if (before > 0 && readable == 0)
        throw InputError(std::move(problems));
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

RunLineWriter::RunLineWriter(const std::string &file, const Run &head) {
    if (file != "-")
        file_.emplace(file);
    write(to_line(described::write(head_of(head))));
}

void RunLineWriter::write(const std::string &lines) {
    if (file_)
        file_->write(lines);
    else
        text_ += lines;
}

void RunLineWriter::add(const Run &piece) {
    constexpr std::size_t worth_a_call = 1 << 20;
    std::string block;
    texts_of(
        piece, line_of_case, [](const UnreadCase &unread) { return in_one_line(unread.json) + "\n"; },
        [&](const std::string &line) {
            block += line;
            if (block.size() > worth_a_call)
                write(std::exchange(block, {}));
        });
    write(block);
}

void RunLineWriter::finish() {
    if (file_)
        file_->finish();
    else
        write_file_atomically("-", text_);
}

std::string write_run_lines(const Run &run) {
    RunLineWriter writer("-", run);
    writer.add(run);
    return writer.text();
}

std::string write_run(const Run &run) {
    std::string out = to_text(described::write(head_of(run)));
    if (run.cases.empty() && run.unread.empty())
        return out;
    out.resize(out.size() - 3); // "\n}\n"
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
            JsonWriter writer(JsonWriter::Layout::lines, depth);
            parse_json(unread.json, "an unread case", std::ref(writer));
            return writer.take();
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
    constexpr std::size_t longest_head = 1 << 20;
    std::error_code none;
    if (file == "-" || !std::filesystem::is_regular_file(file, none))
        return false;
    const OpenFile start(gzopen(file.c_str(), "rb"), gzclose);
    if (!start)
        return false;
    std::string head(longest_head, '\0');
    const int got = gzread(start.get(), head.data(), static_cast<unsigned>(head.size()));
    head.resize(static_cast<std::size_t>(std::max(0, got)));
    return are_run_lines(head);
}

std::size_t cases_in_lines(const std::string &file) {
    const OpenFile all = open_to_read(file);
    std::size_t lines = 0, got = 0;
    std::vector<char> block(1 << 20);
    while ((got = read_block(all, block.data(), block.size(), file)) > 0)
        lines += static_cast<std::size_t>(
            std::count(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(got), '\n'));
    return lines > 0 ? lines - 1 : 0;
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
