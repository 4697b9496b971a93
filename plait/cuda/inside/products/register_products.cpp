#include "plait/cuda/inside/products/register_products.h"

#include <array>

#include "plait/cuda/inside/products/device_product.h"
#include "plait/ops/inside/primitives.h"
#include "plait/ops/inside/products/row_groups.h"
#include "plait/tensor/kernels.h"

namespace plait::cuda {
namespace {

void run_matmul(KernelCall& call, const void*) {
  const Array a = call.operands[0].on(call.device), b = call.operands[1].on(call.device);
  multiply(cuda_device(call.device.index), a, b, call.new_result(0));
}

Array rows_between(const Array& x, const RowGroup& group) {
  return x.view(x.layout().sliced(0, {.start = group.begin, .stop = group.end}));
}
Array matrix_at(const Array& x, size_t group) {
  return x.view(x.layout().picked(0, static_cast<int64_t>(group)));
}

// The sizes of the groups are needed on the host, which waits for them.
void run_ragged_dot(KernelCall& call, const void*) {
  CudaDevice& device = cuda_device(call.device.index);
  const Array rows = call.operands[0].on(call.device), matrices = call.operands[1].on(call.device);
  const int64_t count = rows.sizes()[0];
  const RowGroups groups = row_groups(call.operands[2].on_host(), count);
  Array& out = call.new_result(0);
  for (size_t i = 0; i < groups.size(); ++i) {
    Array product = rows_between(out, groups[i]);
    multiply(device, rows_between(rows, groups[i]), matrix_at(matrices, i), product);
  }
  Array rest = rows_between(out, {groups.empty() ? 0 : groups.back().end, count});
  fill_with_zeros(device, rest);
}

void run_ragged_outer(KernelCall& call, const void*) {
  CudaDevice& device = cuda_device(call.device.index);
  const Array a = call.operands[0].on(call.device), b = call.operands[1].on(call.device);
  const Array columns = a.view(a.layout().permuted(std::array<int64_t, 2>{1, 0}));
  const RowGroups groups = row_groups(call.operands[2].on_host(), a.sizes()[0]);
  Array& out = call.new_result(0);
  for (size_t i = 0; i < groups.size(); ++i) {
    const Slice slice{.start = groups[i].begin, .stop = groups[i].end};
    Array product = matrix_at(out, i);
    multiply(device, columns.view(columns.layout().sliced(1, slice)), rows_between(b, groups[i]),
             product);
  }
}

}  // namespace

void register_product_kernels() {
  register_kernel(matmul_primitive(), {run_matmul}, Device::Kind::cuda);
  register_kernel(ragged_dot_primitive(), {run_ragged_dot}, Device::Kind::cuda);
  register_kernel(ragged_outer_primitive(), {run_ragged_outer}, Device::Kind::cuda);
}

}  // namespace plait::cuda
