// Roots of f32 and f64, functions of f32 in lanes of f32 or f64, and functions of f64 in lanes of
// f64.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plait/cpu/inside/elementwise/function_kernels.cpp"
#include "plait/cpu/inside/elementwise/lane_functions.inl"

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
struct Added {
  Kernels& kernels;

  template <class Op>
  void in_single(std::string_view op) const {
    add_same<Op, float>(kernels, op);
  }
  template <class Op>
  void through_double(std::string_view op) const {
    add_through_double<Op>(kernels, op);
  }
  template <class Op, int arity>
  void in_double(std::string_view op) const {
    add_same<Op, double, arity>(kernels, op);
  }
};

}  // namespace

void add_function_kernels(Kernels& kernels) {
  add_roots(kernels);
  each_function_of_f32(Added{kernels});
  each_function_of_f64(Added{kernels});
}

}  // namespace HWY_NAMESPACE
}  // namespace plait::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::cpu {

constinit const EachLevel<Kernels> kFunctionKernels = {PLAIT_EACH_LEVEL(add_function_kernels)};

}  // namespace plait::cpu
#endif
