// Roots of f32 and f64, functions of f32 in lanes of f32 or f64, and functions of f64 in lanes of
// f64.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plait/cpu/inside/elementwise/function_kernels.cpp"
#include "plait/cpu/inside/elementwise/special_lanes.inl"

HWY_BEFORE_NAMESPACE();
namespace plait::cpu {
namespace HWY_NAMESPACE {
namespace {

struct Sqrt {
  template <class Tag>
  static HWY_INLINE hn::Vec<Tag> of(Tag, hn::Vec<Tag> x) {
    return hn::Sqrt(x);
  }
};
struct Rsqrt {
  template <class Tag>
  static HWY_INLINE hn::Vec<Tag> of(Tag d, hn::Vec<Tag> x) {
    return hn::Set(d, 1) / hn::Sqrt(x);
  }
};

template <class Op, class T, int arity = 1>
void add_same(Kernels& kernels, std::string_view op) {
  kernels.push_back({op, kDTypeOf<T>, kDTypeOf<T>, arity, vector_loop<WithSame<Op>, T, arity>});
}
template <class Op>
void add_through_double(Kernels& kernels, std::string_view op) {
  kernels.push_back(
      {op, DType::f32, DType::f32, Op::kArity, vector_loop<WithDouble<Op>, float, Op::kArity>});
}

void add_roots(Kernels& kernels) {
  add_same<Sqrt, float>(kernels, "sqrt");
  add_same<Sqrt, double>(kernels, "sqrt");
  add_same<Rsqrt, float>(kernels, "rsqrt");
  add_same<Rsqrt, double>(kernels, "rsqrt");
}
void add_single_functions(Kernels& kernels) {
  add_same<single::Exp, float>(kernels, "exp");
  add_same<single::Exp2, float>(kernels, "exp2");
  add_same<single::Expm1, float>(kernels, "expm1");
  add_same<single::Log, float>(kernels, "log");
  add_same<single::Log2, float>(kernels, "log2");
  add_same<single::Log10, float>(kernels, "log10");
  add_same<single::Log1p, float>(kernels, "log1p");
  add_same<single::Sigmoid, float>(kernels, "sigmoid");
  add_same<single::Tanh, float>(kernels, "tanh");
  add_same<single::Sinh, float>(kernels, "sinh");
  add_same<single::Cosh, float>(kernels, "cosh");
  add_same<single::Sin, float>(kernels, "sin");
  add_same<single::Cos, float>(kernels, "cos");
  add_same<single::Tan, float>(kernels, "tan");
  add_same<single::Erf, float>(kernels, "erf");
  add_through_double<Hypot>(kernels, "hypot");
  add_through_double<LogAddExp>(kernels, "logaddexp");
  add_same<single::Asin, float>(kernels, "asin");
  add_same<single::Acos, float>(kernels, "acos");
  add_same<single::Atan, float>(kernels, "atan");
  add_through_double<Atan2>(kernels, "atan2");
  add_through_double<Asinh>(kernels, "asinh");
  add_through_double<Acosh>(kernels, "acosh");
  add_through_double<Atanh>(kernels, "atanh");
  add_through_double<Power>(kernels, "power");
  add_through_double<Fmod>(kernels, "fmod");
  add_through_double<Remainder>(kernels, "remainder");
  add_through_double<FloorDivide>(kernels, "floor_divide");
  add_through_double<Erfc>(kernels, "erfc");
  add_through_double<ErfInverse>(kernels, "erfinv");
  add_through_double<LogGamma>(kernels, "lgamma");
  add_through_double<Digamma>(kernels, "digamma");
}
void add_double_functions(Kernels& kernels) {
  add_same<wide::Exp, double>(kernels, "exp");
  add_same<wide::Exp2, double>(kernels, "exp2");
  add_same<wide::Expm1, double>(kernels, "expm1");
  add_same<wide::Log, double>(kernels, "log");
  add_same<wide::Log2, double>(kernels, "log2");
  add_same<wide::Log10, double>(kernels, "log10");
  add_same<wide::Log1p, double>(kernels, "log1p");
  add_same<wide::Sigmoid, double>(kernels, "sigmoid");
  add_same<wide::Tanh, double>(kernels, "tanh");
  add_same<wide::Sinh, double>(kernels, "sinh");
  add_same<wide::Cosh, double>(kernels, "cosh");
  add_same<wide::Asinh, double>(kernels, "asinh");
  add_same<wide::Acosh, double>(kernels, "acosh");
  add_same<wide::Atanh, double>(kernels, "atanh");
  add_same<wide::Sin, double>(kernels, "sin");
  add_same<wide::Cos, double>(kernels, "cos");
  add_same<wide::Tan, double>(kernels, "tan");
  add_same<wide::Asin, double>(kernels, "asin");
  add_same<wide::Acos, double>(kernels, "acos");
  add_same<wide::Atan, double>(kernels, "atan");
  add_same<wide::Erf, double>(kernels, "erf");
  add_same<wide::Erfc, double>(kernels, "erfc");
  add_same<wide::Atan2, double, 2>(kernels, "atan2");
  add_same<wide::Hypot, double, 2>(kernels, "hypot");
  add_same<wide::LogAddExp, double, 2>(kernels, "logaddexp");
  add_same<wide::Power, double, 2>(kernels, "power");
}

}  // namespace

void add_function_kernels(Kernels& kernels) {
  add_roots(kernels);
  add_single_functions(kernels);
  add_double_functions(kernels);
}

}  // namespace HWY_NAMESPACE
}  // namespace plait::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::cpu {

constinit const EachLevel<Kernels> kFunctionKernels = {PLAIT_EACH_LEVEL(add_function_kernels)};

}  // namespace plait::cpu
#endif
