// Tables of bound functions, one line per function. Arguments are converted to the parameter types
// of the C++ function. A struct of options becomes keyword arguments with its defaults, and a
// struct of results a named tuple.
//
//   add_functions<Tensor(const Tensor&, int64_t)>(module,
//                                       {{"softmax", softmax, "exp(x) over its sum."},
//                                        {"glu", glu, "A gated linear unit."}},
//                                       arg("x"), arg("axis") = -1);
#pragma once

#include <initializer_list>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "plait/core/error.h"
#include "plait/core/trees/reflect.h"

#include "python/bindings/functions/arguments.h"
#include "python/bindings/functions/function_object.h"

namespace plait::python {

template <class Signature>
struct Entry {
  const char* name;
  Signature* of;
  const char* summary;
};

// Converts the arguments of a call one after the other. Errors name the function and the parameter.
class Given {
 public:
  Given(const char* function, const nb::handle* values, const Parameters& parameters)
      : function_(function),
        values_(values, parameters.size()),
        value_(values),
        parameter_(parameters.data()) {}

  template <class T>
  void next(T& value) {
    const nb::handle given = *value_++;
    const Parameter& parameter = *parameter_++;
    if constexpr (std::is_same_v<T, DType>) {
      value = parameter.dtype.value_or(value);
      if (given.is_none()) return;
    }
    try {
      if constexpr (std::is_same_v<T, PythonOperand>) {
        if (may_be_recorded_ && is_item(given)) {
          value = PythonOperand::recorded(given);
          has_recorded_ = has_recorded_ || value.is_recorded();
          return;
        }
      }
      read(given, value);
      if constexpr (std::is_same_v<T, PythonOperand>) {
        if (value.is_array()) value.move_to(place());
      } else if constexpr (std::is_same_v<T, Tensor>) {
        if (value && is_array(given)) value = to_device(value, place());
      }
    } catch (Error& error) {
      name_argument(error, parameter);
      throw;
    }
  }

  // Allows operands that are items whose numbers are not needed. float_power computes with the
  // number in f64, whatever is beside it.
  void allow_recorded(bool may_be) {
    may_be_recorded_ = may_be && std::string_view(function_) != "float_power";
  }
  bool has_recorded() const { return has_recorded_; }

 private:
  // Where an array of NumPy goes: to the first tensor among the arguments, else to the default
  // device.
  Device place() const;
  static bool is_array(nb::handle given);
  void name_argument(Error& error, const Parameter& parameter) const;

  const char* function_;
  std::span<const nb::handle> values_;
  const nb::handle* value_;
  const Parameter* parameter_;
  bool may_be_recorded_ = false, has_recorded_ = false;
};

// ---- Storage for an argument while the function runs without Python's lock.

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

// The number of Python parameters that it represents.
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

// Python's names of the fields: specialised where the Array API and C++ have different names.
template <class T>
inline constexpr auto kNamesOfResults = reflect::kFieldNames<T>;

template <class T>
nb::handle named_tuple_of() {
  static const nb::handle type =
      make_named_tuple(reflect::type_name<T>(), kNamesOfResults<T>).release();
  return type;
}

template <class T>
  requires reflect::PlainAggregate<T>
nb::object to_python(const T& results) {
  nb::list values;
  reflect::for_each_field(
      results, [&](std::string_view, const Tensor& each) { values.append(to_python(each)); });
  return named_tuple_of<T>()(*values);
}

// ---- Annotations of each parameter, and of the result.

template <class T>
void add_annotation(nb::list& all) {
  using Held = typename HeldOf<std::remove_cvref_t<T>>::Type;
  if constexpr (Options<T>) {
    const std::remove_cvref_t<T> standard{};
    reflect::for_each_field(standard, [&](std::string_view, const auto& field) {
      add_annotation<decltype(field)>(all);
    });
  } else {
    all.append(annotation(Of<Held>()));
  }
}

template <class Result>
nb::object annotation_of_result() {
  if constexpr (std::is_void_v<Result>)
    return nb::none();
  else if constexpr (std::is_same_v<Result, Tensor>)
    return nb::str("Tensor");
  else if constexpr (std::is_same_v<Result, std::vector<Tensor>>)
    return nb::str("list[Tensor]");
  else if constexpr (std::is_same_v<Result, Tuple>)
    return nb::str("tuple[Tensor, ...]");
  else if constexpr (reflect::PlainAggregate<Result>)
    return nb::borrow(named_tuple_of<Result>());
  else
    return nb::str(annotation(Of<Result>()).c_str());
}

template <class Result, class... Arguments>
nb::list annotations() {
  nb::list all;
  (add_annotation<Arguments>(all), ...);
  all.append(annotation_of_result<Result>());
  return all;
}

// ---- Numbers of host code that is recorded.

// True if a function computes elementwise with numbers of any dtype: only operands, and a condition
// before two of them.
template <class... Arguments>
inline constexpr bool kTakesRecorded =
    sizeof...(Arguments) != 0 && (std::is_same_v<std::remove_cvref_t<Arguments>, Operand> && ...);
template <class... Arguments>
inline constexpr bool kTakesRecorded<const Tensor&, const Operand&, const Operand&, Arguments...> =
    sizeof...(Arguments) == 0;

// Gives each the dtype that it takes from those beside it.
template <class... Arguments>
void settle_recorded(std::tuple<Argument<Arguments>...>& held) {
  std::vector<DType> dtypes;
  const auto add = [&](const auto& each) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(each.value)>, PythonOperand>) {
      if (!each.value.is_recorded() && each.value.get().is_tensor()) {
        dtypes.push_back(each.value.get().tensor().dtype());
      }
    }
  };
  const auto settle = [&](auto& each) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(each.value)>, PythonOperand>) {
      each.value.settle(dtypes);
    }
  };
  std::apply([&](const auto&... each) { (add(each), ...); }, held);
  std::apply([&](auto&... each) { (settle(each), ...); }, held);
}

