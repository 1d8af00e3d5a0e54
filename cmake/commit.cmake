# cmake -D SOURCE=FOLDER -D HEADER=FILE -P commit.cmake: writes the commit of a checkout into a header, "" without one.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND git -C ${SOURCE} describe --always --abbrev=40 --dirty --exclude=*
    OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
execute_process(COMMAND git -C ${SOURCE} rev-parse --show-toplevel
    OUTPUT_VARIABLE top ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
if(failed OR NOT top STREQUAL SOURCE) # a checkout of something else that the source lies in
    set(commit "")
endif()
file(CONFIGURE OUTPUT ${HEADER} CONTENT "#define CONVCAST_COMMIT \"@commit@\"\n" @ONLY)
