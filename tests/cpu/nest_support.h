// Helpers for tests of compiled nests: construction of nests, and arrays to run them on.
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

namespace plait::nest_test {

using compile::Affine;
using compile::Domain;
using compile::Nest;
using compile::NestResult;
using compile::NestValue;
using cpu::CompiledNest;
using cpu::NestArguments;
using elementwise_test::AtLevel;
using elementwise_test::cpu_levels;
using ir::Reduction;

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

// Adds values one after another; each function returns the index of the value.
class NestMaker {
 public:
  NestMaker(std::vector<Dim> outer, Dim columns, std::optional<uint32_t> grouped = std::nullopt) {
    nest.grouped = grouped.value_or(static_cast<uint32_t>(outer.size()));
    nest.outer = std::move(outer);
    nest.columns = columns;
  }

  uint32_t parameter(DType dtype) {
    nest.parameters.push_back(dtype);
    return static_cast<uint32_t>(nest.parameters.size() - 1);
  }
  uint32_t load(uint32_t parameter, std::vector<Dim> strides, Dim offset = 0) {
    const bool moves = !strides.back().is_number() || strides.back().number() != 0;
    return add({.kind = NestValue::Kind::load,
                .dtype = nest.parameters[parameter],
                .parameter = parameter,
                .place = {offset, std::move(strides)},
                .has_columns = moves});
  }
  uint32_t load(DType dtype, std::vector<Dim> strides, Dim offset = 0) {
    return load(parameter(dtype), std::move(strides), offset);
  }
  uint32_t number(DType dtype, double number) {
    const Element element = is_floating(dtype)  ? Element::of(number)
                            : is_boolean(dtype) ? Element::of(number != 0)
                                                : Element::of_signed(static_cast<int64_t>(number));
    return add({.kind = NestValue::Kind::number, .dtype = dtype, .number = element});
  }
  uint32_t size(DType dtype, Dim size) {
    return add({.kind = NestValue::Kind::size, .dtype = dtype, .size = size});
  }
  uint32_t index(DType dtype, std::vector<Dim> strides, Dim offset = 0) {
    const bool moves = !strides.back().is_number() || strides.back().number() != 0;
    return add({.kind = NestValue::Kind::index,
                .dtype = dtype,
                .place = {offset, std::move(strides)},
                .has_columns = moves});
  }
  uint32_t compute(const char* name, std::vector<uint32_t> operands,
                   std::optional<DType> dtype = std::nullopt) {
    const ir::Primitive& primitive = ir::primitive(name);
    const DType own = nest.values[operands.back()].dtype;
    const DType result = dtype.value_or(ir::elementwise_result(primitive.elementwise, own));
    const bool moves =
        std::ranges::any_of(operands, [&](uint32_t v) { return nest.values[v].has_columns; });
    return add({.kind = NestValue::Kind::compute,
                .dtype = result,
                .primitive = &primitive,
                .operands = std::move(operands),
                .has_columns = moves});
  }
  uint32_t convert(uint32_t value, DType dtype) { return compute("convert", {value}, dtype); }
  uint32_t reduce(Reduction reduction, uint32_t value) {
    return add({.kind = NestValue::Kind::reduce,
                .dtype = nest.values[value].dtype,
                .operands = {value},
                .reduction = reduction});
  }
  void result(uint32_t value, std::vector<Dim> strides, Reduction reduction = Reduction::none,
              Dim offset = 0) {
    nest.results.push_back({value, {offset, std::move(strides)}, reduction});
  }

  uint32_t add(NestValue value) {
    nest.values.push_back(std::move(value));
    return static_cast<uint32_t>(nest.values.size() - 1);
  }

  Nest nest;
};

// Elements of a dtype, with guard bytes on both sides.
class Elements {
 public:
  Elements(DType dtype, size_t count) : dtype_(dtype), count_(count) {
    bytes_.assign(2 * kMargin + count * size(), kUntouched);
  }
  template <class T>
  static Elements of(const std::vector<T>& values) {
    Elements result(kDTypeOf<T>, values.size());
    if (!values.empty()) std::memcpy(result.data(), values.data(), values.size() * sizeof(T));
    return result;
  }

  DType dtype() const { return dtype_; }
  size_t count() const { return count_; }
  size_t size() const { return static_cast<size_t>(size_of(dtype_)); }
  std::byte* data() { return bytes_.data() + kMargin; }
  const std::byte* data() const { return bytes_.data() + kMargin; }
  template <class T>
  T at(size_t i) const {
    T value;
    std::memcpy(&value, data() + i * sizeof(T), sizeof(T));
    return value;
  }
  Element element(size_t i) const { return load_element(dtype_, data() + i * size()); }
  template <class T>
  std::vector<T> values() const {
    std::vector<T> result(count_);
    for (size_t i = 0; i < count_; ++i) result[i] = at<T>(i);
    return result;
  }
  bool margins_are_untouched() const {
    const auto is_other = [](std::byte b) { return b != kUntouched; };
    return std::none_of(bytes_.begin(), bytes_.begin() + kMargin, is_other) &&
           std::none_of(bytes_.end() - kMargin, bytes_.end(), is_other);
  }

 private:
  static constexpr size_t kMargin = 256;
  static constexpr std::byte kUntouched{0x5a};

  DType dtype_;
  size_t count_;
  std::vector<std::byte> bytes_;
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
