#include "python/bindings/functions/function_object.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <structmember.h>

#include "plait/core/error.h"

#include "python/bindings/functions/argument_names.h"
#include "python/bindings/functions/bind.h"

namespace plait::python {

Parameter::Parameter(std::string_view given, nb::object value, bool none)
    : name(given), standard(std::move(value)), none_is_meant(none) {
  if (standard.is_valid() && nb::isinstance<PythonDType>(standard)) {
    dtype = nb::cast<PythonDType>(standard).dtype;
  }
}

Parameter Parameter::spread(std::string_view name, nb::object standard) {
  Parameter made(name, std::move(standard));
  made.is_spread = true;
  return made;
}

namespace {

struct FunctionObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  std::vector<Overload>* overloads;
  PyObject* module;
  PyObject* weak_references;
};

FunctionObject& function_of(PyObject* self) { return *reinterpret_cast<FunctionObject*>(self); }

// The arguments of a call as passed by Python.
struct CallOfPython {
  PyObject* const* given;  // positional ones, followed by the values of keywords
  size_t by_place;
  PyObject* names;  // a tuple; null without keywords

  size_t named() const { return names == nullptr ? 0 : PyTuple_GET_SIZE(names); }
  PyObject* name(size_t i) const { return PyTuple_GET_ITEM(names, i); }
};

using Values = std::array<nb::handle, kMostParameters>;

size_t place_of(const Parameters& parameters, PyObject* name) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].key.ptr() == name) return i;
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (PyUnicode_Compare(parameters[i].key.ptr(), name) == 0) return i;
  }
  const std::string given = utf8_of(name);
  const std::string_view meant = name_meant(given, [&](std::string_view each) {
    return std::ranges::find(parameters, each, &Parameter::name) != parameters.end();
  });
  const auto found = std::ranges::find(parameters, meant, &Parameter::name);
  return static_cast<size_t>(found - parameters.begin());
}

// True for a size; booleans and tensors are not sizes here.
bool is_one_size(nb::handle given) {
  if (PyLong_Check(given.ptr())) return PyBool_Check(given.ptr()) == 0;
  return nb::isinstance<Dim>(given) ||
         (PyIndex_Check(given.ptr()) != 0 && !nb::hasattr(given, "__array_interface__"));
}

// NumPy's functions pass out=None to methods of every array.
bool is_nothing(const Overload& overload, PyObject* name, nb::handle value) {
  if (!overload.is_method || !value.is_none()) return false;
  return PyUnicode_CompareWithASCIIString(name, "out") == 0 ||
         PyUnicode_CompareWithASCIIString(name, "dtype") == 0;
}

// The number of positional arguments that form one parameter: several sizes without brackets.
size_t count_of_spread(const Overload& overload, const CallOfPython& call) {
  if (!overload.spread || call.by_place < *overload.spread + 2) return 1;
  size_t end = *overload.spread;
  while (end < call.by_place && is_one_size(call.given[end])) ++end;
  return std::max<size_t>(end - *overload.spread, 1);
}

nb::object gathered(const CallOfPython& call, size_t first, size_t count) {
  nb::list all;
  for (size_t i = first; i < first + count; ++i) all.append(nb::handle(call.given[i]));
  return nb::tuple(all);
}

// True if the overload accepts the arguments; then they are stored as values, one per parameter.
bool fit(const Overload& overload, const CallOfPython& call, Values& values, nb::object& rest) {
  const Parameters& parameters = overload.parameters;
  const size_t count = parameters.size();
  const size_t places = overload.rest.value_or(overload.positional);
  const size_t spread = count_of_spread(overload, call);
  if (call.by_place - (spread - 1) > places && !overload.rest) return false;
  const size_t by_place = std::min(call.by_place - (spread - 1), places);
  for (size_t i = 0; i < by_place; ++i) values[i] = call.given[i];
  for (size_t i = by_place; i < count; ++i) values[i] = nb::handle();
  if (spread > 1) {
    rest = gathered(call, *overload.spread, spread);
    values[*overload.spread] = rest;
    for (size_t i = *overload.spread + 1; i < by_place; ++i) values[i] = call.given[i + spread - 1];
  }
  if (overload.rest) {
    if (by_place < places) return false;
    rest = gathered(call, places, call.by_place - places);
    values[places] = rest;
  }
  for (size_t i = 0; i < call.named(); ++i) {
    const size_t place = place_of(parameters, call.name(i));
    const nb::handle value = call.given[call.by_place + i];
    if (place == count && is_nothing(overload, call.name(i), value)) continue;
    if (place == count || values[place].is_valid()) return false;
    values[place] = value;
  }
  for (size_t i = 0; i < count; ++i) {
    if (!values[i].is_valid()) values[i] = parameters[i].standard;
    if (!values[i].is_valid()) return false;
    if (values[i].is_none() && !parameters[i].takes_none()) return false;
  }
  return overload.takes == nullptr || overload.takes(values[0]);
}

