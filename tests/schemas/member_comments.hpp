// The comments of a struct's members, from the text of the header that declares it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace convcast::cli {

/// A struct as its header declares it.
struct CommentedStruct {
    std::string comment;                        ///< of the struct
    std::vector<std::string> bases;             ///< whose members it has, too
    std::map<std::string, std::string> members; ///< comment by name; empty where there is none
};

using CommentedStructs = std::map<std::string, CommentedStruct>;

/// Adds the structs of a header. Comments are those that begin with three slashes.
void read_comments(std::string_view header, CommentedStructs &structs);

/// The comment of a member of a struct or of one of its bases; "" where there is none.
std::string comment_of(const CommentedStructs &structs, const std::string &name, const std::string &member);

} // namespace convcast::cli
