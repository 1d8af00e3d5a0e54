#include "model/base/described.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <vector>

namespace convcast::described {

std::string out_of_range(const char *what, double value, const Range &range) {
    return fmt::format("expected {} from {:g} to {:g}, got {:g}", what, range.low, range.high, value);
}

std::string place_in(const JsonValue &document, const std::string &file, const std::string &path) {
    const JsonValue *at = &document;
    for (std::size_t begin = 1; begin < path.size();) {
        const std::size_t end = std::min(path.find('/', begin), path.size());
        const std::string part = path.substr(begin, end - begin);
        const JsonValue *next = at->find(part);
        if (const JsonArray *array = at->array()) {
            std::size_t index = array->size();
            std::from_chars(part.data(), part.data() + part.size(), index);
            next = index < array->size() ? &(*array)[index] : nullptr;
        }
        if (next == nullptr)
            break;
        at = next;
        begin = end + 1;
    }
    return file + ":" + std::to_string(at->line()) + ": " + path;
}

std::vector<InputProblem> with_lines(std::vector<InputProblem> problems, const std::string &text,
                                     const std::string &file) {
    if (problems.empty())
        return problems;
    const JsonValue document = parse_json(text, file);
    for (InputProblem &problem : problems)
        if (const std::string begin = file + ": "; problem.place.starts_with(begin + "/"))
            problem.place = place_in(document, file, problem.place.substr(begin.size()));
    return problems;
}

} // namespace convcast::described
