#include "model/record/run_lines.hpp"

#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/parallel.hpp"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

namespace convcast {
namespace {

constexpr std::size_t lines_at_once = 64; ///< that a thread reads or writes
constexpr std::size_t lines_of_a_piece =
    4096; ///< a core's share of a piece is long enough, and a piece is small
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

/// A case as JSON but for the tree of its terms.
JsonValue without_terms(const Case &item) {
    if (!item.prediction || !item.prediction->term)
        return described::write(item);
    Case bare = item;
    bare.prediction->term.reset();
    return described::write(bare);
}

/// A document but for its cases.
Run head_of(const Run &run) {
    return {run.schema, run.producer, run.profile_id, run.profile_hash, run.conditions, run.own_kernels, {},
            {}};
}

/// The same as the first line of a document of lines.
std::string head_line(const Run &run) {
    return to_line(described::write(head_of(run)));
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
        in_parallel((texts.size() + lines_at_once - 1) / lines_at_once, [&](std::size_t part) {
            for (std::size_t i = part * lines_at_once; i < std::min(texts.size(), (part + 1) * lines_at_once);
                 ++i)
                texts[i] = text_of(run.cases[begin + i]);
        });
        for (std::size_t i = 0; i < texts.size(); ++i) {
            take_unread(begin + i);
            take(std::move(texts[i]));
        }
    }
    take_unread(std::numeric_limits<std::size_t>::max());
}

/// A case's line with its number in the file.
struct Line {
    std::string_view text;
    std::size_t number = 0;
};

/// Where a problem lies in the whole document: its piece had the case `index` in line `index + 2`.
std::string place_in_document(const std::string &place, const std::string &file, std::size_t index,
                              std::size_t line, std::size_t before) {
    const std::string path = "/cases/" + std::to_string(index);
    const std::size_t at = place.find(path, file.size());
    return file + ":" + std::to_string(line) + ": /cases/" + std::to_string(before + index) +
           (at == std::string::npos ? "" : place.substr(at + path.size()));
}

/// Reads the lines as a document of their own. `before`: cases in front of them.
Run read_piece(const std::string &head, const Line *lines, std::size_t count, std::size_t before,
               const std::string &file, const BaselineCheck &check_baseline) {
    std::string text = head.substr(0, head.rfind('}')) + ", \"cases\": [";
    for (std::size_t i = 0; i < count; ++i) {
        text += i > 0 ? ",\n" : "\n";
        text += lines[i].text;
    }
    text += "\n]}\n";
    try {
        Run run = read_whole_run(text, file, check_baseline);
        std::size_t aside = 0;
        for (UnreadCase &unread : run.unread) {
            const std::size_t index = unread.before + aside++;
            for (InputProblem &problem : unread.problems)
                problem.place = place_in_document(problem.place, file, index, lines[index].number, before);
        }
        return run;
    } catch (const InputError &error) {
        if (count == 1) { // the caller decides whether the document is worth nothing
            Run run;
            UnreadCase &unread = run.unread.emplace_back();
            unread.json = std::string(lines->text);
            for (const InputProblem &problem : error.problems)
                unread.problems.push_back(
                    {place_in_document(problem.place, file, 0, lines->number, before), problem.message});
            return run;
        }
    }
    Run run; // one of them spoils the others: each by itself
    for (std::size_t i = 0; i < count; ++i) {
        Run one = read_piece(head, lines + i, 1, before + i, file, check_baseline);
        for (UnreadCase &unread : one.unread)
            run.unread.push_back({run.cases.size(), std::move(unread.json), std::move(unread.problems)});
        for (Case &item : one.cases)
            run.cases.push_back(std::move(item));
    }
    return run;
}

/// A file, packed by gzip or not.
gzFile open_to_read(const std::string &file) {
    gzFile opened = gzopen(file.c_str(), "rb");
    if (opened == nullptr)
        throw InputError(file, std::string("cannot be read: ") + std::strerror(errno));
    gzbuffer(opened, 1 << 18);
    return opened;
}

/// How much of a block a file still had.
std::size_t read_block(gzFile file, char *block, std::size_t size, const std::string &name) {
    const int got = gzread(file, block, static_cast<unsigned>(size));
    int error = Z_OK;
    const char *said = gzerror(file, &error);
    if (got < 0 || error == Z_BUF_ERROR) // the latter where the data end too early
        throw InputError(name, error == Z_ERRNO  ? std::string("cannot be read: ") + std::strerror(errno)
                               : said == nullptr ? "cannot be read"
                                                 : "is a damaged or cut gzip file");
    return static_cast<std::size_t>(got);
}

/// Lines of a text, or of a file that is read as it is needed.
class LineSource {
  public:
    explicit LineSource(std::string_view text) : rest_(text) {}
    explicit LineSource(const std::string &file) : file_(open_to_read(file)), name_(file) {}
    LineSource(const LineSource &) = delete;
    LineSource &operator=(const LineSource &) = delete;
    ~LineSource() {
        if (file_ != nullptr)
            gzclose(file_);
    }

