// Compares compiled programs with evaluated ones.
#pragma once

#include <string_view>

#include <gtest/gtest.h>

#include "plait/compile/compare.h"
#include "plait/compile/compiler.h"
#include "plait/compile/inside/running/execution.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/random/random.h"
#include "plait/ops/register_all.h"
#include "plait/tensor/array_machine.h"

#include "tests/support/agreement.h"

namespace plait::compile {

inline Tensor numbers(const Shape& shape, uint64_t seed, DType dtype = DType::f32) {
  return astype(random::normal(random::key(seed), shape), dtype);
}

inline ir::Program parsed(std::string_view text) {
  register_all();
  return ir::Program::parse(text);
}

inline void expect_as_evaluated(const ir::Program& program, const Tensors& arguments,
                                double tolerance) {
  const Compiled compiled(program);
  expect_as_good_as_same("compiled", compiled(arguments), evaluate(program, arguments), tolerance);
  const auto difference = compare(program, arguments, {.tolerance = tolerance});
  EXPECT_FALSE(difference) << difference->text();
}

inline void expect_bits_as_evaluated(const ir::Program& program, const Tensors& arguments) {
  expect_same_bits("compiled", Compiled(program)(arguments), evaluate(program, arguments));
}

}  // namespace plait::compile