std::string shown_call(const Overload& overload) {
  const size_t first = overload.is_method ? 1 : 0;
  std::string text = overload.is_method ? "x." : "";
  text += overload.name;
  text += '(';
  for (size_t i = first; i < overload.parameters.size(); ++i) {
    const Parameter& each = overload.parameters[i];
    if (i != first) text += ", ";
    if (overload.rest == i) text += '*';
    if (i == overload.positional && !overload.rest) text += "*, ";
    text += each.name;
    if (each.standard.is_valid()) text += fmt::format("={}", utf8_of(nb::repr(each.standard)));
  }
  return text + ')';
}

// Explains why the overload does not accept the arguments.
[[noreturn]] void refuse(const Overload& overload, const CallOfPython& call) {
  const Parameters& parameters = overload.parameters;
  const size_t places = overload.rest.value_or(overload.positional);
  std::vector<bool> is_given(parameters.size());
  const auto refused = [&](const std::string& why) {
    return TypeError("{}: {}", overload.name, why).hint(shown_call(overload));
  };
  const size_t by_place = call.by_place - (count_of_spread(overload, call) - 1);
  if (by_place > places && !overload.rest) {
    if (overload.by_keyword != nullptr) {
      throw TypeError("{}: takes no positional arguments", overload.name).hint(overload.by_keyword);
    }
    const size_t own = overload.is_method ? 1 : 0;
    throw refused(fmt::format("takes at most {} positional arguments, but {} are given",
                              places - own, by_place - own));
  }
  for (size_t i = 0; i < std::min(by_place, places); ++i) is_given[i] = true;
  if (overload.rest) is_given[places] = true;
  for (size_t i = 0; i < call.named(); ++i) {
    const size_t place = place_of(parameters, call.name(i));
    const std::string name = utf8_of(nb::handle(call.name(i)));
    if (place == parameters.size()) {
      nb::list names;
      for (const Parameter& each : parameters) names.append(each.key);
      if (replacement_of(name).empty() && nearest_name(name, names).empty()) {
        throw refused(fmt::format("unknown argument '{}'", name));
      }
      throw no_argument(overload.name, name, names);
    }
    if (is_given[place]) throw refused(fmt::format("{} is given twice", name));
    is_given[place] = true;
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!is_given[i] && !parameters[i].standard.is_valid()) {
      throw refused(fmt::format("{} is missing", parameters[i].name));
    }
  }
  throw refused("does not accept None here");
}

// A keyword of PyTorch whose meaning would differ.
void expect_meaning(const Overload& overload, const CallOfPython& call, const Values& values) {
  const OtherMeaning& other = *overload.other;
  for (size_t i = 0; i < overload.parameters.size(); ++i) {
    const Parameter& each = overload.parameters[i];
    if (each.name == other.unless && !values[i].is(each.standard)) return;
  }
  for (size_t i = 0; i < call.named(); ++i) {
    const std::string name = utf8_of(nb::handle(call.name(i)));
    if (!is_word_of_pytorch(name)) continue;
    throw TypeError("{}: '{}' is PyTorch's name, whose {} returns something else", overload.name,
                    name, overload.name)
        .hint(other.replacement);
  }
}

