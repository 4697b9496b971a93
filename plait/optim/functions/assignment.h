// The linear assignment problem.
#pragma once

#include <utility>

#include "plait/tensor/tensor.h"

namespace plait::optim {

// The assignment of rows to columns whose sum of costs is least, of as many pairs as there are
// rows, or columns if they are fewer, by shortest augmenting paths: the indices i of rows and j of
// columns, i64. The order is optax's: for square matrices that of the columns. A cost of infinity
// forbids a pair. ShapeError unless the costs are [rows, columns]: vmap solves many problems
// together.
std::pair<Tensor, Tensor> hungarian_algorithm(const Tensor& cost_matrix);

}  // namespace plait::optim
