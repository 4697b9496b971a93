// Helpers of tests of loop nests: construction of nests, and arrays to run them on.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "plait/compile/inside/nests/nest.h"
#include "plait/core/numbers/element.h"
#include "plait/ir/primitive.h"

namespace plait::nest_test {

using compile::Affine;
using compile::Domain;
using compile::Nest;
using compile::NestResult;
using compile::NestValue;
using ir::Reduction;

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

}  // namespace plait::nest_test