// normal(0, 1, (3,)), as other libraries have it, where the shape may be one number.
void expect_shape_first(const Overload& overload, const CallOfPython& call) {
  if (call.by_place < 2) return;
  if (!is_one_size(call.given[0]) && PyFloat_Check(call.given[0]) == 0) return;
  PyObject* second = call.given[1];
  if (PyLong_Check(second) == 0 && PyFloat_Check(second) == 0) return;
  throw TypeError("{}: expected a shape, not {} followed by {}", overload.name,
                  utf8_of(nb::repr(call.given[0])), utf8_of(nb::repr(second)))
      .at(Location::of_caller())
      .hint(fmt::format("the shape is the first argument, a tuple: plait.random.{}((3,), 0, 1)",
                        overload.name));
}

nb::object result_of(const FunctionObject& function, const CallOfPython& call) {
  Values values;
  nb::object rest;
  for (const Overload& each : *function.overloads) {
    if (!fit(each, call, values, rest)) continue;
    if (each.other != nullptr && call.named() != 0) expect_meaning(each, call, values);
    if (each.is_shape_first) expect_shape_first(each, call);
    Given given(each.name, values.data(), each.parameters);
    return each.caller(each.function, given);
  }
  // The error describes the last overload that would accept the first argument.
  const Overload* meant = &function.overloads->back();
  for (const Overload& each : *function.overloads) {
    if (each.takes != nullptr && call.by_place > 0 && each.takes(call.given[0])) meant = &each;
  }
  refuse(*meant, call);
}

