// Roots of f32 and f64, and the functions of f32, in lanes of f32 or of f64.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plait/cpu/function_kernels.cpp"
#include "plait/cpu/special_functions.inl"

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

template <class Op, class T>
void add_same(Kernels& kernels, std::string_view op) {
  kernels.push_back({op, kDTypeOf<T>, kDTypeOf<T>, 1, vector_loop<WithSame<Op>, T, 1>});
}
template <class Op>
void add_wide(Kernels& kernels, std::string_view op) {
  kernels.push_back(
      {op, DType::f32, DType::f32, Op::kArity, vector_loop<WithDouble<Op>, float, Op::kArity>});
}

}  // namespace

void add_function_kernels(Kernels& kernels) {
  add_same<Sqrt, float>(kernels, "sqrt");
  add_same<Sqrt, double>(kernels, "sqrt");
  add_same<Rsqrt, float>(kernels, "rsqrt");
  add_same<Rsqrt, double>(kernels, "rsqrt");
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
  add_wide<Hypot>(kernels, "hypot");
  add_wide<LogAddExp>(kernels, "logaddexp");
  add_same<single::Asin, float>(kernels, "asin");
  add_same<single::Acos, float>(kernels, "acos");
  add_same<single::Atan, float>(kernels, "atan");
  add_wide<Atan2>(kernels, "atan2");
  add_wide<Asinh>(kernels, "asinh");
  add_wide<Acosh>(kernels, "acosh");
  add_wide<Atanh>(kernels, "atanh");
  add_wide<Power>(kernels, "power");
  add_wide<Fmod>(kernels, "fmod");
  add_wide<Remainder>(kernels, "remainder");
  add_wide<FloorDivide>(kernels, "floor_divide");
  add_wide<Erfc>(kernels, "erfc");
  add_wide<ErfInverse>(kernels, "erfinv");
  add_wide<LogGamma>(kernels, "lgamma");
  add_wide<Digamma>(kernels, "digamma");
}

}  // namespace HWY_NAMESPACE
}  // namespace plait::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::cpu {

constinit const EachLevel<Kernels> kFunctionKernels = {PLAIT_EACH_LEVEL(add_function_kernels)};

}  // namespace plait::cpu
#endif
