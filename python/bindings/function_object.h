// The class of the functions that the tables make: it reads what Python gives itself, so that a
// call costs little, inspect.signature tells of it, and errors name what was meant.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "python/bindings/bindings.h"

namespace plait::python {

struct Parameter {
  std::string name;
  nb::object standard;         // none where the argument must be given
  std::optional<DType> dtype;  // what None stands for
  nb::object key{};            // the name as Python's call has it
  bool none_is_meant = false;
  bool is_spread = false;  // zeros(2, 3) says what zeros((2, 3)) does

  Parameter(const nb::arg& named) : name(named.name_) {}  // NOLINT: written as nanobind does
  Parameter(const nb::arg_v& named) : Parameter(named.name_, named.value) {}  // NOLINT
  // None says something of its own, where it is no dtype and no default.
  Parameter(std::string_view given, nb::object value, bool none = false);
  // A sequence of whole numbers, which may be written without its brackets.
  static Parameter spread(std::string_view name, nb::object standard = {});

  bool takes_none() const { return none_is_meant || dtype || standard.is_none(); }
};
using Parameters = std::vector<Parameter>;

struct OtherMeaning;
class Given;
using AnyFunction = void (*)();

// One way to call a function.
struct Overload {
  nb::object (*caller)(AnyFunction, Given&);
  AnyFunction function;
  const char* name;
  const char* summary;
  nb::list (*annotations)();  // of the parameters, and of the result
  Parameters parameters;
  size_t positional;                // the first ones; the others are given by keyword only
  std::optional<size_t> rest = {};  // which one takes all further arguments by place
  bool (*takes)(nb::handle first) = nullptr;  // else the call is the next overload's
  std::optional<size_t> spread = {};          // which one may be written without brackets
  const OtherMeaning* other = nullptr;        // what PyTorch's dim= would say
  bool is_method = false;
  const char* by_keyword = nullptr;  // of a method: why no more arguments are taken by place
  bool is_shape_first = false;  // and numbers follow, which other libraries have in front of it
};

constexpr size_t kMostParameters = 32;

// A function of the module, or one more way to call it.
void add_overload(nb::module_& module, Overload overload);
// _method(function, name, by_place, why): the function as a method of its first argument.
void bind_methods(nb::module_& module);

}  // namespace plait::python
