#include "executor/timeline/stamp.hpp"

#include "model/base/errors.hpp"

#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>

namespace convcast {
namespace {

/// The place of the parenthesis that closes the one at `open`; npos if none does.
std::size_t closing(std::string_view text, std::size_t open) {
    int depth = 0;
    for (std::size_t i = open; i < text.size(); ++i) {
        depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
        if (depth == 0)
            return i;
    }
    return std::string_view::npos;
}

bool in_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// The place of the parenthesis in the first "name(" from `from` on whose name is not the end of a longer
/// word; npos if there is none.
std::size_t bracket_behind(std::string_view text, const std::string &name, std::size_t from) {
    for (std::size_t at = text.find(name + "(", from); at != std::string_view::npos;
         at = text.find(name + "(", at + 1))
        if (at == 0 || !in_word(text[at - 1]))
            return at + name.size();
    return std::string_view::npos;
}

} // namespace

std::string stamped_source(const std::string &source, const std::string &kernel) {
    constexpr std::size_t none = std::string::npos;
    // Each place is npos if one before it was not found.
    const std::size_t global = source.find("__global__");
    const std::size_t open = global == none ? none : bracket_behind(source, kernel, global);
    const std::size_t close = open == none ? none : closing(source, open);
    const std::size_t body = close == none ? none : source.find_first_not_of(" \n", close + 1);
    const std::size_t arguments = close == none ? none : source.rfind("ConvArgs", close);
    if (body == none || source[body] != '{' || arguments == none || arguments < open)
        throw UsageError("the source of " + kernel +
                         " has no kernel template of that name that ends in ConvArgs");
    return stamp_sources.front().text() + source.substr(0, arguments) + "void *convcast_output, " +
           source.substr(arguments, body + 1 - arguments) +
           "\n    const convcast_stamp::Stamp convcast_span(convcast_output);" + source.substr(body + 1);
}

} // namespace convcast
