#include "plait/cuda/inside/nests/operations.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/core/error.h"
#include "plait/core/inside/system/immortal.h"
#include "plait/cuda/inside/kernels/special_text.h"
#include "plait/ops/inside/primitive_keys.h"
#include "plait/ops/inside/primitives.h"

namespace plait::cuda {
namespace {

constexpr unsigned kBool = 1, kIntegers = 2, kFloats = 4, kComplexes = 8, kKeys = 16;
constexpr unsigned kReals = kIntegers | kFloats, kOrdered = kBool | kReals;
constexpr unsigned kEveryNumber = kReals | kComplexes, kAll = 31;

struct Operation {
  unsigned kinds;  // by the last operand
  bool is_costly = false;
  bool needs_dtype = false;  // as a template argument
};

using Operations = std::unordered_map<std::string_view, Operation>;

// Functions of the prelude by the names of their primitives.
Operations listed_operations() {
  return {
      {"stop_gradient", {kAll}},
      {"checkpoint_name", {kAll}},
      {"add", {kBool | kEveryNumber}},
      {"subtract", {kEveryNumber}},
      {"multiply", {kBool | kEveryNumber}},
      {"negative", {kEveryNumber}},
      {"square", {kEveryNumber}},
      {"divide", {kFloats | kComplexes, true}},
      {"reciprocal", {kFloats | kComplexes, true}},
      {"equal", {kAll}},
      {"not_equal", {kAll}},
      {"less", {kOrdered}},
      {"less_equal", {kOrdered}},
      {"maximum", {kOrdered}},
      {"minimum", {kOrdered}},
      {"clamp", {kOrdered}},
      {"select", {kAll}},
      {"absolute", {kEveryNumber}},
      {"sign", {kEveryNumber}},
      {"relu", {kReals}},
      {"floor_divide", {kReals, true}},
      {"remainder", {kReals, true}},
      {"fmod", {kReals, true}},
      {"power", {kReals, true}},
      {"gcd", {kIntegers, true}},
      {"lcm", {kIntegers, true}},
      {"bitwise_and", {kBool | kIntegers}},
      {"bitwise_or", {kBool | kIntegers}},
      {"bitwise_xor", {kBool | kIntegers}},
      {"bitwise_not", {kBool | kIntegers}},
      {"logical_not", {kBool}},
      {"left_shift", {kIntegers}},
      {"right_shift", {kIntegers}},
      {"is_nan", {kEveryNumber}},
      {"is_infinite", {kEveryNumber}},
      {"is_finite", {kEveryNumber}},
      {"conjugate", {kComplexes}},
      {"real", {kComplexes}},
      {"imag", {kComplexes}},
      {"make_complex", {kFloats}},
      {"copysign", {kFloats}},
      {"nextafter", {kFloats, false, true}},
      {"floor", {kFloats}},
      {"ceil", {kFloats}},
      {"trunc", {kFloats}},
      {"round", {kFloats}},
      {"exponent", {kFloats}},
      {"ldexp", {kFloats}},
  };
}

constexpr std::string_view kFunctionsOfFloats[] = {
    "sqrt",      "rsqrt",      "exp",    "exp2",     "expm1",   "log",  "log2", "log10",
    "log1p",     "sin",        "cos",    "tan",      "asin",    "acos", "atan", "sinh",
    "cosh",      "tanh",       "asinh",  "acosh",    "atanh",   "erf",  "erfc", "erfinv",
    "erfcx",     "cbrt",       "lgamma", "atan2",    "hypot",   "entr", "ndtr", "sigmoid",
    "logaddexp", "logaddexp2", "ndtri",  "log_ndtr", "log1mexp"};

const Operations& operations() {
  static Immortal<Operations> table([] {
    constexpr std::string_view kTitle = "the operations of kernels of CUDA";
    with_primitive_keys(kFunctionsOfFloats, std::identity(), kTitle);
    return with_primitive_keys(listed_operations(), &Operations::value_type::first, kTitle);
  }());
  return *table;
}

Operation operation_of(std::string_view name) {
  const auto found = operations().find(name);
  if (found != operations().end()) return found->second;
  const bool is_function =
      std::ranges::find(kFunctionsOfFloats, name) != std::end(kFunctionsOfFloats) ||
      has_special_text(name);
  return {is_function ? kFloats : 0, true};
}

unsigned kind_bit(DType dtype) {
  switch (kind_of(dtype)) {
    case DTypeKind::boolean: return kBool;
    case DTypeKind::integer: return kIntegers;
    case DTypeKind::floating: return kFloats;
    case DTypeKind::complex: return kComplexes;
    case DTypeKind::key: break;
  }
  return kKeys;
}

bool is_narrow(DType dtype) { return is_floating(dtype) && size_of(dtype) < 4; }

template <class T>
T as(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}
std::string single_text(const std::byte* bytes) {
  return fmt::format("single_of({:#x}u)", as<uint32_t>(bytes));
}
std::string double_text(const std::byte* bytes) {
  return fmt::format("double_of({:#x}ull)", as<uint64_t>(bytes));
}

}  // namespace

bool computes(const ir::Primitive& primitive, std::span<const DType> operands, DType result) {
  if (&primitive == &convert_primitive()) {
    return is_key(operands[0]) == is_key(result);
  }
  return !operands.empty() && primitive.takes.contains(operands.back()) &&
         (operation_of(primitive.name).kinds & kind_bit(operands.back())) != 0;
}

bool is_costly_operation(std::string_view operation, DType) {
  return operation_of(operation).is_costly;
}

std::string_view value_type(DType dtype) {
  return is_boolean(dtype) ? "bool" : is_narrow(dtype) ? "f32" : name_of(dtype);
}
int64_t value_size(DType dtype) { return is_narrow(dtype) ? 4 : size_of(dtype); }

std::string_view memory_type(DType dtype) { return is_boolean(dtype) ? "boolean" : name_of(dtype); }

std::string constant_text(DType dtype, const Element& element) {
  std::byte bytes[16] = {};
  store_element(dtype, element, bytes);
  if (is_narrow(dtype)) {  // rounded, then exact
    const Element rounded = load_element(dtype, bytes);
    store_element(DType::f32, rounded, bytes);
    return single_text(bytes);
  }
  switch (dtype) {
    case DType::boolean: return bytes[0] == std::byte{0} ? "false" : "true";
    case DType::f32: return single_text(bytes);
    case DType::f64: return double_text(bytes);
    case DType::c64:
      return fmt::format("c64{{{}, {}}}", single_text(bytes), single_text(bytes + 4));
    case DType::c128:
      return fmt::format("c128{{{}, {}}}", double_text(bytes), double_text(bytes + 8));
    default: return fmt::format("({}){:#x}ull", name_of(dtype), as<uint64_t>(bytes));
  }
}

std::string operation_text(const ir::Primitive& primitive, DType result,
                           std::span<const std::string> operands,
                           std::span<const DType> operand_dtypes) {
  if (&primitive == &convert_primitive()) {
    if (operand_dtypes[0] == result) return operands[0];
    return fmt::format("convert<{}>({})", memory_type(result), operands[0]);
  }
  const std::string dtype =
      operation_of(primitive.name).needs_dtype ? fmt::format("<{}>", memory_type(result)) : "";
  return fmt::format("op::{}{}({})", primitive.name, dtype, fmt::join(operands, ", "));
}

std::string_view reduction_type(ir::Reduction reduction) {
  switch (reduction) {
    case ir::Reduction::sum: return "Sum";
    case ir::Reduction::product: return "Product";
    case ir::Reduction::maximum: return "Maximum";
    case ir::Reduction::minimum: return "Minimum";
    case ir::Reduction::all: return "All";
    case ir::Reduction::any: return "Any";
    case ir::Reduction::none: break;
  }
  throw ValueError("no reduction");
}

std::string identity_text(ir::Reduction reduction, DType dtype) {
  const bool is_least = reduction == ir::Reduction::maximum;
  if (is_least || reduction == ir::Reduction::minimum) {
    if (is_boolean(dtype)) return is_least ? "false" : "true";
    if (is_floating(dtype)) {
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      const DType held = is_narrow(dtype) ? DType::f32 : dtype;
      return constant_text(held, Element::of(is_least ? -kInfinity : kInfinity));
    }
    const IntegerLimits limits = integer_limits(dtype);
    return constant_text(
        dtype, is_least ? Element::of_signed(limits.min) : Element::of_unsigned(limits.max));
  }
  const bool is_one = reduction == ir::Reduction::product || reduction == ir::Reduction::all;
  return constant_text(dtype, Element::of(is_one));
}

}  // namespace plait::cuda
