// Functions of shapes, reductions, products and creation: a line or two each.
#include "plait/core/error.h"
#include "plait/ops/create.h"
#include "plait/ops/linear.h"
#include "plait/ops/reduce.h"
#include "plait/ops/shape.h"

#include "python/bindings/bindings.h"

namespace plait::python {
namespace {

using nb::arg;

struct Reduction {
  const char* name;
  Tensor (*of)(const Tensor&, const Axes&, bool);
};
constexpr Reduction kReductions[] = {
    {"sum", sum}, {"prod", prod}, {"max", max},   {"min", min},
    {"all", all}, {"any", any},   {"mean", mean},
};

void bind_reductions(nb::module_& module) {
  for (const auto& [name, of] : kReductions) {
    module.def(
        name,
        [of = of](nb::handle x, nb::handle axis, bool keepdims) {
          const Tensor numbers = tensor_from(x);
          const Axes axes = axes_from(axis);
          return computed([&] { return of(numbers, axes, keepdims); });
        },
        arg("x"), arg("axis") = nb::none(), arg("keepdims") = false);
  }
}

// A function of a tensor and something made of a further argument.
template <class Convert, class Function>
void bind_with(nb::module_& module, const char* name, const char* second, Convert convert,
               Function function) {
  module.def(
      name,
      [convert, function](nb::handle x, nb::handle given) {
        const Tensor tensor = tensor_from(x);
        const auto value = convert(given);
        return computed([&] { return function(tensor, value); });
      },
      arg("x"), arg(second));
}

Slice slice_from(nb::handle start, nb::handle stop, int64_t step) {
  const auto bound = [](nb::handle given) {
    return given.is_none() ? std::nullopt : std::optional(integers_from(given).at(0));
  };
  return {.start = bound(start), .stop = bound(stop), .step = step};
}

int64_t axis_from(nb::handle axis) { return integers_from(axis).at(0); }

void bind_shapes(nb::module_& module) {
  bind_with(module, "astype", "dtype", dtype_from, astype);
  bind_with(module, "broadcast_to", "shape", shape_from, broadcast_to);
  bind_with(module, "reshape", "shape", shape_from, reshape);
  bind_with(
      module, "permute_dims", "axes", integers_from,
      [](const Tensor& x, const std::vector<int64_t>& axes) { return permute_dims(x, axes); });
  bind_with(module, "expand_dims", "axis", axis_from, expand_dims);
  bind_with(module, "squeeze", "axis", axis_from, squeeze);
  bind_with(module, "flip", "axis", axis_from, flip);
  module.def("matrix_transpose", [](nb::handle x) { return matrix_transpose(tensor_from(x)); });
  module.def("flatten", [](nb::handle x) {
    const Tensor tensor = tensor_from(x);
    return computed([&] { return flatten(tensor); });
  });
  module.def(
      "swapaxes", [](nb::handle x, int64_t a, int64_t b) { return swapaxes(tensor_from(x), a, b); },
      arg("x"), arg("a"), arg("b"));
  module.def(
      "moveaxis",
      [](nb::handle x, int64_t from, int64_t to) { return moveaxis(tensor_from(x), from, to); },
      arg("x"), arg("source"), arg("destination"));
  module.def(
      "slice",
      [](nb::handle x, int64_t axis, nb::handle start, nb::handle stop, int64_t step) {
        return slice(tensor_from(x), axis, slice_from(start, stop, step));
      },
      arg("x"), arg("axis"), arg("start") = nb::none(), arg("stop") = nb::none(), arg("step") = 1);
  for (const auto& [name, of] : {std::pair{"concat", &concat}, std::pair{"stack", &stack}}) {
    module.def(
        name,
        [of = of](nb::handle tensors, int64_t axis) {
          const std::vector<Tensor> parts = tensors_from(tensors);
          return computed([&] { return of(parts, axis); });
        },
        arg("tensors"), arg("axis") = 0);
  }
}

void bind_products(nb::module_& module) {
  using Product = Tensor (*)(const Tensor&, const Tensor&);
  const std::pair<const char*, Product> products[] = {{"matmul", matmul}, {"outer", outer}};
  for (const auto& [name, of] : products) {
    module.def(
        name,
        [of = of](nb::handle a, nb::handle b) {
          const Tensor first = tensor_from(a), second = tensor_from(b);
          return computed([&] { return of(first, second); });
        },
        arg("a"), arg("b"));
  }
}

Scalar scalar_from(nb::handle number) {
  const PythonOperand operand(number);
  if (operand.get().is_tensor()) throw TypeError("expected a number, not a tensor");
  return operand.get().scalar();
}

void bind_creation(nb::module_& module) {
  module.def(
      "full",
      [](nb::handle shape, nb::handle value, nb::handle dtype) {
        const Scalar number = scalar_from(value);
        const Shape sizes = shape_from(shape);
        const auto given = optional_dtype_from(dtype);
        return given ? full(sizes, number, *given) : full(sizes, number);
      },
      arg("shape"), arg("value"), arg("dtype") = nb::none());
  for (const auto& [name, of] : {std::pair{"zeros", &zeros}, std::pair{"ones", &ones}}) {
    module.def(
        name,
        [of = of](nb::handle shape, nb::handle dtype) {
          return of(shape_from(shape), optional_dtype_from(dtype).value_or(DType::f32));
        },
        arg("shape"), arg("dtype") = nb::none());
  }
  module.def("zeros_like", [](nb::handle x) { return zeros_like(tensor_from(x)); });
  module.def("ones_like", [](nb::handle x) { return ones_like(tensor_from(x)); });
  module.def("full_like", [](nb::handle x, nb::handle value) {
    return full_like(tensor_from(x), scalar_from(value));
  });
  module.def(
      "arange",
      [](nb::handle start, nb::handle stop, nb::handle step) {
        if (stop.is_none()) return arange(0, scalar_from(start), scalar_from(step));
        return arange(scalar_from(start), scalar_from(stop), scalar_from(step));
      },
      arg("start"), arg("stop") = nb::none(), arg("step") = 1);
  module.def(
      "linspace",
      [](double start, double stop, int64_t count, nb::handle dtype) {
        return linspace(start, stop, count, optional_dtype_from(dtype).value_or(DType::f32));
      },
      arg("start"), arg("stop"), arg("count"), arg("dtype") = nb::none());
  module.def(
      "eye",
      [](int64_t rows, nb::handle columns, nb::handle dtype) {
        return eye(rows, columns.is_none() ? -1 : axis_from(columns),
                   optional_dtype_from(dtype).value_or(DType::f32));
      },
      arg("rows"), arg("columns") = nb::none(), arg("dtype") = nb::none());
}

}  // namespace

void bind_functions(nb::module_& module) {
  bind_reductions(module);
  bind_shapes(module);
  bind_products(module);
  bind_creation(module);
  module.def("borrow", borrow_numpy, arg("array"), "A tensor in the memory of an array of NumPy.");
}

}  // namespace plait::python
