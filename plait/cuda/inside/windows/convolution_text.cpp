#include "plait/cuda/inside/windows/convolution_text.h"

#include <string_view>

#include <fmt/format.h>

#include "plait/cuda/inside/kernels/sum_type.h"
#include "plait/cuda/inside/windows/space_text.h"

namespace plait::cuda {
namespace {

// Bounds of 4 blocks a multiprocessor allow 64 registers: with fewer the compiler spills some.
// Kernel element k meets output place o at element input_place(d, start(d, o) + k · dilation) of
// the input, and input element i at output place output_place(d, reach(d, i) − k · dilation);
// negative if there is none.
constexpr std::string_view kConvolved = R"(
struct ConvolvedAxis {
  i64 in, kernel, out, stride, low, dilation, input_dilation, in_step, kernel_step, out_step;
};
struct Convolved {
  i64 images, inputs, outputs, group_inputs, group_outputs;
  i64 in_image, in_channel, w_output, w_input, out_image, out_channel;
  ConvolvedAxis axes[3];
};
struct Columns { i64 first_place, places, image, channel, tap; };

INLINE Place start(const ConvolvedAxis& d, Place out) { return out * (Place)d.stride - (Place)d.low; }
INLINE Place input_place(const ConvolvedAxis& d, Place place) {
  if (place < 0) return -1;
  if (DILATED) {
    const Place spread = (Place)d.input_dilation, in = place / spread;
    if (in * spread != place) return -1;
    place = in;
  }
  return place < (Place)d.in ? place : (Place)-1;
}
INLINE Place reach(const ConvolvedAxis& d, Place in) { return in * (Place)d.input_dilation + (Place)d.low; }
INLINE Place output_place(const ConvolvedAxis& d, Place place) {
  if (place < 0) return -1;
  if (STRIDED) {
    const Place stride = (Place)d.stride, out = place / stride;
    if (out * stride != place) return -1;
    place = out;
  }
  return place < (Place)d.out ? place : (Place)-1;
}

#define IN_SIZES {(Number)c.axes[0].in, (Number)c.axes[1].in, (Number)c.axes[2].in}
#define OUT_SIZES {(Number)c.axes[0].out, (Number)c.axes[1].out, (Number)c.axes[2].out}
#define TAPS(k, d) Place k = 0; k < (Place)c.axes[d].kernel; ++k
#define SHIFT(k, d) (k * (Place)c.axes[d].dilation)
)";

// A thread reads the elements of x that meet a kernel of one channel at one place.
constexpr std::string_view kGather = R"(
extern "C" __global__ void __launch_bounds__(256)
gather_patches(const __grid_constant__ Convolved c, const __grid_constant__ Columns to, const Word* __restrict__ x,
               Word* __restrict__ columns, i64 total) {
  const Number sizes[3] = OUT_SIZES, places = (Number)to.places, inputs = (Number)c.inputs;
  for (EACH(i)) {
    const Number row = i / places, at = i - row * places, image = row / inputs, channel = row - image * inputs;
    Place out[3];
    split((Number)to.first_place + at, sizes, out);
    const Place z0 = start(c.axes[0], out[0]), y0 = start(c.axes[1], out[1]), x0 = start(c.axes[2], out[2]);
    const Word* const from = x + image * c.in_image + channel * c.in_channel;
    Word* target = columns + image * to.image + channel * to.channel + at;
    for (TAPS(k, 0)) {
      const Place pz = SPACE > 2 ? input_place(c.axes[0], z0 + SHIFT(k, 0)) : (Place)0;
      for (TAPS(l, 1)) {
        const Place py = SPACE > 1 ? input_place(c.axes[1], y0 + SHIFT(l, 1)) : (Place)0;
        const i64 row_place = pz * c.axes[0].in_step + py * c.axes[1].in_step;
        for (TAPS(m, 2)) {
          const Place px = input_place(c.axes[2], x0 + SHIFT(m, 2));
          Word word = Word();
          if ((pz >= 0) & (py >= 0) & (px >= 0)) word = from[row_place + px * c.axes[2].in_step];
          *target = word;
          target += to.tap;
        }
      }
    }
  }
}
)";

