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

/// A number behind the first match of an expression in the drawing.
inline double number_in(const std::string &svg, const char *expression) {
    std::smatch found;
    return std::regex_search(svg, found, std::regex(expression)) ? std::stod(found[1]) : 0.0;
}

inline double drawing_width(const std::string &svg) {
    return number_in(svg, "viewBox=\"0 0 ([0-9.]+) ");
}

/// The size of its text; a drawing for the page has the page's.
inline double text_size_of(const std::string &svg) {
    const double size = number_in(svg, "text\\{font:([0-9.]+)px");
    return size > 0.0 ? size : 11.0;
}

/// Where the drawing's horizontal words lie, from the SVG alone.
inline std::vector<Box> word_boxes(const std::string &svg) {
    std::vector<Box> boxes;
    const double size = text_size_of(svg);
    const std::regex word("<text x=\"([^\"]+)\" y=\"([^\"]+)\" text-anchor=\"(\\w+)\"( class=\"strong\")?(?: "
                          "class=\"light\")?>([^<]*)</text>");
    for (std::sregex_iterator it(svg.begin(), svg.end(), word), end; it != end; ++it) {
        const double bold = (*it)[4].matched ? 1.12 : 1.0;
        const double width = bold * text_width(unescape((*it)[5]), size), x = std::stod((*it)[1]),
                     y = std::stod((*it)[2]);
        const double left = (*it)[3] == "start" ? x : (*it)[3] == "end" ? x - width : x - width / 2.0;
        boxes.push_back({left, left + width, y - 0.77 * size, y + 0.22 * size, (*it)[5]});
    }
    return boxes;
}

/// Every word inside the drawing, none on another.
inline void expect_words_apart(const std::string &svg, const std::string &name) {
    const std::vector<Box> boxes = word_boxes(svg);
    ASSERT_FALSE(boxes.empty());
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        EXPECT_GE(boxes[i].left, 0.0) << name << ": " << boxes[i].text;
        EXPECT_LE(boxes[i].right, drawing_width(svg)) << name << ": " << boxes[i].text;
        for (std::size_t j = i + 1; j < boxes.size(); ++j) {
            const bool apart = boxes[i].right <= boxes[j].left || boxes[j].right <= boxes[i].left ||
                               boxes[i].bottom <= boxes[j].top || boxes[j].bottom <= boxes[i].top;
            EXPECT_TRUE(apart) << name << ": '" << boxes[i].text << "' on '" << boxes[j].text << "'";
        }
    }
}

/// On a screen, in a column and on a page.
inline void expect_no_overlap(const Figure &figure) {
    expect_words_apart(to_svg(figure, SvgUse::in_page), figure.id + " on the page");
    expect_words_apart(to_svg(figure, SvgUse::in_column), figure.id + " in a column of the page");
    expect_words_apart(to_svg(figure, SvgUse::standalone), figure.id + " in a column");
    expect_words_apart(to_svg(figure, SvgUse::standalone, PaperWidth::page()), figure.id + " across a page");
}

} // namespace convcast
