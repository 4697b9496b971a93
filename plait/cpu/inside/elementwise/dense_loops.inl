// Loops over contiguous elements, given an operation on one element or one vector.
#include "plait/core/numbers/element.h"
#include "plait/cpu/inside/elementwise/cpu_kernels.h"
#include "plait/cpu/inside/elementwise/lanes.inl"

HWY_BEFORE_NAMESPACE();
namespace plait::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Op::of(a, ...) computes one element from one element of each operand.
template <class Op, class Out, class A>
void unary_loop(std::byte* out, const std::byte* const* in, int64_t count) {
  const auto* a = reinterpret_cast<const A*>(in[0]);
  auto* to = reinterpret_cast<Out*>(out);
  PLAIT_VECTORISE
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<Out>(Op::of(a[i]));
}

template <class Op, class Out, class A>
void binary_loop(std::byte* out, const std::byte* const* in, int64_t count) {
  const auto* a = reinterpret_cast<const A*>(in[0]);
  const auto* b = reinterpret_cast<const A*>(in[1]);
  auto* to = reinterpret_cast<Out*>(out);
  PLAIT_VECTORISE
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<Out>(Op::of(a[i], b[i]));
}

template <class Op, class Out, class A, class B>
void ternary_loop(std::byte* out, const std::byte* const* in, int64_t count) {
  const auto* a = reinterpret_cast<const A*>(in[0]);
  const auto* b = reinterpret_cast<const B*>(in[1]);
  const auto* c = reinterpret_cast<const B*>(in[2]);
  auto* to = reinterpret_cast<Out*>(out);
  PLAIT_VECTORISE
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<Out>(Op::of(a[i], b[i], c[i]));
}

// Op::of(d, x, ...) computes a vector with tag d. The remaining elements go through a padded
// vector.
template <class Op, class T, int arity>
void vector_loop(std::byte* out, const std::byte* const* in, int64_t count) {
  const typename Op::template Tag<T> d;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(typename Op::template Tag<T>()));
  const auto* a = reinterpret_cast<const T*>(in[0]);
  const auto* b = reinterpret_cast<const T*>(in[arity - 1]);
  auto* to = reinterpret_cast<T*>(out);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) Op::step(d, a + i, b + i, to + i);
  if (i == count) return;
  T rest_a[kLanes] = {}, rest_b[kLanes] = {}, rest[kLanes];
  for (int64_t j = i; j < count; ++j) {
    rest_a[j - i] = a[j];
    rest_b[j - i] = b[j];
  }
  Op::step(d, rest_a, rest_b, rest);
  for (int64_t j = i; j < count; ++j) to[j] = rest[j - i];
}

// A vector_loop step for functions that are computed in T itself.
template <class Op>
struct WithSame {
  template <class T>
  using Tag = hn::ScalableTag<T>;
  template <class D, class T>
  static HWY_INLINE void step(D d, const T* a, const T* b, T* to) {
    const auto x = hn::LoadU(d, a);
    if constexpr (requires { Op::of(d, x); }) {
      hn::StoreU(Op::of(d, x), d, to);
    } else {
      hn::StoreU(Op::of(d, x, hn::LoadU(d, b)), d, to);
    }
  }
};

// A vector_loop step for functions of f32 that are computed in f64, and rounded at the end.
template <class Op>
struct WithDouble {
  template <class T>
  using Tag = hn::ScalableTag<double>;
  template <class D>
  static HWY_INLINE auto load(D d, const float* from) {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), from));
  }
  template <class D>
  static HWY_INLINE void step(D d, const float* a, const float* b, float* to) {
    const hn::Rebind<float, D> single;
    if constexpr (Op::kArity == 1) {
      hn::StoreU(hn::DemoteTo(single, Op::of(d, load(d, a))), single, to);
    } else {
      hn::StoreU(hn::DemoteTo(single, Op::of(d, load(d, a), load(d, b))), single, to);
    }
  }
};

// ---- Rare cases in a vector. Emitted code handles them differently (emitted_lanes.inl).

// `usual` if the mask holds in every lane, else the result of other().
template <class D, class Mask, class V, class Other>
HWY_INLINE V unless_all(D d, Mask usual_lanes, V usual, const Other& other) {
  if (hn::AllTrue(d, usual_lanes)) return usual;
  return other();
}

// Lane by lane, by a scalar function.
template <auto function, class D>
hn::Vec<D> one_by_one(D d, hn::Vec<D> x) {
  hn::TFromD<D> lanes[hn::MaxLanes(D())];
  hn::StoreU(x, d, lanes);
  for (auto& lane : lanes) lane = function(lane);
  return hn::LoadU(d, lanes);
}
template <auto function, class D>
hn::Vec<D> one_by_one(D d, hn::Vec<D> a, hn::Vec<D> b) {
  hn::TFromD<D> left[hn::MaxLanes(D())], right[hn::MaxLanes(D())];
  hn::StoreU(a, d, left);
  hn::StoreU(b, d, right);
  for (size_t i = 0; i < hn::Lanes(d); ++i) left[i] = function(left[i], right[i]);
  return hn::LoadU(d, left);
}

// By an operation that computes in f64.
template <class Op, class D>
hn::Vec<D> in_double(D d, hn::Vec<D> x) {
  const typename WithDouble<Op>::template Tag<float> wide;
  constexpr size_t kLanes = hn::MaxLanes(D()), kWide = hn::MaxLanes(hn::ScalableTag<double>());
  float lanes[kLanes];
  hn::StoreU(x, d, lanes);
  for (size_t i = 0; i < kLanes; i += kWide) {
    WithDouble<Op>::step(wide, lanes + i, lanes + i, lanes + i);
  }
  return hn::LoadU(d, lanes);
}

}  // namespace HWY_NAMESPACE
}  // namespace plait::cpu
HWY_AFTER_NAMESPACE();
