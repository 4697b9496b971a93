# Finds Plait's dependencies, on the system or in carried/ (PLAIT_CARRIED), and reports missing ones.
find_package(Threads REQUIRED)

# Returns the path carried/<name>/include; fails with a hint if it does not exist.
function(plait_carried_headers name result)
  set(folder "${PROJECT_SOURCE_DIR}/carried/${name}/include")
  if(NOT EXISTS "${folder}")
    message(FATAL_ERROR "PLAIT_CARRIED: ${folder} is missing. Run scripts/carry.sh on a machine that "
                        "has the Debian packages, and copy carried/ here.")
  endif()
  set(${result} "${folder}" PARENT_SCOPE)
endfunction()

# fmt is part of the public headers. In carried/ it is header-only, and is installed with them.
if(NOT PLAIT_CARRIED)
  find_package(fmt 9 REQUIRED)
endif()
function(plait_link_fmt target)
  if(NOT PLAIT_CARRIED)
    target_link_libraries(${target} PUBLIC fmt::fmt)
    return()
  endif()
  plait_carried_headers(fmt headers)
  target_compile_definitions(${target} PUBLIC FMT_HEADER_ONLY=1)
  target_include_directories(${target} SYSTEM PUBLIC
                             $<BUILD_INTERFACE:${headers}>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/plait/carried>)
endfunction()

