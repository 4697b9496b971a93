# Compile options shared by all targets of this project.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

if(PROJECT_IS_TOP_LEVEL)
  find_program(PLAIT_CCACHE ccache)
  if(PLAIT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # Objects of different build folders differ only in the folder in their debug information.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_NOHASHDIR=1
        CCACHE_SLOPPINESS=pch_defines,time_macros ${PLAIT_CCACHE})
  endif()
  # Linking was half of the time after a change of one source; gold, part of binutils, takes half as long. Compressed
  # line information halves the 4 GB of programs and costs 0.5 s a program.
  find_program(PLAIT_GOLD ld.gold)
  if(PLAIT_GOLD AND CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT PLAIT_SANITIZE)
    add_link_options(-fuse-ld=gold -Wl,--compress-debug-sections=zlib)
  endif()
endif()

function(plait_set_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  # Designated initialisers omit fields on purpose; GCC 12 reports wrong overlaps in string + string (GCC bug 105651).
  # Clang warns of what stable_sort of GCC 12's library uses internally.
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wno-missing-field-initializers
                                           $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
                                           $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>
                                           $<$<BOOL:${PLAIT_WERROR}>:-Werror>)
  if(PLAIT_SANITIZE)
    # -O1: instrumented code compiles twice as fast.
    target_compile_options(${target} PRIVATE -O1 -fsanitize=${PLAIT_SANITIZE}
                                             -fno-omit-frame-pointer -fno-sanitize-recover=all)
    # GCC 12 with a sanitizer reports uninitialised reads in <regex>.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    target_link_options(${target} PUBLIC -fsanitize=${PLAIT_SANITIZE})
  endif()
  if(PLAIT_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# plait_unite(<target> <folder> <count> [OPTION...]): a unity build of the target's sources below a folder of this
# project, in groups of <count> that are compiled with these further options, since half of the compile time of a source
# goes to its includes. So two files of a folder may not define different internal things with the same name. Sources
# with other options of their own, and those with SKIP_UNITY_BUILD_INCLUSION, are compiled one by one. The generated
# sources are in PLAIT_UNITY_FOLDER: builds with the same folder share them, and their objects in a compiler cache.
function(plait_unite target folder count)
  if(NOT PLAIT_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(SORT sources)
  string(REPLACE "/" "_" name "${folder}")
  set(alike "")
  foreach(source IN LISTS sources)
    cmake_path(IS_PREFIX PROJECT_SOURCE_DIR "${source}" here)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}" OUTPUT_VARIABLE within)
    if(NOT here OR within MATCHES "^\\.\\./|\\.h$")
      continue()
    endif()
    get_source_file_property(options "${source}" COMPILE_OPTIONS)
    get_source_file_property(definitions "${source}" COMPILE_DEFINITIONS)
    get_source_file_property(stays_alone "${source}" SKIP_UNITY_BUILD_INCLUSION)
    if((NOT options OR "${options}" STREQUAL "${ARGN}") AND NOT definitions AND NOT stays_alone)
      list(APPEND alike "${source}")
    endif()
  endforeach()
  set(number 0)
  while(alike)
    list(SUBLIST alike 0 ${count} some)
    list(REMOVE_ITEM alike ${some})
    set_source_files_properties(${some} PROPERTIES HEADER_FILE_ONLY ON)
    list(TRANSFORM some REPLACE "(.+)" "#include \"\\1\"\n")
    list(JOIN some "" includes)
    set(united "${PLAIT_UNITY_FOLDER}/${target}_${name}_${number}.cpp")
    file(CONFIGURE OUTPUT "${united}" CONTENT "${includes}" @ONLY)
    target_sources(${target} PRIVATE "${united}")
    set_property(SOURCE "${united}" APPEND PROPERTY COMPILE_OPTIONS ${ARGN})
    math(EXPR number "${number} + 1")
  endwhile()
endfunction()

# plait_add_program(<target> <source>...): an executable that uses Plait.
function(plait_add_program target)
  add_executable(${target} ${ARGN})
  plait_set_options(${target})
  target_link_libraries(${target} PRIVATE plait)
endfunction()

# plait_add_test_program(<target> <source>...): an executable that also uses tests/support.
function(plait_add_test_program target)
  plait_add_program(${target} ${ARGN})
  if(TARGET plait_test_support)
    target_link_libraries(${target} PRIVATE plait_test_support)
  endif()
endfunction()

# plait_compile_quickly(<target>): for a program that leaves all work to the library.
function(plait_compile_quickly target)
  if(NOT PLAIT_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
endfunction()
