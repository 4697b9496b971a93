#include "plait/cuda/inside/windows/window_text.h"

#include <string_view>

#include <fmt/format.h>

#include "plait/cuda/inside/kernels/sum_type.h"
#include "plait/cuda/inside/windows/space_text.h"

namespace plait::cuda {
namespace {

// Bounds of 4 blocks a multiprocessor allow 64 registers: with fewer the compiler spills some.
constexpr std::string_view kPlaces = R"(
struct WindowAxis { i64 size, count, window, stride, dilation, padding, period, step; };
struct WindowPlaces {
  i64 outer_sizes[4], outer_steps[4];
  WindowAxis axes[3];
};
struct Span { Place first, end, step; };

// The elements of a window that are inside.
INLINE Span window_at(const WindowAxis& d, Place i) {
  const Place size = (Place)d.size, count = (Place)d.count, dilation = (Place)d.dilation;
  if (EVEN) return Span{i * size / count, ((i + 1) * size + count - 1) / count, (Place)1};
  const Place begin = i * (Place)d.stride - (Place)d.padding;
  const Place end = begin + ((Place)d.window - 1) * dilation + 1;
  const Place first = begin < 0 ? begin + (dilation - 1 - begin) / dilation * dilation : begin;
  return Span{first, end < size ? end : size, dilation};
}

// The windows that hold an element.
INLINE Span owners_of(const WindowAxis& d, Place at) {
  const Place size = (Place)d.size, count = (Place)d.count;
  if (EVEN) return Span{at * count / size, ((at + 1) * count + size - 1) / size, (Place)1};
  const Place stride = (Place)d.stride, dilation = (Place)d.dilation, period = (Place)d.period;
  const Place shifted = at + (Place)d.padding, least = shifted - ((Place)d.window - 1) * dilation;
  if (shifted < 0) return Span{(Place)0, (Place)0, period};
  Place first = least > 0 ? (least + stride - 1) / stride : 0, end = shifted / stride + 1;
  if (end > count) end = count;
  if (dilation > 1) {
    Place tries = period;
    while (tries > 0 && first < end && (shifted - first * stride) % dilation != 0) {
      ++first;
      --tries;
    }
    if (tries == 0) end = first;
  }
  return Span{first, end, period};
}

// Splits the number of an element of the result, whose planes have these sizes; returns where the
// plane of the operand begins.
INLINE i64 split(const WindowPlaces& w, Number number, const Number (&sizes)[3], Place (&at)[3]) {
  number = split(number, sizes, at);
  i64 offset = 0;
  #pragma unroll
  for (int d = OUTER - 1; d >= 0; --d) {
    const Number size = (Number)w.outer_sizes[d], rest = d > 0 ? number / size : 0;
    offset += (i64)(d > 0 ? number - rest * size : number) * w.outer_steps[d];
    number = rest;
  }
  return offset;
}
#define COUNTS {(Number)w.axes[0].count, (Number)w.axes[1].count, (Number)w.axes[2].count}
#define SIZES {(Number)w.axes[0].size, (Number)w.axes[1].size, (Number)w.axes[2].size}
#define WITHIN(p, span) Place p = span.first; p < span.end; p += span.step
#define WHOLE Span{(Place)0, (Place)1, (Place)1}
)";

// The CPU's orders: elements of a window in row-major order, windows of an element too, except that
// those of a row come last first.
constexpr std::string_view kSums = R"(
extern "C" __global__ void __launch_bounds__(256, 4)
window_sum(const __grid_constant__ WindowPlaces w, const T* __restrict__ x, T* __restrict__ out, i64 total) {
  const Number counts[3] = COUNTS;
  for (EACH(i)) {
    Place at[3];
    const T* const plane = x + split(w, i, counts, at);
    const Span a = SPACE > 2 ? window_at(w.axes[0], at[0]) : WHOLE, b = SPACE > 1 ? window_at(w.axes[1], at[1]) : WHOLE;
    const Span c = window_at(w.axes[2], at[2]);
    SumType sum = {};
    for (WITHIN(p, a)) {
      for (WITHIN(q, b)) {
        const T* const row = plane + p * w.axes[0].step + q * w.axes[1].step;
        for (WITHIN(r, c)) sum = op::add(sum, (SumType)read(row[r * w.axes[2].step]));
      }
    }
    out[i] = Memory<T>::write((Memory<T>::Value)sum);
  }
}

extern "C" __global__ void __launch_bounds__(256, 4)
window_spread(const __grid_constant__ WindowPlaces w, const T* __restrict__ x, T* __restrict__ out, i64 total) {
  const Number sizes[3] = SIZES;
  for (EACH(i)) {
    Place at[3];
    const T* const plane = x + split(w, i, sizes, at);
    const Span a = SPACE > 2 ? owners_of(w.axes[0], at[0]) : WHOLE, b = SPACE > 1 ? owners_of(w.axes[1], at[1]) : WHOLE;
    const Span c = owners_of(w.axes[2], at[2]);
    const Place last = c.first < c.end ? c.first + (c.end - 1 - c.first) / c.step * c.step : c.first;
    SumType sum = {};
    for (WITHIN(p, a)) {
      for (WITHIN(q, b)) {
        const T* const row = plane + p * w.axes[0].step + q * w.axes[1].step;
        for (WITHIN(r, c)) {
          const Place window = EVEN ? r : last - (r - c.first);
          sum = op::add(sum, (SumType)read(row[window * w.axes[2].step]));
        }
      }
    }
    out[i] = Memory<T>::write((Memory<T>::Value)sum);
  }
}
)";

