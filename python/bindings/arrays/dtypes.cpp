#include "plait/core/error.h"

#include "python/bindings/bindings.h"

namespace plait::python {

namespace {

[[noreturn]] void refuse_dtype(const std::string& name) {
  nb::list names;
  for (const DTypeInfo& info : kDTypes) {
    names.append(std::string(info.name).c_str());
    names.append(std::string(info.long_name).c_str());
  }
  const std::string near = nearest_name(name, names);
  TypeError error("{} is not a dtype", name);
  if (!near.empty()) error.set_hint(fmt::format("did you mean '{}'?", near));
  throw error;
}

// "float32" of torch.float32; nothing for what is not a dtype of PyTorch.
std::optional<std::string> name_in_torch(nb::handle object) {
  const nb::handle type = object.type();
  if (!nb::str("torch").equal(type.attr("__module__"))) return std::nullopt;
  const std::string name = utf8_of(object);
  constexpr std::string_view kModule = "torch.";
  return name.starts_with(kModule) ? name.substr(kModule.size()) : name;
}

nb::object numpy_dtype_of(nb::handle object) {
  try {
    return nb::module_::import_("numpy").attr("dtype")(object);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
    throw TypeError("{} is not a dtype", utf8_of(nb::repr(object)));
  }
}

}  // namespace

DType dtype_from(nb::handle object) {
  if (nb::isinstance<PythonDType>(object)) return nb::cast<PythonDType>(object).dtype;
  if (nb::isinstance<nb::str>(object)) {
    const std::string name = utf8_of(object);
    if (const auto dtype = parse_dtype_or_alias(name)) return *dtype;
    refuse_dtype(name);
  }
  if (object.is(nb::handle(reinterpret_cast<PyObject*>(&PyBool_Type)))) return DType::boolean;
  if (object.is(nb::handle(reinterpret_cast<PyObject*>(&PyLong_Type)))) return DType::i64;
  if (object.is(nb::handle(reinterpret_cast<PyObject*>(&PyFloat_Type)))) return DType::f32;
  if (object.is(nb::handle(reinterpret_cast<PyObject*>(&PyComplex_Type)))) return DType::c64;
  if (const auto torch = name_in_torch(object)) {
    if (const auto dtype = parse_dtype_or_alias(*torch)) return *dtype;
    refuse_dtype("torch." + *torch);
  }
  const nb::object numpy = numpy_dtype_of(object);
  const std::string name = utf8_of(numpy.attr("name"));
  if (const auto dtype = parse_dtype_or_alias(name)) return *dtype;
  if (nb::len(numpy) == 1 && nb::cast<size_t>(numpy.attr("itemsize")) == sizeof(KeyBits) &&
      nb::str(numpy.attr("names")[nb::int_(0)]).equal(nb::str("key"))) {
    return DType::key;
  }
  throw TypeError("NumPy's {} is not a dtype of Plait", name);
}

namespace {

std::string kind_name(DType dtype) {
  switch (kind_of(dtype)) {
    case DTypeKind::boolean: return "boolean";
    case DTypeKind::integer: return "integer";
    case DTypeKind::floating: return "floating";
    case DTypeKind::complex: return "complex";
    case DTypeKind::key: return "key";
  }
  return {};
}

std::string text_of(std::string_view text) { return std::string(text); }

nb::str python_text(const std::string& text) { return nb::str(text.c_str(), text.size()); }

std::optional<ScalarKind> kind_of_numbers(nb::handle type) {
  if (type.is(&PyBool_Type)) return ScalarKind::boolean;
  if (type.is(&PyLong_Type)) return ScalarKind::integer;
  if (type.is(&PyFloat_Type)) return ScalarKind::floating;
  if (type.is(&PyComplex_Type)) return ScalarKind::complex;
  return std::nullopt;
}

// The kind of dtypes, and of bool, int, float and complex, which represent Python numbers.
PythonDType promoted(nb::handle all) {
  std::vector<DType> dtypes;
  std::vector<ScalarKind> numbers;
  for (const nb::handle each : all) {
    if (const auto kind = kind_of_numbers(each)) {
      numbers.push_back(*kind);
    } else {
      dtypes.push_back(dtype_from(each));
    }
  }
  return {promote(dtypes, numbers)};
}

nb::object limits_of(nb::handle object) {
  const DType dtype = dtype_from(object);
  if (is_integer(dtype)) {
    const IntegerLimits limits = integer_limits(dtype);
    return nb::make_tuple(limits.bits, limits.min, limits.max);
  }
  const FloatLimits limits = float_limits(dtype);
  return nb::make_tuple(limits.bits, limits.epsilon, limits.max, limits.smallest_normal,
                        limits.smallest_subnormal);
}

}  // namespace

void bind_dtypes(nb::module_& module) {
  using D = PythonDType;
  nb::class_<D>(module, "DType", "The type of a tensor's elements.", nb::is_weak_referenceable())
      .def(
          "__init__", [](D* self, nb::handle given) { new (self) D{dtype_from(given)}; },
          nb::arg("dtype"))
      .def_prop_ro("name", [](D d) { return python_text(text_of(name_of(d.dtype))); })
      .def_prop_ro("long_name",
                   [](D d) { return python_text(text_of(info_of(d.dtype).long_name)); })
      .def_prop_ro("kind", [](D d) { return python_text(kind_name(d.dtype)); })
      .def_prop_ro("itemsize", [](D d) { return size_of(d.dtype); })
      .def_prop_ro("is_signed", [](D d) { return is_signed(d.dtype); })
      .def("__repr__", [](D d) { return python_text("plait." + text_of(name_of(d.dtype))); })
      .def("__str__", [](D d) { return python_text(text_of(name_of(d.dtype))); })
      .def("__hash__", [](D d) { return static_cast<int64_t>(d.dtype); })
      .def(
          "__eq__",
          [](D d, nb::handle other) {
            return nb::isinstance<D>(other) && nb::cast<D>(other).dtype == d.dtype;
          },
          nb::arg("other").none());
  nb::list all;
  for (const DTypeInfo& info : kDTypes) {
    nb::object dtype = nb::cast(D{info.dtype});
    const std::string name = info.dtype == DType::boolean ? "boolean" : std::string(info.name);
    module.attr(name.c_str()) = dtype;
    module.attr(std::string(info.long_name).c_str()) = dtype;
    all.append(dtype);
  }
  module.attr("dtypes") = nb::tuple(all);
  module.def(
      "promote",
      [](nb::handle a, nb::handle b) {
        const DType dtype = dtype_from(a);
        const std::optional<ScalarKind> number = kind_of_numbers(b);
        return PythonDType{number ? promote(dtype, *number) : promote(dtype, dtype_from(b))};
      },
      nb::arg("a"), nb::arg("b"),
      "The dtype to which both promote. b may be bool, int, float or complex, for a Python "
      "number.");
  module.def("_promoted", promoted, nb::arg("all"));
  module.def("_limits", limits_of, nb::arg("dtype"));
}

}  // namespace plait::python
