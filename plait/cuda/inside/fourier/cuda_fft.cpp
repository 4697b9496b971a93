#include "plait/cuda/inside/fourier/cuda_fft.h"

#include "plait/cuda/inside/fourier/fourier_run.h"
#include "plait/cuda/inside/kernels/device_operands.h"
#include "plait/cuda/inside/reductions/rows_along.h"
#include "plait/ops/inside/fft/fft_primitives.h"

namespace plait::cuda {
namespace {

// Transforms the rows of the operand along an axis, in `dtype`.
void transform(KernelCall& call, int64_t axis, int64_t length, DType dtype, FourierRows rows) {
  expect_length(call, length);
  move_operands(call);
  const Array x = call.operands[0].contiguous();
  const Array& result = call.new_result(0);
  if (x.element_count() == 0) return;
  const RowsAlong along(x.sizes(), axis);
  rows.outer = along.rows / along.inner;
  rows.inner = along.inner;
  rows.in_length = along.length;
  rows.out_length = result.sizes()[static_cast<size_t>(axis)];
  transform_rows(device_of(call), dtype, length, rows, address_of(x), address_of(result));
}

int64_t length_along(const KernelCall& call, int64_t axis) {
  return call.operands[0].sizes()[static_cast<size_t>(axis)];
}

void run_cuda_fft(KernelCall& call, const void*) {
  const auto& a = call.attributes.as<FftAttributes>();
  const int64_t length = length_along(call, a.axis);
  transform(call, a.axis, length, call.operands[0].dtype(),
            {.inverse = a.inverse, .factor = factor_of(a.scale, length)});
}

void run_cuda_rfft(KernelCall& call, const void*) {
  const auto& a = call.attributes.as<RfftAttributes>();
  const int64_t length = length_along(call, a.axis);
  transform(call, a.axis, length, call.types[0].dtype,
            {.input = FourierInput::real,
             .output = FourierOutput::half,
             .factor = factor_of(a.scale, length)});
}

void run_cuda_irfft(KernelCall& call, const void*) {
  const auto& a = call.attributes.as<IrfftAttributes>();
  const int64_t length = a.size.number();
  transform(call, a.axis, length, call.operands[0].dtype(),
            {.input = FourierInput::half,
             .output = FourierOutput::real,
             .inverse = true,
             .factor = factor_of(a.scale, length)});
}

}  // namespace

void register_fft_kernels() {
  const FftPrimitives& primitives = fft_primitives();
  register_kernel(primitives.fft, {run_cuda_fft}, Device::Kind::cuda);
  register_kernel(primitives.rfft, {run_cuda_rfft}, Device::Kind::cuda);
  register_kernel(primitives.irfft, {run_cuda_irfft}, Device::Kind::cuda);
}

}  // namespace plait::cuda
