// What compute-sanitizer said, by kernel.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

struct Access {
    std::string kind; ///< "Read", "Write"
    std::string
        function;     ///< in which it stands, as kernel_in() has it: a kernel, or a function that it calls
    std::string file; ///< without folders; empty if the tool knows no lines
    int line = 0;     ///< from 1; 0: not known
};

struct Finding {
    std::string kernel;       ///< "implicit_gemm_3xtf32<3, 33, 9>"; empty if the tool names none
    std::string text;         ///< what is reported and where, as the tool puts it, without its kernel names
    std::int64_t hazards = 1; ///< as the tool counts them, over all launches
    std::vector<Access> accesses; ///< those of racecheck's analysis, in its order
};

/// "void ring<(int)3, (bool)1>(const float *, int)+0x430" as name_expression() writes it: "ring<3, 1>", and
/// "ring" of one that is no template. Empty if there is no kernel in `text`.
std::string kernel_in(std::string_view text);

struct ToolLog {
    std::vector<Finding> findings; ///< equal ones added up
    bool ended = false;            ///< the tool saw the end of its program, and all that it reports is there
};

/// What racecheck's analysis or synccheck says.
ToolLog read_tool_log(std::string_view log);

} // namespace convcast
