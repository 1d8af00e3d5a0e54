// A text with values to fill in: "{found:times} as fast as cuDNN[, forecast {guess:times}| without a
// forecast]".
#pragma once

#include "model/shape/expression.hpp"

#include <string>
#include <vector>

namespace convcast {

/// Part of a sentence: words, a value with its format, or a choice: the first alternative whose values are
/// all there, which may be none.
struct SentencePart {
    enum class Kind { words, value, choice };
    Kind kind = Kind::words;
    std::string words; ///< of a value: its format
    Expression value;
    std::vector<std::vector<SentencePart>> alternatives;
};
using Sentence = std::vector<SentencePart>;

/// Formats of values: "times" 1.56×, "µs" 3.14 of seconds, "grouped" 66,048, "signed" +3.1 % of a share,
/// "hex", "?" nothing (a choice asks whether it is there), and as in ".2f" digits. Without one: the digits
/// that read back, or the text.
std::vector<std::string> sentence_formats();

/// Throws UsageError with the text, what is wrong with it and an example.
Sentence parse_sentence(const std::string &text);

} // namespace convcast
