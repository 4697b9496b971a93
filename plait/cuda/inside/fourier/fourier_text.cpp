#include "plait/cuda/inside/fourier/fourier_text.h"

#include <fmt/format.h>

namespace plait::cuda {
namespace {

constexpr std::string_view kPass = R"(
struct Pass {
  i64 columns, stride, count, before, inner, in_length, out_length, valid, period;
  const C *roots, *fine, *coarse, *in_chirp, *filter, *out_chirp;
  f64 factor;
  i32 size, together_log, pitch, shift, in_swapped, middle_swapped, out_swapped, in_along, out_along, radix_count;
  i32 radices[12];
};
INLINE C swapped(C x) { return C{x.im, x.re}; }
)";

// The element of a row that begins at x[begin].
constexpr std::string_view kReadComplex = R"(
typedef C In;
INLINE C element_of(const Pass& a, const In* x, Number begin, Number place) { return x[begin + (Number)a.stride * place]; }
)";
constexpr std::string_view kReadReal = R"(
typedef Part In;
INLINE C element_of(const Pass& a, const In* x, Number begin, Number place) {
  return C{x[begin + (Number)a.stride * place], 0};
}
)";
constexpr std::string_view kReadHalf = R"(
typedef C In;
INLINE C element_of(const Pass& a, const In* x, Number begin, Number place) {
  const Number period = (Number)a.period;
  const bool is_mirrored = 2 * place > period;
  C value = x[begin + (Number)a.stride * (is_mirrored ? period - place : place)];
  if (is_mirrored) value.im = -value.im;
  if (place == 0 || 2 * place == period) value.im = 0;
  return value;
}
)";

constexpr std::string_view kWriteComplex = R"(
typedef C Out;
INLINE Out written(const Pass&, C x, Number) { return x; }
)";
constexpr std::string_view kWriteReal = R"(
typedef Part Out;
INLINE Out written(const Pass&, C x, Number) { return x.re; }
)";
constexpr std::string_view kWriteHalf = R"(
typedef C Out;
INLINE Out written(const Pass& a, C x, Number place) {
  if (place == 0 || 2 * place == (Number)a.period) x.im = 0;
  return x;
}
)";

// Transforms of a few numbers in registers. Odd ones combine x[j] and x[radix - j].
constexpr std::string_view kFew = R"(
template <int kRadix> struct Circle;
#define CIRCLE(radix, c1, c2, c3, s1, s2, s3) \
  template <> struct Circle<radix> { \
    static INLINE Part cosine(int k) { return (Part)(k == 1 ? c1 : k == 2 ? c2 : c3); } \
    static INLINE Part sine(int k) { return (Part)(k == 1 ? s1 : k == 2 ? s2 : s3); } \
  };
CIRCLE(3, -0.5, 0., 0., 0.86602540378443864676, 0., 0.)
CIRCLE(5, 0.30901699437494742410, -0.80901699437494742410, 0., 0.95105651629515357212, 0.58778525229247312917, 0.)
CIRCLE(7, 0.62348980185873353053, -0.22252093395631440429, -0.90096886790241912624, 0.78183148246802980871,
       0.97492791218182360702, 0.43388373911755812048)
#undef CIRCLE

