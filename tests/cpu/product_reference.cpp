#include "tests/cpu/product_reference.h"

#include <cmath>

#include <gtest/gtest.h>

#include "plait/core/hash.h"

namespace plait {
namespace {

Element random_element(DType dtype, uint64_t bits) {
  const double a = static_cast<double>(bits >> 40) / (1 << 23) - 1;
  const double b = static_cast<double>(bits & 0xffffff) / (1 << 23) - 1;
  switch (kind_of(dtype)) {
    case DTypeKind::boolean: return Element::of((bits & 7) == 0);
    case DTypeKind::integer: return Element::of_unsigned(bits);
    case DTypeKind::complex: return Element::of(std::complex(a, b));
    default: return Element::of(a);
  }
}

}  // namespace

Array random_array(DType dtype, const Sizes& sizes, uint64_t seed) {
  Array array = Array::empty(dtype, sizes);
  std::byte* data = array.writable_data();
  for (int64_t i = 0; i < array.element_count(); ++i) {
    const uint64_t bits = hash_combine(seed, static_cast<uint64_t>(i));
    store_element(dtype, random_element(dtype, bits), data + i * array.element_size());
  }
  return array;
}

Array reordered(const Array& array, Order order) {
  const size_t rank = array.rank();
  Layout to = Layout::contiguous(array.sizes());
  if (order == Order::columns && rank >= 2) {
    Sizes axes(rank);
    for (size_t i = 0; i < rank; ++i) axes[i] = static_cast<int64_t>(i);
    std::swap(axes[rank - 1], axes[rank - 2]);
    to = Layout::contiguous(array.layout().permuted(axes).sizes).permuted(axes);
  } else if (order == Order::backwards) {
    for (size_t i = 0; i < rank; ++i) to = to.reversed(static_cast<int64_t>(i));
  } else if (order == Order::gaps) {
    Sizes larger = array.sizes();
    for (int64_t& size : larger) size = 2 * size + 1;
    to = Layout::contiguous(larger);
    for (size_t i = 0; i < rank; ++i) {
      to = to.sliced(static_cast<int64_t>(i), {.start = 1, .step = 2});
    }
  }
  int64_t room = 1;
  for (const int64_t size : array.sizes()) room *= 2 * size + 1;
  Array result = Array::empty(array.dtype(), {room}).view(to);
  copy_elements(array, result);
  return result;
}

void ReferenceSum::add_product(const Element& a, const Element& b) {
  if (is_boolean(dtype)) {
    whole |= a.integer & b.integer;
  } else if (is_integer(dtype)) {
    whole += a.integer * b.integer;
  } else {
    const std::complex<double> product = a.number * b.number;
    number += product;
    magnitude += std::abs(a.number) * std::abs(b.number);
  }
}

double tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::c128: return 2e-15;
    case DType::f32:
    case DType::c64: return 6e-7;
    case DType::f16:
    case DType::bf16: return 6e-7;
    default: return 0;
  }
}

void expect_sum(const Element& actual, const ReferenceSum& sum, const std::string& where) {
  if (!is_inexact(sum.dtype)) {
    std::byte bytes[8];
    store_element(sum.dtype, Element::of_unsigned(sum.whole), bytes);
    ASSERT_EQ(actual.integer, load_element(sum.dtype, bytes).integer) << where;
    return;
  }
  double allowed = tolerance_of(sum.dtype) * sum.magnitude;
  if (size_of(sum.dtype) == 2) {
    const FloatLimits limits = float_limits(sum.dtype);
    allowed += std::abs(sum.number) * limits.epsilon / 2 + limits.smallest_subnormal;
  }
  ASSERT_LE(std::abs(actual.number - sum.number), allowed)
      << where << ": " << actual.number << " instead of " << sum.number;
}

Element element_at(const Array& array, std::span<const int64_t> index) {
  int64_t offset = 0;
  for (size_t i = 0; i < index.size(); ++i) offset += index[i] * array.layout().strides[i];
  return load_element(array.dtype(), array.data() + offset * array.element_size());
}

}  // namespace plait
