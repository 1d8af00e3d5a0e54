// Where the words of a drawing lie.
#pragma once

#include "reports/figure.hpp"

#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

namespace convcast {

inline std::string unescape(std::string text) {
    for (const auto &[entity, character] :
         {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}})
        for (std::size_t at; (at = text.find(entity)) != std::string::npos;)
            text.replace(at, std::string(entity).size(), character);
    return text;
}

struct Box {
    double left, right, top, bottom;
    std::string text;
};

/// Where the drawing's horizontal words lie, from the SVG alone.
inline std::vector<Box> word_boxes(const std::string &svg) {
    std::vector<Box> boxes;
    const std::regex word("<text x=\"([^\"]+)\" y=\"([^\"]+)\" text-anchor=\"(\\w+)\">([^<]*)</text>");
    for (std::sregex_iterator it(svg.begin(), svg.end(), word), end; it != end; ++it) {
        const double width = text_width(unescape((*it)[4]), 11.0), x = std::stod((*it)[1]),
                     y = std::stod((*it)[2]);
        const double left = (*it)[3] == "start" ? x : (*it)[3] == "end" ? x - width : x - width / 2.0;
        boxes.push_back({left, left + width, y - 8.5, y + 2.5, (*it)[4]});
    }
    return boxes;
}

inline void expect_no_overlap(const Figure &figure) {
    const std::vector<Box> boxes = word_boxes(to_svg(figure, SvgUse::standalone));
    ASSERT_FALSE(boxes.empty());
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        EXPECT_GE(boxes[i].left, 0.0) << figure.id << ": " << boxes[i].text;
        EXPECT_LE(boxes[i].right, 560.0) << figure.id << ": " << boxes[i].text;
        for (std::size_t j = i + 1; j < boxes.size(); ++j) {
            const bool apart = boxes[i].right <= boxes[j].left || boxes[j].right <= boxes[i].left ||
                               boxes[i].bottom <= boxes[j].top || boxes[j].bottom <= boxes[i].top;
            EXPECT_TRUE(apart) << figure.id << ": '" << boxes[i].text << "' on '" << boxes[j].text << "'";
        }
    }
}

} // namespace convcast