// A thread adds what the columns hold for one element of x, to the sum of earlier columns.
constexpr std::string_view kJoin = R"(
extern "C" __global__ void __launch_bounds__(256, 4)
join_patches(const __grid_constant__ Convolved c, const __grid_constant__ Columns from, const Stored* __restrict__ columns,
             const Stored* before, Stored* sums, T* __restrict__ x, i64 total) {
  const Number sizes[3] = IN_SIZES, inputs = (Number)c.inputs;
  const Place high = (Place)c.axes[1].out, wide = (Place)c.axes[2].out;
  for (EACH(i)) {
    Place in[3];
    const Number row = split(i, sizes, in), image = row / inputs, channel = row - image * inputs;
    const Place z0 = reach(c.axes[0], in[0]), y0 = reach(c.axes[1], in[1]), x0 = reach(c.axes[2], in[2]);
    const Stored* source = columns + image * from.image + channel * from.channel;
    SumType sum = {};
    if (before) sum = (SumType)read(before[i]);
    for (TAPS(k, 0)) {
      const Place pz = SPACE > 2 ? output_place(c.axes[0], z0 - SHIFT(k, 0)) : (Place)0;
      for (TAPS(l, 1)) {
        const Place py = SPACE > 1 ? output_place(c.axes[1], y0 - SHIFT(l, 1)) : (Place)0;
        for (TAPS(m, 2)) {
          const Place px = output_place(c.axes[2], x0 - SHIFT(m, 2));
          const Place place = (pz * high + py) * wide + px - (Place)from.first_place;
          const bool is_there = (pz >= 0) & (py >= 0) & (px >= 0) & (place >= 0) & (place < (Place)from.places);
          if (is_there) sum = op::add(sum, (SumType)read(source[place]));
          source += from.tap;
        }
      }
    }
    if (x) {
      x[i] = Memory<T>::write((Memory<T>::Value)sum);
    } else {
      sums[i] = Memory<Stored>::write((Memory<Stored>::Value)sum);
    }
  }
}
)";

// The sum of `parts` arrays of `total` elements, and of earlier ones.
constexpr std::string_view kAdd = R"(
extern "C" __global__ void __launch_bounds__(256)
add_parts(const Stored* __restrict__ partial, i64 parts, const Stored* before, Stored* sums, T* __restrict__ out, i64 total) {
  for (i64 i = blockIdx.x * 256ll + threadIdx.x; i < total; i += gridDim.x * 256ll) {
    SumType sum = {};
    if (before) sum = (SumType)read(before[i]);
    for (i64 part = 0; part < parts; ++part) sum = op::add(sum, (SumType)read(partial[part * total + i]));
    if (out) {
      out[i] = Memory<T>::write((Memory<T>::Value)sum);
    } else {
      sums[i] = Memory<Stored>::write((Memory<Stored>::Value)sum);
    }
  }
}
)";

constexpr std::string_view kProducts = R"(
INLINE u32 plus_product(u32 sum, u32 a, u32 b) { return sum + a * b; }
INLINE u64 plus_product(u64 sum, u64 a, u64 b) { return sum + a * b; }
INLINE f32 plus_product(f32 sum, f32 a, f32 b) { return fmaf(a, b, sum); }
INLINE f64 plus_product(f64 sum, f64 a, f64 b) { return fma(a, b, sum); }
INLINE c64 plus_product(c64 sum, c64 a, c64 b) {
  return c64{fmaf(a.re, b.re, fmaf(-a.im, b.im, sum.re)), fmaf(a.re, b.im, fmaf(a.im, b.re, sum.im))};
}
INLINE c128 plus_product(c128 sum, c128 a, c128 b) {
  return c128{fma(a.re, b.re, fma(-a.im, b.im, sum.re)), fma(a.re, b.im, fma(a.im, b.re, sum.im))};
}
)";

