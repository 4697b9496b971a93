// The functions in lanes, by the names of their primitives: the eager loops (function_kernels.cpp)
// and emitted code (llvm_functions.cpp) have the same ones.
#include "plait/cpu/inside/elementwise/special_lanes.inl"

HWY_BEFORE_NAMESPACE();
namespace plait::cpu {
namespace HWY_NAMESPACE {

// Calls in_single<Op>(name) for functions of f32 in lanes of f32, and through_double<Op>(name) for
// those in lanes of f64, which are rounded at the end.
template <class Visitor>
void each_function_of_f32(const Visitor& visitor) {
  visitor.template in_single<single::Exp>("exp");
  visitor.template in_single<single::Exp2>("exp2");
  visitor.template in_single<single::Expm1>("expm1");
  visitor.template in_single<single::Log>("log");
  visitor.template in_single<single::Log2>("log2");
  visitor.template in_single<single::Log10>("log10");
  visitor.template in_single<single::Log1p>("log1p");
  visitor.template in_single<single::Sigmoid>("sigmoid");
  visitor.template in_single<single::Tanh>("tanh");
  visitor.template in_single<single::Sinh>("sinh");
  visitor.template in_single<single::Cosh>("cosh");
  visitor.template in_single<single::Sin>("sin");
  visitor.template in_single<single::Cos>("cos");
  visitor.template in_single<single::Tan>("tan");
  visitor.template in_single<single::Erf>("erf");
  visitor.template through_double<Hypot>("hypot");
  visitor.template through_double<LogAddExp>("logaddexp");
  visitor.template in_single<single::Asin>("asin");
  visitor.template in_single<single::Acos>("acos");
  visitor.template in_single<single::Atan>("atan");
  visitor.template through_double<Atan2>("atan2");
  visitor.template through_double<Asinh>("asinh");
  visitor.template through_double<Acosh>("acosh");
  visitor.template through_double<Atanh>("atanh");
  visitor.template through_double<Power>("power");
  visitor.template through_double<Fmod>("fmod");
  visitor.template through_double<Remainder>("remainder");
  visitor.template through_double<FloorDivide>("floor_divide");
  visitor.template through_double<Erfc>("erfc");
  visitor.template through_double<ErfInverse>("erfinv");
  visitor.template through_double<LogGamma>("lgamma");
  visitor.template through_double<Digamma>("digamma");
}

// Calls in_double<Op, arity>(name).
template <class Visitor>
void each_function_of_f64(const Visitor& visitor) {
  visitor.template in_double<wide::Exp, 1>("exp");
  visitor.template in_double<wide::Exp2, 1>("exp2");
  visitor.template in_double<wide::Expm1, 1>("expm1");
  visitor.template in_double<wide::Log, 1>("log");
  visitor.template in_double<wide::Log2, 1>("log2");
  visitor.template in_double<wide::Log10, 1>("log10");
  visitor.template in_double<wide::Log1p, 1>("log1p");
  visitor.template in_double<wide::Sigmoid, 1>("sigmoid");
  visitor.template in_double<wide::Tanh, 1>("tanh");
  visitor.template in_double<wide::Sinh, 1>("sinh");
  visitor.template in_double<wide::Cosh, 1>("cosh");
  visitor.template in_double<wide::Asinh, 1>("asinh");
  visitor.template in_double<wide::Acosh, 1>("acosh");
  visitor.template in_double<wide::Atanh, 1>("atanh");
  visitor.template in_double<wide::Sin, 1>("sin");
  visitor.template in_double<wide::Cos, 1>("cos");
  visitor.template in_double<wide::Tan, 1>("tan");
  visitor.template in_double<wide::Asin, 1>("asin");
  visitor.template in_double<wide::Acos, 1>("acos");
  visitor.template in_double<wide::Atan, 1>("atan");
  visitor.template in_double<wide::Erf, 1>("erf");
  visitor.template in_double<wide::Erfc, 1>("erfc");
  visitor.template in_double<wide::Atan2, 2>("atan2");
  visitor.template in_double<wide::Hypot, 2>("hypot");
  visitor.template in_double<wide::LogAddExp, 2>("logaddexp");
  visitor.template in_double<wide::Power, 2>("power");
}

}  // namespace HWY_NAMESPACE
}  // namespace plait::cpu
HWY_AFTER_NAMESPACE();