    /// At most `most` lines that are not empty; they are good until the next call.
    std::vector<Line> next(std::size_t most) {
        std::vector<Line> lines;
        std::vector<std::pair<std::size_t, std::size_t>> places; // in the buffer, which may move
        if (file_ == nullptr) {
            while (lines.size() < most && !rest_.empty()) {
                const std::size_t end = std::min(rest_.find('\n'), rest_.size());
                add(lines, rest_.substr(0, end));
                rest_.remove_prefix(std::min(end + 1, rest_.size()));
            }
            return lines;
        }
        buffer_.erase(0, used_);
        used_ = 0;
        std::size_t found = 0;
        while (found < most) {
            std::size_t end = buffer_.find('\n', used_);
            while (end == std::string::npos && more())
                end = buffer_.find('\n', std::max(used_, searched_));
            if (end == std::string::npos && used_ == buffer_.size())
                break;
            const std::size_t stop = std::min(end, buffer_.size());
            places.emplace_back(used_, stop - used_);
            used_ = std::min(stop + 1, buffer_.size());
            ++found;
        }
        for (const auto &[at, size] : places)
            add(lines, std::string_view(buffer_).substr(at, size));
        return lines;
    }

  private:
    void add(std::vector<Line> &lines, std::string_view text) {
        ++number_;
        while (!text.empty() && (text.back() == '\r' || text.back() == ' '))
            text.remove_suffix(1);
        if (!text.empty())
            lines.push_back({text, number_});
    }

    bool more() {
        constexpr std::size_t block = 1 << 22;
        searched_ = buffer_.size();
        if (buffer_.size() - used_ > longest_line)
            throw InputError(name_ + ":" + std::to_string(number_ + 1), "a line of more than 256 MiB");
        buffer_.resize(searched_ + block);
        const std::size_t got = read_block(file_, buffer_.data() + searched_, block, name_);
        buffer_.resize(searched_ + got);
        return got > 0;
    }

    std::string_view rest_;
    gzFile file_ = nullptr;
    std::string name_, buffer_;
    std::size_t used_ = 0, searched_ = 0, number_ = 0;
};

/// The cases of `lines` in order, read on all cores.
Run read_lines(const std::string &head, const std::vector<Line> &lines, std::size_t before,
               const std::string &file, const BaselineCheck &check_baseline) {
    std::vector<Run> parts((lines.size() + lines_at_once - 1) / lines_at_once);
    in_parallel(parts.size(), [&](std::size_t i) {
        const std::size_t begin = i * lines_at_once;
        parts[i] = read_piece(head, lines.data() + begin, std::min(lines_at_once, lines.size() - begin),
                              before + begin, file, check_baseline);
    });
    Run all;
    for (Run &part : parts) {
        for (UnreadCase &unread : part.unread)
            all.unread.push_back(
                {all.cases.size() + unread.before, std::move(unread.json), std::move(unread.problems)});
        for (Case &item : part.cases)
            all.cases.push_back(std::move(item));
    }
    return all;
}

void append(Run &run, Run piece) {
    for (UnreadCase &unread : piece.unread)
        run.unread.push_back(
            {run.cases.size() + unread.before, std::move(unread.json), std::move(unread.problems)});
    for (Case &item : piece.cases)
        run.cases.push_back(std::move(item));
}

/// Calls `take` with each piece. Throws InputError where there are cases and none can be read.
void take_pieces(LineSource &source, const std::string &file, const BaselineCheck &check_baseline,
                 const std::function<void(Run)> &take) {
    const std::vector<Line> first = source.next(1);
    if (first.empty())
        throw InputError(file + ":1", "expected a Run document, got an empty file");
    const std::string head_text(first.front().text);
    const Run head = read_whole_run(head_text, file, check_baseline);
    std::size_t before = 0, readable = 0;
    std::vector<InputProblem> problems;
    do {
        const std::vector<Line> lines = source.next(lines_of_a_piece);
        Run piece = read_lines(head_text, lines, before, file, check_baseline);
        before += lines.size();
        readable += piece.cases.size();
        for (const UnreadCase &unread : piece.unread)
            if (problems.size() < 1000)
                problems.insert(problems.end(), unread.problems.begin(), unread.problems.end());
        if (before > 0 && readable == 0 && lines.size() < lines_of_a_piece)
            throw InputError(std::move(problems));
        const bool last = lines.size() < lines_of_a_piece;
        Run whole = head;
        whole.cases = std::move(piece.cases);
        whole.unread = std::move(piece.unread);
        take(std::move(whole));
        if (last)
            return;
    } while (true);
}

} // namespace

