// Arithmetic, comparisons and selection as code, step by step as in arithmetic_kernels.cpp; and
// calls of eager loops for all other operations.
#include "plait/cpu/inside/codegen/llvm_operations.h"

#include <limits>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/core/inside/system/immortal.h"
#include "plait/cpu/inside/elementwise/cpu_loops.h"
#include "plait/ops/inside/primitive_keys.h"

namespace plait::cpu::code {

DType computed_dtype(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype;
}

namespace {

using Operands = std::span<const Code>;

Code identity(DType, Operands x) { return x[0]; }

// ---- For all dtypes; operations on bool are bitwise.

Code added(DType dtype, Operands x) {
  return is_boolean(dtype) ? bit_or(x[0], x[1]) : add(x[0], x[1]);
}
Code subtracted(DType, Operands x) { return subtract(x[0], x[1]); }
Code multiplied(DType dtype, Operands x) {
  return is_boolean(dtype) ? bit_and(x[0], x[1]) : multiply(x[0], x[1]);
}
Code is_equal(DType, Operands x) { return equal(x[0], x[1]); }
Code is_not_equal(DType, Operands x) { return not_equal(x[0], x[1]); }
Code is_less(DType dtype, Operands x) { return less(x[0], x[1], is_signed(dtype)); }
Code is_less_equal(DType dtype, Operands x) { return less_equal(x[0], x[1], is_signed(dtype)); }
// A NaN beats every number.
Code extreme(DType dtype, Code a, Code b, bool greatest) {
  Code takes_a =
      greatest ? greater_equal(a, b, is_signed(dtype)) : less_equal(a, b, is_signed(dtype));
  if (is_floating(dtype)) takes_a = bit_or(takes_a, is_nan(a));
  return select(takes_a, a, b);
}
Code maximum(DType dtype, Operands x) { return extreme(dtype, x[0], x[1], true); }
Code minimum(DType dtype, Operands x) { return extreme(dtype, x[0], x[1], false); }
Code clamped(DType dtype, Operands x) {
  const Code low = x[0], high = x[2];
  Code result = select(less(x[1], low, is_signed(dtype)), low, x[1]);
  result = select(greater(result, high, is_signed(dtype)), high, result);
  if (!is_floating(dtype)) return result;
  result = select(is_nan(low), low, result);
  return select(is_nan(high), high, result);
}
Code selected(DType, Operands x) { return select(x[0], x[1], x[2]); }

// ---- For all numbers.

Code negated(DType, Operands x) { return negative(x[0]); }
Code absolute(DType dtype, Operands x) {
  if (is_floating(dtype)) return of_float("llvm.fabs", x);
  if (!is_signed(dtype)) return x[0];
  return select(less(x[0], zero(type_of(x[0])), true), negative(x[0]), x[0]);
}
Code relu(DType dtype, Operands x) {
  const Code none = zero(type_of(x[0]));
  return is_signed(dtype) ? select(less(x[0], none, true), none, x[0]) : x[0];
}
Code sign(DType dtype, Operands x) {
  const Type type = type_of(x[0]);
  const Code none = zero(type);
  const bool real = is_floating(dtype);
  Code result = select(greater(x[0], none, is_signed(dtype)),
                       real ? number(type, 1) : integer(type, 1), none);
  if (!is_signed(dtype)) return result;
  const Code minus_one = real ? number(type, -1) : integer(type, ~uint64_t{0});
  result = select(less(x[0], none, true), minus_one, result);
  return real ? select(is_nan(x[0]), x[0], result) : result;
}
Code squared(DType, Operands x) { return multiply(x[0], x[0]); }

// ---- For floats.

Code divided(DType, Operands x) { return divide(x[0], x[1]); }
Code reciprocal(DType, Operands x) { return divide(number(type_of(x[0]), 1), x[0]); }
Code root(DType, Operands x) { return of_float("llvm.sqrt", x); }
Code inverse_root(DType, Operands x) {
  return divide(number(type_of(x[0]), 1), of_float("llvm.sqrt", x));
}
Code floor(DType, Operands x) { return of_float("llvm.floor", x); }
Code ceil(DType, Operands x) { return of_float("llvm.ceil", x); }
Code trunc(DType, Operands x) { return of_float("llvm.trunc", x); }
Code round(DType, Operands x) { return of_float("llvm.nearbyint", x); }
Code copy_sign(DType, Operands x) { return of_float("llvm.copysign", x); }
Code test_nan(DType, Operands x) { return is_nan(x[0]); }
Code infinity_like(Code a) { return number(type_of(a), std::numeric_limits<double>::infinity()); }
Code test_infinite(DType, Operands x) {
  return equal(of_float("llvm.fabs", x), infinity_like(x[0]));
}
Code test_finite(DType, Operands x) {
  return less(of_float("llvm.fabs", x), infinity_like(x[0]), true);
}

// ---- For integers and bool.

Code both(DType, Operands x) { return bit_and(x[0], x[1]); }
Code either(DType, Operands x) { return bit_or(x[0], x[1]); }
Code one_of(DType, Operands x) { return bit_xor(x[0], x[1]); }
Code inverted(DType, Operands x) { return bit_not(x[0]); }
// A negative shift is a huge unsigned one.
Code shifted_left(DType dtype, Operands x) {
  const Code fits = less(x[1], like(x[1], static_cast<uint64_t>(8 * size_of(dtype))), false);
  const Code none = zero(type_of(x[0]));
  return select(fits, shift_left(x[0], select(fits, x[1], none)), none);
}
Code shifted_right(DType dtype, Operands x) {
  const auto bits = static_cast<uint64_t>(8 * size_of(dtype));
  const Code fits = less(x[1], like(x[1], bits), false), none = zero(type_of(x[0]));
  if (is_signed(dtype)) return shift_right(x[0], select(fits, x[1], like(x[1], bits - 1)), true);
  return select(fits, shift_right(x[0], select(fits, x[1], none), false), none);
}

// ---- The table.

constexpr unsigned kBool = 1, kIntegers = 2, kFloats = 4, kNumbers = 6, kAll = 7;

struct Row {
  Emit emit;
  unsigned kinds;
  bool is_costly = false;
};

using Rows = std::unordered_map<std::string_view, Row>;

const Rows& rows() {
  static Immortal<Rows> table(with_primitive_keys(
      Rows{
          {"stop_gradient", {identity, kAll}},
          {"checkpoint_name", {identity, kAll}},
          {"add", {added, kAll}},
          {"subtract", {subtracted, kNumbers}},
          {"multiply", {multiplied, kAll}},
          {"equal", {is_equal, kAll}},
          {"not_equal", {is_not_equal, kAll}},
          {"less", {is_less, kAll}},
          {"less_equal", {is_less_equal, kAll}},
          {"maximum", {maximum, kAll}},
          {"minimum", {minimum, kAll}},
          {"clamp", {clamped, kNumbers}},
          {"select", {selected, kAll}},
          {"negative", {negated, kNumbers}},
          {"absolute", {absolute, kNumbers}},
          {"relu", {relu, kNumbers}},
          {"sign", {sign, kNumbers}},
          {"square", {squared, kNumbers}},
          {"divide", {divided, kFloats, true}},
          {"reciprocal", {reciprocal, kFloats, true}},
          {"sqrt", {root, kFloats, true}},
          {"rsqrt", {inverse_root, kFloats, true}},
          {"floor", {floor, kFloats}},
          {"ceil", {ceil, kFloats}},
          {"trunc", {trunc, kFloats}},
          {"round", {round, kFloats}},
          {"copysign", {copy_sign, kFloats}},
          {"is_nan", {test_nan, kFloats}},
          {"is_infinite", {test_infinite, kFloats}},
          {"is_finite", {test_finite, kFloats}},
          {"bitwise_and", {both, kBool | kIntegers}},
          {"bitwise_or", {either, kBool | kIntegers}},
          {"bitwise_xor", {one_of, kBool | kIntegers}},
          {"bitwise_not", {inverted, kBool | kIntegers}},
          {"logical_not", {inverted, kBool}},
          {"left_shift", {shifted_left, kIntegers}},
          {"right_shift", {shifted_right, kIntegers}},
      },
      &Rows::value_type::first, "the operations of emitted code"));
  return *table;
}

unsigned kind_bit(DType dtype) {
  return is_boolean(dtype) ? kBool : is_integer(dtype) ? kIntegers : kFloats;
}

const Row* find_row(std::string_view name, DType dtype) {
  const auto found = rows().find(name);
  const bool serves = found != rows().end() && (found->second.kinds & kind_bit(dtype)) != 0;
  return serves ? &found->second : nullptr;
}

// The format that outside_address() parses: "plait.exp.f64.2".
std::string symbol_of(std::string_view name, DType dtype, CpuLevel level) {
  return fmt::format("plait.{}.{}.{}", name, name_of(dtype), static_cast<int>(level));
}

}  // namespace

void* outside_address(std::string_view symbol) {
  std::vector<std::string_view> parts;
  for (size_t end = symbol.find('.'); end != std::string_view::npos; end = symbol.find('.')) {
    parts.push_back(symbol.substr(0, end));
    symbol.remove_prefix(end + 1);
  }
  if (parts.size() != 3 || parts[0] != "plait" || symbol.size() != 1) return nullptr;
  const std::optional<DType> dtype = parse_dtype(parts[2]);
  const std::optional<size_t> number = dtype ? find_loop(parts[1], *dtype) : std::nullopt;
  const auto level = static_cast<size_t>(symbol[0] - '1');
  if (!number || level >= static_cast<size_t>(best_cpu_level())) return nullptr;
  return reinterpret_cast<void*>(loop_at(*number).run[level]);
}

bool has_operation(std::string_view name, DType dtype) {
  return find_row(name, dtype) != nullptr || find_function(name, dtype) != nullptr ||
         find_loop(name, dtype).has_value();
}

bool is_costly(std::string_view name, DType dtype) {
  const Row* row = find_row(name, dtype);
  return row == nullptr || row->is_costly;
}

Code operation(std::string_view name, DType dtype, Operands operands) {
  if (const Row* row = find_row(name, dtype)) return row->emit(dtype, operands);
  emission().operation = name;
  if (const Emit function = find_function(name, dtype)) return function(dtype, operands);
  return outside(name, dtype, operands);
}

Code outside(std::string_view name, DType dtype, Operands operands) {
  const std::optional<size_t> number = find_loop(name, dtype);
  if (!number) throw CompileError("{} does not support {}", name, name_of(dtype));
  const Loop& loop = loop_at(*number);
  const DType held = loop.widens ? DType::f32 : dtype;
  const DType result = loop.widens && loop.narrows ? held : loop.result;
  Emission& own = emission();
  const Type pointers = LLVMArrayType2(pointer_type(), operands.size());
  const Code in = variable(pointers), out = variable(vector_of(memory_type(result)));
  for (size_t i = 0; i < operands.size(); ++i) {
    const Code value = to_memory(operands[i], held);
    const Code place = variable(type_of(value));
    store(value, place, own.lanes == 1 ? 1 : 64);
    store(place, element_at(in, pointer_type(), index(static_cast<int64_t>(i))), 8);
  }
  const std::string symbol = symbol_of(name, loop.dtype, own.level);
  Type types[] = {pointer_type(), pointer_type(), integer_type(64)};
  const Type type = LLVMFunctionType(LLVMVoidTypeInContext(own.context), types, 3, 0);
  Code function = LLVMGetNamedFunction(own.module, symbol.c_str());
  if (function == nullptr) function = LLVMAddFunction(own.module, symbol.c_str(), type);
  own.outside_names.insert(symbol);
  Code arguments[] = {out, in, index(own.lanes)};
  LLVMBuildCall2(own.builder, type, function, arguments, 3, "");
  return from_memory(load(vector_of(memory_type(result)), out, own.lanes == 1 ? 1 : 64), result);
}

}  // namespace plait::cpu::code
