// What matrix products and convolutions are compared with: numbers of every dtype, and loops that
// are plain enough to be right.
#pragma once

#include <complex>
#include <cstdint>

#include "plait/tensor/memory/array.h"

namespace plait {

inline constexpr DType kProductDTypes[] = {DType::f64,     DType::f32, DType::f16, DType::bf16,
                                           DType::i8,      DType::i16, DType::i32, DType::i64,
                                           DType::u8,      DType::u16, DType::u32, DType::u64,
                                           DType::boolean, DType::c64, DType::c128};

// Reproducible numbers: floats between -1 and 1, whole numbers over their whole range.
Array random_array(DType dtype, const Sizes& sizes, uint64_t seed);

// The same elements in another order of memory: as they come, the last two dimensions exchanged,
// every dimension backwards, or with gaps.
enum class Order { rows, columns, backwards, gaps };
inline constexpr Order kOrders[] = {Order::rows, Order::columns, Order::backwards, Order::gaps};
Array reordered(const Array& array, Order order);

// Sums in the reference: complex doubles, and whole numbers modulo 2^64.
struct ReferenceSum {
  DType dtype;
  std::complex<double> number;
  double magnitude = 0;  // the sum of the absolute values
  uint64_t whole = 0;

  void add_product(const Element& a, const Element& b);
};

// How far from the exact sum a result may lie: this times the sum of the absolute values, and for
// narrow floats half a step of the result. The sums themselves err by less than √terms steps.
double tolerance_of(DType dtype);

// Fails the test that calls, saying where, unless `actual` is the sum.
void expect_sum(const Element& actual, const ReferenceSum& sum, const std::string& where);

Element element_at(const Array& array, std::span<const int64_t> index);

}  // namespace plait
