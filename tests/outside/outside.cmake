# Run by ctest: cmake -D WAY=... -P outside.cmake builds the outside project in one WAY and runs it.
cmake_minimum_required(VERSION 3.25)
set(here "${CMAKE_CURRENT_LIST_DIR}")
cmake_path(GET here PARENT_PATH tests)
cmake_path(GET tests PARENT_PATH source)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# build(<source> <binary> <option>...)
function(build from to)
  run("${CMAKE_COMMAND}" -S "${from}" -B "${to}" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${COMPILER}"
      "-DCMAKE_CXX_FLAGS=${FLAGS}" "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}"
      "-DPLAIT_CARRIED=${CARRIED}" "-DPLAIT_UNITY_FOLDER=${BUILD}/unity" ${ARGN})
  run("${CMAKE_COMMAND}" --build "${to}" --parallel 2)
endfunction()

# An install is made in one folder and used from another.
function(install from)
  run("${CMAKE_COMMAND}" --install "${from}" --prefix "${WORK}/made")
  file(RENAME "${WORK}/made" "${WORK}/moved")
endfunction()

# The library is compiled as in the build under test, so ccache need not compile it again.
if(CCACHE)
  set(ENV{CMAKE_CXX_COMPILER_LAUNCHER} "${CCACHE}")
  set(ENV{CCACHE_NOHASHDIR} 1)
endif()

file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
string(REGEX MATCH "_shared$" shared "${WAY}")
set(installed "${WORK}/../install${shared}/moved")
cmake_path(NORMAL_PATH installed)

if(WAY STREQUAL "install")
  install("${BUILD}")
elseif(WAY STREQUAL "install_shared")
  build("${source}" "${WORK}/build" -DBUILD_SHARED_LIBS=ON -DPLAIT_TESTS=OFF -DPLAIT_EXAMPLES=OFF
        -DPLAIT_WERROR=ON)
  install("${WORK}/build")
  file(GLOB tools "${WORK}/moved/bin/*")
  foreach(tool IN LISTS tools)
    run("${tool}" --help)
  endforeach()
elseif(WAY MATCHES "^find_package")
  build("${here}/find_package" "${WORK}/build" "-DCMAKE_PREFIX_PATH=${installed}")
  run("${WORK}/build/outside")
elseif(WAY STREQUAL "add_subdirectory")
  build("${here}/add_subdirectory" "${WORK}/build" "-DPLAIT_SOURCE=${source}" -DPLAIT_WERROR=ON)
  run("${WORK}/build/outside")
elseif(WAY STREQUAL "wheel")
  set(options "")
  foreach(option "CMAKE_CXX_COMPILER=${COMPILER}" "CMAKE_CXX_FLAGS=${FLAGS}" "PLAIT_UNITY_FOLDER=${BUILD}/unity" PLAIT_WERROR=ON)
    list(APPEND options --config-settings "cmake.define.${option}")
  endforeach()
  run("${PYTHON}" -m pip wheel "${source}" --no-build-isolation --no-deps --no-index --disable-pip-version-check --wheel-dir "${WORK}"
      --config-settings "build-dir=${WORK}/build" ${options})
  file(GLOB wheel "${WORK}/*.whl")
  run("${PYTHON}" -m pip install "${wheel}" --no-deps --no-index --disable-pip-version-check --quiet --target "${WORK}/site")
  set(ENV{PYTHONPATH} "${WORK}/site")
  run("${PYTHON}" "${here}/wheel_check.py" "${WORK}/site")
  execute_process(COMMAND "${PYTHON}" -m plait --cmake-dir OUTPUT_VARIABLE package COMMAND_ERROR_IS_FATAL ANY OUTPUT_STRIP_TRAILING_WHITESPACE)
  build("${here}/find_package" "${WORK}/outside_build" "-DPlait_DIR=${package}")
  run("${WORK}/outside_build/outside")
elseif(WAY MATCHES "^pkg_config")
  set(ENV{PKG_CONFIG_PATH} "${installed}/${LIBDIR}/pkgconfig")
  set(ENV{LD_LIBRARY_PATH} "${installed}/${LIBDIR}")
  execute_process(COMMAND pkg-config --cflags --libs plait OUTPUT_VARIABLE flags COMMAND_ECHO STDOUT
                  COMMAND_ERROR_IS_FATAL ANY OUTPUT_STRIP_TRAILING_WHITESPACE)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run("${COMPILER}" -std=c++20 "${here}/main.cpp" ${flags} -o "${WORK}/outside")
  run("${WORK}/outside")
else()
  message(FATAL_ERROR "outside.cmake: no way '${WAY}'")
endif()

# No other test uses these folders of over 1 GB.
file(REMOVE_RECURSE "${WORK}/build" "${WORK}/outside_build" "${WORK}/site")
