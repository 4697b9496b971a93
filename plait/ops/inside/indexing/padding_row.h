// The row of a table that stands for padding.
#pragma once

#include <string_view>

#include "plait/tensor/tensor.h"

namespace plait {

// True where an id names this row; both may count from the end. IndexError if there is no such row.
Tensor is_padding_row(std::string_view function, const Tensor& ids, const Tensor& table,
                      int64_t padding);

}  // namespace plait
