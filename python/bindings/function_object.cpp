#include "python/bindings/function_object.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <structmember.h>

#include "plait/core/error.h"

#include "python/bindings/bind.h"

namespace plait::python {

Parameter::Parameter(std::string_view given, nb::object value, bool none)
    : name(given), standard(std::move(value)), none_is_meant(none) {
  if (nb::isinstance<PythonDType>(standard)) dtype = nb::cast<PythonDType>(standard).dtype;
}

namespace {

struct FunctionObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  std::vector<Overload>* overloads;
  PyObject* module;
  PyObject* weak_references;
};

FunctionObject& function_of(PyObject* self) { return *reinterpret_cast<FunctionObject*>(self); }

// The arguments of a call as Python hands them over.
struct CallOfPython {
  PyObject* const* given;  // by place, and behind them those with names
  size_t by_place;
  PyObject* names;  // a tuple; null where there are none

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
  return parameters.size();
}

nb::object rest_of(const CallOfPython& call, size_t first) {
  nb::list rest;
  for (size_t i = first; i < call.by_place; ++i) rest.append(nb::handle(call.given[i]));
  return nb::tuple(rest);
}

// Whether the overload takes such arguments; if so, they are the values, one for each parameter.
bool fit(const Overload& overload, const CallOfPython& call, Values& values, nb::object& rest) {
  const Parameters& parameters = overload.parameters;
  const size_t count = parameters.size();
  const size_t places = overload.rest.value_or(overload.positional);
  if (call.by_place > places && !overload.rest) return false;
  const size_t by_place = std::min(call.by_place, places);
  for (size_t i = 0; i < by_place; ++i) values[i] = call.given[i];
  for (size_t i = by_place; i < count; ++i) values[i] = nb::handle();
  if (overload.rest) {
    if (by_place < places) return false;
    rest = rest_of(call, places);
    values[places] = rest;
  }
  for (size_t i = 0; i < call.named(); ++i) {
    const size_t place = place_of(parameters, call.name(i));
    if (place == count || values[place].is_valid()) return false;
    values[place] = call.given[call.by_place + i];
  }
  for (size_t i = 0; i < count; ++i) {
    if (!values[i].is_valid()) values[i] = parameters[i].standard;
    if (!values[i].is_valid()) return false;
    if (values[i].is_none() && !parameters[i].takes_none()) return false;
  }
  return overload.takes == nullptr || overload.takes(values[0]);
}

std::string shown_call(const Overload& overload) {
  std::string text = overload.name;
  text += '(';
  for (size_t i = 0; i < overload.parameters.size(); ++i) {
    const Parameter& each = overload.parameters[i];
    if (i != 0) text += ", ";
    if (overload.rest == i) text += '*';
    if (i == overload.positional && !overload.rest) text += "*, ";
    text += each.name;
    if (each.standard.is_valid()) text += fmt::format("={}", nb::repr(each.standard).c_str());
  }
  return text + ')';
}

// Why the overload does not take such arguments.
[[noreturn]] void refuse(const Overload& overload, const CallOfPython& call) {
  const Parameters& parameters = overload.parameters;
  const size_t places = overload.rest.value_or(overload.positional);
  std::vector<bool> is_given(parameters.size());
  const auto refused = [&](const std::string& why) {
    return TypeError("{}: {}", overload.name, why).hint(shown_call(overload));
  };
  if (call.by_place > places && !overload.rest) {
    throw refused(fmt::format("takes at most {} arguments by place, and {} are given", places,
                              call.by_place));
  }
  for (size_t i = 0; i < std::min(call.by_place, places); ++i) is_given[i] = true;
  if (overload.rest) is_given[places] = true;
  for (size_t i = 0; i < call.named(); ++i) {
    const size_t place = place_of(parameters, call.name(i));
    const std::string name = nb::str(nb::handle(call.name(i))).c_str();
    if (place == parameters.size()) {
      nb::list names;
      for (const Parameter& each : parameters) names.append(each.key);
      if (nearest_name(name, names).empty()) {
        throw refused(fmt::format("there is no argument '{}'", name));
      }
      throw no_argument(overload.name, name, names);
    }
    if (is_given[place]) throw refused(fmt::format("{} is given twice", name));
    is_given[place] = true;
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!is_given[i] && !parameters[i].standard.is_valid()) {
      throw refused(fmt::format("{} is not given", parameters[i].name));
    }
  }
  throw refused("takes no such None");
}

