# Debian packages, by `cpack -G DEB` in the build folder: `convcast` of a build without device rooms, `convcast-gpu` of one
# with them, and `libconvcast-dev` of the first. With SOURCE_DATE_EPOCH set, the same sources give the same bytes.
set(CONVCAST_MAINTAINER "The convcast authors <convcast@localhost.invalid>" CACHE STRING "Maintainer of the Debian packages")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME convcast)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "forecasts of GPU convolution kernels")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL program)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${CONVCAST_MAINTAINER}")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/prepare_package.cmake)

set(text "Microbenchmarks measure what a GPU can do into a profile. From it
convcast predicts how long each way of partitioning a convolution takes
and what hides its latency, ranks them, and draws reports of forecast
against measurement.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "librsvg2-bin")
if(CONVCAST_HAS_CUDA)
    set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME convcast-gpu)
    set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "${text}\n
This build also measures and runs kernels on NVIDIA GPUs. It looks for
the driver, NVRTC, CUPTI and cuDNN when it needs them: convcast doctor
says what is missing.")
    set(CPACK_DEBIAN_PROGRAM_PACKAGE_PROVIDES "convcast (= ${PROJECT_VERSION})")
    set(CPACK_DEBIAN_PROGRAM_PACKAGE_CONFLICTS convcast)
    set(CPACK_DEBIAN_PROGRAM_PACKAGE_REPLACES convcast)
    set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "libcuda1, nvidia-cuda-toolkit")
else()
    set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME convcast)
    set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "${text}\n
This build needs no GPU and cannot measure on one; convcast-gpu can.")
    set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "convcast-gpu")
    list(APPEND CPACK_COMPONENTS_ALL development)
    set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libconvcast-dev)
    set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
    set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
        "libboost1.81-dev | libboost-dev (>= 1.81), libfmt-dev, zlib1g-dev")
    set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION 
        "Headers, static library and CMake package of the forecast that convcast
makes: find_package(convcast).")
endif()
if(TARGET convcast_onnx)
    list(APPEND CPACK_COMPONENTS_ALL onnx)
    set(CPACK_DEBIAN_ONNX_PACKAGE_NAME convcast-onnx)
    set(CPACK_DEBIAN_ONNX_PACKAGE_SECTION science)
    set(CPACK_DEBIAN_ONNX_PACKAGE_SHLIBDEPS ON)
    set(CPACK_DEBIAN_ONNX_PACKAGE_ENHANCES "convcast, convcast-gpu")
    set(CPACK_COMPONENT_ONNX_DESCRIPTION "With this package, convcast takes the convolutions of ONNX files.")
endif()
include(CPack)