# Highway vectorises the kernels of the CPU. Only its headers are used, and only by sources.
function(plait_use_highway target)
  # Floating-point exceptions and errno are never read after a kernel, and many loops vectorise only without them.
  # Some loops, such as integer division, do not vectorise anyway; clang's warnings about these are disabled.
  set_property(SOURCE plait/cpu/inside/elementwise/arithmetic_kernels.cpp plait/cpu/inside/elementwise/conversion_kernels.cpp
                      plait/cpu/inside/elementwise/function_kernels.cpp plait/cpu/inside/elementwise/narrow_floats.cpp
                      plait/cpu/inside/random/random_kernels.cpp
               APPEND PROPERTY COMPILE_OPTIONS -fno-trapping-math -fno-math-errno
                               $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>)
  # Only explicit fused operations: code emitted from this source (llvm_functions.cpp) then returns the same bits.
  set_property(SOURCE plait/cpu/inside/elementwise/function_kernels.cpp APPEND PROPERTY COMPILE_OPTIONS -ffp-contract=off)
  # Highway's quicksort writes 64-bit random words, and reads halves of them.
  set_property(SOURCE plait/cpu/inside/order/sort_kernels.cpp APPEND PROPERTY COMPILE_OPTIONS -fno-strict-aliasing)
  if(NOT PLAIT_HIGHWAY)
    return()
  endif()
  if(PLAIT_CARRIED)
    set(folders HINTS "${PROJECT_SOURCE_DIR}/carried/highway/include" NO_DEFAULT_PATH)
  endif()
  find_path(PLAIT_HIGHWAY_HEADERS hwy/highway.h ${folders})
  mark_as_advanced(PLAIT_HIGHWAY_HEADERS)
  if(NOT PLAIT_HIGHWAY_HEADERS OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    message(STATUS "Plait: no Highway, or none for this CPU; its kernels are left to the compiler")
    return()
  endif()
  target_compile_definitions(${target} PRIVATE PLAIT_HAVE_HIGHWAY)
  target_include_directories(${target} SYSTEM PRIVATE "${PLAIT_HIGHWAY_HEADERS}")
endfunction()

# With libdw, addresses in error messages are resolved to files and lines.
if(NOT PLAIT_CARRIED)
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(LIBDW QUIET IMPORTED_TARGET libdw)
  endif()
endif()
if(NOT TARGET PkgConfig::LIBDW)
  message(STATUS "Plait: no libdw; messages will name addresses instead of source lines")
endif()

# oneDNN computes matrix products and convolutions. Only its headers are needed here: the library is loaded when it is
# first called (plait/cpu/inside/libraries/onednn_library.h).
if(NOT PLAIT_CARRIED)
  find_path(PLAIT_ONEDNN_HEADERS dnnl.hpp)
  mark_as_advanced(PLAIT_ONEDNN_HEADERS)
endif()
if(NOT PLAIT_CARRIED AND PLAIT_ONEDNN_HEADERS)
  add_library(plait_onednn INTERFACE)
  target_include_directories(plait_onednn SYSTEM INTERFACE "${PLAIT_ONEDNN_HEADERS}")
else()
  message(STATUS "Plait: no oneDNN; matrix products and convolutions will be slower")
endif()

# LLVM compiles fused kernels for the instruction sets of the CPU. Only its headers are needed here: the library is
# loaded when it is first called (plait/cpu/inside/codegen/llvm_library.h).
if(PLAIT_LLVM AND NOT PLAIT_CARRIED AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  find_path(PLAIT_LLVM_HEADERS llvm-c/LLJIT.h PATHS /usr/lib/llvm-19/include NO_DEFAULT_PATH)
  mark_as_advanced(PLAIT_LLVM_HEADERS)
endif()
if(PLAIT_LLVM_HEADERS)
  add_library(plait_llvm INTERFACE)
  target_include_directories(plait_llvm SYSTEM INTERFACE "${PLAIT_LLVM_HEADERS}")
else()
  message(STATUS "Plait: no LLVM 19; operations are not fused into kernels")
endif()

# OpenBLAS provides LAPACK for matrix factorizations. Debian's serial build of it starts no threads.
if(NOT PLAIT_CARRIED)
  find_library(PLAIT_OPENBLAS_LIBRARY openblas)
  mark_as_advanced(PLAIT_OPENBLAS_LIBRARY)
endif()
if(NOT PLAIT_CARRIED AND PLAIT_OPENBLAS_LIBRARY)
  add_library(plait_openblas INTERFACE)
  target_link_libraries(plait_openblas INTERFACE "${PLAIT_OPENBLAS_LIBRARY}")
else()
  message(STATUS "Plait: no OpenBLAS; factorisations of matrices will be slower, and linalg::eig an error")
endif()

# With zlib, compressed members of archives can be read and written.
if(NOT PLAIT_CARRIED)
  find_package(ZLIB QUIET)
endif()
if(NOT TARGET ZLIB::ZLIB)
  message(STATUS "Plait: no zlib; compressed .npz files give an IoError")
endif()

# Images are read and written by these libraries; a build without one gives an error for its format.
if(NOT PLAIT_CARRIED)
  find_package(JPEG QUIET)
  find_package(PNG QUIET)
  find_path(PLAIT_WEBP_HEADERS webp/decode.h)
  find_library(PLAIT_WEBP_LIBRARY webp)
  mark_as_advanced(PLAIT_WEBP_HEADERS PLAIT_WEBP_LIBRARY)
endif()
if(NOT PLAIT_CARRIED AND PLAIT_WEBP_HEADERS AND PLAIT_WEBP_LIBRARY)
  add_library(plait_webp INTERFACE)
  target_link_libraries(plait_webp INTERFACE "${PLAIT_WEBP_LIBRARY}")
endif()
foreach(target IN ITEMS JPEG::JPEG PNG::PNG plait_webp)
  if(NOT TARGET ${target})
    message(STATUS "Plait: no ${target}; images of this format give an IoError")
  endif()
endforeach()

# Gloo connects ranks on several hosts. Only headers of Open MPI are needed here: the library is loaded when it is first
# called (plait/comm/inside/wires/mpi_library.h).
if(NOT PLAIT_CARRIED)
  find_path(PLAIT_GLOO_HEADERS gloo/transport/tcp/pair.h)
  find_library(PLAIT_GLOO_LIBRARY gloo)
  find_path(PLAIT_MPI_HEADERS mpi.h PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openmpi/include NO_DEFAULT_PATH)
  mark_as_advanced(PLAIT_GLOO_HEADERS PLAIT_GLOO_LIBRARY PLAIT_MPI_HEADERS)
endif()
if(NOT PLAIT_GLOO_HEADERS OR NOT PLAIT_GLOO_LIBRARY)
  message(STATUS "Plait: no Gloo; the engine gloo gives a DistError")
endif()
if(NOT PLAIT_MPI_HEADERS)
  message(STATUS "Plait: no Open MPI; the engine mpi gives a DistError")
endif()

# utf8proc has the classes of Unicode's characters, and its normal forms, for tokenizers.
if(NOT PLAIT_CARRIED)
  find_path(PLAIT_UTF8PROC_HEADERS utf8proc.h)
  find_library(PLAIT_UTF8PROC_LIBRARY utf8proc)
  mark_as_advanced(PLAIT_UTF8PROC_HEADERS PLAIT_UTF8PROC_LIBRARY)
endif()
if(NOT PLAIT_CARRIED AND PLAIT_UTF8PROC_HEADERS AND PLAIT_UTF8PROC_LIBRARY)
  add_library(plait_utf8proc INTERFACE)
  target_link_libraries(plait_utf8proc INTERFACE "${PLAIT_UTF8PROC_LIBRARY}")
else()
  message(STATUS "Plait: no utf8proc; tokenizers that ask for Unicode's classes or normal forms give an error")
endif()

if(PLAIT_TOOLS OR PLAIT_EXAMPLES)
  add_library(plait_cli11 INTERFACE)
  if(PLAIT_CARRIED)
    plait_carried_headers(CLI11 headers)
    target_include_directories(plait_cli11 SYSTEM INTERFACE "${headers}")
  else()
    find_package(CLI11 REQUIRED)
    target_link_libraries(plait_cli11 INTERFACE CLI11::CLI11)
  endif()
endif()

if(PLAIT_TESTS)
  if(PLAIT_CARRIED)
    if(NOT EXISTS "${PROJECT_SOURCE_DIR}/carried/googletest/CMakeLists.txt")
      message(FATAL_ERROR "PLAIT_CARRIED: carried/googletest is missing. Run scripts/carry.sh, "
                          "or configure with -DPLAIT_TESTS=OFF.")
    endif()
    set(BUILD_GMOCK OFF)
    set(INSTALL_GTEST OFF)
    set(CMAKE_SUPPRESS_DEVELOPER_WARNINGS ON)
    add_subdirectory(carried/googletest EXCLUDE_FROM_ALL SYSTEM)
    unset(CMAKE_SUPPRESS_DEVELOPER_WARNINGS)
  else()
    find_package(GTest REQUIRED)
    find_package(rapidcheck QUIET)
  endif()
  if(NOT rapidcheck_FOUND)
    message(STATUS "Plait: no rapidcheck; property tests are left out")
  endif()
endif()

if(PLAIT_BENCH)
  find_package(benchmark REQUIRED)
endif()
