// A replacement for Highway that emits code: the functions that single_functions.inl and similar
// sources use, under Highway's names, emit (by llvm_code.h) the instructions that Highway's
// functions compile to at the current level. A vector has as many lanes as the emission says, of
// any type.
#include <cstddef>
#include <type_traits>

#include "plait/core/numbers/element.h"
#include "plait/cpu/inside/codegen/llvm_operations.h"

#define HWY_NAMESPACE N_EMITTED
#define HWY_BEFORE_NAMESPACE() static_assert(true)
#define HWY_AFTER_NAMESPACE() static_assert(true)
#define HWY_ATTR
#define HWY_INLINE inline

namespace hwy::N_EMITTED {

namespace code = plait::cpu::code;

template <class T>
struct ScalableTag {
  using Element = T;
};
template <class T, class D>
using Rebind = ScalableTag<T>;

template <class T>
code::Type single_type() {
  if constexpr (std::is_same_v<T, float>) return code::float_type();
  if constexpr (std::is_same_v<T, double>) return code::double_type();
  return code::integer_type(8 * sizeof(T));
}

struct Mask {
  code::Code code;
};

template <class T>
struct Vector {
  using Element = T;
  static constexpr bool kIsSigned = std::is_signed_v<T>;
  code::Code code;

  friend Vector operator+(Vector a, Vector b) { return {code::add(a.code, b.code)}; }
  friend Vector operator-(Vector a, Vector b) { return {code::subtract(a.code, b.code)}; }
  friend Vector operator*(Vector a, Vector b) { return {code::multiply(a.code, b.code)}; }
  friend Vector operator/(Vector a, Vector b) { return {code::divide(a.code, b.code)}; }
  friend Vector operator&(Vector a, Vector b) { return {code::bit_and(a.code, b.code)}; }
  friend Vector operator|(Vector a, Vector b) { return {code::bit_or(a.code, b.code)}; }
  friend Vector operator^(Vector a, Vector b) { return {code::bit_xor(a.code, b.code)}; }
  friend Mask operator==(Vector a, Vector b) { return {code::equal(a.code, b.code)}; }
  friend Mask operator<(Vector a, Vector b) { return {code::less(a.code, b.code, kIsSigned)}; }
  friend Mask operator>(Vector a, Vector b) { return {code::greater(a.code, b.code, kIsSigned)}; }
};
template <class D>
using Vec = Vector<typename D::Element>;
template <class D>
using TFromD = typename D::Element;

template <class D>
Vec<D> Set(D, TFromD<D> value) {
  const code::Type type = code::vector_of(single_type<TFromD<D>>());
  if constexpr (std::is_floating_point_v<TFromD<D>>) {
    return {code::number(type, value)};
  } else {
    return {code::integer(type, static_cast<uint64_t>(value))};
  }
}
template <class D, class T>
Vec<D> PromoteTo(D, Vector<T> a) {
  return {code::resized_real(a.code, single_type<TFromD<D>>())};
}
template <class D, class T>
Vec<D> DemoteTo(D, Vector<T> a) {
  return {code::resized_real(a.code, single_type<TFromD<D>>())};
}
template <class D, class T>
Vec<D> BitCast(D, Vector<T> a) {
  return {code::as_bits(a.code, single_type<TFromD<D>>())};
}

template <class T>
Vector<T> MulAdd(Vector<T> a, Vector<T> b, Vector<T> c) {
  return {code::multiply_add(a.code, b.code, c.code)};
}
template <class T>
Vector<T> NegMulAdd(Vector<T> a, Vector<T> b, Vector<T> c) {
  return {code::negative_multiply_add(a.code, b.code, c.code)};
}
template <class T, class... More>
Vector<T> of_float(const char* intrinsic, Vector<T> a, More... more) {
  const code::Code operands[] = {a.code, more.code...};
  return {code::of_float(intrinsic, operands)};
}
template <class T>
Vector<T> Sqrt(Vector<T> a) {
  return of_float("llvm.sqrt", a);
}
template <class T>
Vector<T> Abs(Vector<T> a) {
  return of_float("llvm.fabs", a);
}
template <class T>
Vector<T> Floor(Vector<T> a) {
  return of_float("llvm.floor", a);
}
template <class T>
Vector<T> Trunc(Vector<T> a) {
  return of_float("llvm.trunc", a);
}
template <class T>
Vector<T> CopySign(Vector<T> magnitude, Vector<T> sign) {
  return of_float("llvm.copysign", magnitude, sign);
}
// Like the instructions: the second operand if one is a NaN, or both are zeros.
template <class T>
Vector<T> Min(Vector<T> a, Vector<T> b) {
  return {code::select((a < b).code, a.code, b.code)};
}
template <class T>
Vector<T> Max(Vector<T> a, Vector<T> b) {
  return {code::select((a > b).code, a.code, b.code)};
}
template <int bits, class T>
Vector<T> ShiftLeft(Vector<T> a) {
  return {code::shift_left(a.code, Set(ScalableTag<T>(), bits).code)};
}
template <int bits, class T>
Vector<T> ShiftRight(Vector<T> a) {
  return {code::shift_right(a.code, Set(ScalableTag<T>(), bits).code, std::is_signed_v<T>)};
}

inline Mask And(Mask a, Mask b) { return {code::bit_and(a.code, b.code)}; }
inline Mask Or(Mask a, Mask b) { return {code::bit_or(a.code, b.code)}; }
template <class T>
Vector<T> IfThenElse(Mask condition, Vector<T> yes, Vector<T> no) {
  return {code::select(condition.code, yes.code, no.code)};
}
template <class D>
Mask RebindMask(D, Mask mask) {
  return mask;
}

}  // namespace hwy::N_EMITTED

// Replaces functions of dense_loops.inl. For rare cases no code is emitted: the eager loop of the
// operation is called, which returns the same result.
namespace plait::cpu::N_EMITTED {

namespace hn = hwy::N_EMITTED;

template <class D, class Other>
hn::Vec<D> unless_all(D, hn::Mask usual_lanes, hn::Vec<D> usual, const Other& other) {
  return {code::unless_all(usual_lanes.code, usual.code, [&] { return other().code; })};
}

template <auto function, class D, class... V>
hn::Vec<D> one_by_one(D, V... operands) {
  const code::Code all[] = {operands.code...};
  return {code::outside(code::emission().operation, kDTypeOf<hn::TFromD<D>>, all)};
}

template <class Op, class D>
hn::Vec<D> in_double(D, hn::Vec<D> x) {
  const code::Code all[] = {x.code};
  return {code::outside(code::emission().operation, kDTypeOf<hn::TFromD<D>>, all)};
}

}  // namespace plait::cpu::N_EMITTED
