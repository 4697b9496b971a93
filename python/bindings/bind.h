// A line a function. Arguments are converted by what the function of C++ takes; a struct of options
// becomes keyword arguments with its defaults, and a struct of results a named tuple.
//
//   add_functions<Tensor(const Tensor&, int64_t)>(module,
//                                       {{"softmax", softmax, "e^x over its sum along the axis."},
//                                        {"glu", glu, "The first half by sigmoid of the second."}},
//                                       arg("x"), arg("axis") = -1);
#pragma once

#include <array>
#include <initializer_list>
#include <tuple>
#include <type_traits>
#include <utility>

#include "plait/core/error.h"
#include "plait/core/reflect.h"

#include "python/bindings/arguments.h"

namespace plait::python {

template <class Signature>
struct Entry {
  const char* name;
  Signature* of;
  const char* summary;
};

// ---- Parameters.

struct Parameter {
  std::string name;
  nb::object standard;         // until Python has it; none where the argument must be given
  std::optional<DType> dtype;  // what None stands for

  Parameter(const nb::arg& named) : name(named.name_) {}  // NOLINT: written as nanobind does
  Parameter(const nb::arg_v& named) : Parameter(named.name_, named.value) {}  // NOLINT
  Parameter(std::string_view given, nb::object value);

  nb::arg_v argument() const;
};
using Parameters = std::vector<Parameter>;

// The arguments of a call, one after the other. Errors name the function and the parameter.
class Given {
 public:
  Given(const char* function, const nb::handle* values, const Parameters& parameters)
      : function_(function), value_(values), parameter_(parameters.data()) {}

  template <class T>
  void next(T& value) {
    const nb::handle given = *value_++;
    const Parameter& parameter = *parameter_++;
    if constexpr (std::is_same_v<T, DType>) {
      value = parameter.dtype.value_or(value);
      if (given.is_none()) return;
    }
    try {
      read(given, value);
    } catch (Error& error) {
      name_argument(error, parameter);
      throw;
    }
  }

 private:
  void name_argument(Error& error, const Parameter& parameter) const;

  const char* function_;
  const nb::handle* value_;
  const Parameter* parameter_;
};

// ---- What is held of an argument while the function runs without Python's lock.

template <class T>
struct HeldOf {
  using Type = T;
};
template <>
struct HeldOf<Operand> {
  using Type = PythonOperand;
};
template <>
struct HeldOf<std::string_view> {
  using Type = std::string;
};
template <class T>
struct HeldOf<std::span<const T>> {
  using Type = std::vector<T>;
};

template <class T>
concept Options = reflect::PlainAggregate<std::remove_cvref_t<T>>;

// How many parameters of Python it stands for.
template <class T>
constexpr size_t width_of() {
  if constexpr (Options<T>)
    return reflect::kFieldCount<std::remove_cvref_t<T>>;
  else
    return 1;
}

template <class T>
struct Argument {
  using Held = typename HeldOf<std::remove_cvref_t<T>>::Type;
  Held value = blank<Held>();

  explicit Argument(Given& given) {
    if constexpr (Options<T>)
      reflect::for_each_field(value, [&](std::string_view, auto& field) { given.next(field); });
    else
      given.next(value);
  }
  decltype(auto) get() const {
    if constexpr (std::is_same_v<Held, PythonOperand>)
      return value.get();
    else
      return (value);
  }
};

// ---- Results.

nb::object make_named_tuple(std::string_view type, std::span<const std::string_view> fields);

template <class T>
  requires reflect::PlainAggregate<T>
nb::object to_python(const T& results) {
  static const nb::handle type =
      make_named_tuple(reflect::type_name<T>(), reflect::kFieldNames<T>).release();
  nb::list values;
  reflect::for_each_field(
      results, [&](std::string_view, const Tensor& each) { values.append(to_python(each)); });
  return type(*values);
}

// ---- Calls. All functions of a signature share a caller, all that take as many arguments the code
// by which Python reaches it.

using AnyFunction = void (*)();

template <class Result, class... Arguments>
nb::object call(AnyFunction any, Given& given) {
  const auto function = reinterpret_cast<Result (*)(Arguments...)>(any);
  const std::tuple<Argument<Arguments>...> held{Argument<Arguments>(given)...};
  const auto run = [&] {
    return std::apply([&](const auto&... each) { return function(each.get()...); }, held);
  };
  if constexpr (std::is_void_v<Result>) {
    computed(run);
    return nb::none();
  } else {
    return to_python(computed(run));
  }
}

struct Callable {
  nb::object (*caller)(AnyFunction, Given&);
  AnyFunction function;
  const char* name;
  const Parameters* parameters;  // live as long as the process
};

template <class T, size_t>
using Repeated = T;

// A First that Python cannot convert to leaves the call to the next function of the same name.
template <size_t positional, size_t keyword, class First = nb::handle>
void define(nb::module_& module, const Callable& callable, const char* summary) {
  const Parameters& parameters = *callable.parameters;
  [&]<size_t... i, size_t... j>(std::index_sequence<i...>, std::index_sequence<j...>) {
    const auto reached = [callable](First first, Repeated<nb::handle, i>... rest,
                                    Repeated<nb::handle, j>... options) {
      const std::array<nb::handle, positional + keyword> values{nb::handle(first), rest...,
                                                                options...};
      Given given(callable.name, values.data(), *callable.parameters);
      return callable.caller(callable.function, given);
    };
    if constexpr (keyword == 0)
      module.def(callable.name, reached, summary, parameters[0].argument(),
                 parameters[1 + i].argument()...);
    else
      module.def(callable.name, reached, summary, parameters[0].argument(),
                 parameters[1 + i].argument()..., nb::kw_only(),
                 parameters[positional + j].argument()...);
  }(std::make_index_sequence<positional - 1>(), std::make_index_sequence<keyword>());
}

template <class T>
void add_options(Parameters& parameters) {
  if constexpr (Options<T>) {
    const std::remove_cvref_t<T> standard{};
    reflect::for_each_field(standard, [&](std::string_view name, const auto& field) {
      parameters.emplace_back(name, shown(field));
    });
  }
}

template <class First, class Result, class... Arguments>
void add_one(nb::module_& module, const char* name, Result (*function)(Arguments...),
             const char* summary, Parameters parameters) {
  constexpr size_t positional = (size_t{0} + ... + (Options<Arguments> ? 0 : 1));
  constexpr size_t all = (size_t{0} + ... + width_of<Arguments>());
  (add_options<Arguments>(parameters), ...);
  if (parameters.size() != all) nb::raise("%s: the table names other parameters", name);
  auto* kept = new Parameters(std::move(parameters));
  const Callable callable{call<Result, Arguments...>, reinterpret_cast<AnyFunction>(function), name,
                          kept};
  define<positional, all - positional, First>(module, callable, summary);
  for (Parameter& each : *kept) each.standard.reset();
}

template <class Signature, class... Names>
void add_functions(nb::module_& module, std::initializer_list<Entry<Signature>> functions,
                   const Names&... names) {
  for (const auto& [name, of, summary] : functions) {
    add_one<nb::handle>(module, name, of, summary, {names...});
  }
}

}  // namespace plait::python
