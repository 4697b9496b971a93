// x.at(index): some elements of a tensor, to be read or changed.
//
//   y = x.at({rows, ellipsis}).set(0);           x stays as it was
//   x = std::move(x).at({rows, ellipsis}).add(1);   in place, where nobody else has x
//
// What is given stretches to the shape of x[index] and takes the dtype of x; TypeError where that
// cannot hold its kind of number. An element that several indices name gets all that is added,
// multiplied or compared, and keeps the last that is set, in row-major order.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "plait/ops/indexing/index.h"
#include "plait/ops/indexing/scatter.h"
#include "plait/ops/operand.h"

namespace plait {

class [[nodiscard]] IndexedTensor {
 public:
  IndexedTensor(const Tensor& x, std::vector<Index> index)
      : own_(x), x_(&own_), index_(std::move(index)) {}
  // x, which must live as long as this, is given away.
  IndexedTensor(Tensor&& x, std::vector<Index> index) : x_(&x), index_(std::move(index)) {}
  IndexedTensor(const IndexedTensor&) = delete;
  IndexedTensor& operator=(const IndexedTensor&) = delete;

  Tensor get() &&;                        // x[index]
  Tensor get(const Operand& missing) &&;  // the same with `missing` for what is out of range
  Tensor set(const Operand& value) &&;
  Tensor add(const Operand& value) &&;
  Tensor multiply(const Operand& value) &&;
  Tensor min(const Operand& value) &&;
  Tensor max(const Operand& value) &&;

 private:
  Tensor change(Combine combine, const Operand& value);

  Tensor own_;
  Tensor* x_;  // given away, unless it fails
  std::vector<Index> index_;
};

// `value` in the dtype of x; TypeError where x has a lesser kind of numbers.
Tensor value_like(std::string_view function, const Tensor& x, const Operand& value);
// Stretched to `shape`; ShapeError where it is no part of that.
Tensor stretched(std::string_view function, const Tensor& value, const Shape& shape);

}  // namespace plait
