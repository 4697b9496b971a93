#include "plait/tensor/apply.h"

#include <array>

#include "plait/core/error.h"
#include "plait/ir/inference.h"
#include "plait/tensor/kernels.h"
#include "plait/tensor/trace.h"

namespace plait {
namespace {

const ir::Declarations& no_declarations() {
  static const ir::Declarations declarations;
  return declarations;
}

// What the type rule says of concrete operands. A size that is born is -1.
std::vector<ArrayType> infer(const ir::Primitive& primitive, std::span<const Array> operands,
                             const ir::Attributes& attributes) {
  static const ir::Mesh no_axes;
  std::vector<ir::Type> types;
  types.reserve(operands.size());
  for (const Array& operand : operands) {
    types.push_back(ir::Type::array(operand.dtype(), Shape::of_sizes(operand.sizes())));
  }
  int born = 0;
  ir::Inference inference{.primitive = primitive,
                          .operands = types,
                          .attributes = attributes,
                          .callees = {},
                          .size_arguments = {},
                          .stated = {},
                          .declarations = no_declarations(),
                          .axes = no_axes,
                          .name_size = [&](std::string_view hint) {
                            return Dim::symbol(fmt::format("{}.{}", hint, born++));
                          }};
  inference.run();
  std::vector<ArrayType> results;
  for (const ir::Type& type : inference.results) {
    ArrayType& result = results.emplace_back(ArrayType{type.dtype(), Sizes(type.shape().rank())});
    for (size_t i = 0; i < result.sizes.size(); ++i) {
      const Dim dim = type.shape()[i];
      result.sizes[i] = dim.is_number() ? dim.number() : -1;
    }
  }
  return results;
}

// Elementwise operands that are alike need no type rule.
bool are_alike(const ir::Primitive& primitive, std::span<const Array> operands) {
  if (primitive.elementwise == ir::Elementwise::no) return false;
  const Array& first = operands[0];
  if (!primitive.takes.contains(first.dtype())) return false;
  for (const Array& operand : operands.subspan(1)) {
    if (operand.dtype() != first.dtype() || operand.sizes() != first.sizes()) return false;
  }
  return true;
}

void check_count(const ir::Primitive& primitive, size_t operands) {
  if (primitive.operands.holds(operands)) return;
  throw TypeError("{}: takes {} operands, {} given", primitive.name, primitive.operands.least,
                  operands);
}

// Calls `use` with the results.
template <class Use>
auto run_now(const ir::Primitive& primitive, std::span<Array> operands, const ir::Attributes& given,
             Use use) {
  check_count(primitive, operands.size());
  const Kernel& kernel = kernel_of(primitive);
  ir::Attributes defaults;
  const bool takes_defaults = !given && primitive.attributes != nullptr;
  if (takes_defaults) defaults = ir::Attributes::defaults(primitive.attributes);
  const ir::Attributes& attributes = takes_defaults ? defaults : given;
  if (are_alike(primitive, operands)) {
    const ArrayType type{elementwise_result(primitive.elementwise, operands[0].dtype()),
                         operands[0].sizes()};
    std::array<Array, 1> result;
    KernelCall call{primitive, operands, attributes, {&type, 1}, result};
    kernel.run(call, kernel.data);
    return use(std::span<Array>(result));
  }
  std::vector<ArrayType> types;
  if (!kernel.finds_types) types = infer(primitive, operands, attributes);
  std::vector<Array> results(kernel.finds_types ? 1 : types.size());
  KernelCall call{primitive, operands, attributes, types, results};
  kernel.run(call, kernel.data);
  return use(std::span<Array>(results));
}

std::vector<Array> arrays_of(std::span<const Tensor> tensors) {
  std::vector<Array> arrays;
  arrays.reserve(tensors.size());
  for (const Tensor& tensor : tensors) arrays.push_back(tensor.array());
  return arrays;
}

}  // namespace

std::vector<Tensor> apply_all(const ir::Primitive& primitive, std::span<const Tensor> operands,
                              const ir::Attributes& attributes) {
  if (Trace* trace = Trace::current()) {
    return trace->record({.primitive = primitive, .operands = operands, .attributes = attributes});
  }
  std::vector<Array> arrays = arrays_of(operands);
  return run_now(primitive, arrays, attributes, [](std::span<Array> results) {
    std::vector<Tensor> tensors;
    for (Array& result : results) tensors.push_back(Tensor(std::move(result)));
    return tensors;
  });
}

Tensor apply(const ir::Primitive& primitive, std::span<const Tensor> operands,
             const ir::Attributes& attributes) {
  constexpr size_t kMostInPlace = 4;
  if (Trace::current() != nullptr || operands.size() > kMostInPlace) {
    return apply_all(primitive, operands, attributes).at(0);
  }
  std::array<Array, kMostInPlace> arrays;
  for (size_t i = 0; i < operands.size(); ++i) arrays[i] = operands[i].array();
  return run_now(primitive, std::span(arrays).first(operands.size()), attributes,
                 [](std::span<Array> results) { return Tensor(std::move(results[0])); });
}

Tensor scalar_tensor(const Scalar& value, DType dtype) {
  if (Trace* trace = Trace::current()) {
    if (value.is_symbolic()) return trace->size(value.size(), dtype);
    Array array = Array::filled(dtype, {}, value.element());
    return trace->constant(array.literal());
  }
  return Tensor(Array::filled(dtype, {}, value.element()));
}

}  // namespace plait
