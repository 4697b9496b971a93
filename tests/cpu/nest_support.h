// Helpers for tests of compiled nests.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plait/core/numbers/element.h"
#include "plait/core/settings.h"
#include "plait/cpu/cpu_level.h"
#include "plait/cpu/inside/codegen/nest_compiler.h"
#include "plait/ir/primitive.h"
#include "plait/ops/register_all.h"

#include "tests/cpu/elementwise_support.h"
#include "tests/support/nest_maker.h"

namespace plait::nest_test {

using cpu::CompiledNest;
using cpu::NestArguments;
using elementwise_test::AtLevel;
using elementwise_test::cpu_levels;

inline std::vector<CompiledNest> compiled(std::span<const Nest> nests) {
  std::vector<const Nest*> all;
  for (const Nest& nest : nests) all.push_back(&nest);
  return cpu::compiled_nests(all);
}
inline CompiledNest compiled(const Nest& nest) { return compiled({&nest, 1})[0]; }

// Skips tests if there is no compiler.
class Nests : public testing::Test {
 protected:
  void SetUp() override {
    register_all();
    if (!cpu::has_nest_compiler()) GTEST_SKIP() << "this build has no compiler of kernels";
  }
};

// Arguments of a call besides its arrays.
struct Range {
  int64_t first_row = 0;
  std::optional<int64_t> end_row = std::nullopt;
  int64_t first_column = 0;
  std::optional<int64_t> end_column = std::nullopt;
};

inline void run(const CompiledNest& code, const Nest& nest,
                const std::vector<const Elements*>& parameters,
                const std::vector<Elements*>& results, const SymbolMap<int64_t>& symbols = {},
                const Range& range = {}) {
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const Elements* each : parameters) in.push_back(each->data());
  for (Elements* each : results) out.push_back(each->data());
  std::vector<int64_t> sizes;
  for (const Dim size : nest.sizes()) sizes.push_back(size.evaluate(symbols));
  int64_t rows = 1;
  for (const Dim size : nest.outer) rows *= size.evaluate(symbols);
  const int64_t columns = nest.columns.evaluate(symbols);
  std::vector<std::byte> scratch(static_cast<size_t>(code.scratch_for(columns)) + 128,
                                 std::byte{0x77});
  auto* aligned =
      reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) / 64 * 64);
  const NestArguments arguments = {.parameters = in.data(),
                                   .results = out.data(),
                                   .sizes = sizes.data(),
                                   .first_row = range.first_row,
                                   .end_row = range.end_row.value_or(rows),
                                   .first_column = range.first_column,
                                   .end_column = range.end_column.value_or(columns),
                                   .scratch = aligned};
  code.run(&arguments);
  EXPECT_EQ(scratch.back(), std::byte{0x77});
  for (const Elements* each : results) EXPECT_TRUE(each->margins_are_untouched()) << nest.text();
}

inline void compile_and_run(const Nest& nest, const std::vector<const Elements*>& parameters,
                            const std::vector<Elements*>& results,
                            const SymbolMap<int64_t>& symbols = {}, const Range& range = {}) {
  run(compiled(nest), nest, parameters, results, symbols, range);
}

// Random numbers in the domain of many functions.
template <class T>
std::vector<T> random_numbers(size_t count, unsigned seed, double low = -2, double high = 2) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> distribution(low, high);
  std::vector<T> values;
  for (size_t i = 0; i < count; ++i) {
    values.push_back(T(static_cast<float>(distribution(random))));
  }
  return values;
}

}  // namespace plait::nest_test
