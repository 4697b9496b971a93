# Compiles SOURCE with COMPILER and the folders of INCLUDE, and fails unless the compiler refuses it in the
# words that its first line expects.
file(STRINGS "${SOURCE}" first_line LIMIT_COUNT 1)
if(NOT first_line MATCHES "^// expect: (.+)$")
  message(FATAL_ERROR "${SOURCE}: the first line must be // expect: <regular expression>")
endif()
set(expected "${CMAKE_MATCH_1}")
list(TRANSFORM INCLUDE PREPEND "-I")
execute_process(COMMAND "${COMPILER}" -std=c++20 -fsyntax-only ${INCLUDE} "${SOURCE}"
                RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(result EQUAL 0)
  message(FATAL_ERROR "${SOURCE} compiles, but it should fail with: ${expected}")
endif()
if(NOT output MATCHES "error[^\n]*${expected}")
  message(FATAL_ERROR "${SOURCE} fails without the expected words: ${expected}\n${output}")
endif()
