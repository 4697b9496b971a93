#include "plait/ops/operand.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/core/sizes/size_facts.h"
#include "plait/ir/structure.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/tensor/inside/fits.h"
#include "plait/tensor/inside/tracing/trace.h"

namespace plait {

Tensor Operand::as(DType dtype) const {
  if (is_tensor()) return astype(tensor(), dtype);
  expect_fits(scalar_, dtype);
  // A symbolic size is converted via i64, or checked where it is computed.
  const bool has_size = is_integer(dtype) || is_floating(dtype);
  if (scalar_.is_symbolic() && (!has_size || ir::holds_every_size(dtype))) {
    return astype(scalar_tensor(scalar_, DType::i64), dtype);
  }
  return scalar_tensor(scalar_, dtype);
}

double number_of(const Scalar& scalar) {
  double number = 0;
  store_element(DType::f64, scalar.element(), reinterpret_cast<std::byte*>(&number));
  return number;
}

DType common_dtype(const Operand& a, const Operand& b) {
  if (a.is_tensor() && b.is_tensor()) {
    const DType first = a.tensor().dtype(), second = b.tensor().dtype();
    return first == second ? first : promote(first, second);
  }
  if (a.is_tensor()) return promote(a.tensor().dtype(), b.scalar().kind());
  if (b.is_tensor()) return promote(b.tensor().dtype(), a.scalar().kind());
  return common_dtype({&a, &b});
}

DType common_dtype(std::initializer_list<const Operand*> operands) {
  std::vector<DType> dtypes;
  std::vector<ScalarKind> scalars;
  for (const Operand* operand : operands) {
    if (operand->is_tensor())
      dtypes.push_back(operand->tensor().dtype());
    else
      scalars.push_back(operand->scalar().kind());
  }
  return promote(dtypes, scalars);
}

Tensor tensor_from(const Operand& x) {
  return x.is_tensor() ? x.tensor() : x.as(default_dtype(x.scalar().kind()));
}

DType computed(DType dtype) {
  return dtype == DType::f64 || is_complex(dtype) ? dtype : DType::f32;
}

DType inexact(DType dtype) {
  return is_inexact(dtype) ? dtype : default_dtype(ScalarKind::floating);
}

Shape common_shape(std::string_view function, const Shape& a, const Shape& b) {
  SizeContext no_trace;
  SizeContext& context = Trace::current() ? Trace::current()->sizes() : no_trace;
  try {
    return broadcast(a, b, context);
  } catch (const ShapeError&) {
    throw ShapeError("{}: {} and {} cannot be broadcast together", function, a.text(), b.text())
        .at(Location::of_caller())
        .hint("sizes are compared from the last dimension; a size of 1 is broadcast");
  }
}

Shape common_shape(std::string_view function, std::span<const Tensor> tensors) {
  Shape shape;
  for (const Tensor& tensor : tensors) shape = common_shape(function, shape, tensor.shape());
  return shape;
}

bool have_same_type(const Tensor& a, const Tensor& b) {
  if (a.is_traced() != b.is_traced()) return false;
  return a.is_traced() ? same(a.shape(), b.shape()) : a.array().sizes() == b.array().sizes();
}

std::vector<Tensor> broadcast_together(std::string_view function, std::vector<Tensor> tensors) {
  const auto is_like_first = [&](const Tensor& tensor) {
    return have_same_type(tensor, tensors[0]);
  };
  if (std::ranges::all_of(tensors, is_like_first)) return tensors;
  const Shape shape = common_shape(function, tensors);
  for (Tensor& tensor : tensors) tensor = broadcast_to(tensor, shape);
  return tensors;
}

}  // namespace plait
