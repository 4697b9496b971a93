// Parameters as matrices.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "plait/tensor/tensor.h"

namespace plait::optim {

// A parameter as matrices [batch, rows, columns], by the axes that are rows and those that are
// columns; its other axes are the batch. Without any, it is one matrix.
class MatrixView {
 public:
  // ValueError, which begins with the name of the rule, unless these are different axes of the
  // parameter.
  MatrixView(std::string_view rule, const Tensor& parameter, const std::vector<int64_t>& row_axes,
             const std::vector<int64_t>& column_axes);

  int64_t batch() const { return batch_; }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  bool has_batch() const { return has_batch_; }

  Tensor of(const Tensor& x) const;
  Tensor back(const Tensor& matrices) const;

 private:
  std::vector<int64_t> order_;
  Shape moved_;
  int64_t batch_ = 1, rows_ = 1, columns_ = 1;
  bool has_batch_ = false;
};

}  // namespace plait::optim
