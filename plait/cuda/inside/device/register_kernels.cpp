#include "plait/cuda/inside/device/register_kernels.h"

#include <array>

#include "plait/cuda/inside/elementwise/device_views.h"
#include "plait/cuda/inside/elementwise/pointwise.h"
#include "plait/cuda/inside/fourier/cuda_fft.h"
#include "plait/cuda/inside/indexing/cuda_gather.h"
#include "plait/cuda/inside/indexing/cuda_nonzero.h"
#include "plait/cuda/inside/indexing/cuda_planes.h"
#include "plait/cuda/inside/indexing/cuda_scatter.h"
#include "plait/cuda/inside/nests/operations.h"
#include "plait/cuda/inside/order/cuda_sort.h"
#include "plait/cuda/inside/order/cuda_unique.h"
#include "plait/cuda/inside/products/register_products.h"
#include "plait/cuda/inside/random/cuda_random.h"
#include "plait/cuda/inside/reductions/cuda_arg_extreme.h"
#include "plait/cuda/inside/reductions/cuda_lattice.h"
#include "plait/cuda/inside/reductions/cuda_scan.h"
#include "plait/cuda/inside/reductions/device_reduce.h"
#include "plait/cuda/inside/reductions/row_operations.h"
#include "plait/cuda/inside/windows/register_windows.h"
#include "plait/ops/inside/primitives.h"
#include "plait/ops/register_all.h"
#include "plait/tensor/kernels.h"

namespace plait::cuda {
namespace {

void register_for_cuda(const ir::Primitive& primitive, void (*run)(KernelCall&, const void*),
                       const void* data = nullptr) {
  register_kernel(primitive, {.run = run, .data = data}, Device::Kind::cuda);
}

// True if the device computes the primitive for any dtype.
bool has_operation(const ir::Primitive& primitive) {
  for (const DTypeInfo& info : kDTypes) {
    const std::array operands = {info.dtype};
    if (primitive.takes.contains(info.dtype) && computes(primitive, operands, info.dtype)) {
      return true;
    }
  }
  return false;
}

void register_elementwise() {
  for (const ir::Primitive* primitive : ir::primitives()) {
    const bool has_own = find_device_kernel(*primitive, Device::Kind::cuda) != nullptr;
    if (!has_own && has_operation(*primitive)) {
      register_for_cuda(*primitive, run_elementwise_call);
    }
  }
  register_for_cuda(iota_primitive(), run_iota);
}

struct NamedReduction {
  const ir::Primitive& (*primitive)();
  DeviceReduction how;
};
constexpr NamedReduction kReductions[] = {
    {reduce_sum_primitive, {ir::Reduction::sum}},
    {reduce_squares_primitive, {ir::Reduction::sum, true}},
    {reduce_product_primitive, {ir::Reduction::product}},
    {reduce_maximum_primitive, {ir::Reduction::maximum}},
    {reduce_minimum_primitive, {ir::Reduction::minimum}},
    {reduce_all_primitive, {ir::Reduction::all}},
    {reduce_any_primitive, {ir::Reduction::any}},
};

void register_arranging() {
  register_for_cuda(gather_primitive(), run_gather);
  register_for_cuda(nonzero_primitive(), run_nonzero);
  register_scatter_kernels();
  register_for_cuda(view_dtype_primitive(), run_by_views);
  register_for_cuda(update_slice_primitive(), run_by_views);
  register_for_cuda(plane_take_primitive(), run_plane_take);
  register_for_cuda(plane_put_primitive(), run_plane_put);
  register_for_cuda(sort_primitive(), run_sort);
  register_for_cuda(topk_primitive(), run_topk);
  register_for_cuda(searchsorted_primitive(), run_search);
  register_for_cuda(unique_primitive(), run_unique);
  register_for_cuda(argmax_primitive(), run_argmax);
  register_for_cuda(argmin_primitive(), run_argmin);
  register_scan_kernels();
  register_lattice_kernels();
}

}  // namespace

void register_kernels() {
  register_all();  // so that all elementwise primitives are known
  register_elementwise();
  for (const auto& [primitive, how] : kReductions) {
    register_for_cuda(primitive(), run_reduction, &how);
  }
  register_for_cuda(softmax_primitive(), run_softmax_rows);
  register_for_cuda(log_softmax_primitive(), run_softmax_rows);
  register_for_cuda(standardize_primitive(), run_standardize_rows);
  register_product_kernels();
  register_arranging();
  register_random_kernels();
  register_window_kernels();
  register_fft_kernels();
}

}  // namespace plait::cuda
