#include "plait/cuda/inside/reductions/row_operations.h"

#include <vector>

#include <fmt/format.h>

#include "plait/compile/inside/nests/region.h"
#include "plait/core/error.h"
#include "plait/cuda/inside/device/device_address.h"
#include "plait/cuda/inside/elementwise/eager_nest.h"
#include "plait/ir/structure.h"
#include "plait/ops/inside/primitives.h"
#include "plait/ops/neural/softmax.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/rules.h"

namespace plait::cuda {
namespace {

const Dim& rows_symbol() {
  static const Dim symbol = Dim::symbol("rows");
  return symbol;
}
const Dim& columns_symbol() {
  static const Dim symbol = Dim::symbol("columns");
  return symbol;
}

// The size that a value of rank 0 is the conversion of.
Dim size_of_value(const ir::Function& function, ir::ValueId value) {
  const auto converted = function.definition(value);
  const auto size = converted && &converted->primitive() == &convert_primitive()
                        ? function.definition(converted->operands()[0])
                        : std::nullopt;
  if (!size || size->primitive().structure != ir::Structure::size) {
    throw CompileError("@{} reads other values than its parameter", function.name());
  }
  return size->attributes_as<ir::SizeAttributes>().value;
}

// Numbers of rank 0 are outside of the loops, which then read them: in the nest they are sizes.
void take_sizes(const ir::Function& function, compile::RegionNest& made) {
  compile::Nest& nest = made.nest;
  for (compile::NestValue& value : nest.values) {
    if (value.kind != compile::NestValue::Kind::load) continue;
    const ir::ValueId read = made.parameters[value.parameter];
    if (function.definition(read)) {
      value = {.kind = compile::NestValue::Kind::size,
               .dtype = value.dtype,
               .size = size_of_value(function, read)};
    }
    value.parameter = 0;
  }
  nest.parameters = {function.type_of(ir::ValueId{0}).dtype()};
}

// The nest of a whole function of one parameter. Its results may be views of what is computed that
// only drop dimensions of size 1.
compile::Nest whole_nest(const ir::Function& function) {
  const compile::Roles roles(function);
  std::vector<uint32_t> members;
  for (const ir::Instruction instruction : function.instructions()) {
    const bool is_number = instruction.result_types()[0].shape().rank() == 0;
    if (roles.is_computed(instruction) && !is_number) members.push_back(instruction.index());
  }
  std::vector<ir::ValueId> results;
  for (const ir::ValueId result : function.results()) results.push_back(roles.seen_through(result));
  auto made = compile::nest_of(compile::Region{roles, members, results});
  if (!made) throw CompileError("@{} cannot be computed by one kernel", function.name());
  take_sizes(function, *made);
  return std::move(made->nest);
}

// The decomposition of the primitive, as a nest over an array of rows.
NestKernel row_kernel(const ir::Primitive& primitive, const ir::Attributes& attributes,
                      DType dtype) {
  Trace trace(primitive.name, Trace::apart);
  const Tensor x =
      trace.parameter(ir::Type::array(dtype, Shape({rows_symbol(), columns_symbol()})));
  const OperandType type(x);
  const std::vector<Tensor> results =
      find_rules(primitive)->decomposition({attributes, {&x, 1}, {}, {&type, 1}});
  if (results.empty()) throw CompileError("{} has no decomposition by rows", primitive.name);
  const auto function = trace.finish(results).function;
  return {whole_nest(*function), {.name = fmt::format("plait_{}", primitive.name)}};
}

// `x` is contiguous, with rows along its last axis; so are the results.
void run_rows(const ir::Primitive& primitive, const ir::Attributes& attributes, const Array& x,
              std::span<const Address> results) {
  if (x.element_count() == 0) return;
  const NestKernel& kernel = eager_kernel(
      fmt::format("rows:{}:{}:{}", primitive.name, name_of(x.dtype()), attributes.text()),
      [&] { return row_kernel(primitive, attributes, x.dtype()); });
  const int64_t columns = x.sizes().back();
  const SymbolMap<int64_t> values = {{rows_symbol(), x.element_count() / columns},
                                     {columns_symbol(), columns}};
  std::vector<int64_t> sizes;
  for (const Dim size : kernel.sizes()) sizes.push_back(size.evaluate(values));
  const NestParameter from{.address = address_of(x)};
  kernel.run(cuda_device(x.device().index), sizes, {&from, 1}, results);
}

Array on_device_of(const KernelCall& call) { return call.operands[0].on(call.device).contiguous(); }

}  // namespace

// With the axis moved to the end.
void run_softmax_rows(KernelCall& call, const void*) {
  SoftmaxAttributes attributes = call.attributes.as<SoftmaxAttributes>();
  const Array& x = call.operands[0];
  const auto last = static_cast<int64_t>(x.rank()) - 1;
  Sizes order;
  for (int64_t i = 0; i <= last; ++i) {
    order.push_back(i == attributes.axis ? last : i == last ? attributes.axis : i);
  }
  const Array there = x.on(call.device);  // with another layout, if it was on the host
  const Array turned = there.view(there.layout().permuted(order)).contiguous();
  attributes.axis = 1;
  Array rows = Array::empty_on(call.device, x.dtype(), turned.sizes());
  const Address to = address_of(rows);
  run_rows(call.primitive, ir::Attributes::of(attributes), turned, {&to, 1});
  call.results[0] = rows.view(rows.layout().permuted(order));
}

void run_standardize_rows(KernelCall& call, const void*) {
  const Array x = on_device_of(call);
  const Address to[] = {address_of(call.new_result(0)), address_of(call.new_result(1))};
  run_rows(call.primitive, call.attributes, x, to);
}

}  // namespace plait::cuda