// ---- Calls. All functions of a signature share a caller.

// True if the last one is a device, where the result is placed.
template <class... Arguments>
inline constexpr bool kTakesPlacement = false;
template <class First, class... Others>
inline constexpr bool kTakesPlacement<First, Others...> =
    std::is_same_v<std::tuple_element_t<sizeof...(Others), std::tuple<First, Others...>>,
                   const Placement&>;

template <class Result, class... Arguments>
nb::object call(AnyFunction any, Given& given) {
  const auto function = reinterpret_cast<Result (*)(Arguments...)>(any);
  given.allow_recorded(kTakesRecorded<Arguments...>);
  std::tuple<Argument<Arguments>...> held{Argument<Arguments>(given)...};
  if constexpr (kTakesRecorded<Arguments...>) {
    if (given.has_recorded()) settle_recorded(held);
  }
  const auto run = [&] {
    return std::apply([&](const auto&... each) { return function(each.get()...); }, held);
  };
  if constexpr (std::is_void_v<Result>) {
    computed(run);
    return nb::none();
  } else if constexpr (kTakesPlacement<Arguments...>) {
    const Placement& place = std::get<sizeof...(Arguments) - 1>(held).value;
    return to_python(computed([&] { return place.of(run()); }));
  } else {
    return to_python(computed(run));
  }
}

// The same, with a device as another argument, which the function does not take.
template <class... Arguments>
nb::object call_with_device(AnyFunction any, Given& given) {
  const auto function = reinterpret_cast<Tensor (*)(Arguments...)>(any);
  std::tuple<Argument<Arguments>...> held{Argument<Arguments>(given)...};
  const Argument<const Placement&> place(given);
  return to_python(computed([&] {
    return place.value.of(
        std::apply([&](const auto&... each) { return function(each.get()...); }, held));
  }));
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

template <bool with_device, class Result, class... Arguments>
constexpr auto caller() {
  if constexpr (with_device)
    return &call_with_device<Arguments...>;
  else
    return &call<Result, Arguments...>;
}

template <bool with_device, class Result, class... Arguments>
constexpr auto annotations_of() {
  if constexpr (with_device)
    return &annotations<Result, Arguments..., const Placement&>;
  else
    return &annotations<Result, Arguments...>;
}

// The index of the parameter that takes all further positional arguments.
template <class... Arguments>
std::optional<size_t> rest_among() {
  std::optional<size_t> found;
  size_t i = 0;
  ((std::is_same_v<std::remove_cvref_t<Arguments>, Rest> ? void(found = i) : void(), ++i), ...);
  return found;
}

// If `takes` rejects the first argument, the next function of the same name is called. With a
// device, the result is placed there.
template <bool with_device = false, class Result, class... Arguments>
void add_one(nb::module_& module, const char* name, Result (*function)(Arguments...),
             const char* summary, Parameters parameters, bool (*takes)(nb::handle) = nullptr,
             bool is_shape_first = false) {
  constexpr size_t positional = (size_t{0} + ... + (Options<Arguments> ? 0 : 1));
  constexpr size_t all = (size_t{0} + ... + width_of<Arguments>());
  (add_options<Arguments>(parameters), ...);
  if (parameters.size() != all) nb::raise("%s: the table has other parameter names", name);
  if (with_device) parameters.emplace_back(nb::arg("device") = nb::none());
  Overload overload{caller<with_device, Result, Arguments...>(),
                    reinterpret_cast<AnyFunction>(function),
                    name,
                    summary,
                    annotations_of<with_device, Result, Arguments...>(),
                    std::move(parameters),
                    positional,
                    rest_among<Arguments...>(),
                    takes};
  overload.is_shape_first = is_shape_first;
  add_overload(module, std::move(overload));
}

template <class Signature, class... Names>
void add_functions(nb::module_& module, std::initializer_list<Entry<Signature>> functions,
                   const Names&... names) {
  for (const auto& [name, of, summary] : functions) {
    add_one(module, name, of, summary, {names...});
  }
}

}  // namespace plait::python
