#include "plait/cuda/inside/elementwise/pointwise.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>

#include "plait/cuda/inside/device/device_address.h"
#include "plait/cuda/inside/elementwise/eager_nest.h"
#include "plait/cuda/inside/elementwise/transposed_copy.h"
#include "plait/cuda/inside/nests/operations.h"
#include "plait/ops/inside/primitives.h"
#include "plait/tensor/inside/device_calls.h"
#include "plait/tensor/inside/memory/layout_extent.h"

namespace plait::cuda {
namespace {

using compile::Nest;
using compile::NestValue;

// The loops, outermost first: neighbours in the result are neighbours in the columns.
std::vector<LoopDimension> loops_of(std::span<const Layout* const> layouts) {
  const JointLayout joint(layouts);
  std::vector<LoopDimension> dimensions(joint.sizes.size());
  for (size_t d = 0; d < dimensions.size(); ++d) {
    dimensions[d].size = joint.sizes[d];
    for (const Sizes& strides : joint.strides) dimensions[d].strides.push_back(strides[d]);
  }
  std::ranges::stable_sort(dimensions, std::ranges::greater(),
                           [](const LoopDimension& d) { return std::abs(d.strides.back()); });
  return dimensions;
}

// An operation on arrays, as a nest of loads, one instruction and a store.
class Pointwise {
 public:
  Pointwise(const ir::Primitive& primitive, std::span<const Array> operands, const Array& result)
      : primitive_(primitive), operands_(operands), result_(result) {
    std::vector<const Layout*> layouts;
    for (const Array& operand : operands) {
      const bool by_value = operand.is_on_host();
      by_value_.push_back(by_value);
      ports_.push_back(layouts.size());
      if (!by_value) layouts.push_back(&operand.layout());
    }
    result_port_ = layouts.size();
    layouts.push_back(&result.layout());
    dimensions_ = loops_of(layouts);
  }

  void run() const {
    const NestPattern pattern(dimensions_);
    const NestKernel& kernel = eager_kernel(key(pattern), [&] { return make(pattern); });
    std::vector<NestParameter> parameters;
    for (const Array& operand : operands_) {
      parameters.push_back(operand.is_on_host() ? NestParameter{.element = operand.data()}
                                                : NestParameter{.address = address_of(operand)});
    }
    const Address to = address_of(result_);
    kernel.run(cuda_device(result_.device().index), pattern.values(kernel.sizes()), parameters,
               {&to, 1});
  }

 private:
  std::string key(const NestPattern& pattern) const {
    std::string key = fmt::format("{}:", primitive_.number);
    for (const Array& operand : operands_) {
      key += static_cast<char>('a' + static_cast<int>(operand.dtype()));
      key += operand.is_on_host() ? '!' : ' ';
    }
    key += static_cast<char>('a' + static_cast<int>(result_.dtype()));
    return key + pattern.key();
  }

  NestKernel make(const NestPattern& pattern) const {
    Nest nest;
    nest.outer = pattern.outer();
    nest.columns = pattern.columns();
    NestValue computed{
        .kind = NestValue::Kind::compute, .dtype = result_.dtype(), .primitive = &primitive_};
    for (uint32_t i = 0; i < operands_.size(); ++i) {
      const compile::Affine place =
          by_value_[i] ? compile::Affine{0, std::vector<Dim>(nest.outer.size() + 1, Dim(0))}
                       : pattern.place(ports_[i]);
      const bool has_columns = !same(place.strides.back(), Dim(0));
      computed.operands.push_back(i);
      computed.has_columns = computed.has_columns || has_columns;
      nest.parameters.push_back(operands_[i].dtype());
      nest.values.push_back({.kind = NestValue::Kind::load,
                             .dtype = operands_[i].dtype(),
                             .parameter = i,
                             .place = place,
                             .has_columns = has_columns});
    }
    nest.values.push_back(std::move(computed));
    nest.results.push_back(
        {.value = static_cast<uint32_t>(operands_.size()), .place = pattern.place(result_port_)});
    return {std::move(nest),
            {.name = fmt::format("plait_{}", primitive_.name), .by_value = by_value_}};
  }

  const ir::Primitive& primitive_;
  std::span<const Array> operands_;
  const Array& result_;
  std::vector<bool> by_value_;
  std::vector<size_t> ports_;  // by operand, among those in memory
  size_t result_port_ = 0;
  std::vector<LoopDimension> dimensions_;
};

bool is_computed(const KernelCall& call) {
  std::vector<DType> dtypes;
  for (const Array& operand : call.operands) {
    if (is_key(operand.dtype())) return false;
    dtypes.push_back(operand.dtype());
  }
  return computes(call.primitive, dtypes, call.types[0].dtype);
}

}  // namespace

void run_pointwise(const ir::Primitive& primitive, std::span<const Array> operands, Array& result) {
  if (result.element_count() == 0) return;
  Pointwise(primitive, operands, result).run();
}

// Bits are copied, by elements of the same size.
void copy_strided(const Array& from, Array& to) {
  const auto bits = [&](const Array& array) {
    static constexpr DType kBySize[] = {DType::u8, DType::u16, DType::u32, DType::u64, DType::key};
    size_t log = 0;
    while (int64_t{1} << log < array.element_size()) ++log;
    return Array(kBySize[log], array.layout(), array.buffer());
  };
  if (to.element_count() == 0) return;
  Array target = bits(to);
  const Array source = bits(from);
  if (!from.is_on_host()) {
    const Layout* both[] = {&from.layout(), &to.layout()};
    if (copy_transposed(cuda_device(to.device().index), loops_of(both), to.element_size(),
                        address_of(from), address_of(to))) {
      return;
    }
  }
  run_pointwise(convert_primitive(), {&source, 1}, target);
}

void run_elementwise_call(KernelCall& call, const void*) {
  if (!is_computed(call)) return run_on_host(call);
  if (&call.primitive == &convert_primitive() && call.operands[0].dtype() == call.types[0].dtype) {
    call.results[0] = call.operands[0];
    return;
  }
  Array& result = call.make_result(0);
  run_pointwise(call.primitive, call.operands, result);
}

void run_iota(KernelCall& call, const void*) {
  Array& result = call.new_result(0);
  if (result.element_count() == 0) return;
  const LoopDimension loop{result.element_count(), {1}};
  const NestPattern pattern({&loop, 1});
  const NestKernel& kernel =
      eager_kernel(fmt::format("iota:{}", name_of(result.dtype())), [&]() -> NestKernel {
        Nest nest;
        nest.columns = pattern.columns();
        nest.values.push_back({.kind = NestValue::Kind::index,
                               .dtype = result.dtype(),
                               .place = pattern.place(0),
                               .has_columns = true});
        nest.results.push_back({.value = 0, .place = pattern.place(0)});
        return {std::move(nest), {.name = "plait_iota"}};
      });
  const Address to = address_of(result);
  kernel.run(cuda_device(result.device().index), pattern.values(kernel.sizes()), {}, {&to, 1});
}

}  // namespace plait::cuda
