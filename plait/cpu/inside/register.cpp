// Registers the kernels of this room for their primitives.
#include <array>
#include <deque>
#include <utility>

#include "plait/core/error.h"
#include "plait/core/inside/system/immortal.h"
#include "plait/cpu/inside/elementwise/conversion.h"
#include "plait/cpu/inside/elementwise/cpu_elementwise.h"
#include "plait/cpu/inside/fourier/cpu_fft.h"
#include "plait/cpu/inside/indexing/cpu_gather.h"
#include "plait/cpu/inside/indexing/cpu_scatter.h"
#include "plait/cpu/inside/kernel_registration.h"
#include "plait/cpu/inside/libraries/lapack.h"
#include "plait/cpu/inside/products/blocked_product.h"
#include "plait/cpu/inside/products/matmul.h"
#include "plait/cpu/inside/products/ragged.h"
#include "plait/cpu/inside/random/cpu_random.h"
#include "plait/cpu/inside/reductions/cpu_reduce.h"
#include "plait/ops/inside/fft/fft_primitives.h"
#include "plait/ops/inside/primitive_attributes.h"
#include "plait/ops/inside/primitives.h"
#include "plait/ops/inside/random/random_primitives.h"
#include "plait/ops/register_all.h"
#include "plait/tensor/kernels.h"

