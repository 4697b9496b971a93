// Functions that the eager kernels compute in lanes, emitted from the same sources.
#define PLAIT_LANES "plait/cpu/inside/codegen/emitted_lanes.inl"
#include <unordered_map>

#include "plait/core/inside/system/immortal.h"
#include "plait/cpu/inside/elementwise/lane_functions.inl"

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

using Functions = std::unordered_map<std::string_view, Emit>;

struct Added {
  Functions& functions;

  template <class Op>
  void in_single(std::string_view name) const {
    functions.emplace(name, code::in_single<Op>);
  }
  template <class Op>
  void through_double(std::string_view name) const {
    functions.emplace(name, code::through_double<Op>);
  }
  template <class Op, int>
  void in_double(std::string_view name) const {
    functions.emplace(name, code::in_double<Op>);
  }
};

// For f32, and dtypes that are computed in f32. Functions that are not listed call the eager loop.
const Functions& single_functions() {
  static Immortal<Functions> functions([] {
    Functions found;
    emitted::each_function_of_f32(Added{found});
    return found;
  }());
  return *functions;
}

const Functions& double_functions() {
  static Immortal<Functions> functions([] {
    Functions found;
    emitted::each_function_of_f64(Added{found});
    return found;
  }());
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
