# CPack runs this between staging and packing: what Debian wants of every package, and times that depend on nothing.
set(epoch $ENV{SOURCE_DATE_EPOCH})
set(format "%a, %d %b %Y %H:%M:%S +0000")
string(TIMESTAMP date "${format}" UTC) # which honours SOURCE_DATE_EPOCH
string(TIMESTAMP year "%Y" UTC)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
    set(root ${CPACK_TEMPORARY_DIRECTORY}/${component})
    string(TOUPPER ${component} upper)
    set(package ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
    set(folder ${root}/usr/share/doc/${package})
    file(REMOVE ${root}/usr/share/doc/convcast/LICENSE) # Debian has the text already
    file(WRITE ${folder}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: convcast

Files: *
Copyright: ${year} The convcast authors
License: Apache-2.0
 The whole text is in /usr/share/common-licenses/Apache-2.0.
")
    file(WRITE ${folder}/changelog "${package} (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * Version ${CPACK_PACKAGE_VERSION}.

 -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${date}
")
    execute_process(COMMAND gzip -9nf ${folder}/changelog COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND chmod -R u=rwX,go=rX ${root} COMMAND_ERROR_IS_FATAL ANY)
    if(NOT epoch STREQUAL "")
        execute_process(COMMAND find ${root} -exec touch -h -d @${epoch} {} + COMMAND_ERROR_IS_FATAL ANY)
    endif()
endforeach()
