#include "plait/ops/fft/fft.h"

#include <cmath>
#include <numeric>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/inside/fft/fft_primitives.h"
#include "plait/ops/operand.h"
#include "plait/tensor/apply.h"

namespace plait::fft {
namespace {

int64_t axis_from_front(std::string_view function, const Tensor& x, int64_t axis) {
  const auto rank = static_cast<int64_t>(x.rank());
  if (axis < -rank || axis >= rank) {
    throw IndexError("{}: axis {} is out of range for {}", function, axis, x.type().text())
        .at(Location::of_caller());
  }
  return axis < 0 ? axis + rank : axis;
}

// Converts to f32, f64, c64 or c128.
Tensor in_single_or_double(const Tensor& x) {
  const DType dtype = inexact(x.dtype());
  return astype(x, is_floating(dtype) && dtype != DType::f64 ? DType::f32 : dtype);
}

Tensor as_complex(const Tensor& x) {
  const Tensor numbers = in_single_or_double(x);
  if (is_complex(numbers.dtype())) return numbers;
  return astype(numbers, numbers.dtype() == DType::f64 ? DType::c128 : DType::c64);
}

Tensor as_real(std::string_view function, const Tensor& x) {
  if (!is_complex(x.dtype())) return in_single_or_double(x);
  throw TypeError("{}: expected real numbers, not {}", function, x.type().text())
      .at(Location::of_caller());
}

// Truncates, or pads with zeros at the end.
Tensor resized(std::string_view function, const Tensor& x, int64_t axis, Length n) {
  if (n && *n < 1) {
    throw ValueError("{}: the length is {}, expected 1 or more", function, *n)
        .at(Location::of_caller());
  }
  if (!n && same(x.shape(axis), Dim(0))) {
    throw ValueError("{}: {} is empty along axis {}", function, x.type().text(), axis)
        .at(Location::of_caller());
  }
  if (!n || same(x.shape(axis), Dim(*n))) return x;
  const Dim size = x.shape(axis);
  if (!size.is_number()) {
    throw ValueError("{}: cannot decide whether the length {} or {} is longer", function, size, *n)
        .at(Location::of_caller());
  }
  if (size.number() > *n) return slice(x, axis, {.stop = *n});
  return pad_zeros(x, axis, 0, *n - size);
}

FftScale scale_of(Norm norm, bool inverse) {
  if (norm == Norm::ortho) return FftScale::root;
  return (norm == Norm::backward) == inverse ? FftScale::length : FftScale::none;
}

Tensor transform(std::string_view function, const Tensor& x, Length n, int64_t axis, Norm norm,
                 bool inverse) {
  const int64_t at = axis_from_front(function, x, axis);
  return apply(fft_primitives().fft, {resized(function, as_complex(x), at, n)},
               ir::Attributes::of(FftAttributes{at, inverse, scale_of(norm, inverse)}));
}

Tensor real_transform(std::string_view function, const Tensor& x, Length n, int64_t axis,
                      FftScale scale) {
  const int64_t at = axis_from_front(function, x, axis);
  return apply(fft_primitives().rfft, {resized(function, as_real(function, x), at, n)},
               ir::Attributes::of(RfftAttributes{at, scale}));
}

Tensor inverse_real_transform(std::string_view function, const Tensor& x, Length n, int64_t axis,
                              FftScale scale) {
  const int64_t at = axis_from_front(function, x, axis);
  const Dim size = n ? Dim(*n) : (x.shape(at) - 1) * 2;
  if (size.is_number() && size.number() < 1) {
    throw ValueError("{}: the length of the result of {} is {}, expected 1 or more", function,
                     x.type().text(), size)
        .at(Location::of_caller());
  }
  const Length half = n ? Length(*n / 2 + 1) : Length();
  return apply(fft_primitives().irfft, {resized(function, as_complex(x), at, half)},
               ir::Attributes::of(IrfftAttributes{at, size, scale}));
}

// The axes of a transform, and their lengths.
struct Plan {
  std::vector<int64_t> axes;
  std::vector<Length> lengths;

