# A raw string literal holds at most 16 KB with some compilers and 64 KB by the standard, so the text is cut
# into pieces that are concatenated at start-up.
set(text "#include \"model/base/embedded.hpp\"\n\nnamespace convcast {\nextern const std::vector<EmbeddedFile> ${VARIABLE};\nconst std::vector<EmbeddedFile> ${VARIABLE} = {\n")
foreach(file IN LISTS FILES)
    file(READ ${ROOT}/${file} rest)
    # The hash of such a text stands in what was recorded with it: moving a header inside model/ leaves it as it is.
    string(REGEX REPLACE "(#include \"model/)[a-z]+/" "\\1" rest "${rest}")
    string(LENGTH "${rest}" length)
    string(APPEND text "    {\"${file}\", join_text({")
    set(at 0)
    while(at LESS length)
        string(SUBSTRING "${rest}" ${at} 12000 piece)
        string(APPEND text "R\"CONVCAST(${piece})CONVCAST\",\n")
        math(EXPR at "${at} + 12000")
    endwhile()
    string(APPEND text "})},\n")
endforeach()
string(APPEND text "};\n} // namespace convcast\n")
file(WRITE ${OUTPUT} "${text}")
