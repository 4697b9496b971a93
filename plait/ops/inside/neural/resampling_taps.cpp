#include "plait/ops/inside/neural/resampling_taps.h"

#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/neural/window.h"

namespace plait {
namespace {

Tensor both(const Tensor& a, const Tensor& b) { return a && b ? a & b : a ? a : b; }
Tensor product(const Tensor& a, const Tensor& b) { return a && b ? a * b : a ? a : b; }

class TapSum {
 public:
  TapSum(const Tensor& x, const std::vector<std::vector<Tap>>& taps) : x_(x), taps_(taps) {}

  Tensor run() {
    add(0, {});
    return sum_;
  }

 private:
  // Adds all combinations of taps for the dimensions from `axis` on to those chosen before.
  void add(size_t axis, const Tap& before) {
    if (axis == taps_.size()) return add_taken(before);
    const Dim size = x_.shape(static_cast<int64_t>(x_.rank() - taps_.size() + axis));
    for (const Tap& tap : taps_[axis]) {
      add(axis + 1, {before.index ? before.index * size + tap.index : tap.index,
                     product(before.weight, tap.weight), both(before.valid, tap.valid)});
    }
  }

  void add_taken(const Tap& tap) {
    const Tensor place = tap.valid ? where(tap.valid, tap.index, -1) : tap.index;
    Tensor taken = plane_take(x_, place, taps_.size());
    if (tap.weight) taken = taken * tap.weight;
    sum_ = sum_ ? sum_ + taken : taken;
  }

  const Tensor& x_;
  const std::vector<std::vector<Tap>>& taps_;
  Tensor sum_;
};

}  // namespace

Tensor sum_of_taps(const Tensor& x, const std::vector<std::vector<Tap>>& taps) {
  return TapSum(x, taps).run();
}

std::vector<Tensor> cubic_weights(const Tensor& part) {
  constexpr double kA = -0.75;
  // Keys' kernel for distances up to 1, and from 1 to 2.
  const auto near = [](const Tensor& d) { return ((kA + 2) * d - (kA + 3)) * d * d + 1; };
  const auto far = [](const Tensor& d) { return ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA; };
  return {far(part + 1), near(part), near(1 - part), far(2 - part)};
}

}  // namespace plait
