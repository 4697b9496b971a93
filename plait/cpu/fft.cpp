// Rows are transformed in f64, whatever they are stored as, and shared out among the threads.
#include "plait/cpu/fft.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "plait/core/error.h"
#include "plait/core/thread_team.h"
#include "plait/cpu/fourier.h"
#include "plait/ops/fft_primitives.h"

namespace plait {
namespace {

// The axis moved to the end, or (the same permutation, undone) back from there.
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

double factor_of(FftScale scale, int64_t length) {
  const auto n = static_cast<double>(length);
  switch (scale) {
    case FftScale::none: return 1;
    case FftScale::root: return 1 / std::sqrt(n);
    case FftScale::length: return 1 / n;
  }
  return 1;
}

// One thread's means to transform rows; `length` is that of the complex transform.
struct Worker {
  Fourier fourier;
  std::vector<Complex> from, to;

  Worker(const Fourier& shared, int64_t length)
      : fourier(shared), from(static_cast<size_t>(length)), to(static_cast<size_t>(length)) {}
  void run() { fourier.run(from.data(), to.data()); }
};

// Row after row: from rows of `in_length` elements to rows of `out_length`.
template <class In, class Out, class Row>
void transform_rows(KernelCall& call, int64_t axis, int64_t transform_length, bool inverse,
                    Row row) {
  const Array x = with_axis_last(call.operands[0], axis);
  Sizes sizes = x.sizes();
  const int64_t in_length = sizes.back();
  const int64_t out_length = call.types[0].sizes[static_cast<size_t>(axis)];
  sizes[sizes.size() - 1] = out_length;
  Array result = Array::empty(call.types[0].dtype, sizes);
  const In* in = x.elements<In>().data();
  Out* out = result.writable_elements<Out>().data();
  const auto shared = fourier_of(transform_length, inverse);
  const int64_t cost = transform_length * std::bit_width(static_cast<uint64_t>(transform_length));
  parallel_for(x.element_count() / in_length, std::max<int64_t>(1, 20'000 / cost),
               [&](int64_t begin, int64_t end) {
                 Worker worker(*shared, transform_length);
                 for (int64_t i = begin; i < end; ++i) {
                   row(worker, in + i * in_length, out + i * out_length);
                 }
               });
  call.results[0] = with_last_axis_at(result, axis);
}

// Whether there is anything to transform; else the result is there. The type rule sees only lengths
// that are known by number.
bool has_rows(KernelCall& call, int64_t length) {
  if (length < 1) {
    throw ValueError("{}: a transform of {} numbers; the operand is {}{}", call.primitive.name,
                     length, name_of(call.operands[0].dtype()),
                     text_of_sizes(call.operands[0].sizes()));
  }
  if (call.operands[0].element_count() > 0) return true;
  call.results[0] = Array::empty(call.types[0].dtype, call.types[0].sizes);
  return false;
}

template <class T>
void fft_of(KernelCall& call) {
  const auto& a = call.attributes.as<FftAttributes>();
  const int64_t n = call.operands[0].sizes()[static_cast<size_t>(a.axis)];
  if (!has_rows(call, n)) return;
  const double factor = factor_of(a.scale, n);
  using Number = std::complex<T>;
  transform_rows<Number, Number>(call, a.axis, n, a.inverse,
                                 [&](Worker& worker, const Number* in, Number* out) {
                                   std::copy_n(in, n, worker.from.begin());
                                   worker.run();
                                   for (int64_t k = 0; k < n; ++k) {
                                     const Complex value = worker.to[static_cast<size_t>(k)];
                                     out[k] = Number(value * factor);
                                   }
                                 });
}

// e^(∓2πi k / n) for k below n / 2.
std::vector<Complex> turns_of(int64_t n, double sign) {
  std::vector<Complex> turns;
  for (int64_t k = 0; k < n / 2; ++k) {
    const double turn = static_cast<double>(k) / static_cast<double>(n);
    turns.push_back(std::polar(1.0, sign * 2 * std::numbers::pi * turn));
  }
  return turns;
}

// An even number of real ones are half as many complex ones, whose transform Z is that of those at
// even places plus i that of those at odd places; each is what the halves of Z have in common, or
// not.
template <class T>
void even_rfft(const std::vector<Complex>& turns, double factor, Worker& worker, const T* in,
               std::complex<T>* out) {
  const size_t half = turns.size();
  for (size_t k = 0; k < half; ++k) worker.from[k] = {in[2 * k], in[2 * k + 1]};
  worker.run();
  const std::vector<Complex>& z = worker.to;
  for (size_t k = 0; k <= half; ++k) {
    const Complex here = z[k % half], there = std::conj(z[(half - k) % half]);
    const Complex even = here + there, odd = here - there;
    const Complex turn = k < half ? turns[k] : -1;
    const Complex value = even + Complex(odd.imag(), -odd.real()) * turn;
    out[k] = std::complex<T>(value * (factor / 2));
  }
}

template <class T>
void even_irfft(const std::vector<Complex>& turns, double factor, Worker& worker,
                const std::complex<T>* in, T* out) {
  const size_t half = turns.size();
  for (size_t k = 0; k < half; ++k) {
    Complex here(in[k]), there = std::conj(Complex(in[half - k]));
    if (k == 0) {
      here = here.real();
      there = there.real();
    }
    const Complex odd = (here - there) * turns[k];
    worker.from[k] = here + there + Complex(-odd.imag(), odd.real());
  }
  worker.run();
  for (size_t k = 0; k < half; ++k) {
    out[2 * k] = static_cast<T>(worker.to[k].real() * factor);
    out[2 * k + 1] = static_cast<T>(worker.to[k].imag() * factor);
  }
}

template <class T>
void rfft_of(KernelCall& call) {
  const auto& a = call.attributes.as<RfftAttributes>();
  const int64_t n = call.operands[0].sizes()[static_cast<size_t>(a.axis)];
  if (!has_rows(call, n)) return;
  const double factor = factor_of(a.scale, n);
  using Number = std::complex<T>;
  if (n % 2 == 0) {
    const std::vector<Complex> turns = turns_of(n, -1);
    return transform_rows<T, Number>(call, a.axis, n / 2, false,
                                     [&](Worker& worker, const T* in, Number* out) {
                                       even_rfft(turns, factor, worker, in, out);
                                     });
  }
  transform_rows<T, Number>(call, a.axis, n, false, [&](Worker& worker, const T* in, Number* out) {
    std::copy_n(in, n, worker.from.begin());
    worker.run();
    for (int64_t k = 0; k <= n / 2; ++k) {
      out[k] = Number(worker.to[static_cast<size_t>(k)] * factor);
    }
  });
}

template <class T>
void irfft_of(KernelCall& call) {
  const auto& a = call.attributes.as<IrfftAttributes>();
  const int64_t n = a.size.number();
  if (!has_rows(call, n)) return;
  const double factor = factor_of(a.scale, n);
  using Number = std::complex<T>;
  if (n % 2 == 0) {
    const std::vector<Complex> turns = turns_of(n, 1);
    return transform_rows<Number, T>(call, a.axis, n / 2, true,
                                     [&](Worker& worker, const Number* in, T* out) {
                                       even_irfft(turns, factor, worker, in, out);
                                     });
  }
  transform_rows<Number, T>(call, a.axis, n, true, [&](Worker& worker, const Number* in, T* out) {
    worker.from[0] = in[0].real();
    for (int64_t k = 1; k <= n / 2; ++k) {
      worker.from[static_cast<size_t>(k)] = in[k];
      worker.from[static_cast<size_t>(n - k)] = std::conj(in[k]);
    }
    worker.run();
    for (int64_t k = 0; k < n; ++k) {
      out[k] = static_cast<T>(worker.to[static_cast<size_t>(k)].real() * factor);
    }
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
