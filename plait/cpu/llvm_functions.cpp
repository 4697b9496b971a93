// The functions that the eager kernels compute in lanes, emitted from the same sources.
#define PLAIT_LANES "plait/cpu/emitted_lanes.inl"
#include <unordered_map>

#include "plait/core/immortal.h"
#include "plait/cpu/special_functions.inl"

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
// Computed with f64 and rounded at the end.
template <class Op>
Code in_wide(DType, std::span<const Code> x) {
  const auto wide = [&](size_t i) { return hn::PromoteTo(Double(), hn::Vec<Float>{x[i]}); };
  if constexpr (Op::kArity == 1) {
    return hn::DemoteTo(Float(), Op::of(Double(), wide(0))).code;
  } else {
    return hn::DemoteTo(Float(), Op::of(Double(), wide(0), wide(1))).code;
  }
}

// Of f32 and what is computed as f32. Those that are missing are called as they are.
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
          {"hypot", in_wide<emitted::Hypot>},
          {"logaddexp", in_wide<emitted::LogAddExp>},
          {"atan2", in_wide<emitted::Atan2>},
          {"asinh", in_wide<emitted::Asinh>},
          {"acosh", in_wide<emitted::Acosh>},
          {"atanh", in_wide<emitted::Atanh>},
          {"power", in_wide<emitted::Power>},
          {"fmod", in_wide<emitted::Fmod>},
          {"remainder", in_wide<emitted::Remainder>},
          {"floor_divide", in_wide<emitted::FloorDivide>},
          {"erfc", in_wide<emitted::Erfc>},
          {"erfinv", in_wide<emitted::ErfInverse>},
          {"lgamma", in_wide<emitted::LogGamma>},
          {"digamma", in_wide<emitted::Digamma>},
      });
  return *functions;
}

}  // namespace

Emit find_function(std::string_view name, DType dtype) {
  if (computed_dtype(dtype) != DType::f32) return nullptr;
  const auto found = single_functions().find(name);
  return found == single_functions().end() ? nullptr : found->second;
}

}  // namespace plait::cpu::code
