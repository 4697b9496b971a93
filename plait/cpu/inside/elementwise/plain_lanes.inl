// The functions of Highway that the kernels use, under its names, for vectors of one element.
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "plait/cpu/inside/elementwise/half_precision.h"

#define HWY_NAMESPACE N_PLAIN
#define HWY_BEFORE_NAMESPACE() static_assert(true)
#define HWY_AFTER_NAMESPACE() static_assert(true)
#define HWY_ATTR
#define HWY_INLINE inline
#define HWY_ONCE 1

namespace hwy {

struct float16_t {
  uint16_t bits;
};
struct bfloat16_t {
  uint16_t bits;
};

}  // namespace hwy

namespace hwy::N_PLAIN {

template <class T>
struct ScalableTag {
  using Element = T;
};
template <class T, size_t most>
using CappedTag = ScalableTag<T>;
template <class T, class D>
using Rebind = ScalableTag<T>;
template <class T, class D>
using Repartition = D;  // the single element is never split

template <class T>
struct Vector {
  using Element = T;
  T value;

  friend Vector operator+(Vector a, Vector b) { return {a.value + b.value}; }
  friend Vector operator-(Vector a, Vector b) { return {a.value - b.value}; }
  friend Vector operator*(Vector a, Vector b) { return {a.value * b.value}; }
  friend Vector operator/(Vector a, Vector b) { return {a.value / b.value}; }
  friend Vector operator&(Vector a, Vector b) { return {static_cast<T>(a.value & b.value)}; }
  friend Vector operator|(Vector a, Vector b) { return {static_cast<T>(a.value | b.value)}; }
  friend Vector operator^(Vector a, Vector b) { return {a.value ^ b.value}; }
  friend bool operator==(Vector a, Vector b) { return a.value == b.value; }
  friend bool operator<(Vector a, Vector b) { return a.value < b.value; }
  friend bool operator>(Vector a, Vector b) { return a.value > b.value; }
};
template <class D>
using Vec = Vector<typename D::Element>;
template <class D>
using TFromD = typename D::Element;
template <class V>
using TFromV = typename V::Element;

template <class D>
constexpr size_t Lanes(D) {
  return 1;
}
template <class D>
constexpr size_t MaxLanes(D) {
  return 1;
}

template <class D>
Vec<D> Set(D, TFromD<D> value) {
  return {value};
}
template <class D>
Vec<D> Iota(D, TFromD<D> first) {
  return {first};
}
template <class D>
Vec<D> LoadU(D, const TFromD<D>* from) {
  return {*from};
}
template <class D>
void StoreU(Vec<D> vector, D, TFromD<D>* to) {
  *to = vector.value;
}
template <class D>
void StoreInterleaved2(Vec<D> a, Vec<D> b, D, TFromD<D>* to) {
  to[0] = a.value;
  to[1] = b.value;
}
template <class D>
void LoadInterleaved2(D, const TFromD<D>* from, Vec<D>& a, Vec<D>& b) {
  a.value = from[0];
  b.value = from[1];
}
template <class D>
Vec<D> Reverse(D, Vec<D> a) {
  return a;
}
template <class D, class T>
Vec<D> PromoteTo(D, Vector<T> a) {
  return {static_cast<TFromD<D>>(a.value)};
}
template <class D>
Vec<D> PromoteTo(D, Vector<float16_t> a) {
  return {plait::widened(plait::Float16::from_bits(a.value.bits))};
}
template <class D>
Vec<D> PromoteTo(D, Vector<bfloat16_t> a) {
  return {plait::widened(plait::BFloat16::from_bits(a.value.bits))};
}
template <class D, class T>
Vec<D> DemoteTo(D, Vector<T> a) {
  return {static_cast<TFromD<D>>(a.value)};
}
template <class D, class T>
Vec<D> BitCast(D, Vector<T> a) {
  return {std::bit_cast<TFromD<D>>(a.value)};
}

template <class T>
Vector<T> MulAdd(Vector<T> a, Vector<T> b, Vector<T> c) {
  return a * b + c;
}
template <class T>
Vector<T> NegMulAdd(Vector<T> a, Vector<T> b, Vector<T> c) {
  return c - a * b;
}
inline Vector<uint64_t> MulEven(Vector<uint64_t> a, Vector<uint64_t> b) {
  return {uint64_t{static_cast<uint32_t>(a.value)} * static_cast<uint32_t>(b.value)};
}
template <class T>
Vector<T> Sqrt(Vector<T> a) {
  return {std::sqrt(a.value)};
}
template <class T>
Vector<T> Abs(Vector<T> a) {
  return {std::abs(a.value)};
}
template <class T>
Vector<T> Floor(Vector<T> a) {
  return {std::floor(a.value)};
}
template <class T>
Vector<T> Trunc(Vector<T> a) {
  return {std::trunc(a.value)};
}
template <class T>
Vector<T> Min(Vector<T> a, Vector<T> b) {
  return {a.value < b.value ? a.value : b.value};
}
template <class T>
Vector<T> Max(Vector<T> a, Vector<T> b) {
  return {a.value > b.value ? a.value : b.value};
}
template <class T>
Vector<T> CopySign(Vector<T> magnitude, Vector<T> sign) {
  return {std::copysign(magnitude.value, sign.value)};
}
template <int bits, class T>
Vector<T> ShiftLeft(Vector<T> a) {
  return {a.value << bits};
}
template <int bits, class T>
Vector<T> ShiftRight(Vector<T> a) {
  return {a.value >> bits};
}

inline bool And(bool a, bool b) { return a && b; }
inline bool Or(bool a, bool b) { return a || b; }
template <class T>
Vector<T> IfThenElse(bool condition, Vector<T> yes, Vector<T> no) {
  return {condition ? yes.value : no.value};
}
template <class D>
bool AllTrue(D, bool mask) {
  return mask;
}
template <class D>
bool RebindMask(D, bool mask) {
  return mask;
}

}  // namespace hwy::N_PLAIN
