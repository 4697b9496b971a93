// A line a function: arguments are converted by what the function of C++ takes.
//
//   add_function<Tensor(const Tensor&, int64_t)>(module, "softmax", softmax, arg("x"), arg("axis")
//   = -1);
#pragma once

#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "python/bindings/bindings.h"

namespace plait::python {

// What is held of an argument while the function runs without Python's lock.
template <class T>
struct Argument {
  T value;
  explicit Argument(nb::handle given) : value(nb::cast<T>(given)) {}
  T get() const { return value; }
};
template <>
struct Argument<const Tensor&> {
  Tensor value;
  explicit Argument(nb::handle given) : value(given.is_none() ? Tensor() : tensor_from(given)) {}
  const Tensor& get() const { return value; }
};
template <>
struct Argument<const Operand&> {
  PythonOperand value;
  explicit Argument(nb::handle given) : value(given) {}
  Operand get() const { return value.get(); }
};
template <>
struct Argument<int64_t> {
  int64_t value;
  explicit Argument(nb::handle given) : value(integers_from(given).at(0)) {}
  int64_t get() const { return value; }
};
template <>
struct Argument<Dim> {
  Dim value;
  explicit Argument(nb::handle given) : value(dim_from(given)) {}
  Dim get() const { return value; }
};
template <>
struct Argument<DType> {
  DType value;
  explicit Argument(nb::handle given) : value(dtype_from(given)) {}
  DType get() const { return value; }
};
template <>
struct Argument<const Shape&> {
  Shape value;
  explicit Argument(nb::handle given) : value(shape_from(given)) {}
  const Shape& get() const { return value; }
};
template <>
struct Argument<const Axes&> {
  Axes value;
  explicit Argument(nb::handle given) : value(axes_from(given)) {}
  const Axes& get() const { return value; }
};
template <>
struct Argument<std::span<const int64_t>> {
  std::vector<int64_t> value;
  explicit Argument(nb::handle given) : value(integers_from(given)) {}
  std::span<const int64_t> get() const { return value; }
};
template <>
struct Argument<std::span<const Tensor>> {
  std::vector<Tensor> value;
  explicit Argument(nb::handle given) : value(tensors_from(given)) {}
  std::span<const Tensor> get() const { return value; }
};
template <>
struct Argument<std::string_view> {
  std::string value;
  explicit Argument(nb::handle given) : value(nb::str(given).c_str()) {}
  std::string_view get() const { return value; }
};
template <class T>
struct Argument<std::optional<T>> {
  std::optional<T> value;
  explicit Argument(nb::handle given) {
    if (!given.is_none()) value = Argument<T>(given).get();
  }
  std::optional<T> get() const { return value; }
};

template <class Function, class... Held>
nb::object call(Function function, const Held&... held) {
  return to_python(computed([&] { return function(held.get()...); }));
}

template <class T>
using HandleFor = nb::handle;

template <class Result, class... Arguments, class... Names>
void add_deduced(nb::module_& module, const char* name, Result (*function)(Arguments...),
                 const Names&... names) {
  module.def(
      name,
      [function](HandleFor<Arguments>... given) {
        return call(function, Argument<Arguments>(given)...);
      },
      names...);
}

template <class Signature, class... Names>
void add_function(nb::module_& module, const char* name, Signature* function,
                  const Names&... names) {
  add_deduced(module, name, function, names...);
}

}  // namespace plait::python
