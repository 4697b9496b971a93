# Compile options that every target of this project shares.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

if(PROJECT_IS_TOP_LEVEL)
  find_program(PLAIT_CCACHE ccache)
  if(PLAIT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # Objects differ from build folder to build folder only in the folder that debug information names.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_NOHASHDIR=1
        CCACHE_SLOPPINESS=pch_defines,time_macros ${PLAIT_CCACHE})
  endif()
  # Of what a touched source costs half was the default linker's; gold, which comes with it, takes half as long.
  find_program(PLAIT_GOLD ld.gold)
  if(PLAIT_GOLD AND CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT PLAIT_SANITIZE)
    add_link_options(-fuse-ld=gold)
  endif()
endif()

function(plait_set_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  # Designated initialisers leave fields out on purpose; GCC 12 sees overlaps in string + string that
  # are none (GCC bug 105651). Clang blames stable_sort for what GCC 12's library uses inside.
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wno-missing-field-initializers
                                           $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
                                           $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>
                                           $<$<BOOL:${PLAIT_WERROR}>:-Werror>)
  if(PLAIT_SANITIZE)
    # -O1: checked code compiles twice as fast so.
    target_compile_options(${target} PRIVATE -O1 -fsanitize=${PLAIT_SANITIZE}
                                             -fno-omit-frame-pointer -fno-sanitize-recover=all)
    # GCC 12 with a sanitizer takes <regex> to read what it never set.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    target_link_options(${target} PUBLIC -fsanitize=${PLAIT_SANITIZE})
  endif()
  if(PLAIT_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# plait_unite(<target> <folder> <count>): compiles the target's sources that lie below a folder of this project
# so many at a time, since half of the time that one takes goes to what it includes. So no two files of a folder may give
# things of their own the same name. Sources with options of their own are compiled one by one. What is
# compiled lies in PLAIT_UNITY_FOLDER: builds that name the same one share it, and what a compiler
# cache has of it.
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
    if(NOT options AND NOT definitions)
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
    math(EXPR number "${number} + 1")
  endwhile()
endfunction()

# plait_add_program(<target> <source>...): an executable that uses Plait.
function(plait_add_program target)
  add_executable(${target} ${ARGN})
  plait_set_options(${target})
  target_link_libraries(${target} PRIVATE plait)
endfunction()

# plait_add_test_program(<target> <source>...): one that uses what tests share (tests/support) too.
function(plait_add_test_program target)
  plait_add_program(${target} ${ARGN})
  if(TARGET plait_test_support)
    target_link_libraries(${target} PRIVATE plait_test_support)
  endif()
endfunction()

# plait_compile_quickly(<target>): of a program that leaves all work to the library.
function(plait_compile_quickly target)
  if(NOT PLAIT_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
endfunction()
