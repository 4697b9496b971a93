#include "plait/ops/inside/flat_vectors.h"

#include "plait/core/error.h"
#include "plait/core/numbers/promotion.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/complex.h"

namespace plait {
namespace {

void expect_some(std::string_view function, std::span<const Tensor> tensors) {
  if (!tensors.empty()) return;
  throw ValueError("{}: there are no parameters", function)
      .at(Location::of_caller())
      .hint("tensors of floats are parameters, unless they are buffers");
}

void expect_fit(std::string_view function, const Tensor& vector, std::span<const Tensor> like) {
  Dim size = 0;
  bool is_complex_too = false;
  for (const Tensor& each : like) {
    size = size + each.shape().element_count();
    is_complex_too = is_complex_too || is_complex(each.dtype());
  }
  if (vector.shape() != Shape{size}) {
    throw ShapeError("{}: the vector is {}, expected [{}], as many numbers as the parameters have",
                     function, vector.type().text(), size.text())
        .at(Location::of_caller())
        .hint("the vector of a model like this one has as many numbers");
  }
  if (!is_complex(vector.dtype()) || is_complex_too) return;
  throw TypeError(
      "{}: the vector is {}, and the parameters are real, so the imaginary parts would "
      "be lost",
      function, vector.type().text())
      .at(Location::of_caller())
      .hint("real(x) takes the real parts");
}

}  // namespace

Tensor vector_of(std::string_view function, std::span<const Tensor> tensors) {
  expect_some(function, tensors);
  DType dtype = tensors[0].dtype();
  for (const Tensor& each : tensors) dtype = promote(dtype, each.dtype());
  std::vector<Tensor> parts;
  for (const Tensor& each : tensors) parts.push_back(astype(flatten(each), dtype));
  return concat(parts);
}

std::vector<Tensor> parts_of_vector(std::string_view function, const Tensor& vector,
                                    std::span<const Tensor> like) {
  expect_some(function, like);
  expect_fit(function, vector, like);
  std::vector<Tensor> made;
  Dim begin = 0;
  for (const Tensor& each : like) {
    const Dim size = each.shape().element_count();
    Tensor part = reshape(slice_axis(vector, 0, begin, size), each.shape());
    if (is_complex(part.dtype()) && !is_complex(each.dtype())) part = real(part);
    made.push_back(astype(part, each.dtype()));
    begin = begin + size;
  }
  return made;
}

}  // namespace plait
