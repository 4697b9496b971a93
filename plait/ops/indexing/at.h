// x.at(index): indexed reads and updates.
//
//   y = x.at({rows, ellipsis}).set(0);           x does not change
//   x = std::move(x).at({rows, ellipsis}).add(1);   in place if x does not share its memory
//
// Values are broadcast to the shape of x[index] and converted to the dtype of x; TypeError if that
// dtype is of a lower kind. If several indices name one element, all values are added, multiplied
// or compared there; for set, the last one in row-major order remains.
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
  // x is donated and must outlive this object.
  IndexedTensor(Tensor&& x, std::vector<Index> index) : x_(&x), index_(std::move(index)) {}
  IndexedTensor(const IndexedTensor&) = delete;
  IndexedTensor& operator=(const IndexedTensor&) = delete;

  Tensor get() &&;                        // x[index]
  Tensor get(const Operand& missing) &&;  // the same, with `missing` for indices out of range
  Tensor set(const Operand& value) &&;
  Tensor add(const Operand& value) &&;
  Tensor multiply(const Operand& value) &&;
  Tensor min(const Operand& value) &&;
  Tensor max(const Operand& value) &&;

 private:
  Tensor change(Combine combine, const Operand& value);

  Tensor own_;
  Tensor* x_;  // donated, unless an error is thrown
  std::vector<Index> index_;
};

// `value` in the dtype of x; TypeError if the dtype of x is of a lower kind.
Tensor value_like(std::string_view function, const Tensor& x, const Operand& value);
// Broadcasts to `shape`; ShapeError if that is not possible.
Tensor broadcast_to_shape(std::string_view function, const Tensor& value, const Shape& shape);

}  // namespace plait
