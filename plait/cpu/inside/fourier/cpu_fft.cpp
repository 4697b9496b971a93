#include "plait/cpu/inside/fourier/cpu_fft.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "plait/core/inside/sizes/integer_arithmetic.h"
#include "plait/core/system/thread_team.h"
#include "plait/cpu/inside/fourier/fourier.h"
#include "plait/ops/inside/fft/fft_primitives.h"

namespace plait {
namespace {

template <class T>
using Complex = std::complex<T>;

// Moves the axis to the end, or back (the inverse permutation).
Array with_axis_last(const Array& x, int64_t axis) {
  std::vector<int64_t> order(x.rank());
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin() + axis, order.begin() + axis + 1, order.end());
  return x.view(x.layout().permuted(order)).contiguous();
}
Array with_last_axis_at(const Array& x, int64_t axis) {
  std::vector<int64_t> order(x.rank());
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin() + axis, order.end() - 1, order.end());
  return x.view(x.layout().permuted(order)).contiguous();
}

// Calls transform(in, out, count) for groups of contiguous rows of In and Out.
template <class In, class Out, class T, class Transform>
void transform_rows(KernelCall& call, int64_t axis, const Fourier<T>& fourier,
                    Transform transform) {
  const Array x = with_axis_last(call.operands[0], axis);
  Sizes sizes = x.sizes();
  const int64_t in_length = sizes.back();
  const int64_t out_length = call.types[0].sizes[static_cast<size_t>(axis)];
  sizes[sizes.size() - 1] = out_length;
  Array result = Array::empty(call.types[0].dtype, sizes);
  const In* in = x.elements<In>().data();
  Out* out = result.writable_elements<Out>().data();
  const int64_t rows = x.element_count() / in_length, per_batch = fourier.batch_rows();
  const int64_t groups = quotient_up(rows, per_batch);
  parallel_for(groups, std::max<int64_t>(1, fourier.least_rows() / per_batch),
               [&](int64_t begin, int64_t end) {
                 for (int64_t row = begin * per_batch; row < std::min(end * per_batch, rows);
                      row += per_batch) {
                   transform(in + row * in_length, out + row * out_length,
                             std::min(per_batch, rows - row));
                 }
               });
  call.results[0] = with_last_axis_at(result, axis);
}

// Transforms an axis that is not the last one, without moving it.
template <class T>
void transform_columns(KernelCall& call, int64_t n, int64_t inner, const Fourier<T>& fourier,
                       bool inverse, T factor) {
  const Array x = call.operands[0].contiguous();
  Array result = Array::empty(x.dtype(), x.sizes());
  const Complex<T>* in = x.elements<Complex<T>>().data();
  Complex<T>* out = result.writable_elements<Complex<T>>().data();
  const int64_t lanes = fourier.lanes(), groups = quotient_up(inner, lanes);
  parallel_for(x.element_count() / (n * inner) * groups,
               std::max<int64_t>(1, fourier.least_rows() / lanes), [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t at = i / groups * n * inner;
                   fourier.transform_columns(in + at, out + at, inner, i % groups, inverse, factor);
                 }
               });
  call.results[0] = std::move(result);
}

// Returns whether there is anything to transform; if not, the result is complete.
bool has_rows(KernelCall& call, int64_t length) {
  expect_length(call, length);
  if (call.operands[0].element_count() > 0) return true;
  call.new_result(0);
  return false;
}

template <class T>
void fft_of(KernelCall& call) {
  const auto& a = call.attributes.as<FftAttributes>();
  const Sizes& sizes = call.operands[0].sizes();
  const int64_t n = sizes[static_cast<size_t>(a.axis)];
  if (!has_rows(call, n)) return;
  const auto factor = static_cast<T>(factor_of(a.scale, n));
  const auto fourier = fourier_of<T>(n);
  const int64_t inner =
      std::accumulate(sizes.begin() + a.axis + 1, sizes.end(), int64_t{1}, std::multiplies<>());
  if (inner > fourier->lanes() / 2 && inner > 1 && fourier->has_columns()) {
    return transform_columns(call, n, inner, *fourier, a.inverse, factor);
  }
  transform_rows<Complex<T>, Complex<T>>(
      call, a.axis, *fourier, [&](const Complex<T>* in, Complex<T>* out, int64_t count) {
        fourier->transform_rows(in, n, out, n, count, a.inverse, factor);
      });
}