bool names_lines(const std::string &file) {
    return file.ends_with(".jsonl") || file.ends_with(".jsonl.gz");
}

bool are_run_lines(std::string_view text) {
    const std::size_t end = text.find('\n');
    std::string_view first = text.substr(0, end);
    while (!first.empty() && (first.back() == '\r' || first.back() == ' '))
        first.remove_suffix(1);
    // A document of JSON on one line holds its cases there.
    return first.starts_with("{") && first.ends_with("}") &&
           first.find("\"convcast/run/") != std::string_view::npos &&
           first.find("\"cases\"") == std::string_view::npos;
}

RunLineWriter::RunLineWriter(const std::string &file, const Run &head) : file_(file) {
    if (file != "-") {
        temporary_ = std::make_unique<TemporaryFile>(file);
        descriptor_ = temporary_->take_descriptor();
    }
    if (file.ends_with(".gz")) {
        packed_ = gzdopen(::dup(descriptor_), "wb6"); // better packing takes more time than the forecasts
        if (packed_ == nullptr)
            throw InputError(file, "cannot be written: out of memory");
    }
    write(head_line(head));
}

RunLineWriter::~RunLineWriter() {
    if (packed_ != nullptr)
        gzclose(packed_);
    if (descriptor_ >= 0)
        ::close(descriptor_);
}

void RunLineWriter::write(const std::string &text) {
    if (!temporary_) {
        text_ += text;
        return;
    }
    if (packed_ != nullptr) {
        if (!text.empty() && gzwrite(packed_, text.data(), static_cast<unsigned>(text.size())) == 0)
            throw InputError(file_, std::string("cannot be written: ") + std::strerror(errno));
        return;
    }
    for (std::size_t at = 0; at < text.size();) {
        const ssize_t written = ::write(descriptor_, text.data() + at, text.size() - at);
        if (written < 0 && errno != EINTR)
            throw InputError(file_, std::string("cannot be written: ") + std::strerror(errno));
        at += static_cast<std::size_t>(std::max<ssize_t>(0, written));
    }
}

namespace {

/// The lines of a document's cases, some of them at a time.
void lines_of(const Run &piece, const std::function<void(const std::string &lines)> &take) {
    std::string block;
    texts_of(
        piece, [](const Case &item) { return to_line(without_terms(item)); },
        [](const UnreadCase &unread) { return in_one_line(unread.json) + "\n"; },
        [&](const std::string &line) {
            block += line;
            constexpr std::size_t worth_a_call = 1 << 20;
            if (block.size() > worth_a_call)
                take(std::exchange(block, {}));
        });
    take(block);
}

} // namespace

void RunLineWriter::add(const Run &piece) {
    lines_of(piece, [&](const std::string &lines) { write(lines); });
}

std::string write_run_lines(const Run &run) {
    std::string text = head_line(run);
    lines_of(run, [&](const std::string &lines) { text += lines; });
    return text;
}

void RunLineWriter::finish() {
    if (!temporary_)
        return write_file_atomically(file_, text_);
    if (packed_ != nullptr && gzclose(std::exchange(packed_, nullptr)) != Z_OK)
        throw InputError(file_, std::string("cannot be written: ") + std::strerror(errno));
    const int descriptor = std::exchange(descriptor_, -1);
    if (::fsync(descriptor) != 0 && errno != EINVAL && errno != EROFS) {
        ::close(descriptor);
        throw InputError(file_, std::string("cannot be written: ") + std::strerror(errno));
    }
    ::close(descriptor);
    temporary_->replace_target();
}

