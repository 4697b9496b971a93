#include "plait/cuda/inside/windows/direct_convolution.h"

#include "plait/core/inside/system/immortal.h"
#include "plait/cuda/inside/kernels/device_operands.h"
#include "plait/cuda/inside/kernels/kernel_variants.h"

namespace plait::cuda {
namespace {

constexpr int64_t kMostGroupOutputs = 8;

const KernelFunction& function(const DeviceConvolution& c, std::string_view name, int64_t number,
                               int64_t total) {
  const ConvolvedForm form = c.form(total);
  static Immortal<KernelVariants> variants("direct_convolution");
  return variants->of(c.device, name,
                      {number, form.space, form.is_strided, form.is_dilated, form.is_narrow,
                       dtype_number(c.shape.dtype)},
                      [&] { return direct_convolution_text(form, c.shape.dtype); });
}

}  // namespace

bool is_direct(const ConvolutionShape& shape) {
  return shape.group_inputs() == 1 && shape.group_outputs() <= kMostGroupOutputs;
}

void convolve_directly(const DeviceConvolution& c) {
  const int64_t total = c.out.element_count();
  launch(c.device, function(c, "direct_output", 0, total), blocks_for(total), kBlockThreads, 0,
         c.convolved(), address_of(c.x), address_of(c.w), address_of(c.out), total);
}

void find_input_gradient_directly(const DeviceConvolution& c) {
  const int64_t total = c.x.element_count();
  launch(c.device, function(c, "direct_input", 1, total), blocks_for(total), kBlockThreads, 0,
         c.convolved(), address_of(c.out), address_of(c.w), address_of(c.x), total);
}

void find_weight_gradient_directly(const DeviceConvolution& c) {
  const int64_t total = c.w.element_count(), places = c.shape.images * c.places();
  const KernelFunction& kernel = function(c, "direct_weight", 2, std::max(total, places));
  launch(c.device, kernel, blocks_for(total, 1), kBlockThreads, 0, c.convolved(), address_of(c.x),
         address_of(c.out), address_of(c.w), places, total);
}

}  // namespace plait::cuda