// A thread computes an element of the result; an element of w, all threads of a block.
constexpr std::string_view kDirect = R"(
extern "C" __global__ void __launch_bounds__(256, 4)
direct_output(const __grid_constant__ Convolved c, const T* __restrict__ x, const T* __restrict__ w, T* __restrict__ out,
              i64 total) {
  const Number sizes[3] = OUT_SIZES, outputs = (Number)c.outputs;
  for (EACH(i)) {
    Place at[3];
    const Number row = split(i, sizes, at), image = row / outputs, output = row - image * outputs;
    const Number input = output / (Number)c.group_outputs * (Number)c.group_inputs;
    const Place z0 = start(c.axes[0], at[0]), y0 = start(c.axes[1], at[1]), x0 = start(c.axes[2], at[2]);
    SumType sum = {};
    for (Number channel = 0; channel < (Number)c.group_inputs; ++channel) {
      const T* const from = x + image * c.in_image + (input + channel) * c.in_channel;
      const T* const weights = w + output * c.w_output + channel * c.w_input;
      for (TAPS(k, 0)) {
        const Place pz = SPACE > 2 ? input_place(c.axes[0], z0 + SHIFT(k, 0)) : (Place)0;
        if (pz < 0) continue;
        for (TAPS(l, 1)) {
          const Place py = SPACE > 1 ? input_place(c.axes[1], y0 + SHIFT(l, 1)) : (Place)0;
          if (py < 0) continue;
          const T* const line = from + pz * c.axes[0].in_step + py * c.axes[1].in_step;
          const T* const of_line = weights + k * c.axes[0].kernel_step + l * c.axes[1].kernel_step;
          for (TAPS(m, 2)) {
            const Place px = input_place(c.axes[2], x0 + SHIFT(m, 2));
            if (px < 0) continue;
            sum = plus_product(sum, (SumType)read(of_line[m * c.axes[2].kernel_step]), (SumType)read(line[px * c.axes[2].in_step]));
          }
        }
      }
    }
    out[i] = Memory<T>::write((Memory<T>::Value)sum);
  }
}

extern "C" __global__ void __launch_bounds__(256, 4)
direct_input(const __grid_constant__ Convolved c, const T* __restrict__ out, const T* __restrict__ w, T* __restrict__ x,
             i64 total) {
  const Number sizes[3] = IN_SIZES, inputs = (Number)c.inputs;
  for (EACH(i)) {
    Place at[3];
    const Number row = split(i, sizes, at), image = row / inputs, input = row - image * inputs;
    const Number group = input / (Number)c.group_inputs, channel = input - group * (Number)c.group_inputs;
    const Place z0 = reach(c.axes[0], at[0]), y0 = reach(c.axes[1], at[1]), x0 = reach(c.axes[2], at[2]);
    SumType sum = {};
    const Number end = (group + 1) * (Number)c.group_outputs;
    for (Number output = end - (Number)c.group_outputs; output < end; ++output) {
      const T* const from = out + image * c.out_image + output * c.out_channel;
      const T* const weights = w + output * c.w_output + channel * c.w_input;
      for (TAPS(k, 0)) {
        const Place pz = SPACE > 2 ? output_place(c.axes[0], z0 - SHIFT(k, 0)) : (Place)0;
        if (pz < 0) continue;
        for (TAPS(l, 1)) {
          const Place py = SPACE > 1 ? output_place(c.axes[1], y0 - SHIFT(l, 1)) : (Place)0;
          if (py < 0) continue;
          const T* const line = from + pz * c.axes[0].out_step + py * c.axes[1].out_step;
          const T* const of_line = weights + k * c.axes[0].kernel_step + l * c.axes[1].kernel_step;
          for (TAPS(m, 2)) {
            const Place px = output_place(c.axes[2], x0 - SHIFT(m, 2));
            if (px < 0) continue;
            sum = plus_product(sum, (SumType)read(of_line[m * c.axes[2].kernel_step]), (SumType)read(line[px * c.axes[2].out_step]));
          }
        }
      }
    }
    x[i] = Memory<T>::write((Memory<T>::Value)sum);
  }
}

