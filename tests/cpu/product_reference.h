// Reference for matrix products and convolutions: random arrays of every dtype, and simple loops.
#pragma once

#include <complex>
#include <cstdint>

#include "plait/tensor/memory/array.h"

namespace plait {

inline constexpr DType kProductDTypes[] = {DType::f64,     DType::f32, DType::f16, DType::bf16,
                                           DType::i8,      DType::i16, DType::i32, DType::i64,
                                           DType::u8,      DType::u16, DType::u32, DType::u64,
                                           DType::boolean, DType::c64, DType::c128};

// Reproducible numbers: floats between -1 and 1, integers over their whole range.
Array random_array(DType dtype, const Sizes& sizes, uint64_t seed);

// The same elements in another memory layout: unchanged, with the last two dimensions exchanged,
// with all dimensions reversed, or with gaps.
enum class Order { rows, columns, backwards, gaps };
inline constexpr Order kOrders[] = {Order::rows, Order::columns, Order::backwards, Order::gaps};
Array reordered(const Array& array, Order order);

// Reference sums: complex doubles, or integers modulo 2^64.
struct ReferenceSum {
  DType dtype;
  std::complex<double> number;
  double magnitude = 0;  // sum of the absolute values
  uint64_t whole = 0;

  void add_product(const Element& a, const Element& b);
};

// Error bound of a result, relative to the sum of absolute values; narrow floats may be off by
// another half ulp of the result. The errors of sums are below √terms ulp.
double tolerance_of(DType dtype);

// Fails the calling test, with `where`, unless `actual` is the sum.
void expect_sum(const Element& actual, const ReferenceSum& sum, const std::string& where);

Element element_at(const Array& array, std::span<const int64_t> index);

}  // namespace plait
