// The Python class of the functions in the tables. It parses arguments itself, so that a call costs
// little, inspect.signature works, and errors name the function and parameter.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "python/bindings/bindings.h"

namespace plait::python {

struct Parameter {
  std::string name;
  nb::object standard;         // invalid if the argument is required
  std::optional<DType> dtype;  // the dtype that None means
  nb::object key{};            // the interned name, as in Python's calls
  bool none_is_meant = false;
  bool is_spread = false;  // zeros(2, 3) is accepted for zeros((2, 3))

  Parameter(const nb::arg& named) : name(named.name_) {}  // NOLINT: implicit, as in nanobind
  Parameter(const nb::arg_v& named) : Parameter(named.name_, named.value) {}  // NOLINT
  // None is a value of its own, and neither a dtype nor the default.
  Parameter(std::string_view given, nb::object value, bool none = false);
  // A sequence of integers that may be passed without brackets.
  static Parameter spread(std::string_view name, nb::object standard = {});

  bool takes_none() const { return none_is_meant || dtype || standard.is_none(); }
};
using Parameters = std::vector<Parameter>;

struct OtherMeaning;
class Given;
using AnyFunction = void (*)();

// One overload of a function.
struct Overload {
  nb::object (*caller)(AnyFunction, Given&);
  AnyFunction function;
  const char* name;
  const char* summary;
  nb::list (*annotations)();  // annotations of the parameters, and of the result
  Parameters parameters;
  size_t positional;                          // the first ones; the others are keyword-only
  std::optional<size_t> rest = {};            // which one takes all further positional arguments
  bool (*takes)(nb::handle first) = nullptr;  // if it returns false, the next overload is called
  std::optional<size_t> spread = {};  // index of the parameter that may be passed without brackets
  const OtherMeaning* other = nullptr;  // the meaning of PyTorch's dim=, if it differs
  bool is_method = false;
  const char* by_keyword = nullptr;  // for a method: why no more arguments are taken by place
  bool is_shape_first = false;  // and numbers follow, which other libraries have in front of it
};

constexpr size_t kMostParameters = 32;

// Adds a function to the module, or an overload of an existing one.
void add_overload(nb::module_& module, Overload overload);
// Registers _method(function, name, by_place, why), which makes a method of a function.
void bind_methods(nb::module_& module);

}  // namespace plait::python
