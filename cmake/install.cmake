# What `cmake --install` puts on a system: the program with its manual pages and completion, what a user may want to read,
# and the model as a library (components `program` and `development`).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Manual pages and completion are printed by the program itself, from the texts of its --help.
set(convcast_made ${PROJECT_BINARY_DIR}/made)
file(GLOB convcast_verbs RELATIVE ${PROJECT_SOURCE_DIR}/docs/cli CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/cli/*.md)
list(TRANSFORM convcast_verbs REPLACE "\\.md$" "")
set(convcast_manuals ${convcast_made}/convcast.1)
foreach(verb IN LISTS convcast_verbs)
    list(APPEND convcast_manuals ${convcast_made}/convcast-${verb}.1)
endforeach()
list(TRANSFORM convcast_manuals APPEND .gz OUTPUT_VARIABLE convcast_manuals)
set(convcast_completions ${convcast_made}/convcast ${convcast_made}/_convcast ${convcast_made}/convcast.fish)
find_program(CONVCAST_GZIP gzip REQUIRED)
add_custom_command(OUTPUT ${convcast_manuals} ${convcast_completions}
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:convcast> -DFOLDER=${convcast_made} "-DVERBS=${convcast_verbs}"
        -DGZIP=${CONVCAST_GZIP} -P ${PROJECT_SOURCE_DIR}/cmake/write_manual.cmake
    DEPENDS convcast ${PROJECT_SOURCE_DIR}/cmake/write_manual.cmake VERBATIM)
add_custom_target(convcast_manual ALL DEPENDS ${convcast_manuals} ${convcast_completions})

install(TARGETS convcast RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
if(TARGET convcast_onnx) # a program of its own: only it needs the ONNX library
    install(TARGETS convcast_onnx RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/convcast COMPONENT onnx)
endif()
install(FILES ${convcast_manuals} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
install(FILES ${convcast_made}/convcast DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT program)
install(FILES ${convcast_made}/_convcast DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT program)
install(FILES ${convcast_made}/convcast.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
    COMPONENT program)
# The program has a copy of most of these inside. They are here to be read, and as examples of their formats.
install(DIRECTORY profiles data DESTINATION ${CMAKE_INSTALL_DATADIR}/convcast COMPONENT program
    PATTERN "*.md" EXCLUDE PATTERN "benchmark.json" EXCLUDE)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DATADIR}/convcast COMPONENT program)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT program)
install(FILES README.md CITATION.cff LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)

# ---- find_package(convcast): the forecast as a library, convcast::model ----
install(TARGETS convcast_model EXPORT convcast_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
# The equations of a time are templates of the library's own files; they are no part of what it offers.
install(DIRECTORY model DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/convcast COMPONENT development
    FILES_MATCHING PATTERN "*.hpp" PATTERN "*_terms.hpp" EXCLUDE PATTERN "formula.hpp" EXCLUDE)
set(convcast_config ${CMAKE_INSTALL_LIBDIR}/cmake/convcast)
install(EXPORT convcast_targets NAMESPACE convcast:: DESTINATION ${convcast_config} COMPONENT development)
configure_package_config_file(cmake/convcast_config.cmake.in ${PROJECT_BINARY_DIR}/convcast-config.cmake
    INSTALL_DESTINATION ${convcast_config})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/convcast-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/convcast-config.cmake ${PROJECT_BINARY_DIR}/convcast-config-version.cmake
    DESTINATION ${convcast_config} COMPONENT development)