  Plan(std::string_view function, const Tensor& x, const Lengths& given, const AxisList& named) {
    if (!given.empty() && !named.empty() && given.size() != named.size()) {
      throw ValueError("{}: {} lengths for {} axes", function, given.size(), named.size())
          .at(Location::of_caller());
    }
    if (named.empty() && given.size() > x.rank()) {
      throw ValueError("{}: {} lengths for the axes of {}", function, given.size(), x.type().text())
          .at(Location::of_caller());
    }
    const auto rank = static_cast<int64_t>(x.rank());
    const size_t count = !named.empty() ? named.size() : !given.empty() ? given.size() : x.rank();
    for (size_t i = 0; i < count; ++i) {
      const int64_t last_ones = rank - static_cast<int64_t>(count - i);
      axes.push_back(named.empty() ? axis_from_front(function, x, last_ones)
                                   : axis_from_front(function, x, named[i]));
      lengths.push_back(given.empty() || given[i] == -1 ? Length() : Length(given[i]));
    }
    if (count == 0) {
      throw ValueError("{}: {} has no axes", function, x.type().text()).at(Location::of_caller());
    }
  }
};

Tensor transform_all(std::string_view function, Tensor x, const Lengths& lengths,
                     const AxisList& axes, Norm norm, bool inverse) {
  const Plan plan(function, x, lengths, axes);
  for (size_t i = plan.axes.size(); i-- > 0;) {
    x = transform(function, x, plan.lengths[i], plan.axes[i], norm, inverse);
  }
  return x;
}

Tensor real_transform_all(std::string_view function, Tensor x, const Lengths& lengths,
                          const AxisList& axes, Norm norm) {
  const Plan plan(function, x, lengths, axes);
  x = real_transform(function, x, plan.lengths.back(), plan.axes.back(), scale_of(norm, false));
  for (size_t i = plan.axes.size() - 1; i-- > 0;) {
    x = transform(function, x, plan.lengths[i], plan.axes[i], norm, false);
  }
  return x;
}

Tensor inverse_real_transform_all(std::string_view function, Tensor x, const Lengths& lengths,
                                  const AxisList& axes, Norm norm) {
  const Plan plan(function, x, lengths, axes);
  for (size_t i = 0; i + 1 < plan.axes.size(); ++i) {
    x = transform(function, x, plan.lengths[i], plan.axes[i], norm, true);
  }
  return inverse_real_transform(function, x, plan.lengths.back(), plan.axes.back(),
                                scale_of(norm, true));
}

// Rotates each axis so that index `first(size)` becomes the first.
Tensor rolled(std::string_view function, Tensor x, const AxisList& axes, bool up) {
  AxisList all = axes;
  if (all.empty()) {
    all.resize(x.rank());
    std::iota(all.begin(), all.end(), 0);
  }
  for (const int64_t axis : all) {
    const int64_t at = axis_from_front(function, x, axis);
    if (!x.shape(at).is_number()) {
      throw ValueError("{}: the length of {} along axis {} is not known", function, x.type().text(),
                       at)
          .at(Location::of_caller());
    }
    const int64_t size = x.shape(at).number(), first = up ? (size + 1) / 2 : size / 2;
    if (size < 2) continue;
    const Tensor parts[] = {slice(x, at, {.start = first}), slice(x, at, {.stop = first})};
    x = concat(parts, at);
  }
  return x;
}

void expect_frequencies(std::string_view function, int64_t n, double spacing, DType dtype) {
  if (!is_floating(dtype)) {
    throw TypeError("{}: frequencies are floating-point numbers, not {}", function, name_of(dtype))
        .at(Location::of_caller());
  }
  if (n > 0 && spacing != 0 && std::isfinite(spacing)) return;
  throw ValueError("{}: cannot compute the frequencies of {} samples at a distance of {}", function,
                   n, spacing)
      .at(Location::of_caller());
}

}  // namespace

Tensor fft(const Tensor& x, Length n, int64_t axis, Norm norm) {
  const Call call("fft", x);
  return transform("fft", x, n, axis, norm, false);
}
Tensor ifft(const Tensor& x, Length n, int64_t axis, Norm norm) {
  const Call call("ifft", x);
  return transform("ifft", x, n, axis, norm, true);
}
Tensor rfft(const Tensor& x, Length n, int64_t axis, Norm norm) {
  const Call call("rfft", x);
  return real_transform("rfft", x, n, axis, scale_of(norm, false));
}
Tensor irfft(const Tensor& x, Length n, int64_t axis, Norm norm) {
  const Call call("irfft", x);
  return inverse_real_transform("irfft", x, n, axis, scale_of(norm, true));
}
Tensor hfft(const Tensor& x, Length n, int64_t axis, Norm norm) {
  const Call call("hfft", x);
  return inverse_real_transform("hfft", conj(as_complex(x)), n, axis, scale_of(norm, false));
}
Tensor ihfft(const Tensor& x, Length n, int64_t axis, Norm norm) {
  const Call call("ihfft", x);
  return conj(real_transform("ihfft", x, n, axis, scale_of(norm, true)));
}

Tensor fftn(const Tensor& x, const Lengths& lengths, const AxisList& axes, Norm norm) {
  const Call call("fftn", x);
  return transform_all("fftn", x, lengths, axes, norm, false);
}
Tensor ifftn(const Tensor& x, const Lengths& lengths, const AxisList& axes, Norm norm) {
  const Call call("ifftn", x);
  return transform_all("ifftn", x, lengths, axes, norm, true);
}
Tensor rfftn(const Tensor& x, const Lengths& lengths, const AxisList& axes, Norm norm) {
  const Call call("rfftn", x);
  return real_transform_all("rfftn", x, lengths, axes, norm);
}
Tensor irfftn(const Tensor& x, const Lengths& lengths, const AxisList& axes, Norm norm) {
  const Call call("irfftn", x);
  return inverse_real_transform_all("irfftn", x, lengths, axes, norm);
}
Tensor fft2(const Tensor& x, const Lengths& lengths, const AxisList& axes, Norm norm) {
  const Call call("fft2", x);
  return transform_all("fft2", x, lengths, axes, norm, false);
}
Tensor ifft2(const Tensor& x, const Lengths& lengths, const AxisList& axes, Norm norm) {
  const Call call("ifft2", x);
  return transform_all("ifft2", x, lengths, axes, norm, true);
}
Tensor rfft2(const Tensor& x, const Lengths& lengths, const AxisList& axes, Norm norm) {
  const Call call("rfft2", x);
  return real_transform_all("rfft2", x, lengths, axes, norm);
}
Tensor irfft2(const Tensor& x, const Lengths& lengths, const AxisList& axes, Norm norm) {
  const Call call("irfft2", x);
  return inverse_real_transform_all("irfft2", x, lengths, axes, norm);
}

Tensor fftfreq(int64_t n, double spacing, DType dtype) {
  const Call call("fftfreq");
  expect_frequencies("fftfreq", n, spacing, dtype);
  const Tensor place = arange(n);
  const Tensor turns = astype(where(place < (n + 1) / 2, place, place - n), DType::f64);
  return astype(turns / (static_cast<double>(n) * spacing), dtype);
}
Tensor rfftfreq(int64_t n, double spacing, DType dtype) {
  const Call call("rfftfreq");
  expect_frequencies("rfftfreq", n, spacing, dtype);
  return astype(astype(arange(n / 2 + 1), DType::f64) / (static_cast<double>(n) * spacing), dtype);
}

Tensor fftshift(const Tensor& x, const AxisList& axes) {
  const Call call("fftshift", x);
  return rolled("fftshift", x, axes, true);
}
Tensor ifftshift(const Tensor& x, const AxisList& axes) {
  const Call call("ifftshift", x);
  return rolled("ifftshift", x, axes, false);
}

}  // namespace plait::fft
