# Everything that is found by its place: tools, examples, benchmarks. None of it need exist.

# What tests, benchmarks and fuzz targets share: among it the tests' own primitives and machine.
file(GLOB support_sources CONFIGURE_DEPENDS "tests/support/*.cpp")
if(support_sources AND (PLAIT_TESTS OR PLAIT_BENCH OR PLAIT_FUZZ))
  add_library(plait_test_support STATIC ${support_sources})
  plait_set_options(plait_test_support)
  target_include_directories(plait_test_support PUBLIC "${PROJECT_SOURCE_DIR}")
  target_link_libraries(plait_test_support PUBLIC plait)
endif()

# tools/<name>/*.cpp is the command <name>.
if(PLAIT_TOOLS)
  file(GLOB tool_sources CONFIGURE_DEPENDS "tools/*/*.cpp")
  set(tools)
  foreach(source IN LISTS tool_sources)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET folder FILENAME tool)
    list(APPEND tools ${tool})
    list(APPEND sources_of_${tool} ${source})
  endforeach()
  list(REMOVE_DUPLICATES tools)
  foreach(tool IN LISTS tools)
    plait_add_program(${tool} ${sources_of_${tool}})
    plait_unite(${tool} tools/${tool} 6)
    plait_compile_quickly(${tool})
    target_link_libraries(${tool} PRIVATE plait_cli11)
    set_target_properties(${tool} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  endforeach()
  set(PLAIT_TOOL_TARGETS ${tools})
endif()

# examples/spine_demo.cpp is the program plait-spine-demo.
if(PLAIT_EXAMPLES)
  file(GLOB example_sources CONFIGURE_DEPENDS "examples/*.cpp")
  foreach(source IN LISTS example_sources)
    cmake_path(GET source STEM name)
    string(REPLACE "_" "-" name "plait-${name}")
    plait_add_program(${name} ${source})
    plait_compile_quickly(${name})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  endforeach()
endif()

# bench/<room>/*.cpp is one program a room; bench/peers/eager_plait.cpp is what compare.py times,
# bench/models/first_call.cpp what bench_plait.py runs.
if(PLAIT_BENCH)
  plait_add_program(plait_first_call bench/models/first_call.cpp)
  set_target_properties(plait_first_call PROPERTIES OUTPUT_NAME first_call
                        RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/models")
  plait_add_program(plait_eager bench/peers/eager_plait.cpp)
  set_target_properties(plait_eager PROPERTIES OUTPUT_NAME eager_plait
                        RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/peers")
  foreach(room IN LISTS PLAIT_ROOMS)
    file(GLOB sources CONFIGURE_DEPENDS "bench/${room}/*.cpp")
    if(sources)
      plait_add_test_program(plait_bench_${room} ${sources})
      target_link_libraries(plait_bench_${room} PRIVATE benchmark::benchmark benchmark::benchmark_main)
    endif()
  endforeach()
endif()