PyObject* vectorcall(PyObject* self, PyObject* const* given, size_t count, PyObject* names) {
  try {
    const auto by_place = static_cast<size_t>(PyVectorcall_NARGS(count));
    return result_of(function_of(self), {given, by_place, names}).release().ptr();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

// ---- Introspection.

// Spelling of the parameters: Plait's, with PyTorch's names, or with one parameter spread.
enum class Spelling : uint8_t { own, pytorch, spread };

std::string_view word_of_pytorch(std::string_view name) {
  return name == "axis" || name == "axes" ? "dim" : name == "keepdims" ? "keepdim" : name;
}

bool has_spelling(const Overload& overload, Spelling spelling) {
  if (spelling == Spelling::own) return true;
  if (spelling == Spelling::spread) return overload.spread.has_value();
  if (overload.rest || (overload.other != nullptr && overload.other->unless.empty())) return false;
  return std::ranges::any_of(overload.parameters, [](const auto& each) {
    return word_of_pytorch(each.name) != each.name;
  });
}

nb::object signature_of(const Overload& overload, Spelling spelling = Spelling::own) {
  const nb::module_ inspect = nb::module_::import_("inspect");
  const nb::object kind = inspect.attr("Parameter");
  const nb::list annotations = overload.annotations();
  nb::list parameters;
  bool by_keyword = false, is_renamed = false;
  for (size_t i = 0; i < overload.parameters.size(); ++i) {
    const Parameter& each = overload.parameters[i];
    std::string_view name = each.name;
    if (spelling == Spelling::pytorch) name = word_of_pytorch(name);
    const bool is_spread = spelling == Spelling::spread && overload.spread == i;
    const bool is_rest = overload.rest == i || is_spread;
    by_keyword = by_keyword || i >= overload.positional || name != each.name;
    const char* of = is_rest      ? "VAR_POSITIONAL"
                     : by_keyword ? "KEYWORD_ONLY"
                                  : "POSITIONAL_OR_KEYWORD";
    // Either PyTorch's first keyword is used, or the call is one of Plait's own.
    const bool is_first = name != each.name && !std::exchange(is_renamed, true);
    const bool has_unknown_read =
        is_first || (spelling == Spelling::pytorch && overload.other != nullptr &&
                     overload.other->unless == each.name);
    const bool has_standard = each.standard.is_valid() && !is_rest && !has_unknown_read;
    parameters.append(
        kind(nb::str(name.data(), name.size()), kind.attr(of),
             nb::arg("default") = has_standard ? each.standard : kind.attr("empty"),
             nb::arg("annotation") = is_spread ? nb::object(nb::str("Size")) : annotations[i]));
    by_keyword = by_keyword || is_rest;
  }
  return inspect.attr("Signature")(
      parameters, nb::arg("return_annotation") = annotations[overload.parameters.size()]);
}

template <nb::object (*get)(const FunctionObject&)>
PyObject* getter(PyObject* self, void*) {
  try {
    return get(function_of(self)).release().ptr();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

nb::object name_of_function(const FunctionObject& function) {
  return nb::str(function.overloads->front().name);
}
nb::object module_of(const FunctionObject& function) { return nb::borrow(function.module); }
nb::object signature(const FunctionObject& function) {
  return signature_of(function.overloads->front());
}
std::string words_of_pytorch(const Overload& overload) {
  std::string text;
  for (const Parameter& each : overload.parameters) {
    const std::string_view word = word_of_pytorch(each.name);
    if (word == each.name) continue;
    text += fmt::format("{}{}= is {}=", text.empty() ? "PyTorch's " : ", ", word, each.name);
  }
  return text + ".";
}
nb::object doc_of(const FunctionObject& function) {
  const std::vector<Overload>& all = *function.overloads;
  std::string text;
  if (all.size() == 1) text = all.front().summary;
  for (size_t i = 0; all.size() > 1 && i < all.size(); ++i) {
    text += fmt::format("{}{}\n    {}", i == 0 ? "" : "\n\n", shown_call(all[i]), all[i].summary);
  }
  if (has_spelling(all.front(), Spelling::pytorch)) text += "\n\n" + words_of_pytorch(all.front());
  return with_example(nb::str(text.c_str()), function.module, all.front().name);
}
// For each overload its signature and its summary.
nb::object overloads_of(const FunctionObject& function) {
  nb::list all;
  for (const Overload& each : *function.overloads) {
    all.append(nb::make_tuple(signature_of(each), each.summary));
  }
  return nb::tuple(all);
}
// Further signatures, with the names of other libraries.
nb::object variants_of(const FunctionObject& function) {
  nb::list all;
  for (const Overload& each : *function.overloads) {
    for (const Spelling spelling : {Spelling::pytorch, Spelling::spread}) {
      if (has_spelling(each, spelling)) all.append(signature_of(each, spelling));
    }
  }
  return nb::tuple(all);
}
nb::object repr_of(const FunctionObject& function) {
  return nb::str("<function {}.{}>")
      .attr("format")(nb::handle(function.module), function.overloads->front().name);
}

PyObject* represent(PyObject* self) { return getter<repr_of>(self, nullptr); }
PyObject* reduce(PyObject* self, PyObject*) { return getter<name_of_function>(self, nullptr); }

void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  if (function_of(self).weak_references != nullptr) PyObject_ClearWeakRefs(self);
  delete function_of(self).overloads;
  Py_DECREF(function_of(self).module);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* bound_method(PyObject* self, PyObject* object, PyObject*) {
  return object == nullptr || object == Py_None ? Py_NewRef(self) : PyMethod_New(self, object);
}

// Methods have an additional slot, by which they are bound to their first argument.
PyTypeObject* make_type(bool is_method) {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(FunctionObject, vectorcall), READONLY, nullptr},
      {"__weaklistoffset__", T_PYSSIZET, offsetof(FunctionObject, weak_references), READONLY,
       nullptr},
      {}};
  static PyGetSetDef properties[] = {
      {"__name__", getter<name_of_function>, nullptr, nullptr, nullptr},
      {"__qualname__", getter<name_of_function>, nullptr, nullptr, nullptr},
      {"__module__", getter<module_of>, nullptr, nullptr, nullptr},
      {"__doc__", getter<doc_of>, nullptr, nullptr, nullptr},
      {"__signature__", getter<signature>, nullptr, nullptr, nullptr},
      {"_overloads", getter<overloads_of>, nullptr, nullptr, nullptr},
      {"_variants", getter<variants_of>, nullptr, nullptr, nullptr},
      {}};
  static PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {}};
  static PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
                                {Py_tp_repr, reinterpret_cast<void*>(represent)},
                                {Py_tp_members, members},
                                {Py_tp_getset, properties},
                                {Py_tp_methods, methods},
                                {0, nullptr},
                                {}};
  if (is_method) slots[6] = {Py_tp_descr_get, reinterpret_cast<void*>(bound_method)};
  constexpr unsigned kFlags =
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  PyType_Spec spec = {is_method ? "plait._core.Method" : "plait._core.Function",
                      sizeof(FunctionObject), 0,
                      is_method ? unsigned{kFlags | Py_TPFLAGS_METHOD_DESCRIPTOR} : kFlags, slots};
  return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
}

