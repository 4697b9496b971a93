// Shared by the fuzz targets of both forms of programs.
#pragma once

#include <stdexcept>
#include <string>

#include "plait/ir/program.h"
#include "plait/ops/register_all.h"

#include "tests/support/scalar_ops.h"

// The table of operations, and what only the tests have, such as a collective.
inline void register_primitives() {
  plait::register_all();
  plait::ir::register_scalar_ops();
}

inline void expect_equal(const std::string& a, const std::string& b) {
  if (a != b) throw std::logic_error("two forms of one program differ:\n" + a + "\n----\n" + b);
}

// A program that was read is the same when it is written and read again.
inline void expect_the_same_in_every_form(const plait::ir::Program& program) {
  using plait::ir::Program;
  const std::string text = program.text();
  expect_equal(Program::parse(text).text(), text);
  expect_equal(Program::from_bytes(program.bytes()).text(), text);
}
