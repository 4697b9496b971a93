# Compile options that every target of this project shares.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(PLAIT_CCACHE ccache)
if(PLAIT_CCACHE AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${PLAIT_CCACHE}")
endif()

function(plait_set_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE -Wall -Wextra $<$<BOOL:${PLAIT_WERROR}>:-Werror>)
  if(PLAIT_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${PLAIT_SANITIZE} -fno-omit-frame-pointer
                                             -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${PLAIT_SANITIZE})
  endif()
endfunction()
