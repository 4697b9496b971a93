#include "plait/cuda/inside/windows/cuda_convolution.h"

#include "plait/cuda/inside/kernels/device_operands.h"
#include "plait/cuda/inside/products/device_product.h"
#include "plait/cuda/inside/windows/cudnn_convolution.h"
#include "plait/cuda/inside/windows/direct_convolution.h"
#include "plait/cuda/inside/windows/patch_products.h"

namespace plait::cuda {
namespace {

using Compute = void (*)(const DeviceConvolution&);

struct Methods {
  bool (*by_cudnn)(const DeviceConvolution&);  // false if it does not compute the result
  Compute directly, by_products;
};

// `result` is one of the three arrays.
void run(KernelCall& call, const Array& x, const Array& w, const Array& out, Array& result,
         const Methods& methods) {
  const ConvolutionGeometry geometry = geometry_of(call.attributes.as<ConvolutionAttributes>());
  // Batching of zero samples makes zero groups.
  if (geometry.groups == 0 && result.element_count() == 0) return;
  const DeviceConvolution c{device_of(call), convolution_shape(x, w, out, geometry), x, w, out};
  if (result.element_count() == 0) return;
  if (c.shape.work() == 0) return fill_with_zeros(c.device, result);
  if (methods.by_cudnn(c)) return;
  (is_direct(c.shape) ? methods.directly : methods.by_products)(c);
}

}  // namespace

void run_convolution(KernelCall& call, const void*) {
  move_operands(call);
  Array& out = call.new_result(0);
  run(call, call.operands[0], call.operands[1], out, out,
      {convolve_by_cudnn, convolve_directly,
       [](const DeviceConvolution& c) { convolve_by_products(c); }});
}

void run_convolution_input_gradient(KernelCall& call, const void*) {
  move_operands(call);
  Array& x = call.new_result(0);
  run(call, x, call.operands[1], call.operands[0], x,
      {find_input_gradient_by_cudnn, find_input_gradient_directly,
       [](const DeviceConvolution& c) { find_input_gradient_by_products(c); }});
}

void run_convolution_weight_gradient(KernelCall& call, const void*) {
  move_operands(call);
  Array& w = call.new_result(0);
  run(call, call.operands[0], w, call.operands[1], w,
      {find_weight_gradient_by_cudnn, find_weight_gradient_directly,
       [](const DeviceConvolution& c) { find_weight_gradient_by_products(c); }});
}

}  // namespace plait::cuda
