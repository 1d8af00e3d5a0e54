#include "tests/schemas/member_comments.hpp"

#include "model/base/text.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace convcast::cli {
namespace {

bool is_name_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

void append(std::string &text, std::string_view more) {
    more = trimmed(more);
    text += (text.empty() || more.empty() ? "" : " ") + std::string(more);
}

/// The last word of a declarator without its initializer: "b" of "std::optional<int> a, b = 3" is one of two.
std::string last_word(std::string_view text) {
    std::size_t end = text.size();
    while (end > 0 && !is_name_letter(text[end - 1]))
        --end;
    std::size_t begin = end;
    while (begin > 0 && is_name_letter(text[begin - 1]))
        --begin;
    return std::string(text.substr(begin, end - begin));
}

/// Names that a declaration of members declares; none of a function or a constant.
std::vector<std::string> names_of(std::string_view declaration) {
    if (declaration.find("static ") != std::string_view::npos || declaration.starts_with("using "))
        return {};
    std::vector<std::string> names;
    std::string part;
    int depth = 0;
    bool initializer = false;
    for (const char c : declaration) {
        if (c == '(' && !initializer)
            return {};
        depth += c == '<' || c == '{' ? 1 : c == '>' || c == '}' ? -1 : 0;
        initializer = (initializer || c == '=' || c == '{') && !(c == ',' && depth == 0);
        if (depth == 0 && c == ',') {
            names.push_back(last_word(part));
            part.clear();
        } else if (!initializer && depth == 0 && c != '}') {
            part += c;
        }
    }
    names.push_back(last_word(part));
    return names;
}

/// Goes through a header line by line.
class HeaderReader {
  public:
    explicit HeaderReader(CommentedStructs &structs) : structs_(structs) {}

    void take(std::string_view line) {
        line = trimmed(line);
        if (line.starts_with("///<"))
            return comment_behind(line.substr(4));
        if (line.starts_with("///"))
            return append(pending_, line.substr(3));
        if (!behind_.empty() && !line.starts_with("//"))
            behind_.clear();
        if (line.starts_with("struct ") && line.find(';') == std::string_view::npos)
            return begin_struct(line);
        if (line.starts_with("};")) {
            name_.clear();
            return reset();
        }
        if (in_bases_)
            return take_bases(line);
        if (name_.empty() || line.empty() || line.starts_with("//") || line.starts_with("BOOST_"))
            return reset();
        take_member(line);
    }

  private:
    void reset() {
        pending_.clear();
        declaration_.clear();
    }

    void begin_struct(std::string_view line) {
        line.remove_prefix(7);
        std::size_t end = 0;
        while (end < line.size() && is_name_letter(line[end]))
            ++end;
        name_ = std::string(line.substr(0, end));
        structs_[name_].comment = pending_;
        reset();
        in_bases_ = true;
        take_bases(line.substr(end));
    }

    /// ": A, B {", perhaps over several lines.
    void take_bases(std::string_view text) {
        std::string word;
        for (const char c : text) {
            if (is_name_letter(c)) {
                word += c;
                continue;
            }
            if (!word.empty() && word != "public")
                structs_[name_].bases.push_back(word);
            word.clear();
            in_bases_ = in_bases_ && c != '{';
            if (!in_bases_)
                break;
        }
        if (text.find('}') != std::string_view::npos) // struct A {};
            name_.clear();
    }

    void take_member(std::string_view line) {
        const std::size_t comment = line.find("///<");
        append(declaration_, line.substr(0, comment));
        const bool ends = declaration_.ends_with(';') || declaration_.ends_with('}');
        if (!ends && comment == std::string_view::npos)
            return;
        behind_ = ends ? names_of(std::string_view(declaration_).substr(0, declaration_.size() - 1))
                       : std::vector<std::string>();
        for (const std::string &member : behind_)
            structs_[name_].members[member] = pending_;
        if (comment != std::string_view::npos)
            comment_behind(line.substr(comment + 4));
        if (ends)
            reset();
    }

    /// What stands behind a declaration is of all its names.
    void comment_behind(std::string_view text) {
        if (behind_.empty())
            return append(pending_, text);
        for (const std::string &member : behind_)
            append(structs_[name_].members[member], text);
    }

    CommentedStructs &structs_;
    std::string name_, pending_, declaration_;
    std::vector<std::string> behind_; ///< members that the last line declared
    bool in_bases_ = false;
};

} // namespace

void read_comments(std::string_view header, CommentedStructs &structs) {
    HeaderReader reader(structs);
    for (const std::string_view line : lines_of(header))
        reader.take(line);
}

std::string comment_of(const CommentedStructs &structs, const std::string &name, const std::string &member) {
    const auto found = structs.find(name);
    if (found == structs.end())
        return "";
    if (const auto own = found->second.members.find(member); own != found->second.members.end())
        return own->second;
    for (const std::string &base : found->second.bases)
        if (base != name)
            if (std::string text = comment_of(structs, base, member); !text.empty())
                return text;
    return "";
}

} // namespace convcast::cli
