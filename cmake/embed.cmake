# convcast_embed(TARGET VARIABLE FILES...): the files' text, compiled into TARGET as
#   extern const std::vector<convcast::EmbeddedFile> convcast::VARIABLE   (model/base/embedded.hpp)
# in the order given, under their paths relative to the project.
function(convcast_embed target variable)
    set(output ${CMAKE_CURRENT_BINARY_DIR}/${variable}.cpp)
    set(inputs ${ARGN})
    list(TRANSFORM inputs PREPEND ${PROJECT_SOURCE_DIR}/)
    add_custom_command(OUTPUT ${output}
        COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DVARIABLE=${variable} -DROOT=${PROJECT_SOURCE_DIR}
            "-DFILES=${ARGN}" -P ${PROJECT_SOURCE_DIR}/cmake/write_embedded.cmake
        DEPENDS ${inputs} ${PROJECT_SOURCE_DIR}/cmake/write_embedded.cmake VERBATIM)
    target_sources(${target} PRIVATE ${output})
endfunction()

# convcast_embed_bytes(TARGET FUNCTION FILES...): the files' bytes, compiled into TARGET as
#   std::vector<convcast::EmbeddedBytes> convcast::FUNCTION()   (model/base/embedded.hpp)
function(convcast_embed_bytes target variable)
    set(output ${CMAKE_CURRENT_BINARY_DIR}/${variable}.cpp)
    set(inputs ${ARGN})
    list(TRANSFORM inputs PREPEND ${PROJECT_SOURCE_DIR}/)
    add_custom_command(OUTPUT ${output}
        COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DVARIABLE=${variable} -DROOT=${PROJECT_SOURCE_DIR}
            "-DFILES=${ARGN}" -P ${PROJECT_SOURCE_DIR}/cmake/write_embedded_bytes.cmake
        DEPENDS ${inputs} ${PROJECT_SOURCE_DIR}/cmake/write_embedded_bytes.cmake VERBATIM)
    set_source_files_properties(${output} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
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
