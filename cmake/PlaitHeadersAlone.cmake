# The target plait_headers_alone (part of `make lint`): compiles each header of the library alone, so that no header
# depends on includes before it.
set(alone)
foreach(header IN LISTS plait_headers inside_headers)
  cmake_path(RELATIVE_PATH header BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set(source "${PROJECT_BINARY_DIR}/headers/${header}.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "#include \"${header}\"\n" @ONLY)
  list(APPEND alone "${source}")
endforeach()
add_library(plait_headers_alone OBJECT EXCLUDE_FROM_ALL ${alone})
plait_set_options(plait_headers_alone)
target_compile_options(plait_headers_alone PRIVATE -O0 -g0)
target_link_libraries(plait_headers_alone PRIVATE plait)
