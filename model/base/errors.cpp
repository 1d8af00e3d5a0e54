#include "model/base/errors.hpp"

#include "model/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convcast {
namespace {

std::string describe(const std::vector<InputProblem> &problems) {
    constexpr std::size_t shown = 20; // a file of another version has the same problem in every case
    std::string text;
    for (std::size_t i = 0; i < std::min(shown, problems.size()); ++i)
        text += (text.empty() ? "" : "\n") + problems[i].place + ": " + problems[i].message;
    if (problems.size() > shown)
        text += "\nand " + std::to_string(problems.size() - shown) + " more problems";
    return text;
}

/// The Levenshtein distance, in bytes.
std::size_t edit_distance(const std::string &a, const std::string &b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
        }
    }
    return row[b.size()];
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/// Whether two names of one length differ in digits alone: h100 is another GPU than h200, no slip of it.
bool another_number(const std::string &a, const std::string &b) {
    if (a == b || a.size() != b.size())
        return false;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (a[i] != b[i] && !(is_digit(a[i]) && is_digit(b[i])))
            return false;
    return true;
}

/// Whether a name has all parts of a word between '_': dram_read_bandwidth has dram_bandwidth's.
bool has_parts(const std::string &name, const std::string &word) {
    const std::vector<std::string> parts = split(word, '_');
    return std::all_of(parts.begin(), parts.end(),
                       [&](const std::string &part) { return name.find(part) != std::string::npos; });
}

/// "'resnet50_b1' or 'resnet50_b32'": the names that begin with a word, else those that contain it, else
/// those that contain its parts. Of more than four names the first three and how many there are. "" if there
/// are none, more than four that have only its parts, or a word of less than three letters.
std::string names_with(const std::string &word, const std::vector<std::string> &known) {
    constexpr std::size_t least_letters = 3, most_names = 4;
    if (word.size() < least_letters)
        return {};
    const std::string wanted = lower(word);
    std::vector<std::string> beginning, containing, in_parts;
    for (const std::string &candidate : known) {
        const std::size_t at = lower(candidate).find(wanted);
        if (at == 0)
            beginning.push_back("'" + candidate + "'");
        else if (at != std::string::npos)
            containing.push_back("'" + candidate + "'");
        else if (has_parts(lower(candidate), wanted))
            in_parts.push_back("'" + candidate + "'");
    }
    std::vector<std::string> &found = !beginning.empty()    ? beginning
                                      : !containing.empty() ? containing
                                                            : in_parts;
    if (found.empty() || (found.size() > most_names && &found == &in_parts))
        return {};
    if (const std::size_t all = found.size(); all > most_names) {
        found.resize(most_names - 1);
        found.push_back("another of the " + std::to_string(all) + " that have it in their names");
    }
    const std::string last = found.back();
    found.pop_back();
    return found.empty() ? last : join(found) + " or " + last;
}

} // namespace

InputError::InputError(std::vector<InputProblem> found)
    : std::runtime_error(describe(found)), problems(std::move(found)) {}

InputError::InputError(std::string place, std::string message)
    : InputError(std::vector<InputProblem>{{std::move(place), std::move(message)}}) {}

std::string did_you_mean(const std::string &word, const std::vector<std::string> &known) {
    constexpr std::size_t longest = 64; // no name is longer, and the distance costs the square of it
    if (word.size() > longest)
        return ".";
    std::string best;
    // A name is close if less than a third of the word is wrong; of a short word up to two letters may be.
    std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
    for (const std::string &candidate : known) {
        const std::size_t distance = edit_distance(word, candidate);
        if (distance < best_distance && !another_number(word, candidate)) {
            best_distance = distance;
            best = candidate;
        }
    }
    if (best_distance > 1) // a part that was typed right says more than a word that is a little like it
        if (const std::string parts = names_with(word, known); !parts.empty())
            return "; did you mean " + parts + "?";
    return best.empty() ? "." : "; did you mean '" + best + "'?";
}

std::string shortened(std::string_view text, std::size_t most) {
    if (text.size() <= most)
        return std::string(text);
    std::size_t end = most;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
        --end;
    return std::string(text.substr(0, end)) + "... (" + std::to_string(text.size()) + " bytes)";
}

std::string printable(std::string_view text, Emphasis allowed) {
    constexpr std::string_view weights[] = {"\x1b[1m", "\x1b[0m"}; // bold, and back to normal
    std::string shown;
    const auto code = [&](unsigned value) { shown += fmt::format("\\x{:02x}", value); };
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const std::string_view *weight =
            std::find_if(std::begin(weights), std::end(weights),
                         [&](std::string_view w) { return text.substr(i).starts_with(w); });
        if (allowed == Emphasis::ours && weight != std::end(weights)) {
            shown += *weight;
            i += weight->size() - 1;
        } else if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F) {
            code(byte);
        } else if (byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0) {
            code(static_cast<unsigned char>(text[++i])); // U+0080 to U+009F
        } else {
            shown += text[i];
        }
    }
    return shown;
}

std::string join(const std::vector<std::string> &words, const std::string &separator) {
    std::string text;
    for (const std::string &word : words)
        text += (text.empty() ? "" : separator) + word;
    return text;
}

std::string join_some(const std::vector<std::string> &words, std::size_t most) {
    if (words.size() <= most)
        return join(words);
    return join({words.begin(), words.begin() + static_cast<std::ptrdiff_t>(most)}) + " and " +
           std::to_string(words.size() - most) + " more";
}

} // namespace convcast
