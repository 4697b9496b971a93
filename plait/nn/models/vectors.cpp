#include "plait/nn/models/vectors.h"

#include "plait/ops/inside/flat_vectors.h"

namespace plait::nn {

bool is_parameter(const Tensor& value) {
  return value && value.is_array() && is_inexact(value.dtype());
}

namespace vectors {

Tensor joined(const std::vector<Tensor>& parameters) {
  return vector_of("nn::parameters_to_vector", parameters);
}

std::vector<Tensor> split(const Tensor& vector, const std::vector<Tensor>& like) {
  return parts_of_vector("nn::vector_to_parameters", vector, like);
}

}  // namespace vectors

}  // namespace plait::nn
