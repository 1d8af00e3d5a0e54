#include "model/record/sentence.hpp"

#include "model/base/errors.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <vector>

namespace convcast {
namespace {

// Chosen: more than anybody writes, so that no broken file ends the program.
constexpr std::size_t longest_sentence = 4000; ///< bytes
constexpr int deepest_choice = 8;

/// ".2f": a point, a digit and a letter.
bool is_digits_format(const std::string &format) {
    return format.size() == 3 && format[0] == '.' &&
           std::isdigit(static_cast<unsigned char>(format[1])) != 0 &&
           (format[2] == 'f' || format[2] == 'e' || format[2] == 'g');
}

/// Reads a text from left to right; `at_` is the next character. Its functions throw as parse_sentence does.
class SentenceReader {
  public:
    explicit SentenceReader(const std::string &text) : text_(text) {}

    Sentence read() {
        if (text_.size() > longest_sentence)
            wrong("is longer than " + std::to_string(longest_sentence) + " characters");
        Sentence out = parts(0);
        if (at_ < text_.size())
            wrong(std::string("has '") + text_[at_] + "' without a '[' before it");
        return out;
    }

  private:
    [[noreturn]] void wrong(const std::string &what) const {
        throw UsageError("the sentence '" + shortened(text_) + "' " + what + " (character " +
                         std::to_string(at_ + 1) +
                         "); an example: \"{found:times} as fast[, forecast {guess:times}]\"");
    }

    /// The parts up to the end of the text or, within a choice (depth > 0), up to its '|' or ']'.
    Sentence parts(int depth) {
        if (depth > deepest_choice)
            wrong("has choices more than " + std::to_string(deepest_choice) + " deep");
        Sentence out;
        while (at_ < text_.size() && (depth == 0 || text_[at_] != '|') && text_[at_] != ']') {
            if (text_[at_] == '[')
                out.push_back(choice(depth + 1));
            else if (text_[at_] == '{')
                out.push_back(value());
            else
                out.push_back(words(depth));
        }
        return out;
    }

    /// Words up to the next sign; '|' is one only within a choice.
    SentencePart words(int depth) {
        const std::size_t end = std::min(text_.find_first_of(depth == 0 ? "[]{" : "[]{|", at_), text_.size());
        SentencePart part;
        part.words = text_.substr(at_, end - at_);
        at_ = end;
        return part;
    }

    SentencePart choice(int depth) {
        SentencePart part;
        part.kind = SentencePart::Kind::choice;
        do {
            ++at_; // [ or |
            part.alternatives.push_back(parts(depth));
        } while (at_ < text_.size() && text_[at_] == '|');
        if (at_ == text_.size())
            wrong("lacks a ']'");
        ++at_;
        return part;
    }

    /// "{expression:format}". Texts of an expression stand in single quotes and may have any sign; the last
    /// colon outside of them begins the format.
    SentencePart value() {
        const std::size_t begin = at_ + 1;
        std::size_t colon = std::string::npos, end = begin;
        for (bool quoted = false; end < text_.size() && (quoted || text_[end] != '}'); ++end) {
            if (text_[end] == '\'')
                quoted = !quoted;
            if (text_[end] == ':' && !quoted)
                colon = end;
        }
        if (end == text_.size())
            wrong("lacks a '}'");
        SentencePart part;
        part.kind = SentencePart::Kind::value;
        if (colon != std::string::npos)
            part.words = text_.substr(colon + 1, end - colon - 1);
        const std::vector<std::string> known = sentence_formats();
        if (!part.words.empty() && !is_digits_format(part.words) &&
            std::find(known.begin(), known.end(), part.words) == known.end())
            wrong("has the format '" + shortened(part.words) + "', expected one of " + join(known) +
                  " or digits as in .2f" + did_you_mean(part.words, known));
        part.value = parse_expression(text_.substr(begin, std::min(colon, end) - begin));
        at_ = end + 1;
        return part;
    }

    const std::string &text_;
    std::size_t at_ = 0;
};

} // namespace

std::vector<std::string> sentence_formats() {
    return {"times", "µs", "grouped", "signed", "hex", "?"};
}

Sentence parse_sentence(const std::string &text) {
    return SentenceReader(text).read();
}

} // namespace convcast