// The maximum of each column of a window, then that of the row: the CPU's order, which decides
// between zeros of both signs, and between several NaN.
constexpr std::string_view kMaxima = R"(
typedef Memory<T>::Value Value;

extern "C" __global__ void __launch_bounds__(256, 4)
window_maximum(const __grid_constant__ WindowPlaces w, const T* __restrict__ x, T* __restrict__ out, i64 total) {
  const Number counts[3] = COUNTS;
  for (EACH(i)) {
    Place at[3];
    const T* const plane = x + split(w, i, counts, at);
    const Span a = SPACE > 2 ? window_at(w.axes[0], at[0]) : WHOLE, b = SPACE > 1 ? window_at(w.axes[1], at[1]) : WHOLE;
    const Span c = window_at(w.axes[2], at[2]);
    Value best = (Value)(LEAST);
    for (WITHIN(r, c)) {
      for (WITHIN(p, a)) {
        for (WITHIN(q, b)) {
          const Value value = read(plane[p * w.axes[0].step + q * w.axes[1].step + r * w.axes[2].step]);
          best = (value > best) | (value != value) ? value : best;
        }
      }
    }
    out[i] = Memory<T>::write(best);
  }
}

extern "C" __global__ void __launch_bounds__(256, 4)
window_maximum_index(const __grid_constant__ WindowPlaces w, const T* __restrict__ x, i64* __restrict__ out, i64 total) {
  const Number counts[3] = COUNTS;
  for (EACH(i)) {
    Place at[3];
    const T* const plane = x + split(w, i, counts, at);
    const Span a = SPACE > 2 ? window_at(w.axes[0], at[0]) : WHOLE, b = SPACE > 1 ? window_at(w.axes[1], at[1]) : WHOLE;
    const Span c = window_at(w.axes[2], at[2]);
    Value best = (Value)(LEAST);
    i64 found = -1;
    for (WITHIN(p, a)) {
      for (WITHIN(q, b)) {
        const T* const row = plane + p * w.axes[0].step + q * w.axes[1].step;
        const i64 before = (p * w.axes[1].size + q) * w.axes[2].size;
        for (WITHIN(r, c)) {
          const Value value = read(row[r * w.axes[2].step]);
          const bool is_first_nan = (value != value) & (best == best);
          if ((found < 0) | (value > best) | is_first_nan) {
            best = value;
            found = before + r;
          }
        }
      }
    }
    out[i] = found;
  }
}
)";

std::string window_form_text(const WindowForm& form) {
  return fmt::format(
      "typedef {} T;\ntypedef {} Number;\ntypedef {} Place;\n#define EVEN {}\n#define SPACE {}\n"
      "#define OUTER {}\n{}{}",
      name_of(form.dtype), form.is_narrow ? "u32" : "u64", form.is_narrow ? "i32" : "i64",
      form.is_even, form.space, form.outer, kSpaceText, kPlaces);
}

std::string least_of(DType dtype) {
  if (is_floating(dtype)) return "-single_of(0x7f800000u)";
  if (dtype == DType::boolean) return "false";
  return fmt::format("{}ull", static_cast<uint64_t>(integer_limits(dtype).min));
}

}  // namespace

std::string window_sum_text(const WindowForm& form) {
  return fmt::format("{}typedef {} SumType;\n{}", window_form_text(form), sum_type(form.dtype),
                     kSums);
}

std::string window_maximum_text(const WindowForm& form) {
  return fmt::format("{}#define LEAST {}\n{}", window_form_text(form), least_of(form.dtype),
                     kMaxima);
}

}  // namespace plait::cuda
