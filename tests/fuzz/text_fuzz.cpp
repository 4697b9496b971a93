// Any text either parses or gives an error; what parses is the same program in every form.
#include <cstdint>
#include <stdexcept>
#include <string>

#include "plait/core/error.h"
#include "plait/ir/program.h"

#include "tests/support/scalar_ops.h"

namespace {

void expect_equal(const std::string& a, const std::string& b) {
  if (a != b) throw std::logic_error("two forms of one program differ:\n" + a + "\n----\n" + b);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using plait::ir::Program;
  plait::ir::register_scalar_ops();
  Program program;
  try {
    program = Program::parse({reinterpret_cast<const char*>(data), size});
  } catch (const plait::Error&) {
    return 0;
  }
  const std::string text = program.text();
  expect_equal(Program::parse(text).text(), text);
  expect_equal(Program::from_bytes(program.bytes()).text(), text);
  return 0;
}
