#include <span>
#include <utility>

#include "plait/core/error.h"
#include "plait/cpu/inside/convolutions/cpu_convolution.h"
#include "plait/cpu/inside/convolutions/cpu_window.h"
#include "plait/cpu/inside/kernel_registration.h"
#include "plait/cpu/inside/reductions/rows.h"
#include "plait/ops/inside/primitives.h"
#include "plait/ops/neural/convolution.h"
#include "plait/ops/neural/softmax.h"
#include "plait/ops/neural/window.h"
#include "plait/tensor/kernels.h"

namespace plait {
namespace {

using Convolution = void (*)(const Array&, const Array&, const ConvolutionGeometry&, Array&);

template <Convolution convolve>
void run_convolution(KernelCall& call, const void*) {
  const ConvolutionGeometry geometry = geometry_of(call.attributes.as<ConvolutionAttributes>());
  convolve(call.operands[0], call.operands[1], geometry, call.new_result(0));
}

// ---- Windows

using Windows = void (*)(const Array&, std::span<const WindowDimension>, Array&);

template <Windows compute, bool gives_space>
void run_windows(KernelCall& call, const void*) {
  const auto& a = call.attributes.as<WindowAttributes>();
  if (gives_space) expect_windows(call, a);
  Array& out = call.new_result(0);
  if (out.element_count() == 0) return;  // leading dimensions may be arbitrary if a plane is empty
  const Sizes& space = gives_space ? out.sizes() : call.operands[0].sizes();
  compute(call.operands[0], windows_of(a, space), out);
}

using Places = void (*)(const Array&, const Array&, size_t, Array&);

template <Places compute>
void run_places(KernelCall& call, const void*) {
  const auto dimensions = static_cast<size_t>(call.attributes.as<PlaneAttributes>().dimensions);
  Array& out = call.new_result(0);
  const Array& places = call.operands[1];
  if (out.element_count() > 0 || places.element_count() > 0) {
    compute(call.operands[0], places, dimensions, out);
  }
}

// ---- Rows

// Calls compute(x, out) with the axis moved to the end.
template <class Compute>
void along_axis(KernelCall& call, const Compute& compute) {
  const auto& a = call.attributes.as<SoftmaxAttributes>();
  const Array& x = call.operands[0];
  const auto last = static_cast<int64_t>(x.rank()) - 1;
  if (a.axis == last) return compute(x, call.make_result(0));
  Sizes order;
  for (int64_t i = 0; i <= last; ++i) order.push_back(i == a.axis ? last : i == last ? a.axis : i);
  const Array turned = x.view(x.layout().permuted(order));
  Array rows = Array::empty(x.dtype(), turned.sizes());
  compute(turned, rows);
  call.results[0] = rows.view(rows.layout().permuted(order));
}

void run_softmax(KernelCall& call, const void*) {
  const bool masked_is_zero = call.attributes.as<SoftmaxAttributes>().masked_is_zero;
  along_axis(call, [&](const Array& x, Array& out) { softmax_rows(x, masked_is_zero, out); });
}

void run_log_softmax(KernelCall& call, const void*) {
  along_axis(call, [](const Array& x, Array& out) { log_softmax_rows(x, out); });
}

void run_standardize(KernelCall& call, const void*) {
  const auto& a = call.attributes.as<StandardizeAttributes>();
  Array& out = call.new_result(0);
  standardize_rows(call.operands[0], a.is_centred, a.epsilon, out, call.new_result(1));
}

}  // namespace

void register_layer_kernels() {
  const std::pair<const ir::Primitive&, void (*)(KernelCall&, const void*)> kernels[] = {
      {convolution_primitive(), run_convolution<convolution>},
      {convolution_input_gradient_primitive(), run_convolution<convolution_input_gradient>},
      {convolution_weight_gradient_primitive(), run_convolution<convolution_weight_gradient>},
      {window_sum_primitive(), run_windows<window_sum, false>},
      {window_spread_primitive(), run_windows<window_spread, true>},
      {window_maximum_primitive(), run_windows<window_maximum, false>},
      {window_maximum_index_primitive(), run_windows<window_maximum_index, false>},
      {plane_take_primitive(), run_places<plane_take>},
      {plane_put_primitive(), run_places<plane_put>},
      {softmax_primitive(), run_softmax},
      {log_softmax_primitive(), run_log_softmax},
      {standardize_primitive(), run_standardize}};
  for (const auto& [primitive, run] : kernels) register_kernel(primitive, {run});
}

}  // namespace plait
