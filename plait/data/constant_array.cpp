#include "plait/data/constant_array.h"

#include "plait/core/error.h"
#include "plait/tensor/tracing/derivation.h"

namespace plait::data {

const Array& constant_array(std::string_view function, const Tensor& tensor) {
  if (!is_followed(tensor)) return tensor.array();
  throw TypeError(
      "{}: a derivative with respect to {} is computed, which this function does not have",
      function, tensor.type().text())
      .at(Location::of_caller())
      .hint(
          "call it outside of the function that is differentiated, or write it in functions of "
          "tensors");
}

}  // namespace plait::data
