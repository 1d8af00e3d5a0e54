# convcast_precompile(TARGET [FROM OTHER] [HEADERS...]): TARGET parses the standard headers, and HEADERS, once instead of in
# every file; FROM shares what OTHER has parsed. Files still include what they use: .ci/static compiles each header alone.
set(convcast_precompiled <algorithm> <array> <cmath> <cstdint> <functional> <limits> <map> <memory> <numeric> <optional>
    <set> <span> <string> <utility> <variant> <vector> <boost/describe.hpp> <boost/mp11.hpp> <fmt/format.h>)
function(convcast_precompile target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "FROM" "HEADERS")
    target_link_libraries(${target} PRIVATE fmt::fmt) # its definitions are part of what was parsed
    if(arg_FROM)
        target_precompile_headers(${target} REUSE_FROM ${arg_FROM})
    else()
        target_precompile_headers(${target} PRIVATE ${convcast_precompiled} ${arg_HEADERS})
    endif()
endfunction()

# convcast_quick(TARGET): a target without hot loops is built at -O1, which takes a fifth less time than -O2.
function(convcast_quick target)
    target_compile_options(${target} PRIVATE -O1)
endfunction()
