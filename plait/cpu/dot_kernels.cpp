#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plait/cpu/dot_kernels.cpp"
#include <array>

#include "plait/core/element.h"
#include "plait/core/immortal.h"
#include "plait/cpu/dot.h"
#include "plait/cpu/half_precision.h"
#include "plait/cpu/lanes.inl"

HWY_BEFORE_NAMESPACE();
namespace plait::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Sum = std::conditional_t<sizeof(T) == 8, double, float>;

template <class T>
HWY_INLINE auto load(const T* x) {
  const hn::ScalableTag<Sum<T>> d;
  if constexpr (std::is_same_v<T, BFloat16>) {
    const hn::Rebind<hwy::bfloat16_t, decltype(d)> narrow;
    return hn::PromoteTo(d, hn::LoadU(narrow, reinterpret_cast<const hwy::bfloat16_t*>(x)));
  } else {
    return hn::LoadU(d, x);
  }
}
template <class T>
double product(T a, T b) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return static_cast<double>(widened(a)) * widened(b);
  } else {
    return static_cast<double>(a) * b;
  }
}

// Four vectors of sums, so that one addition need not wait for the one before.
template <class T>
double dot(const std::byte* left, const std::byte* right, int64_t count) {
  const auto* a = reinterpret_cast<const T*>(left);
  const auto* b = reinterpret_cast<const T*>(right);
  const hn::ScalableTag<Sum<T>> d;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<Sum<T>>()));
  auto first = hn::Set(d, 0), second = first, third = first, fourth = first;
  int64_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
    first = hn::MulAdd(load(a + i), load(b + i), first);
    second = hn::MulAdd(load(a + i + kLanes), load(b + i + kLanes), second);
    third = hn::MulAdd(load(a + i + 2 * kLanes), load(b + i + 2 * kLanes), third);
    fourth = hn::MulAdd(load(a + i + 3 * kLanes), load(b + i + 3 * kLanes), fourth);
  }
  for (; i + kLanes <= count; i += kLanes) first = hn::MulAdd(load(a + i), load(b + i), first);
  Sum<T> sums[kLanes];
  hn::StoreU((first + second) + (third + fourth), d, sums);
  double total = 0;
  for (const Sum<T> sum : sums) total += sum;
  for (; i < count; ++i) total += product(a[i], b[i]);
  return total;
}

}  // namespace

void add_dot_kernels(DotKernels& kernels) {
  kernels.push_back({DType::f64, dot<double>});
  kernels.push_back({DType::f32, dot<float>});
  kernels.push_back({DType::bf16, dot<BFloat16>});
}

}  // namespace HWY_NAMESPACE
}  // namespace plait::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::cpu {

constinit const EachLevel<DotKernels> kDotKernels = {PLAIT_EACH_LEVEL(add_dot_kernels)};

namespace {

class Table {
 public:
  Table() {
    for (size_t level = 0; level < static_cast<size_t>(best_cpu_level()); ++level) {
      DotKernels kernels;
      kDotKernels[level](kernels);
      for (const DotKernel& kernel : kernels) {
        levels_[level][static_cast<size_t>(kernel.dtype)] = kernel.run;
      }
    }
  }
  Dot find(DType dtype) const {
    return levels_[static_cast<size_t>(cpu_level()) - 1][static_cast<size_t>(dtype)];
  }

 private:
  std::array<std::array<Dot, kDTypeCount>, kCpuLevelCount> levels_ = {};
};

}  // namespace

Dot find_dot(DType dtype) {
  static Immortal<Table> table;
  return table->find(dtype);
}

}  // namespace plait::cpu
#endif
