// Conversions as code, step by step as in conversion_kernels.cpp and narrow_floats.cpp.
#include <cstring>

#include "plait/cpu/inside/codegen/llvm_operations.h"

namespace plait::cpu::code {
namespace {

bool is_narrow(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

Code words_of(Code single) { return as_bits(single, integer_type(32)); }
Code from_words(Code words) { return as_bits(words, float_type()); }

// ---- As in half_precision.h.

Code widened_bf16(Code codes) {
  const Code words = resized(codes, integer_type(32), false);
  return from_words(shift_left(words, like(words, 16)));
}
Code narrowed_to_bf16(Code x) {
  const Code bits = words_of(x), high = shift_right(bits, like(bits, 16), false);
  const Code odd = bit_and(high, like(bits, 1));
  const Code sum = add(bits, add(like(bits, 0x7fff), odd));
  const Code rounded = shift_right(sum, like(bits, 16), false);
  const Code quiet = bit_or(high, like(bits, 0x40));
  return resized(select(is_number(x), rounded, quiet), integer_type(16), false);
}

// Processors with AVX2 also have F16C.
bool has_f16_instructions() { return emission().has_fma; }

Code widened_f16(Code codes) {
  if (has_f16_instructions()) {
    return resized_real(as_bits(codes, LLVMHalfTypeInContext(emission().context)), float_type());
  }
  const Code bits = resized(codes, integer_type(32), false);
  const Code raised = from_words(shift_left(bit_and(bits, like(bits, 0x7fff)), like(bits, 13)));
  const Code magnitude = multiply(raised, number(type_of(raised), 0x1p112));
  const Code exponent = bit_and(bits, like(bits, 0x7c00));
  const Code special =
      select(equal(exponent, like(bits, 0x7c00)), like(bits, 0x7f800000), like(bits, 0));
  const Code sign = shift_left(bit_and(bits, like(bits, 0x8000)), like(bits, 16));
  return from_words(bit_or(bit_or(words_of(magnitude), special), sign));
}
Code narrowed_to_f16(Code x) {
  if (has_f16_instructions()) {
    return as_bits(resized_real(x, LLVMHalfTypeInContext(emission().context)), integer_type(16));
  }
  const Code bits = words_of(x);
  const auto constant = [&](uint32_t value) { return like(bits, value); };
  const Code sign = bit_and(shift_right(bits, constant(16), false), constant(0x8000));
  const Code magnitude = bit_and(bits, constant(0x7fffffff));
  const Code shifted = shift_right(magnitude, constant(13), false);
  const Code sum =
      add(magnitude, add(constant(0xfff - (112U << 23)), bit_and(shifted, constant(1))));
  const Code normal = shift_right(sum, constant(13), false);
  const Code half = add(from_words(magnitude), number(type_of(x), 0.5));
  const Code subnormal = subtract(words_of(half), constant(0x3f000000));
  Code result = select(less(magnitude, constant(0x38800000), false), subnormal, normal);
  result = select(less(magnitude, constant(0x477ff000), false), result, constant(0x7c00));
  const Code nan = bit_or(constant(0x7e00), bit_and(shifted, constant(0x3ff)));
  result = select(less(constant(0x7f800000), magnitude, false), nan, result);
  return resized(bit_or(sign, result), integer_type(16), false);
}

Code narrowed(Code x, DType dtype) {
  return dtype == DType::f16 ? narrowed_to_f16(x) : narrowed_to_bf16(x);
}
Code widened(Code codes, DType dtype) {
  return dtype == DType::f16 ? widened_f16(codes) : widened_bf16(codes);
}

// ---- As in sticky_float.h and core/numbers/element.cpp.

Code sticky_float(Code x) {
  const Code rounded = resized_real(x, float_type()), again = resized_real(rounded, double_type());
  const Code sizes[] = {again, x};
  const Code is_above = less(of_float("llvm.fabs", std::span(sizes).subspan(1)),
                             of_float("llvm.fabs", std::span(sizes).first(1)), true);
  Code bits = words_of(rounded);
  bits = subtract(bits, resized(is_above, integer_type(32), false));
  bits = bit_or(bits, resized(not_equal(again, x), integer_type(32), false));
  return from_words(bits);
}

// At most 53 significant bits, of which the last one is sticky.
Code sticky_double(Code x, bool is_signed) {
  const Code none = zero(type_of(x));
  const Code is_negative = is_signed ? less(x, none, true) : zero(type_of(equal(x, x)));
  const Code size = select(is_negative, subtract(none, x), x);
  const Code dropped = bit_and(size, like(x, 0x7ff));
  const Code last = select(equal(dropped, none), none, like(x, 0x800));
  const Code sticky = bit_or(bit_and(size, like(x, ~uint64_t{0x7ff})), last);
  const Code is_short = equal(shift_right(size, like(x, 53), false), none);
  const Code real = real_of_integer(select(is_short, size, sticky), double_type(), false);
  return select(is_negative, negative(real), real);
}

Code real_to_be_narrowed(Code a, DType from) {
  if (from == DType::f64) return sticky_float(a);
  if (is_floating(from)) return a;
  if (size_of(from) == 8) return sticky_float(sticky_double(a, is_signed(from)));
  if (size_of(from) == 4) return sticky_float(real_of_integer(a, double_type(), is_signed(from)));
  return real_of_integer(a, float_type(), is_signed(from));
}

}  // namespace

Code converted(Code a, DType from, DType to) {
  if (from == to) return a;
  if (is_boolean(to)) return not_equal(a, zero(type_of(a)));
  if (is_boolean(from)) {
    return is_floating(to) ? real_of_integer(a, computed_type(to), false)
                           : resized(a, computed_type(to), false);
  }
  if (is_narrow(to)) return widened(narrowed(real_to_be_narrowed(a, from), to), to);
  if (is_integer(to)) {
    return is_integer(from) ? resized(a, computed_type(to), is_signed(from))
                            : saturated(a, computed_type(to), is_signed(to));
  }
  return is_integer(from) ? real_of_integer(a, computed_type(to), is_signed(from))
                          : resized_real(a, computed_type(to));
}

Code from_memory(Code a, DType dtype) {
  if (is_boolean(dtype)) return not_equal(a, zero(type_of(a)));
  return is_narrow(dtype) ? widened(a, dtype) : a;
}
Code to_memory(Code a, DType dtype) {
  if (is_boolean(dtype)) return resized(a, integer_type(8), false);
  return is_narrow(dtype) ? narrowed(a, dtype) : a;
}

Code constant_in_memory(DType dtype, const Element& element) {
  std::byte bytes[8] = {};
  store_element(dtype, element, bytes);
  uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  const Type type = memory_type(dtype);
  const Code bits = integer(integer_type(bits_of(type)), word);
  return is_floating(dtype) && !is_narrow(dtype) ? LLVMConstBitCast(bits, type) : bits;
}
Code constant(DType dtype, const Element& element) {
  const LanesOf one(1);
  if (is_narrow(dtype)) {  // the first conversion rounds, the second is exact
    std::byte bytes[2] = {};
    store_element(dtype, element, bytes);
    return number(float_type(), load_element(dtype, bytes).number.real());
  }
  return from_memory(constant_in_memory(dtype, element), dtype);
}

}  // namespace plait::cpu::code