std::string write_run(const Run &run) {
    Run head = run.cases.empty() && run.unread.empty() ? run : head_of(run);
    std::string out = to_text(described::write(head));
    if (run.cases.empty() && run.unread.empty())
        return out;
    const auto indented = [](const JsonValue &json) {
        std::string text;
        for (const char letter : to_text(json))
            text += letter == '\n' ? std::string_view("\n    ") : std::string_view(&letter, 1);
        text.resize(text.size() - 5); // the last line break and what was put behind it
        return text;
    };
    out.resize(out.size() - 3); // "\n}\n"
    out += ",\n  \"cases\": [";
    bool first = true;
    texts_of(
        run, [&](const Case &item) { return indented(described::write(item)); },
        [&](const UnreadCase &unread) { return indented(parse_json(unread.json, "an unread case")); },
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
    const std::unique_ptr<gzFile_s, int (*)(gzFile)> start(gzopen(file.c_str(), "rb"), gzclose);
    if (!start)
        return false;
    std::string head(longest_head, '\0');
    const int got = gzread(start.get(), head.data(), static_cast<unsigned>(head.size()));
    head.resize(static_cast<std::size_t>(std::max(0, got)));
    return are_run_lines(head);
}

std::size_t cases_in_lines(const std::string &file) {
    const std::unique_ptr<gzFile_s, int (*)(gzFile)> all(open_to_read(file), gzclose);
    std::size_t lines = 0, got = 0;
    std::vector<char> block(1 << 20);
    while ((got = read_block(all.get(), block.data(), block.size(), file)) > 0)
        lines += static_cast<std::size_t>(
            std::count(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(got), '\n'));
    return lines > 0 ? lines - 1 : 0;
}

void read_run_pieces(const std::string &file, const BaselineCheck &check_baseline,
                     const std::function<void(Run)> &take) {
    LineSource source(file);
    take_pieces(source, file, check_baseline, take);
}

Run read_run_lines(const std::string &text, const std::string &file, const BaselineCheck &check_baseline,
                   const std::function<void(std::size_t)> &progress) {
    std::optional<Run> run;
    const auto take = [&](Run piece) {
        if (run)
            append(*run, std::move(piece));
        else
            run = std::move(piece);
        if (progress)
            progress(run->cases.size());
    };
    if (text.empty()) {
        read_run_pieces(file, check_baseline, take);
    } else {
        LineSource source{std::string_view(text)};
        take_pieces(source, file, check_baseline, take);
    }
    return std::move(*run);
}

namespace {

/// The elements of the array "cases" of a document, and the document without them; absent where that is not
/// the only such array at its top.
struct CasesInText {
    std::string head;
    std::vector<Line> cases;
};

/// The end of the string whose opening quote is at `at`.
std::size_t end_of_string(std::string_view text, std::size_t at) {
    for (++at; at < text.size() && text[at] != '"'; ++at)
        if (text[at] == '\\')
            ++at;
    return at;
}

std::optional<CasesInText> cases_in(std::string_view text) {
    CasesInText found;
    int depth = 0;
    std::size_t array = 0, begin = 0, array_end = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char letter = text[at];
        if (letter == '"') {
            const std::size_t end = end_of_string(text, at);
            if (depth == 1 && text.substr(at, end + 1 - at) == "\"cases\"") {
                const std::size_t colon = text.find_first_not_of(" \n\r\t", end + 1);
                const std::size_t open =
                    colon < text.size() ? text.find_first_not_of(" \n\r\t", colon + 1) : colon;
                if (array != 0 || open >= text.size() || text[colon] != ':' || text[open] != '[')
                    return std::nullopt;
                array = open;
            }
            at = end;
        } else if (letter == '{' || letter == '[') {
            if (array != 0 && array_end == 0 && depth == 2 && letter == '{')
                begin = at;
            ++depth;
        } else if (letter == '}' || letter == ']') {
            --depth;
            if (array != 0 && array_end == 0 && depth == 2 && letter == '}')
                found.cases.push_back({text.substr(begin, at + 1 - begin), 0});
            if (array != 0 && array_end == 0 && depth == 1 && letter == ']')
                array_end = at;
        } else if (array != 0 && array_end == 0 && depth == 2 && letter != ',' && letter != ' ' &&
                   letter != '\n' && letter != '\r' && letter != '\t') {
            return std::nullopt; // an element that is no object
        }
    }
    if (array_end == 0 || depth != 0 || found.cases.empty())
        return std::nullopt;
    const std::size_t comma = text.substr(0, array).rfind(',');
    if (comma == std::string_view::npos ||
        text.find_first_not_of(" \n\r\t", array_end + 1) == std::string_view::npos)
        return std::nullopt;
    found.head = std::string(text.substr(0, comma)) + std::string(text.substr(array_end + 1));
    return found;
}

} // namespace

std::optional<Run> read_in_pieces(const std::string &text, const std::string &file,
                                  const BaselineCheck &check_baseline) {
    const std::optional<CasesInText> found = cases_in(text);
    if (!found)
        return std::nullopt;
    try {
        Run run = read_whole_run(found->head, file, check_baseline);
        run.cases.reserve(found->cases.size());
        Run cases = read_lines(found->head, found->cases, 0, file, check_baseline);
        if (!cases.unread.empty())
            return std::nullopt;
        run.cases = std::move(cases.cases);
        return run;
    } catch (const InputError &) {
        return std::nullopt;
    }
}

} // namespace convcast
