#include "plait/tensor/array_machine.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/ir/evaluation/evaluator.h"
#include "plait/ir/structure.h"
#include "plait/tensor/inside/device_calls.h"
#include "plait/tensor/inside/kernel_anomaly.h"
#include "plait/tensor/kernels.h"

namespace plait {
namespace {

// Data-dependent sizes of this instruction become -1.
ArrayType type_of(const ir::Type& type, const ir::PrimitiveCall& call) {
  ArrayType result{type.dtype(), Sizes(type.shape().rank())};
  const auto new_sizes = call.instruction.size_results();
  for (size_t i = 0; i < result.sizes.size(); ++i) {
    const Dim dim = type.shape()[i];
    const bool is_new = std::ranges::find_if(new_sizes, is_same_as(dim)) != new_sizes.end();
    result.sizes[i] = is_new ? -1 : call.size(dim);
  }
  return result;
}

ir::Attributes with_numbers(const ir::PrimitiveCall& call) {
  return call.instruction.attributes().map_sizes([&](Dim dim) { return Dim(call.size(dim)); });
}

// Reads the data-dependent sizes from the results.
void find_data_dependent_sizes(ir::PrimitiveCall& call, std::span<const Array> results) {
  const auto new_sizes = call.instruction.size_results();
  for (size_t k = 0; k < new_sizes.size(); ++k) {
    for (size_t r = 0; r < results.size(); ++r) {
      const Shape& shape = call.instruction.result_types()[r].shape();
      for (size_t i = 0; i < shape.rank(); ++i) {
        if (same(shape[i], new_sizes[k])) call.size_results[k] = results[r].sizes()[i];
      }
    }
  }
}

}  // namespace

ir::Value TensorMachine::value_of(const Tensor& tensor) {
  return tensor.is_traced() || tensor.is_array() ? value_of(tensor.array()) : tensor.record();
}

Tensor TensorMachine::tensor_of(ir::Value value, const ir::Type& type) {
  return type.is_array() ? Tensor(array_of(value)) : Tensor(RecordValue{type, std::move(value)});
}

void TensorMachine::run(ir::PrimitiveCall& call) {
  const ir::Primitive& primitive = call.instruction.primitive();
  std::vector<Array> operands;
  operands.reserve(call.operands.size());
  for (ir::Value& value : call.operands) {
    operands.push_back(array_of(value));
    value = {};  // releases the value, so that its memory can be reused
  }
  std::vector<ArrayType> types;
  for (const ir::Type& type : call.instruction.result_types()) types.push_back(type_of(type, call));
  std::vector<Array> results(types.size());
  const ir::Attributes attributes = with_numbers(call);
  const bool is_unplaced = gives_unplaced(primitive, operands, attributes);
  KernelCall kernel_call{primitive, operands, attributes, types, results};
  if (!is_host_call(operands)) kernel_call.device = meet(primitive, operands, Device());
  // Kernels of devices keep it: their errors are thrown later.
  const bool keeps_line = detects_anomaly() || !kernel_call.device.is_cpu();
  const LocationScope place(keeps_line ? call.instruction.location() : Location());
  kernel_call.device.is_cpu() ? run_kernel(kernel_of(primitive), kernel_call)
                              : run_on_device(kernel_call);
  find_data_dependent_sizes(call, results);
  set_unplaced(results, is_unplaced);
  for (size_t i = 0; i < results.size(); ++i) call.results[i] = value_of(std::move(results[i]));
}

ir::Value TensorMachine::literal(const Literal& literal) { return value_of(Array::of(literal)); }

ir::Value TensorMachine::from_size(int64_t size, DType dtype) {
  ir::expect_holds(dtype, size);
  return value_of(Array::filled(dtype, {}, Element::of_signed(size)));
}

ir::Value TensorMachine::from_boolean(bool truth) { return value_of(Array::of(truth)); }

int64_t TensorMachine::to_integer(const ir::Value& scalar) {
  return static_cast<int64_t>(array_of(scalar).element().integer);
}

bool TensorMachine::to_boolean(const ir::Value& scalar) {
  return array_of(scalar).element().integer != 0;
}

ir::ArraySizes TensorMachine::sizes_of(const ir::Value& array) {
  const Array& numbers = array_of(array);
  return {numbers.dtype(), {numbers.sizes().begin(), numbers.sizes().end()}};
}

ir::Value TensorMachine::slice(const ir::Value& stacked, int64_t index) {
  const Array& array = array_of(stacked);
  return value_of(array.view(array.layout().picked(0, index)));
}

ir::Value TensorMachine::stack(std::span<const ir::Value> slices, const ir::ArraySizes& each) {
  std::vector<Array> parts;
  parts.reserve(slices.size());
  for (const ir::Value& slice : slices) parts.push_back(array_of(slice));
  static const ir::Attributes none;
  const ir::Primitive& scan = ir::primitive(ir::Structure::scan);
  const bool is_unplaced = gives_unplaced(scan, parts, none);
  const Device device = meet(scan, parts, Device());
  Sizes sizes(each.sizes);
  sizes.insert(0, static_cast<int64_t>(slices.size()));
  Array stacked = Array::empty_on(device, each.dtype, std::move(sizes)).unplaced(is_unplaced);
  for (size_t i = 0; i < parts.size(); ++i) {
    Array place = stacked.view(stacked.layout().picked(0, static_cast<int64_t>(i)));
    copy_elements(parts[i], place);
  }
  return value_of(std::move(stacked));
}

std::vector<Tensor> tensors_of(const ir::Program& program, std::vector<ir::Value> values) {
  const std::vector<ir::Type>& types = program.entry().signature().results;
  std::vector<Tensor> results;
  results.reserve(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    results.push_back(TensorMachine::tensor_of(std::move(values[i]), types[i]));
  }
  return results;
}

std::vector<ir::Value> values_of(std::vector<Tensor> given) {
  std::vector<ir::Value> values(given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    Tensor tensor = std::move(given[i]);
    if (!tensor) continue;
    values[i] = tensor.is_array() ? TensorMachine::value_of(std::move(tensor).take_array())
                                  : TensorMachine::value_of(tensor);
  }
  return values;
}

namespace {

// Results that no operand placed are where the arguments are.
std::vector<Tensor> with_unplaced_on(Device device, std::vector<Tensor> results) {
  if (device.is_cpu()) return results;
  for (Tensor& result : results) {
    if (!result.is_array() || !result.is_unplaced() || !result.device().is_cpu()) continue;
    if (!is_key(result.dtype())) result = Tensor(result.array().on(device));
  }
  return results;
}

}  // namespace

std::vector<Tensor> evaluate(const ir::Program& program, std::span<const Tensor> arguments,
                             const ir::EvaluatorOptions& options) {
  return evaluate_donated(program, {arguments.begin(), arguments.end()}, options);
}

std::vector<Tensor> evaluate_donated(const ir::Program& program, std::vector<Tensor> arguments,
                                     const ir::EvaluatorOptions& options) {
  TensorMachine machine;
  const Device device = device_of(arguments);
  return with_unplaced_on(
      device, tensors_of(program, ir::evaluate_donated(program, machine,
                                                       values_of(std::move(arguments)), options)));
}

std::vector<Tensor> evaluate_donated(const ir::PreparedProgram& prepared,
                                     std::vector<Tensor> arguments,
                                     const ir::EvaluatorOptions& options) {
  TensorMachine machine;
  const Device device = device_of(arguments);
  return with_unplaced_on(
      device, tensors_of(prepared.program(),
                         ir::evaluate_donated(prepared, machine, values_of(std::move(arguments)),
                                              options)));
}

}  // namespace plait