template <int kRadix> struct Few {
  static INLINE void transform(C* x) {
    constexpr int kHalf = kRadix / 2;
    const C first = x[0];
    C sums[kHalf + 1], differences[kHalf + 1];
    #pragma unroll
    for (int j = 1; j <= kHalf; ++j) {
      sums[j] = op::add(x[j], x[kRadix - j]);
      differences[j] = op::subtract(x[j], x[kRadix - j]);
      x[0] = op::add(x[0], sums[j]);
    }
    #pragma unroll
    for (int k = 1; k <= kHalf; ++k) {
      C even = first, odd = C{0, 0};
      #pragma unroll
      for (int j = 1; j <= kHalf; ++j) {
        const int turn = j * k % kRadix;
        const bool is_past = turn > kHalf;
        const Part cosine = Circle<kRadix>::cosine(is_past ? kRadix - turn : turn);
        const Part sine = is_past ? -Circle<kRadix>::sine(kRadix - turn) : Circle<kRadix>::sine(turn);
        even = C{even.re + sums[j].re * cosine, even.im + sums[j].im * cosine};
        odd = C{odd.re + differences[j].re * sine, odd.im + differences[j].im * sine};
      }
      x[k] = C{even.re + odd.im, even.im - odd.re};
      x[kRadix - k] = C{even.re - odd.im, even.im + odd.re};
    }
  }
};
template <> struct Few<2> {
  static INLINE void transform(C* x) {
    const C other = x[1];
    x[1] = op::subtract(x[0], other);
    x[0] = op::add(x[0], other);
  }
};
INLINE void transform_four(C& x0, C& x1, C& x2, C& x3) {
  const C a = op::add(x0, x2), b = op::subtract(x0, x2), c = op::add(x1, x3), d = op::subtract(x1, x3);
  x0 = op::add(a, c);
  x1 = C{b.re + d.im, b.im - d.re};
  x2 = op::subtract(a, c);
  x3 = C{b.re - d.im, b.im + d.re};
}
template <> struct Few<4> {
  static INLINE void transform(C* x) { transform_four(x[0], x[1], x[2], x[3]); }
};
template <> struct Few<8> {
  static INLINE void transform(C* x) {
    const Part root = (Part)0.70710678118654752440;
    C even[4] = {x[0], x[2], x[4], x[6]}, odd[4] = {x[1], x[3], x[5], x[7]};
    transform_four(even[0], even[1], even[2], even[3]);
    transform_four(odd[0], odd[1], odd[2], odd[3]);
    odd[1] = C{(odd[1].re + odd[1].im) * root, (odd[1].im - odd[1].re) * root};
    odd[2] = C{odd[2].im, -odd[2].re};
    odd[3] = C{(odd[3].im - odd[3].re) * root, -(odd[3].re + odd[3].im) * root};
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      x[k] = op::add(even[k], odd[k]);
      x[k + 4] = op::subtract(even[k], odd[k]);
    }
  }
};
)";

// Passes in shared memory: element k of column j is at k · pitch + j.
constexpr std::string_view kShared = R"(
template <int kRadix> INLINE void pass_of(const Pass& a, const C* from, C* to, int stride) {
  const int parts = a.size / kRadix, count = parts / stride, mask = (1 << a.together_log) - 1;
  for (int t = threadIdx.x; t < parts << a.together_log; t += blockDim.x) {
    const int j = t & mask, u = t >> a.together_log, p = u / stride, q = u - p * stride;
    C x[kRadix];
    #pragma unroll
    for (int k = 0; k < kRadix; ++k) x[k] = from[(u + parts * k) * a.pitch + j];
    Few<kRadix>::transform(x);
    C* const at = to + (q + stride * kRadix * p) * a.pitch + j;
    at[0] = x[0];
    #pragma unroll
    for (int k = 1; k < kRadix; ++k) {
      at[stride * k * a.pitch] = count == 1 ? x[k] : op::multiply(x[k], a.roots[p * k * stride]);
    }
  }
}
// A thread computes one number of the result.
INLINE void pass_of_any(const Pass& a, int radix, const C* from, C* to, int stride) {
  const int parts = a.size / radix, count = parts / stride, mask = (1 << a.together_log) - 1;
  for (int t = threadIdx.x; t < a.size << a.together_log; t += blockDim.x) {
    const int j = t & mask, v = t >> a.together_log, k = v / parts, u = v - k * parts, p = u / stride, q = u - p * stride;
    C sum = from[u * a.pitch + j];
    int turn = 0;
    for (int i = 1; i < radix; ++i) {
      turn += k;
      if (turn >= radix) turn -= radix;
      sum = op::add(sum, op::multiply(from[(u + parts * i) * a.pitch + j], a.roots[turn * parts]));
    }
    if (count > 1 && k > 0) sum = op::multiply(sum, a.roots[p * k * stride]);
    to[(q + stride * (radix * p + k)) * a.pitch + j] = sum;
  }
}
INLINE void pass(const Pass& a, int radix, const C* from, C* to, int stride) {
  switch (radix) {
    case 2: return pass_of<2>(a, from, to, stride);
    case 3: return pass_of<3>(a, from, to, stride);
    case 4: return pass_of<4>(a, from, to, stride);
    case 5: return pass_of<5>(a, from, to, stride);
    case 7: return pass_of<7>(a, from, to, stride);
    case 8: return pass_of<8>(a, from, to, stride);
    default: return pass_of_any(a, radix, from, to, stride);
  }
}
)";