// `total` elements of w. Thread t adds places t, t + 256, …, then the threads are joined in order.
extern "C" __global__ void __launch_bounds__(256, 4)
direct_weight(const __grid_constant__ Convolved c, const T* __restrict__ x, const T* __restrict__ out, T* __restrict__ w,
              i64 places, i64 total) {
  __shared__ SumType warps[8];
  const Number sizes[3] = OUT_SIZES;
  const Number kernel[3] = {(Number)c.axes[0].kernel, (Number)c.axes[1].kernel, (Number)c.axes[2].kernel};
  for (Number i = blockIdx.x; i < (Number)total; i += gridDim.x) {
    Place tap[3];
    const Number row = split(i, kernel, tap), output = row / (Number)c.group_inputs;
    const Number channel = row - output * (Number)c.group_inputs;
    const Number input = output / (Number)c.group_outputs * (Number)c.group_inputs + channel;
    SumType sum = {};
    for (Number j = threadIdx.x; j < (Number)places; j += 256u) {
      Place at[3];
      const Number image = split(j, sizes, at);
      const Place pz = SPACE > 2 ? input_place(c.axes[0], start(c.axes[0], at[0]) + SHIFT(tap[0], 0)) : (Place)0;
      const Place py = SPACE > 1 ? input_place(c.axes[1], start(c.axes[1], at[1]) + SHIFT(tap[1], 1)) : (Place)0;
      const Place px = input_place(c.axes[2], start(c.axes[2], at[2]) + SHIFT(tap[2], 2));
      if ((pz < 0) | (py < 0) | (px < 0)) continue;
      const i64 from = image * c.in_image + input * c.in_channel + pz * c.axes[0].in_step + py * c.axes[1].in_step +
                       px * c.axes[2].in_step;
      const i64 of = image * c.out_image + output * c.out_channel + at[0] * c.axes[0].out_step +
                     at[1] * c.axes[1].out_step + at[2] * c.axes[2].out_step;
      sum = plus_product(sum, (SumType)read(out[of]), (SumType)read(x[from]));
    }
    sum = join_block<Sum, 256>(sum, warps);
    if (threadIdx.x == 0) w[i] = Memory<T>::write((Memory<T>::Value)sum);
  }
}
)";

std::string convolved_form_text(const ConvolvedForm& form) {
  return fmt::format(
      "typedef {} Number;\ntypedef {} Place;\n#define SPACE {}\n#define STRIDED {}\n"
      "#define DILATED {}\n{}{}",
      form.is_narrow ? "u32" : "u64", form.is_narrow ? "i32" : "i64", form.space, form.is_strided,
      form.is_dilated, kSpaceText, kConvolved);
}

std::string types_text(DType dtype, DType stored) {
  return fmt::format("typedef {} T;\ntypedef {} Stored;\ntypedef {} SumType;\n", name_of(dtype),
                     name_of(stored), sum_type(dtype));
}

std::string_view word_type(int64_t bytes) {
  switch (bytes) {
    case 1: return "u8";
    case 2: return "u16";
    case 4: return "u32";
    case 8: return "uint2";
    default: return "uint4";
  }
}

}  // namespace

std::string gather_patches_text(const ConvolvedForm& form, int64_t word) {
  return fmt::format("{}typedef {} Word;\n{}", convolved_form_text(form), word_type(word), kGather);
}

std::string join_patches_text(const ConvolvedForm& form, DType dtype, DType stored) {
  return fmt::format("{}{}{}", convolved_form_text(form), types_text(dtype, stored), kJoin);
}

std::string add_parts_text(DType dtype, DType stored) {
  return fmt::format("{}{}", types_text(dtype, stored), kAdd);
}

std::string direct_convolution_text(const ConvolvedForm& form, DType dtype) {
  return fmt::format("{}{}{}{}", convolved_form_text(form), types_text(dtype, dtype), kProducts,
                     kDirect);
}

}  // namespace plait::cuda
