// Any text either parses or gives an error; what parses is the same program in every form.
#include <cstdint>

#include "plait/core/error.h"

#include "tests/fuzz/programs.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using plait::ir::Program;
  register_primitives();
  Program program;
  try {
    program = Program::parse({reinterpret_cast<const char*>(data), size});
  } catch (const plait::Error&) {
    return 0;
  }
  expect_the_same_in_every_form(program);
  return 0;
}