// Column q + s p of a row: where the row begins in the input (offset by q) and in the output
// (offset by q % inner), p, and the place of its first number along the output.
constexpr std::string_view kTransform = R"(
struct Column { Number from, to, p, place; };
INLINE Column column_of(const Pass& a, Number number) {
  const Number stride = (Number)a.stride, inner = (Number)a.inner, each = stride * (Number)a.count;
  const Number row = number / each, c = number - row * each, p = c / stride, q = c - p * stride, place = q / inner;
  return Column{row * (Number)a.in_length * stride + q, row * (Number)a.out_length * inner + (q - place * inner), p,
                place + (Number)a.before * (Number)a.size * p};
}
INLINE C read_number(const Pass& a, const In* x, const Column& column, int k) {
  const Number place = column.p + (Number)a.count * k;
  if (place >= (Number)a.valid) return C{0, 0};
  C value = element_of(a, x, column.from, place);
  if (a.in_swapped) value = swapped(value);
  return a.in_chirp ? op::multiply(value, a.in_chirp[place]) : value;
}
INLINE void write_number(const Pass& a, Out* out, const Column& column, int k, C value) {
  const Number place = column.place + (Number)a.before * k;
  if (place >= (Number)a.out_length) return;
  if (a.count > 1 && column.p > 0) {
    const Number turn = column.p * k * (Number)a.before;
    value = op::multiply(value, op::multiply(a.coarse[turn >> a.shift], a.fine[turn & (((Number)1 << a.shift) - 1)]));
  }
  if (a.filter) value = op::multiply(value, a.filter[place]);
  if (a.middle_swapped) value = swapped(value);
  if (a.out_chirp) value = op::multiply(value, a.out_chirp[place]);
  if (a.factor != 1) value = C{value.re * (Part)a.factor, value.im * (Part)a.factor};
  if (a.out_swapped) value = swapped(value);
  out[column.to + (Number)a.inner * place] = written(a, value, place);
}

extern "C" __global__ void __launch_bounds__(512)
transform(const __grid_constant__ Pass a, const In* __restrict__ x, Out* __restrict__ out) {
  extern __shared__ C work[];
  __shared__ Column columns[64];
  const int together = 1 << a.together_log, total = a.size << a.together_log;
  const Number all = (Number)a.columns;
  for (Number first = (Number)blockIdx.x * together; first < all; first += (Number)gridDim.x * together) {
    for (int j = threadIdx.x; j < together; j += blockDim.x) {
      if (first + j < all) columns[j] = column_of(a, first + j);
    }
    __syncthreads();
    C *from = work, *to = work + a.size * a.pitch;
    for (int t = threadIdx.x; t < total; t += blockDim.x) {
      const int j = a.in_along ? t / a.size : t & (together - 1), k = a.in_along ? t - j * a.size : t >> a.together_log;
      from[k * a.pitch + j] = first + j < all ? read_number(a, x, columns[j], k) : C{0, 0};
    }
    __syncthreads();
    int stride = 1;
    for (int i = 0; i < a.radix_count; ++i) {
      pass(a, a.radices[i], from, to, stride);
      stride *= a.radices[i];
      C* const other = from;
      from = to;
      to = other;
      __syncthreads();
    }
    for (int t = threadIdx.x; t < total; t += blockDim.x) {
      const int j = a.out_along ? t / a.size : t & (together - 1), k = a.out_along ? t - j * a.size : t >> a.together_log;
      if (first + j < all) write_number(a, out, columns[j], k, from[k * a.pitch + j]);
    }
    __syncthreads();
  }
}
)";

std::string_view input_text(FourierInput input) {
  switch (input) {
    case FourierInput::complex: return kReadComplex;
    case FourierInput::real: return kReadReal;
    case FourierInput::half: return kReadHalf;
  }
  return {};
}

std::string_view output_text(FourierOutput output) {
  switch (output) {
    case FourierOutput::complex: return kWriteComplex;
    case FourierOutput::real: return kWriteReal;
    case FourierOutput::half: return kWriteHalf;
  }
  return {};
}

}  // namespace

std::string fourier_text(DType dtype, FourierInput input, FourierOutput output, bool narrow) {
  return fmt::format("typedef {} C;\ntypedef {} Part;\ntypedef {} Number;\n{}{}{}{}{}{}",
                     name_of(dtype), name_of(real_dtype(dtype)), narrow ? "u32" : "u64", kPass,
                     input_text(input), output_text(output), kFew, kShared, kTransform);
}

}  // namespace plait::cuda
