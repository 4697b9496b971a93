// Products of many matrices with parts of one matrix b, on one thread: b is prepared once.
#pragma once

#include <cstdint>
#include <memory>

#include "plait/core/numbers/dtype.h"
#include "plait/ops/inside/products/matrix.h"

namespace plait {

inline constexpr int64_t kProductUnit = 32;

class RepeatedProduct {
 public:
  virtual ~RepeatedProduct() = default;

  // Its data must stay until the next call.
  virtual void set_b(const Matrix& b) = 0;
  // out = a · some rows and columns of b, as many as a has columns and out has, from these on,
  // which are multiples of kProductUnit. With `accumulates` it is added to out, whose dtype is that
  // of sums. Columns of out are contiguous, and so are the rows or the columns of a.
  virtual void multiply(const Matrix& a, int64_t first_row, int64_t first_column,
                        const TargetMatrix& out, bool accumulates) = 0;
};

// The dtype of sums of several products: f32 for narrower ones, else the same.
inline DType sum_dtype(DType dtype) { return size_of(dtype) < 4 ? DType::f32 : dtype; }

// For f64, f32, bf16 and f16; null for other dtypes.
std::unique_ptr<RepeatedProduct> repeated_product(DType dtype);

}  // namespace plait