namespace plait {
namespace {

using Loops = std::array<ElementwiseLoop, kDTypeCount>;  // indexed by the dtype of the last operand

ElementwiseLoop loop_of(const void* data, DType dtype) {
  return (*static_cast<const Loops*>(data))[static_cast<size_t>(dtype)];
}

// Unary functions cost about ten times as much as arithmetic, so threads share them sooner.
int64_t cost_of(size_t operands) { return operands == 1 ? 8 : 1; }

void run_loop(KernelCall& call, const void* data) {
  const ElementwiseLoop loop = loop_of(data, call.operands.back().dtype());
  if (loop == nullptr) return run_reference_loops(call, nullptr);
  run_elementwise(loop, call.operands, call.make_result(0), cost_of(call.operands.size()));
}

bool run_row(const RowCall& call, const void* data) {
  const ElementwiseLoop loop = loop_of(data, call.dtype);
  if (loop == nullptr) return false;
  run_elementwise_row(loop, call, cost_of(call.operands.size()));
  return true;
}

void register_elementwise(const ir::Primitive& primitive) {
  static Immortal<std::deque<Loops>> tables;
  Loops loops{};
  bool has_one = false;
  for (const DTypeInfo& info : kDTypes) {
    if (!primitive.takes.contains(info.dtype)) continue;
    loops[static_cast<size_t>(info.dtype)] = find_elementwise_loop(primitive.name, info.dtype);
    has_one |= loops[static_cast<size_t>(info.dtype)] != nullptr;
  }
  if (has_one) {
    register_kernel(primitive, {run_loop, &tables->emplace_back(loops), run_row});
  }
}

using Handle = const ir::Primitive& (*)();

struct ReductionKernel {
  Handle primitive;
  ir::Reduction reduction;
  Reduced reduced = Reduced::elements;
};
constexpr ReductionKernel kReductions[] = {
    {reduce_sum_primitive, ir::Reduction::sum},
    {reduce_squares_primitive, ir::Reduction::sum, Reduced::squares},
    {reduce_product_primitive, ir::Reduction::product},
    {reduce_maximum_primitive, ir::Reduction::maximum},
    {reduce_minimum_primitive, ir::Reduction::minimum},
    {reduce_all_primitive, ir::Reduction::all},
    {reduce_any_primitive, ir::Reduction::any},
};

// The maximum and minimum of no elements do not exist.
void refuse_nothing(ir::Reduction reduction, const Array& x, std::span<const int64_t> axes) {
  for (const int64_t axis : axes) {
    if (x.sizes()[static_cast<size_t>(axis)] > 0) continue;
    throw ValueError("{}: {}{} is empty along axis {}",
                     reduction == ir::Reduction::maximum ? "max" : "min", name_of(x.dtype()),
                     text_of_sizes(x.sizes()), axis);
  }
}

void run_reduction(KernelCall& call, const void* data) {
  const auto& [primitive, reduction, reduced] = *static_cast<const ReductionKernel*>(data);
  const Array& x = call.operands[0];
  const auto& attributes = call.attributes.as<ReduceAttributes>();
  if (attributes.needs_some) refuse_nothing(reduction, x, attributes.axes);
  if (!has_reduction(reduction, x.dtype(), reduced)) return run_reference_loops(call, nullptr);
  call.new_result(0);
  reduce(reduction, x, attributes.axes, call.results[0], reduced);
}

void run_conversion(KernelCall& call, const void*) {
  call.results[0] = converted(call.operands[0], call.types[0].dtype);
}

bool run_conversion_row(const RowCall& call, const void*) { return convert_row(call); }

void run_matmul(KernelCall& call, const void*) {
  if (!has_product(call.operands[0].dtype())) return run_reference_loops(call, nullptr);
  call.new_result(0);
  matmul(call.operands[0], call.operands[1], call.results[0]);
}

using RaggedProduct = void (*)(const Array&, const Array&, const Array&, Array&);
template <RaggedProduct product>
void run_ragged(KernelCall& call, const void*) {
  const ArrayType& type = call.types[0];
  const DType dtype = has_product(type.dtype) ? type.dtype : DType::f32;
  Array result = Array::empty(dtype, type.sizes);
  product(call.operands[0].converted(dtype), call.operands[1].converted(dtype), call.operands[2],
          result);
  call.results[0] = result.converted(type.dtype);
}

void run_gather(KernelCall& call, const void*) {
  call.new_result(0);
  read_rows(call.operands[0], call.operands.subspan(1), call.attributes.as<GatherAttributes>(),
            call.results[0]);
}

void run_nonzero(KernelCall& call, const void*) { call.results[0] = nonzero_of(call.operands[0]); }

constexpr std::pair<Handle, Combine> kScatters[] = {
    {scatter_set_primitive, Combine::set},           {scatter_add_primitive, Combine::add},
    {scatter_multiply_primitive, Combine::multiply}, {scatter_minimum_primitive, Combine::minimum},
    {scatter_maximum_primitive, Combine::maximum},
};

void run_scatter(KernelCall& call, const void* data) {
  const Array& x = call.operands[0];
  call.results[0] = x.is_writable() && x.is_contiguous() ? x : x.copy();
  write_rows(*static_cast<const Combine*>(data), call.results[0], call.operands[1],
             call.operands.subspan(2), call.attributes.as<GatherAttributes>());
}

}  // namespace

void register_cpu_kernels() {
  register_all();
  for (const ir::Primitive* primitive : ir::primitives()) {
    if (primitive->elementwise != ir::Elementwise::no) register_elementwise(*primitive);
  }
  for (const ReductionKernel& each : kReductions) {
    register_kernel(each.primitive(), {run_reduction, &each});
  }
  register_kernel(convert_primitive(), {run_conversion, nullptr, run_conversion_row});
  register_kernel(matmul_primitive(), {run_matmul});
  register_kernel(ragged_dot_primitive(), {run_ragged<ragged_dot>});
  register_kernel(ragged_outer_primitive(), {run_ragged<ragged_outer>});
  register_kernel(gather_primitive(), {run_gather});
  register_kernel(nonzero_primitive(), {run_nonzero});
  for (const auto& [primitive, combine] : kScatters) {
    register_kernel(primitive(), {run_scatter, &combine});
  }
  register_arranging_kernels();
  register_layer_kernels();
  register_kernel(random_primitives().bits, {random_bits});
  register_kernel(random_primitives().values, {random_values});
  register_kernel(random_primitives().integers, {random_integers});
  register_kernel(fft_primitives().fft, {run_fft});
  register_kernel(fft_primitives().rfft, {run_rfft});
  register_kernel(fft_primitives().irfft, {run_irfft});
  register_lapack();
}

}  // namespace plait
