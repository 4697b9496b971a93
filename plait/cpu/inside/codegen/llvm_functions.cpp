// Functions that the eager kernels compute in lanes, emitted from the same sources.
#define PLAIT_LANES "plait/cpu/inside/codegen/emitted_lanes.inl"
#include <unordered_map>

#include "plait/core/inside/system/immortal.h"
#include "plait/cpu/inside/elementwise/special_lanes.inl"

namespace plait::cpu::code {
namespace {

namespace emitted = N_EMITTED;
namespace hn = hwy::N_EMITTED;

using Float = hn::ScalableTag<float>;
using Double = hn::ScalableTag<double>;

template <class Op>
Code in_single(DType, std::span<const Code> x) {
  return Op::of(Float(), hn::Vec<Float>{x[0]}).code;
}
template <class Op>
Code in_double(DType, std::span<const Code> x) {
  const auto operand = [&](size_t i) { return hn::Vec<Double>{x[i]}; };
  if constexpr (requires { Op::of(Double(), operand(0)); }) {
    return Op::of(Double(), operand(0)).code;
  } else {
    return Op::of(Double(), operand(0), operand(1)).code;
  }
}
// Computed in f64 and rounded at the end.
template <class Op>
Code through_double(DType, std::span<const Code> x) {
  const auto wide = [&](size_t i) { return hn::PromoteTo(Double(), hn::Vec<Float>{x[i]}); };
  if constexpr (Op::kArity == 1) {
    return hn::DemoteTo(Float(), Op::of(Double(), wide(0))).code;
  } else {
    return hn::DemoteTo(Float(), Op::of(Double(), wide(0), wide(1))).code;
  }
}

// For f32, and dtypes that are computed in f32. Functions that are not listed call the eager loop.
const std::unordered_map<std::string_view, Emit>& single_functions() {
  static Immortal<std::unordered_map<std::string_view, Emit>> functions(
      std::unordered_map<std::string_view, Emit>{
          {"exp", in_single<emitted::single::Exp>},
          {"exp2", in_single<emitted::single::Exp2>},
          {"expm1", in_single<emitted::single::Expm1>},
          {"log", in_single<emitted::single::Log>},
          {"log2", in_single<emitted::single::Log2>},
          {"log10", in_single<emitted::single::Log10>},
          {"log1p", in_single<emitted::single::Log1p>},
          {"sigmoid", in_single<emitted::single::Sigmoid>},
          {"tanh", in_single<emitted::single::Tanh>},
          {"sinh", in_single<emitted::single::Sinh>},
          {"cosh", in_single<emitted::single::Cosh>},
          {"sin", in_single<emitted::single::Sin>},
          {"cos", in_single<emitted::single::Cos>},
          {"tan", in_single<emitted::single::Tan>},
          {"erf", in_single<emitted::single::Erf>},
          {"asin", in_single<emitted::single::Asin>},
          {"acos", in_single<emitted::single::Acos>},
          {"atan", in_single<emitted::single::Atan>},
          {"hypot", through_double<emitted::Hypot>},
          {"logaddexp", through_double<emitted::LogAddExp>},
          {"atan2", through_double<emitted::Atan2>},
          {"asinh", through_double<emitted::Asinh>},
          {"acosh", through_double<emitted::Acosh>},
          {"atanh", through_double<emitted::Atanh>},
          {"power", through_double<emitted::Power>},
          {"fmod", through_double<emitted::Fmod>},
          {"remainder", through_double<emitted::Remainder>},
          {"floor_divide", through_double<emitted::FloorDivide>},
          {"erfc", through_double<emitted::Erfc>},
          {"erfinv", through_double<emitted::ErfInverse>},
          {"lgamma", through_double<emitted::LogGamma>},
          {"digamma", through_double<emitted::Digamma>},
      });
  return *functions;
}

const std::unordered_map<std::string_view, Emit>& double_functions() {
  static Immortal<std::unordered_map<std::string_view, Emit>> functions(
      std::unordered_map<std::string_view, Emit>{
          {"exp", in_double<emitted::wide::Exp>},
          {"exp2", in_double<emitted::wide::Exp2>},
          {"expm1", in_double<emitted::wide::Expm1>},
          {"log", in_double<emitted::wide::Log>},
          {"log2", in_double<emitted::wide::Log2>},
          {"log10", in_double<emitted::wide::Log10>},
          {"log1p", in_double<emitted::wide::Log1p>},
          {"sigmoid", in_double<emitted::wide::Sigmoid>},
          {"tanh", in_double<emitted::wide::Tanh>},
          {"sinh", in_double<emitted::wide::Sinh>},
          {"cosh", in_double<emitted::wide::Cosh>},
          {"asinh", in_double<emitted::wide::Asinh>},
          {"acosh", in_double<emitted::wide::Acosh>},
          {"atanh", in_double<emitted::wide::Atanh>},
          {"sin", in_double<emitted::wide::Sin>},
          {"cos", in_double<emitted::wide::Cos>},
          {"tan", in_double<emitted::wide::Tan>},
          {"asin", in_double<emitted::wide::Asin>},
          {"acos", in_double<emitted::wide::Acos>},
          {"atan", in_double<emitted::wide::Atan>},
          {"erf", in_double<emitted::wide::Erf>},
          {"erfc", in_double<emitted::wide::Erfc>},
          {"atan2", in_double<emitted::wide::Atan2>},
          {"hypot", in_double<emitted::wide::Hypot>},
          {"logaddexp", in_double<emitted::wide::LogAddExp>},
          {"power", in_double<emitted::wide::Power>},
      });
  return *functions;
}

}  // namespace

Emit find_function(std::string_view name, DType dtype) {
  if (!is_floating(dtype)) return nullptr;
  const auto& functions = dtype == DType::f64 ? double_functions() : single_functions();
  const auto found = functions.find(name);
  return found == functions.end() ? nullptr : found->second;
}

}  // namespace plait::cpu::code
