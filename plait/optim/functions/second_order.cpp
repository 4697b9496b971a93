#include "plait/optim/functions/second_order.h"

#include <vector>

#include "plait/core/error.h"
#include "plait/ops/inside/flat_vectors.h"

namespace plait::optim::second_order {
namespace {

std::vector<Tensor*> parameters_in_order(std::span<const ModelLeaf> model) {
  std::vector<Tensor*> found;
  for (const ModelLeaf& each : model) {
    if (!each.is_buffer && is_trained(*each.tensor)) found.push_back(each.tensor);
  }
  return found;
}

std::vector<Tensor> values_of(std::span<Tensor* const> places) {
  std::vector<Tensor> made;
  for (const Tensor* const each : places) made.push_back(*each);
  return made;
}

}  // namespace

Tensor real_vector(std::string_view function, std::span<const ModelLeaf> model) {
  Tensor vector = vector_of(function, values_of(parameters_in_order(model)));
  if (!is_complex(vector.dtype())) return vector;
  throw TypeError("{}: the parameters are complex, expected real ones", function)
      .at(Location::of_caller());
}

void assign_vector(std::string_view function, std::span<const ModelLeaf> model,
                   const Tensor& vector) {
  const std::vector<Tensor*> places = parameters_in_order(model);
  const std::vector<Tensor> parts = parts_of_vector(function, vector, values_of(places));
  for (size_t i = 0; i < places.size(); ++i) *places[i] = parts[i];
}

}  // namespace plait::optim::second_order
