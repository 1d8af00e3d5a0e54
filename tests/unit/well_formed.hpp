// A small check that text is well-formed XML, so that the tests need no XML library.
#pragma once

#include <string>
#include <vector>

namespace convcast {

/// "" or what is wrong: tags that do not nest, a bare & or <, an attribute without quotes, an unknown entity.
inline std::string xml_problem(const std::string &xml) {
    std::vector<std::string> open;
    const auto entity_problem = [](const std::string &text) -> std::string {
        for (std::size_t at = text.find('&'); at != std::string::npos; at = text.find('&', at + 1)) {
            const std::string name = text.substr(at, text.find(';', at) - at);
            if (name != "&amp" && name != "&lt" && name != "&gt" && name != "&quot" && name != "&#39")
                return "bad entity " + name.substr(0, 20);
        }
        return "";
    };
    std::size_t at = 0;
    while (at < xml.size()) {
        const std::size_t tag = xml.find('<', at);
        if (const std::string problem = entity_problem(xml.substr(at, tag - at)); !problem.empty())
            return problem;
        if (tag == std::string::npos)
            break;
        std::size_t end = tag + 1;
        for (bool quoted = false; end < xml.size() && (quoted || xml[end] != '>'); ++end) {
            if (xml[end] == '"')
                quoted = !quoted;
            if (xml[end] == '<')
                return "< inside a tag: " + xml.substr(tag, 60);
        }
        if (end >= xml.size())
            return "unfinished tag " + xml.substr(tag, 60);
        const std::string inside = xml.substr(tag + 1, end - tag - 1);
        if (const std::string problem = entity_problem(inside); !problem.empty())
            return problem;
        const std::string name = inside.substr(0, inside.find_first_of(" /\n", 1));
        if (name.front() == '/') {
            if (open.empty() || open.back() != name.substr(1))
                return "<" + name + "> closes nothing that is open";
            open.pop_back();
        } else if (inside.back() != '/') {
            open.push_back(name);
        }
        for (std::size_t equals = inside.find('='); equals != std::string::npos;) {
            if (equals + 1 >= inside.size() || inside[equals + 1] != '"')
                return "attribute without quotes in <" + inside.substr(0, 60);
            const std::size_t close = inside.find('"', equals + 2);
            equals = close == std::string::npos ? close : inside.find('=', close);
        }
        at = end + 1;
    }
    return open.empty() ? "" : "<" + open.back() + "> is never closed";
}

} // namespace convcast
