// A text with values to fill in: "{found:times} as fast as cuDNN[, forecast {guess:times}|, without a
// forecast]". A value is an expression in braces with a format; alternatives stand in brackets.
#pragma once

#include "model/shape/expression.hpp"

#include <string>
#include <vector>

namespace convcast {

/// Part of a sentence: words, a value with its format, or a choice, which stands for the first alternative
/// whose values are all there, or for nothing if there is none such.
struct SentencePart {
    enum class Kind { words, value, choice };
    Kind kind = Kind::words;
    std::string words; ///< the words, or the format of a value
    Expression value;
    std::vector<std::vector<SentencePart>> alternatives;
};
using Sentence = std::vector<SentencePart>;

/// Formats of values: "times" 1.56×, "µs" 3.14 of seconds, "grouped" 66,048, "signed" +3.1 % of a share,
/// "hex", and "?" nothing: a choice then asks only whether the value is there. Digits as in ".2f" are formats
/// too. Without a format a number has the fewest digits that read back as it.
std::vector<std::string> sentence_formats();

/// Throws UsageError with the text, what is wrong with it and an example.
Sentence parse_sentence(const std::string &text);

} // namespace convcast