PyTypeObject* function_type() {
  static PyTypeObject* const type = make_type(false);
  return type;
}
PyTypeObject* method_type() {
  static PyTypeObject* const type = make_type(true);
  return type;
}

FunctionObject& new_function(PyTypeObject* type, nb::handle module) {
  auto* made = PyObject_New(FunctionObject, type);
  if (made == nullptr) nb::raise_python_error();
  made->vectorcall = vectorcall;
  made->overloads = new std::vector<Overload>{};
  made->module = Py_NewRef(module.ptr());
  made->weak_references = nullptr;
  return *made;
}

// The public name: plait.linalg, not plait._core.linalg.
nb::object public_module_of(const nb::module_& module) {
  return module.attr("__name__").attr("replace")("plait._core", "plait");
}

}  // namespace

TypeError no_argument(std::string_view function, const std::string& name, nb::handle names) {
  TypeError error("{}: unknown argument '{}'", function, name);
  const std::string_view replacement = replacement_of(name);
  if (!replacement.empty()) {
    error.set_hint(std::string(replacement));
    return error;
  }
  const std::string near = nearest_name(name, names);
  if (!near.empty()) error.set_hint(fmt::format("did you mean '{}'?", near));
  return error;
}

nb::object with_example(nb::object text, nb::handle module, const char* name) {
  return nb::module_::import_("plait.inside.help.manual").attr("with_example")(text, module, name);
}

std::string nearest_name(const std::string& name, nb::handle names) {
  const nb::object near =
      nb::module_::import_("plait.inside.help.names").attr("nearest")(text_to_python(name), names);
  return near.is_none() ? std::string() : utf8_of(near);
}

void add_overload(nb::module_& module, Overload overload) {
  const char* name = overload.name;
  if (overload.parameters.size() > kMostParameters) nb::raise("%s: too many parameters", name);
  for (size_t i = 0; i < overload.parameters.size(); ++i) {
    Parameter& each = overload.parameters[i];
    each.key = nb::steal(PyUnicode_InternFromString(each.name.c_str()));
    if (each.is_spread) overload.spread = i;
  }
  overload.other = other_meaning(name);
  const nb::object before = nb::getattr(module, name, nb::none());
  if (Py_TYPE(before.ptr()) == function_type()) {
    function_of(before.ptr()).overloads->push_back(std::move(overload));
    return;
  }
  FunctionObject& made = new_function(function_type(), public_module_of(module));
  made.overloads->push_back(std::move(overload));
  module.attr(name) = nb::steal(reinterpret_cast<PyObject*>(&made));
}

namespace {

// Limits the number of positional arguments after the first one; `why` explains this in errors.
nb::object method_of(nb::handle function, const std::string& name, std::optional<size_t> by_place,
                     std::optional<std::string> why) {
  if (Py_TYPE(function.ptr()) != function_type()) {
    throw TypeError("_method: {} is not a function of a table", utf8_of(nb::repr(function)));
  }
  const auto kept = [](const std::string& text) { return (new std::string(text))->c_str(); };
  FunctionObject& made = new_function(method_type(), nb::str("plait"));
  for (Overload each : *function_of(function.ptr()).overloads) {
    each.name = kept(name);
    each.is_method = true;
    each.other = other_meaning(name);
    if (by_place) each.positional = std::min(each.positional, *by_place + 1);
    if (why) each.by_keyword = kept(*why);
    made.overloads->push_back(std::move(each));
  }
  return nb::steal(reinterpret_cast<PyObject*>(&made));
}

}  // namespace

void bind_methods(nb::module_& module) {
  module.def("_method", &method_of, nb::arg("function"), nb::arg("name"),
             nb::arg("by_place").none() = nb::none(), nb::arg("why").none() = nb::none());
}

}  // namespace plait::python
