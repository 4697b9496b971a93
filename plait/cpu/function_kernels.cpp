// Roots of f32 and f64, and the functions of f32 that are computed in lanes.
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
void add_root(Kernels& kernels, std::string_view op) {
  kernels.push_back({op, kDTypeOf<T>, kDTypeOf<T>, 1, vector_loop<WithSame<Op>, T, 1>});
}
template <class Op>
void add(Kernels& kernels, std::string_view op) {
  kernels.push_back(
      {op, DType::f32, DType::f32, Op::kArity, vector_loop<WithDouble<Op>, float, Op::kArity>});
}

}  // namespace

void add_function_kernels(Kernels& kernels) {
  add_root<Sqrt, float>(kernels, "sqrt");
  add_root<Sqrt, double>(kernels, "sqrt");
  add_root<Rsqrt, float>(kernels, "rsqrt");
  add_root<Rsqrt, double>(kernels, "rsqrt");
  add<Exp>(kernels, "exp");
  add<Exp2>(kernels, "exp2");
  add<Expm1>(kernels, "expm1");
  add<Log>(kernels, "log");
  add<Log2>(kernels, "log2");
  add<Log10>(kernels, "log10");
  add<Log1p>(kernels, "log1p");
  add<Sigmoid>(kernels, "sigmoid");
  add<Tanh>(kernels, "tanh");
  add<Sinh>(kernels, "sinh");
  add<Cosh>(kernels, "cosh");
  add<Sin>(kernels, "sin");
  add<Cos>(kernels, "cos");
  add<Tan>(kernels, "tan");
  add<Erf>(kernels, "erf");
  add<Hypot>(kernels, "hypot");
  add<LogAddExp>(kernels, "logaddexp");
  add<Asin>(kernels, "asin");
  add<Acos>(kernels, "acos");
  add<Atan>(kernels, "atan");
  add<Atan2>(kernels, "atan2");
  add<Asinh>(kernels, "asinh");
  add<Acosh>(kernels, "acosh");
  add<Atanh>(kernels, "atanh");
  add<Power>(kernels, "power");
  add<Fmod>(kernels, "fmod");
  add<Remainder>(kernels, "remainder");
  add<FloorDivide>(kernels, "floor_divide");
  add<Erfc>(kernels, "erfc");
  add<ErfInverse>(kernels, "erfinv");
  add<LogGamma>(kernels, "lgamma");
  add<Digamma>(kernels, "digamma");
}

}  // namespace HWY_NAMESPACE
}  // namespace plait::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::cpu {

constinit const EachLevel<Kernels> kFunctionKernels = {PLAIT_EACH_LEVEL(add_function_kernels)};

}  // namespace plait::cpu
#endif
