# convcast_embed(TARGET VARIABLE FILES...): the files' bytes, in TARGET as
#   extern const std::vector<convcast::EmbeddedFile> convcast::VARIABLE   (model/base/embedded.hpp)
# in the order given, under their paths relative to the project. The assembler puts the files themselves into the program.
function(convcast_embed target variable)
    set(bytes "")
    set(symbols "")
    set(entries "")
    set(inputs "")
    set(number 0)
    foreach(file IN LISTS ARGN)
        set(symbol convcast_${variable}_${number})
        string(APPEND bytes "    \".globl ${symbol}\\n.globl ${symbol}_end\\n\"\n"
            "    \"${symbol}: .incbin \\\"${PROJECT_SOURCE_DIR}/${file}\\\"\\n${symbol}_end: .byte 0\\n\"\n")
        string(APPEND symbols "extern \"C\" const char ${symbol}[], ${symbol}_end[];\n")
        string(APPEND entries "    {\"${file}\", {${symbol}, ${symbol}_end}},\n")
        list(APPEND inputs ${PROJECT_SOURCE_DIR}/${file})
        math(EXPR number "${number} + 1")
    endforeach()
    set(output ${CMAKE_CURRENT_BINARY_DIR}/${variable}.cpp)
    file(CONFIGURE OUTPUT ${output} @ONLY CONTENT "// By convcast_embed of cmake/embed.cmake.
#include \"model/base/embedded.hpp\"

asm(\".pushsection .rodata\\n\"
${bytes}    \".popsection\\n\");
${symbols}
namespace convcast {
extern const std::vector<EmbeddedFile> ${variable};
const std::vector<EmbeddedFile> ${variable} = {
${entries}};
} // namespace convcast
")
    set_source_files_properties(${output} PROPERTIES OBJECT_DEPENDS "${inputs}" SKIP_UNITY_BUILD_INCLUSION ON)
    target_sources(${target} PRIVATE ${output})
endfunction()

# convcast_embed_all(TARGET VARIABLE PATTERNS...): convcast_embed of the files that match, numbers in names in their order,
# so that a file that is added to the folder is all that a new profile, network or architecture takes.
function(convcast_embed_all target variable)
    list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE patterns)
    file(GLOB files CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${patterns})
    list(SORT files COMPARE NATURAL)
    convcast_embed(${target} ${variable} ${files})
endfunction()