nb::object result_of(const FunctionObject& function, const CallOfPython& call) {
  Values values;
  nb::object rest;
  for (const Overload& each : *function.overloads) {
    if (!fit(each, call, values, rest)) continue;
    Given given(each.name, values.data(), each.parameters);
    return each.caller(each.function, given);
  }
  // What it lacks is told of the last one that would take the first argument.
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

// ---- What a function tells of itself.

nb::object signature_of(const Overload& overload) {
  const nb::module_ inspect = nb::module_::import_("inspect");
  const nb::object kind = inspect.attr("Parameter");
  const nb::list annotations = overload.annotations();
  nb::list parameters;
  for (size_t i = 0; i < overload.parameters.size(); ++i) {
    const Parameter& each = overload.parameters[i];
    const bool is_rest = overload.rest == i;
    const bool by_keyword = i >= overload.positional || (overload.rest && i > *overload.rest);
    const char* of = is_rest      ? "VAR_POSITIONAL"
                     : by_keyword ? "KEYWORD_ONLY"
                                  : "POSITIONAL_OR_KEYWORD";
    const bool has_standard = each.standard.is_valid() && !is_rest;
    parameters.append(kind(each.key, kind.attr(of),
                           nb::arg("default") = has_standard ? each.standard : kind.attr("empty"),
                           nb::arg("annotation") = annotations[i]));
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
nb::object doc_of(const FunctionObject& function) {
  const std::vector<Overload>& all = *function.overloads;
  std::string text;
  if (all.size() == 1) text = all.front().summary;
  for (size_t i = 0; all.size() > 1 && i < all.size(); ++i) {
    text += fmt::format("{}{}\n    {}", i == 0 ? "" : "\n\n", shown_call(all[i]), all[i].summary);
  }
  return with_example(nb::str(text.c_str()), function.module, all.front().name);
}
// Of each overload its signature and its sentence.
nb::object overloads_of(const FunctionObject& function) {
  nb::list all;
  for (const Overload& each : *function.overloads) {
    all.append(nb::make_tuple(signature_of(each), each.summary));
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

PyTypeObject* make_type() {
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
      {}};
  static PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {}};
  static PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
                                {Py_tp_repr, reinterpret_cast<void*>(represent)},
                                {Py_tp_members, members},
                                {Py_tp_getset, properties},
                                {Py_tp_methods, methods},
                                {}};
  static PyType_Spec spec = {
      "plait._core.Function", sizeof(FunctionObject), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
}

PyTypeObject* function_type() {
  static PyTypeObject* const type = make_type();
  return type;
}

// As users reach it: plait.linalg, not plait._core.linalg.
nb::object public_module_of(const nb::module_& module) {
  return module.attr("__name__").attr("replace")("plait._core", "plait");
}

}  // namespace

TypeError no_argument(std::string_view function, const std::string& name, nb::handle names) {
  TypeError error("{}: there is no argument '{}'", function, name);
  const std::string near = nearest_name(name, names);
  if (!near.empty()) error.set_hint(fmt::format("did you mean '{}'?", near));
  return error;
}

nb::object with_example(nb::object text, nb::handle module, const char* name) {
  return nb::module_::import_("plait.manual").attr("with_example")(text, module, name);
}

std::string nearest_name(const std::string& name, nb::handle names) {
  const nb::object near = nb::module_::import_("plait.names").attr("nearest")(name.c_str(), names);
  return near.is_none() ? std::string() : std::string(nb::str(near).c_str());
}

void add_overload(nb::module_& module, Overload overload) {
  const char* name = overload.name;
  if (overload.parameters.size() > kMostParameters) nb::raise("%s: too many parameters", name);
  for (Parameter& each : overload.parameters) {
    each.key = nb::steal(PyUnicode_InternFromString(each.name.c_str()));
  }
  const nb::object before = nb::getattr(module, name, nb::none());
  if (Py_TYPE(before.ptr()) == function_type()) {
    function_of(before.ptr()).overloads->push_back(std::move(overload));
    return;
  }
  auto* made = PyObject_New(FunctionObject, function_type());
  if (made == nullptr) nb::raise_python_error();
  made->vectorcall = vectorcall;
  made->overloads = new std::vector<Overload>{};
  made->overloads->push_back(std::move(overload));
  made->module = public_module_of(module).release().ptr();
  made->weak_references = nullptr;
  module.attr(name) = nb::steal(reinterpret_cast<PyObject*>(made));
}

}  // namespace plait::python
