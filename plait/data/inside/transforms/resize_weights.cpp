#include "plait/data/inside/transforms/resize_weights.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "plait/core/error.h"

namespace plait::data {
namespace {

using transforms::Interpolation;

template <class Real>
Real triangle(Real x) {
  x = std::abs(x);
  return x < 1 ? 1 - x : 0;
}

// Keys' cubic with parameter a, for |x| ≤ 1 and for 1 < |x| < 2.
template <class Real>
Real inner_cubic(Real x, Real a) {
  return ((a + 2) * x - (a + 3)) * x * x + 1;
}
template <class Real>
Real outer_cubic(Real x, Real a) {
  return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}
template <class Real>
Real cubic(Real x, Real a) {
  x = std::abs(x);
  return x < 1 ? inner_cubic(x, a) : x < 2 ? outer_cubic(x, a) : 0;
}

template <class Real>
AxisWeights<Real> sized(int64_t to, int64_t most) {
  const auto count = static_cast<size_t>(to);
  return {std::vector<int32_t>(count), std::vector<int32_t>(count),
          std::vector<Real>(count * static_cast<size_t>(most)), most};
}

int64_t whole_part(double x) { return static_cast<int64_t>(x); }

// The filter is as wide as a pixel of the larger grid. Its ends are rounded as torchvision's: a
// half is added, and what is behind the point is cut off.
template <class Real>
AxisWeights<Real> smooth_weights(int64_t from, int64_t to, bool is_cubic) {
  const Real scale = static_cast<Real>(from) / static_cast<Real>(to);
  const Real radius = is_cubic ? 2 : 1;
  const Real support = scale >= 1 ? radius * scale : radius;
  const Real inverse = scale >= 1 ? static_cast<Real>(1.0 / scale) : 1;
  AxisWeights<Real> axis = sized<Real>(to, static_cast<int64_t>(std::ceil(support)) * 2 + 1);
  for (int64_t i = 0; i < to; ++i) {
    const auto center = static_cast<Real>(scale * (static_cast<double>(i) + 0.5));
    const int64_t first = std::max<int64_t>(whole_part(center - support + 0.5), 0);
    const int64_t end = std::min(whole_part(center + support + 0.5), from);
    const int64_t count = std::clamp<int64_t>(end - first, 0, axis.most);
    Real* weights = axis.weights.data() + i * axis.most;
    Real sum = 0;
    for (int64_t k = 0; k < count; ++k) {
      const auto x = static_cast<Real>((static_cast<Real>(k + first) - center + 0.5) * inverse);
      weights[k] = is_cubic ? cubic(x, static_cast<Real>(-0.5)) : triangle(x);
      sum += weights[k];
    }
    for (int64_t k = 0; k < count && sum != 0; ++k) weights[k] /= sum;
    axis.first[static_cast<size_t>(i)] = static_cast<int32_t>(first);
    axis.count[static_cast<size_t>(i)] = static_cast<int32_t>(count);
  }
  return axis;
}

// Two or four pixels. Those outside of the image are those at its edge.
template <class Real>
AxisWeights<Real> point_weights(int64_t from, int64_t to, bool is_cubic) {
  const Real scale = static_cast<Real>(from) / static_cast<Real>(to);
  const int64_t taps = is_cubic ? 4 : 2;
  AxisWeights<Real> axis = sized<Real>(to, taps);
  for (int64_t i = 0; i < to; ++i) {
    auto place = static_cast<Real>(scale * (static_cast<Real>(i) + static_cast<Real>(0.5)) -
                                   static_cast<Real>(0.5));
    if (!is_cubic) place = std::max<Real>(place, 0);
    const auto before = static_cast<int64_t>(std::floor(place));
    const Real t = place - static_cast<Real>(before), a = static_cast<Real>(-0.75);
    const std::array<Real, 4> at = is_cubic
                                       ? std::array{outer_cubic(t + 1, a), inner_cubic(t, a),
                                                    inner_cubic(1 - t, a), outer_cubic(2 - t, a)}
                                       : std::array<Real, 4>{1 - t, t, 0, 0};
    const int64_t begin = before - taps / 2 + 1;
    const int64_t first = std::clamp<int64_t>(begin, 0, from - 1);
    const int64_t last = std::clamp<int64_t>(begin + taps - 1, 0, from - 1);
    Real* weights = axis.weights.data() + i * taps;
    for (int64_t k = 0; k < taps; ++k) {
      weights[std::clamp(begin + k, first, last) - first] += at[static_cast<size_t>(k)];
    }
    axis.first[static_cast<size_t>(i)] = static_cast<int32_t>(first);
    axis.count[static_cast<size_t>(i)] = static_cast<int32_t>(last - first + 1);
  }
  return axis;
}

// The most bits with which the greatest weight is an i16.
int precision_for(double greatest) {
  int precision = 0;
  while (precision < 22 && whole_part(0.5 + greatest * (1 << (precision + 1))) < 32768) {
    ++precision;
  }
  return precision;
}

}  // namespace

template <class Real>
AxisWeights<Real> axis_weights(int64_t from, int64_t to, Interpolation interpolation,
                               bool antialias) {
  const bool is_cubic = interpolation == Interpolation::bicubic;
  return antialias ? smooth_weights<Real>(from, to, is_cubic)
                   : point_weights<Real>(from, to, is_cubic);
}
template AxisWeights<float> axis_weights(int64_t, int64_t, Interpolation, bool);
template AxisWeights<double> axis_weights(int64_t, int64_t, Interpolation, bool);

std::vector<int64_t> nearest_pixels(int64_t from, int64_t to, Interpolation interpolation) {
  const float scale = static_cast<float>(from) / static_cast<float>(to);
  const bool is_exact = interpolation == Interpolation::nearest_exact;
  std::vector<int64_t> pixels(static_cast<size_t>(to));
  for (int64_t i = 0; i < to; ++i) {
    const auto place = is_exact ? static_cast<float>((static_cast<double>(i) + 0.5) * scale)
                                : static_cast<float>(i) * scale;
    pixels[static_cast<size_t>(i)] = std::min(static_cast<int64_t>(std::floor(place)), from - 1);
  }
  return pixels;
}

FixedWeights fixed_weights(const AxisWeights<double>& axis, int64_t multiple) {
  const int64_t most = *std::ranges::max_element(axis.count);
  const int64_t each = std::max((most + multiple - 1) / multiple, int64_t{1}) * multiple;
  const int precision = precision_for(*std::ranges::max_element(axis.weights));
  FixedWeights fixed{axis.first, {}, each, precision};
  fixed.weights.resize(axis.first.size() * static_cast<size_t>(each));
  for (size_t i = 0; i < axis.first.size(); ++i) {
    for (int64_t k = 0; k < axis.count[i]; ++k) {
      const double weight =
          axis.weights[i * static_cast<size_t>(axis.most) + static_cast<size_t>(k)] *
          (1 << precision);
      fixed.weights[i * static_cast<size_t>(each) + static_cast<size_t>(k)] =
          static_cast<int16_t>(weight + (weight < 0 ? -0.5 : 0.5));
    }
  }
  return fixed;
}

}  // namespace plait::data

namespace plait::data::transforms {

namespace {
constexpr std::array<std::string_view, 4> kNames = {"nearest", "nearest-exact", "bilinear",
                                                    "bicubic"};
}

std::string_view name_of(Interpolation interpolation) {
  return kNames[static_cast<size_t>(interpolation)];
}

Interpolation interpolation_from(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Interpolation>(i);
  }
  throw ValueError(
      "the interpolation is \"{}\", expected nearest, nearest-exact, bilinear or "
      "bicubic",
      name);
}

}  // namespace plait::data::transforms
