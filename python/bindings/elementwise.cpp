// Elementwise functions: a line of a table each.
#include "plait/ops/elementwise.h"

#include "python/bindings/bindings.h"

namespace plait::python {
namespace {

struct Unary {
  const char* name;
  Tensor (*of)(const Operand&);
};
constexpr Unary kUnary[] = {
    {"negative", negative},
    {"absolute", absolute},
    {"sign", sign},
    {"square", square},
    {"reciprocal", reciprocal},
    {"sqrt", sqrt},
    {"rsqrt", rsqrt},
    {"exp", exp},
    {"exp2", exp2},
    {"expm1", expm1},
    {"log", log},
    {"log2", log2},
    {"log10", log10},
    {"log1p", log1p},
    {"sin", sin},
    {"cos", cos},
    {"tan", tan},
    {"asin", asin},
    {"acos", acos},
    {"atan", atan},
    {"sinh", sinh},
    {"cosh", cosh},
    {"tanh", tanh},
    {"asinh", asinh},
    {"acosh", acosh},
    {"atanh", atanh},
    {"sigmoid", sigmoid},
    {"erf", erf},
    {"floor", floor},
    {"ceil", ceil},
    {"round", round},
    {"trunc", trunc},
    {"isnan", isnan},
    {"isinf", isinf},
    {"isfinite", isfinite},
    {"bitwise_not", bitwise_not},
    {"logical_not", logical_not},
};

struct Binary {
  const char* name;
  Tensor (*of)(const Operand&, const Operand&);
};
constexpr Binary kBinary[] = {
    {"add", add},
    {"subtract", subtract},
    {"multiply", multiply},
    {"divide", divide},
    {"floor_divide", floor_divide},
    {"remainder", remainder},
    {"power", power},
    {"maximum", maximum},
    {"minimum", minimum},
    {"atan2", atan2},
    {"hypot", hypot},
    {"copysign", copysign},
    {"equal", equal},
    {"not_equal", not_equal},
    {"less", less},
    {"less_equal", less_equal},
    {"greater", greater},
    {"greater_equal", greater_equal},
    {"bitwise_and", bitwise_and},
    {"bitwise_or", bitwise_or},
    {"bitwise_xor", bitwise_xor},
    {"left_shift", left_shift},
    {"right_shift", right_shift},
    {"logical_and", logical_and},
    {"logical_or", logical_or},
    {"logical_xor", logical_xor},
};

}  // namespace

void bind_elementwise(nb::module_& module) {
  for (const auto& [name, of] : kUnary) {
    module.def(
        name,
        [of = of](nb::handle x) {
          const PythonOperand operand(x);
          return computed([&] { return of(operand.get()); });
        },
        nb::arg("x"));
  }
  for (const auto& [name, of] : kBinary) {
    module.def(
        name,
        [of = of](nb::handle a, nb::handle b) {
          const PythonOperand first(a), second(b);
          return computed([&] { return of(first.get(), second.get()); });
        },
        nb::arg("a"), nb::arg("b"));
  }
  module.def(
      "where",
      [](nb::handle condition, nb::handle yes, nb::handle no) {
        const Tensor chosen = tensor_from(condition);
        const PythonOperand first(yes), second(no);
        return computed([&] { return where(chosen, first.get(), second.get()); });
      },
      nb::arg("condition"), nb::arg("yes"), nb::arg("no"));
  module.def(
      "clip",
      [](nb::handle x, nb::handle low, nb::handle high) {
        const PythonOperand numbers(x), least(low), most(high);
        return computed([&] { return clip(numbers.get(), least.get(), most.get()); });
      },
      nb::arg("x"), nb::arg("low"), nb::arg("high"));
}

}  // namespace plait::python
