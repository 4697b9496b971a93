// Helpers for tests of elementwise loops.
#pragma once

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "plait/core/numbers/element.h"
#include "plait/core/settings.h"
#include "plait/cpu/cpu_level.h"
#include "plait/cpu/inside/elementwise/cpu_elementwise.h"

namespace plait::elementwise_test {

using Wide = long double;

// The levels that this machine supports, in ascending order.
inline std::vector<std::string> cpu_levels() {
  std::vector<std::string> levels = {"sse4", "avx2", "avx512"};
  levels.resize(static_cast<size_t>(best_cpu_level()));
  return levels;
}

class AtLevel {
 public:
  explicit AtLevel(const std::string& level) : trace_(__FILE__, __LINE__, "at level " + level) {
    set_setting("cpu", level);
  }
  ~AtLevel() { reset_setting("cpu"); }
  AtLevel(const AtLevel&) = delete;
  AtLevel& operator=(const AtLevel&) = delete;

 private:
  testing::ScopedTrace trace_;
};

template <class T>
const std::byte* bytes_of(const std::vector<T>& values) {
  return reinterpret_cast<const std::byte*>(values.data());
}

// The type of a vector's elements: bool is a byte.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

// Runs the operation on contiguous elements.
template <class Out, class... In>
std::vector<Stored<Out>> run(std::string_view op, DType dtype, const std::vector<In>&... operands) {
  const ElementwiseLoop loop = find_elementwise_loop(op, dtype);
  if (loop == nullptr) {
    ADD_FAILURE() << "there is no " << op << " of " << name_of(dtype);
    return {};
  }
  const std::byte* in[] = {bytes_of(operands)...};
  const int64_t strides[] = {static_cast<int64_t>(sizeof(In))...};
  const size_t counts[] = {operands.size()...};
  std::vector<Stored<Out>> result(counts[0]);
  loop(reinterpret_cast<std::byte*>(result.data()), sizeof(Out), in, strides,
       static_cast<int64_t>(counts[0]));
  return result;
}

// Special values of a type.
template <class T>
std::vector<T> special_values() {
  using L = std::numeric_limits<T>;
  std::vector<T> values = {0,
                           L::denorm_min(),
                           L::min() / 2,
                           L::min(),
                           T(1e-30),
                           L::epsilon(),
                           T(0.1),
                           T(0.5),
                           T(0.75),
                           1,
                           T(1) + L::epsilon(),
                           T(1.5),
                           2,
                           T(2.5),
                           3,
                           T(3.5),
                           10,
                           T(88.5),
                           T(1e7),
                           T(1e9),
                           T(1e30),
                           L::max(),
                           L::infinity(),
                           L::quiet_NaN()};
  const size_t count = values.size();
  for (size_t i = 0; i < count; ++i) values.push_back(-values[i]);
  return values;
}

// All pairs of elements of two lists.
template <class T>
std::pair<std::vector<T>, std::vector<T>> pairs(const std::vector<T>& first,
                                                const std::vector<T>& second) {
  std::pair<std::vector<T>, std::vector<T>> result;
  for (const T a : first) {
    for (const T b : second) {
      result.first.push_back(a);
      result.second.push_back(b);
    }
  }
  return result;
}

// The error in ulp; NaN, infinities and the sign of zero must agree exactly.
template <class T, class Exact>
double ulps_between(T result, Exact expected) {
  const T rounded = static_cast<T>(expected);
  if (std::isnan(rounded) || std::isnan(result)) {
    return std::isnan(rounded) == std::isnan(result) ? 0 : 1e30;
  }
  if (result == rounded) return std::signbit(result) == std::signbit(rounded) ? 0 : 1e30;
  constexpr T kMost = std::numeric_limits<T>::max();
  if (!std::isfinite(result) || !std::isfinite(rounded)) {
    // An infinity counts as adjacent to the greatest number.
    const bool beside = std::min(std::abs(result), std::abs(rounded)) == kMost;
    return beside && std::signbit(result) == std::signbit(rounded) ? 1 : 1e30;
  }
  const T size = std::abs(rounded);
  const Exact below = std::nextafter(size, T{0}), above = size;
  const Exact step = size == 0 ? std::numeric_limits<T>::denorm_min() : above - below;
  return static_cast<double>(std::abs(static_cast<Exact>(result) - expected) / step);
}

}  // namespace plait::elementwise_test
