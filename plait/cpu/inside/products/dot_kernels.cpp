#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plait/cpu/inside/products/dot_kernels.cpp"
#include <array>

#include "plait/core/inside/system/immortal.h"
#include "plait/core/numbers/element.h"
#include "plait/cpu/inside/elementwise/half_precision.h"
#include "plait/cpu/inside/elementwise/lanes.inl"
#include "plait/cpu/inside/products/dot.h"

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

// Adds lanes of f32 in double precision.
template <class V>
double total_of(V sums) {
#ifdef PLAIT_HAVE_HIGHWAY
  const hn::DFromV<V> d;
  if constexpr (hn::MaxLanes(d) == 1) {
    return hn::GetLane(sums);
  } else if constexpr (sizeof(hn::TFromV<V>) == 8) {
    return hn::GetLane(hn::SumOfLanes(d, sums));
  } else {
    const hn::Repartition<double, decltype(d)> wide;
    const hn::Half<decltype(d)> half;
    const auto lower = hn::PromoteTo(wide, hn::LowerHalf(half, sums));
    const auto upper = hn::PromoteTo(wide, hn::UpperHalf(half, sums));
    return hn::GetLane(hn::SumOfLanes(wide, lower + upper));
  }
#else
  return sums.value;
#endif
}

// Four vectors of sums, so that additions do not wait for each other.
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
  double total = total_of((first + second) + (third + fourth));
  for (; i < count; ++i) total += product(a[i], b[i]);
  return total;
}

// Each vector of b is loaded once for all rows.
template <class T>
void dots_of_rows(const std::byte* left, int64_t stride, const std::byte* right, int64_t count,
                  double* totals) {
  static_assert(kDotRows == 4);
  const auto* b = reinterpret_cast<const T*>(right);
  const auto row = [&](int64_t r) { return reinterpret_cast<const T*>(left + r * stride); };
  const T *a0 = row(0), *a1 = row(1), *a2 = row(2), *a3 = row(3);
  const hn::ScalableTag<Sum<T>> d;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<Sum<T>>()));
  auto sum0 = hn::Set(d, 0), sum1 = sum0, sum2 = sum0, sum3 = sum0;
  auto next0 = sum0, next1 = sum0, next2 = sum0, next3 = sum0;
  int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    const auto column = load(b + i), next = load(b + i + kLanes);
    sum0 = hn::MulAdd(load(a0 + i), column, sum0);
    sum1 = hn::MulAdd(load(a1 + i), column, sum1);
    sum2 = hn::MulAdd(load(a2 + i), column, sum2);
    sum3 = hn::MulAdd(load(a3 + i), column, sum3);
    next0 = hn::MulAdd(load(a0 + i + kLanes), next, next0);
    next1 = hn::MulAdd(load(a1 + i + kLanes), next, next1);
    next2 = hn::MulAdd(load(a2 + i + kLanes), next, next2);
    next3 = hn::MulAdd(load(a3 + i + kLanes), next, next3);
  }
  totals[0] += total_of(sum0 + next0);
  totals[1] += total_of(sum1 + next1);
  totals[2] += total_of(sum2 + next2);
  totals[3] += total_of(sum3 + next3);
  for (; i < count; ++i) {
    for (int64_t r = 0; r < kDotRows; ++r) totals[r] += product(row(r)[i], b[i]);
  }
}

}  // namespace

void add_dot_kernels(DotKernels& kernels) {
  kernels.push_back({DType::f64, dot<double>, dots_of_rows<double>});
  kernels.push_back({DType::f32, dot<float>, dots_of_rows<float>});
  kernels.push_back({DType::bf16, dot<BFloat16>, dots_of_rows<BFloat16>});
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
        levels_[level][static_cast<size_t>(kernel.dtype)] = kernel;
      }
    }
  }
  DotKernel find(DType dtype) const {
    return levels_[static_cast<size_t>(cpu_level()) - 1][static_cast<size_t>(dtype)];
  }

 private:
  std::array<std::array<DotKernel, kDTypeCount>, kCpuLevelCount> levels_ = {};
};

}  // namespace

DotKernel find_dot(DType dtype) {
  static Immortal<Table> table;
  return table->find(dtype);
}

}  // namespace plait::cpu
#endif
