// Nests of random operations, dtypes, layouts and reductions.
#pragma once

#include <algorithm>
#include <iterator>
#include <random>
#include <vector>

#include "tests/support/nest_points.h"

namespace plait::nest_test {

// Operations are chosen such that values stay of moderate size.
class RandomNest {
 public:
  explicit RandomNest(unsigned seed)
      : random_(seed), rows_(1 + pick(5)), columns_(1 + pick(90)), maker_(dims(), column_dim()) {}

  void fill() {
    for (size_t i = 0; i < 2 + pick(3); ++i) add_load();
    for (size_t i = 0; i < 3 + pick(18); ++i) add_operation();
    for (size_t i = 0; i < 1 + pick(3); ++i) add_result();
  }

  const Nest& nest() const { return maker_.nest; }
  // Numbers of elements.
  const std::vector<size_t>& parameter_counts() const { return counts_; }
  const std::vector<size_t>& result_counts() const { return result_counts_; }
  SymbolMap<int64_t> symbols() const {
    return {{Dim::symbol("r"), rows_}, {Dim::symbol("c"), columns_}};
  }
  // Tolerance of the narrowest float, which may have been rounded the other way.
  double tolerance() const {
    double most = 0;
    for (const NestValue& value : maker_.nest.values) {
      if (is_floating(value.dtype)) most = std::max(most, 8 * relative_error_of(value.dtype));
    }
    return most;
  }

 private:
  size_t pick(size_t count) { return random_() % count; }
  bool rarely() { return pick(4) == 0; }
  std::vector<Dim> dims() {
    is_known_ = pick(2) == 0;
    accumulates_ = pick(3) == 0;
    has_narrow_ = pick(3) == 0;
    return {is_known_ ? Dim(rows_) : Dim::symbol("r")};
  }
  Dim column_dim() { return is_known_ ? Dim(columns_) : Dim::symbol("c"); }
  const NestValue& value(uint32_t v) const { return maker_.nest.values[v]; }

  void add_load() {
    constexpr DType kDTypes[] = {DType::f32, DType::f32, DType::f64, DType::bf16,
                                 DType::f16, DType::i32, DType::u8,  DType::boolean};
    DType dtype = kDTypes[pick(std::size(kDTypes))];
    if (!has_narrow_ && is_floating(dtype) && size_of(dtype) == 2) dtype = DType::f32;
    const auto r = static_cast<size_t>(rows_), c = static_cast<size_t>(columns_);
    switch (pick(5)) {
      case 0: add(maker_.load(dtype, {0, 1}), c); break;
      case 1: add(maker_.load(dtype, {1, 0}), r); break;
      case 2: add(maker_.load(dtype, {1, maker_.nest.outer[0]}), r * c); break;
      default: {
        const uint32_t x = maker_.load(dtype, {maker_.nest.columns, 1});
        if (rarely()) {
          const auto low = static_cast<int64_t>(pick(c)), high = static_cast<int64_t>(pick(c + 1));
          maker_.nest.values[x].domains = {{1, low, high},
                                           {0, 0, static_cast<int64_t>(pick(r + 1))}};
          maker_.nest.values[x].number =
              is_floating(dtype) ? Element::of(0.75) : Element::of_signed(1);
        }
        add(x, r * c);
      }
    }
  }
  void add(uint32_t v, size_t count) {
    counts_.push_back(count);
    values_.push_back(v);
  }

  uint32_t any() { return values_[pick(values_.size())]; }
  uint32_t as_real(uint32_t v) {
    const DType to = pick(5) == 0                  ? DType::f64
                     : has_narrow_ && pick(4) == 0 ? DType::bf16
                                                   : DType::f32;
    return is_floating(value(v).dtype) && !rarely() ? v : maker_.convert(v, to);
  }
  uint32_t bounded(uint32_t v) {
    const DType dtype = value(v).dtype;
    return maker_.compute("clamp", {maker_.number(dtype, -3), v, maker_.number(dtype, 3)});
  }
  void keep(uint32_t v) { values_.push_back(v); }

  void add_operation() {
    const uint32_t x = as_real(any());
    const DType dtype = value(x).dtype;
    uint32_t y = any();
    if (value(y).dtype != dtype) y = maker_.convert(y, dtype);
    switch (pick(9)) {
      case 0: return keep(bounded(maker_.compute("add", {x, y})));
      case 1: return keep(bounded(maker_.compute("multiply", {x, y})));
      case 2: return keep(maker_.compute("maximum", {x, y}));
      case 3: {
        constexpr const char* kFunctions[] = {"tanh", "sigmoid", "sin", "erf", "absolute", "cos"};
        return keep(maker_.compute(kFunctions[pick(std::size(kFunctions))], {x}));
      }
      case 4: {
        // Only where the two are clearly different; otherwise rounding would decide.
        const uint32_t gap = maker_.compute("absolute", {maker_.compute("subtract", {x, y})});
        const uint32_t far = maker_.compute("less", {maker_.number(dtype, 0.25), gap});
        return keep(maker_.compute("select", {far, x, maker_.number(dtype, 0.5)}));
      }
      case 5: {
        const uint32_t sum = maker_.reduce(Reduction::sum, x);
        const uint32_t count = maker_.size(dtype, maker_.nest.columns);
        return keep(maker_.compute("divide", {sum, count}));
      }
      case 6: return keep(maker_.reduce(rarely() ? Reduction::minimum : Reduction::maximum, x));
      case 7: {
        const uint32_t place = maker_.index(DType::i32, {1, 1});
        const uint32_t is_odd = maker_.compute(
            "equal", {maker_.compute("bitwise_and", {place, maker_.number(DType::i32, 1)}),
                      maker_.number(DType::i32, 1)});
        return keep(maker_.compute("select", {is_odd, x, y}));
      }
      default: return keep(maker_.compute("negative", {x}));
    }
  }

  void add_result() {
    uint32_t v = values_[values_.size() - 1 - pick(std::min<size_t>(values_.size(), 4))];
    const auto r = static_cast<size_t>(rows_), c = static_cast<size_t>(columns_);
    if (rarely() && is_floating(value(v).dtype)) {
      if (value(v).dtype != DType::f64) v = maker_.convert(v, DType::f32);
      const Reduction reduction = rarely() ? Reduction::maximum : Reduction::sum;
      if (accumulates_) maker_.nest.grouped = 0;
      const bool over_columns = pick(2) == 0;
      const Dim row = accumulates_ ? Dim(0) : over_columns ? Dim(1) : maker_.nest.columns;
      maker_.result(v, {row, over_columns ? 0 : 1}, reduction);
      result_counts_.push_back((accumulates_ ? 1 : r) * (over_columns ? 1 : c));
    } else if (value(v).has_columns || rarely()) {
      maker_.result(v, {maker_.nest.columns, 1});
      result_counts_.push_back(r * c);
    } else {
      maker_.result(v, {1, 0});
      result_counts_.push_back(r);
    }
  }

  std::mt19937 random_;
  int64_t rows_, columns_;
  bool is_known_ = false, accumulates_ = false, has_narrow_ = false;
  NestMaker maker_;
  std::vector<uint32_t> values_;
  std::vector<size_t> counts_, result_counts_;
};

}  // namespace plait::nest_test
