#include "plait/transform/inside/derivatives/derived_functions.h"

#include "plait/tensor/inside/tracing/trace.h"
#include "plait/transform/derivatives/vjp.h"
#include "plait/transform/inside/derivatives/again.h"
#include "plait/transform/inside/derivatives/tangents.h"

namespace plait::control {

std::vector<bool> which_are_inexact(std::span<const Tensor> tensors) {
  std::vector<bool> which;
  for (const Tensor& tensor : tensors) which.push_back(has_tangent(tensor));
  return which;
}

std::vector<bool> which_are_followed(std::span<const Tensor> tensors) {
  std::vector<bool> which;
  for (const Tensor& tensor : tensors) {
    which.push_back(has_tangent(tensor) && is_followed(tensor));
  }
  return which;
}

Tensors chosen(std::span<const Tensor> tensors, const std::vector<bool>& which) {
  Tensors all;
  for (size_t i = 0; i < which.size(); ++i) {
    if (which[i]) all.push_back(tensors[i]);
  }
  return all;
}

Tensor or_zeros(const Tensor& tangent, const Tensor& like) {
  return tangent ? tangent : zeros_of(OperandType(like));
}

Tensor refined(const Tensor& tensor, const Shape& shape) {
  return !tensor || same(tensor.shape(), shape) ? tensor : Trace::current()->refine(tensor, shape);
}

std::vector<Shape> shapes_of(std::span<const Tensor> results) {
  std::vector<Shape> shapes;
  for (const Tensor& result : results) {
    shapes.push_back(result.is_array() ? result.shape() : Shape());
  }
  return shapes;
}

Tensors refined(Tensors tensors, std::span<const Shape> shapes) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i] && tensors[i].is_array()) tensors[i] = refined(tensors[i], shapes[i]);
  }
  return tensors;
}

Tensors pulled(const TensorFunction& function, std::span<const Tensor> arguments,
               const std::vector<bool>& wanted, std::span<const Tensor> cotangents) {
  const Again again;
  Pullback pullback;
  Tensors begun(arguments.begin(), arguments.end());
  for (size_t i = 0; i < begun.size(); ++i) {
    if (wanted[i]) begun[i] = pullback.begin(begun[i]);
  }
  for (const Tensor& result : function(begun)) pullback.finish(result);
  pullback.close();
  return pullback(cotangents, false);
}

std::pair<Tensors, Tensors> pushed(const TensorFunction& function,
                                   std::span<const Tensor> arguments,
                                   std::span<const Tensor> tangents, bool again) {
  const Again scope(again || Again::is_open());
  Pushforward push;
  Tensors begun, values, moved;
  for (size_t i = 0; i < arguments.size(); ++i) {
    begun.push_back(push.begin(arguments[i], tangents[i]));
  }
  for (const Tensor& result : function(begun)) {
    auto [value, tangent] = push.finish(result);
    values.push_back(std::move(value));
    if (has_tangent(values.back())) moved.push_back(std::move(tangent));
  }
  return {std::move(values), std::move(moved)};
}

}  // namespace plait::control
