// Helpers for tests of reductions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "plait/cpu/inside/reductions/cpu_reduce.h"

namespace plait::reduce_test {

inline double number_of(DType dtype, const std::byte* place) {
  const Element element = load_element(dtype, place);
  if (is_boolean(dtype)) return element.integer != 0 ? 1 : 0;
  if (!is_integer(dtype)) return element.number.real();
  return element.is_signed ? static_cast<double>(static_cast<int64_t>(element.integer))
                           : static_cast<double>(element.integer);
}

// The element at an index, computed from the layout only.
inline double at(const Array& array, std::span<const int64_t> index) {
  int64_t place = array.layout().offset;
  for (size_t i = 0; i < index.size(); ++i) place += index[i] * array.layout().strides[i];
  return number_of(array.dtype(), array.buffer().data() + place * array.element_size());
}

// Calls visit(index) for every index in row-major order.
template <class Visit>
void for_each_index(const Sizes& sizes, Visit visit) {
  std::vector<int64_t> index(sizes.size());
  for (int64_t n = 0; n < element_count_of(sizes); ++n) {
    int64_t rest = n;
    for (size_t i = sizes.size(); i-- > 0;) {
      index[i] = rest % sizes[i];
      rest /= sizes[i];
    }
    visit(std::span<const int64_t>(index));
  }
}

inline Array reduced(ir::Reduction reduction, const Array& x, const std::vector<int64_t>& axes) {
  Sizes sizes;
  for (size_t i = 0; i < x.rank(); ++i) {
    if (!std::ranges::binary_search(axes, static_cast<int64_t>(i))) sizes.push_back(x.sizes()[i]);
  }
  Array out = Array::empty(x.dtype(), sizes);
  reduce(reduction, x, axes, out);
  return out;
}

// Reduces all axes.
inline double total(ir::Reduction reduction, const Array& x) {
  std::vector<int64_t> axes;
  for (size_t i = 0; i < x.rank(); ++i) axes.push_back(static_cast<int64_t>(i));
  return number_of(x.dtype(), reduced(reduction, x, axes).data());
}

// Integers from -7 to 8.
inline Array numbers(DType dtype, const Sizes& sizes) {
  Array array = Array::empty(DType::f64, sizes);
  uint64_t state = 12345;
  for (double& element : array.writable_elements<double>()) {
    state = state * 6364136223846793005 + 1442695040888963407;
    element = static_cast<double>(state >> 60) - 7;
  }
  return array.converted(dtype);
}

}  // namespace plait::reduce_test