// An even number of real numbers is treated as half as many complex ones, whose transform is then
// unfolded.
template <class T>
void rfft_of(KernelCall& call) {
  const auto& a = call.attributes.as<RfftAttributes>();
  const int64_t n = call.operands[0].sizes()[static_cast<size_t>(a.axis)];
  if (!has_rows(call, n)) return;
  const auto factor = static_cast<T>(factor_of(a.scale, n));
  const int64_t half = n / 2;
  if (n % 2 == 0) {
    const auto fourier = fourier_of<T>(half);
    return transform_rows<T, Complex<T>>(
        call, a.axis, *fourier, [&](const T* in, Complex<T>* out, int64_t count) {
          fourier->transform_rows(reinterpret_cast<const Complex<T>*>(in), half, out, half + 1,
                                  count, false, T(1));
          for (int64_t i = 0; i < count; ++i, out += half + 1) fourier->unfold(out, out, factor);
        });
  }
  const auto fourier = fourier_of<T>(n);
  transform_rows<T, Complex<T>>(
      call, a.axis, *fourier, [&](const T* in, Complex<T>* out, int64_t count) {
        const std::vector<Complex<T>> numbers(in, in + count * n);
        std::vector<Complex<T>> transformed(numbers.size());
        fourier->transform_rows(numbers.data(), n, transformed.data(), n, count, false, factor);
        for (int64_t i = 0; i < count; ++i) {
          std::copy_n(transformed.begin() + i * n, half + 1, out + i * (half + 1));
        }
      });
}

template <class T>
void irfft_of(KernelCall& call) {
  const auto& a = call.attributes.as<IrfftAttributes>();
  const int64_t n = a.size.number();
  if (!has_rows(call, n)) return;
  const auto factor = static_cast<T>(factor_of(a.scale, n));
  const int64_t half = n / 2;
  if (n % 2 == 0) {
    const auto fourier = fourier_of<T>(half);
    return transform_rows<Complex<T>, T>(
        call, a.axis, *fourier, [&](const Complex<T>* in, T* out, int64_t count) {
          Array folded = Array::empty(call.operands[0].dtype(), {count * half});
          Complex<T>* z = folded.writable_elements<Complex<T>>().data();
          for (int64_t i = 0; i < count; ++i) fourier->fold(in + i * (half + 1), z + i * half);
          fourier->transform_rows(z, half, reinterpret_cast<Complex<T>*>(out), half, count, true,
                                  factor);
        });
  }
  const auto fourier = fourier_of<T>(n);
  transform_rows<Complex<T>, T>(
      call, a.axis, *fourier, [&](const Complex<T>* in, T* out, int64_t count) {
        std::vector<Complex<T>> whole(static_cast<size_t>(count * n)), transformed(whole.size());
        for (int64_t i = 0; i < count; ++i, in += half + 1) {
          const auto row = whole.begin() + i * n;
          row[0] = in[0].real();
          for (int64_t k = 1; k <= half; ++k) {
            row[k] = in[k];
            row[n - k] = std::conj(in[k]);
          }
        }
        fourier->transform_rows(whole.data(), n, transformed.data(), n, count, true, factor);
        for (const Complex<T>& value : transformed) *out++ = value.real();
      });
}

bool is_single(const KernelCall& call) {
  return real_dtype(call.operands[0].dtype()) == DType::f32;
}

}  // namespace

void run_fft(KernelCall& call, const void*) {
  is_single(call) ? fft_of<float>(call) : fft_of<double>(call);
}
void run_rfft(KernelCall& call, const void*) {
  is_single(call) ? rfft_of<float>(call) : rfft_of<double>(call);
}
void run_irfft(KernelCall& call, const void*) {
  is_single(call) ? irfft_of<float>(call) : irfft_of<double>(call);
}

}  // namespace plait
