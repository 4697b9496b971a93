// Tensor, its operators, and sizes.
#include <algorithm>
#include <array>

#include <nanobind/operators.h>

#include "plait/core/error.h"
#include "plait/core/inside/sizes/size_reader.h"
#include "plait/core/sizes/size_facts.h"
#include "plait/ops/arrays/rearrange.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/inside/along.h"
#include "plait/ops/products/linear.h"
#include "plait/tensor/tracing/derivation.h"
#include "plait/transform/control/control.h"

#include "python/bindings/bindings.h"

namespace plait::python {
namespace {

using BinaryFunction = Tensor (*)(const Operand&, const Operand&);
Tensor matmul_of(const Operand& a, const Operand& b) { return matmul(a.tensor(), b.tensor()); }

struct Operator {
  const char* name;  // "add" for __add__ and, if it exists, __radd__
  BinaryFunction of;
  bool has_reflected = true;  // comparisons have none
};
constexpr Operator kOperators[] = {
    {"add", add},
    {"sub", subtract},
    {"mul", multiply},
    {"truediv", divide},
    {"floordiv", floor_divide},
    {"mod", remainder},
    {"pow", power},
    {"matmul", matmul_of},
    {"and", bitwise_and},
    {"or", bitwise_or},
    {"xor", bitwise_xor},
    {"lshift", left_shift},
    {"rshift", right_shift},
    {"eq", equal, false},
    {"ne", not_equal, false},
    {"lt", less, false},
    {"le", less_equal, false},
    {"gt", greater, false},
    {"ge", greater_equal, false},
};

// True if there are only a few elements: releasing and reacquiring Python's lock would take longer
// than computing.
bool is_short(const Tensor& x) {
  constexpr int64_t kFew = 1024;
  return !x.is_traced() && !x.derivation() && x.is_array() && x.array().element_count() <= kFew;
}
bool is_short(const Operand& x) { return !x.is_tensor() || is_short(x.tensor()); }

// True if an object that is not an operand is meant as one: a tensor of another library, or a list
// in a comparison, which Python would find unequal without a word.
bool is_meant_as_operand(nb::handle other, bool compares) {
  if (PyList_Check(other.ptr()) || PyTuple_Check(other.ptr())) return compares;
  return nb::hasattr(other, "__dlpack__") && !nb::hasattr(other, "__array_interface__");
}

// All other objects that are not operands leave the operation to the other object's class.
nb::object apply_operator(BinaryFunction of, nb::handle self, nb::handle other, bool reflected,
                          bool compares) {
  if (is_item(other)) return nb::borrow(Py_NotImplemented);
  std::optional<PythonOperand> operand;
  try {
    operand.emplace(other);
  } catch (const TypeError&) {
    if (is_meant_as_operand(other, compares)) throw;
    return nb::borrow(Py_NotImplemented);
  }
  const Tensor mine = nb::cast<Tensor>(self);
  if (operand->is_array()) operand->move_to(mine.device());
  Tensor result;
  if (of == matmul_of) {
    const Tensor theirs = operand->tensor();
    result = computed([&] { return reflected ? matmul(theirs, mine) : matmul(mine, theirs); });
  } else {
    const Operand theirs = operand->get();
    const auto run = [&] { return reflected ? of(theirs, mine) : of(mine, theirs); };
    result = is_short(mine) && is_short(theirs) ? run() : computed(run);
  }
  return nb::cast(std::move(result));
}

void bind_operators(nb::class_<Tensor>& tensor) {
  for (const Operator& each : kOperators) {
    const BinaryFunction of = each.of;
    tensor.def(
        fmt::format("__{}__", each.name).c_str(),
        [of, compares = !each.has_reflected](nb::handle self, nb::handle other) {
          return apply_operator(of, self, other, false, compares);
        },
        nb::arg("other").none());
    if (!each.has_reflected) continue;
    tensor.def(
        fmt::format("__r{}__", each.name).c_str(),
        [of](nb::handle self, nb::handle other) {
          return apply_operator(of, self, other, true, false);
        },
        nb::arg("other").none());
  }
  tensor.def("__neg__", [](const Tensor& x) { return computed([&] { return negative(x); }); })
      .def("__pos__", [](const Tensor& x) { return x; })
      .def("__abs__", [](const Tensor& x) { return computed([&] { return absolute(x); }); })
      .def("__invert__", [](const Tensor& x) { return computed([&] { return bitwise_not(x); }); });
}

// The single element, as a Python bool, int, float or complex.
nb::object item(const Tensor& x) {
  const DType dtype = x.dtype();
  if (is_key(dtype)) throw TypeError("a key is not a number").at(Location::of_caller());
  const Element element = x.array().element();
  switch (kind_of(dtype)) {
    case DTypeKind::boolean: return nb::bool_(element.integer != 0);
    case DTypeKind::integer:
      return is_signed(dtype) ? nb::int_(static_cast<int64_t>(element.integer))
                              : nb::int_(element.integer);
    case DTypeKind::floating: return nb::float_(element.number.real());
    default: return nb::steal(PyComplex_FromDoubles(element.number.real(), element.number.imag()));
  }
}

// True if it was computed within a function that is being differentiated. Tapes follow tensors also
// where no derivative is wanted.
bool is_being_differentiated(const Tensor& x) {
  if (!x.derivation()) return false;
  const Derivation& derivation = *x.derivation();
  bool found = std::ranges::any_of(derivation.tangents,
                                   [](const auto& each) { return each->level->is_open(); });
  derivation.origin.levels.for_each(
      [&](const LevelPtr& level) { found = found || (level->is_open() && !level->is_of_tape()); });
  return found;
}

// The number for float() and complex(), which NumPy and `math` call too.
nb::object item_for_library(const Tensor& x, const char* name) {
  nb::object number = item(x);
  if (is_being_differentiated(x)) {
    nb::module_::import_("plait.inside.help.warning").attr("warn_of_number")(name);
  }
  return number;
}

// The numbers that plait.inside.arrays.items.Item represents.
bool has_item(DType dtype) {
  const DTypeKind kind = kind_of(dtype);
  return kind == DTypeKind::boolean || kind == DTypeKind::floating ||
         (kind == DTypeKind::integer && dtype != DType::u64);
}

nb::object item_for_host(nb::handle self) {
  const Tensor& x = tensor_in(self);
  const bool may_be_unknown = x.is_traced() && x.traced().actual && has_item(x.dtype());
  return may_be_unknown ? new_item(self) : item(x);
}

// NumPy's array interface of a tensor's memory, marked as read-only.
nb::dict array_interface(const Tensor& x) {
  const Array& array = x.array();
  const int64_t size = array.element_size();
  nb::list shape, strides;
  for (const int64_t count : array.sizes()) shape.append(count);
  for (const int64_t stride : array.layout().strides) strides.append(stride * size);
  nb::dict interface;
  interface["version"] = 3;
  interface["shape"] = nb::tuple(shape);
  interface["strides"] = nb::tuple(strides);
  interface["typestr"] = fmt::format("|V{}", size);
  interface["data"] = nb::make_tuple(reinterpret_cast<uintptr_t>(array.data()), true);
  return interface;
}

template <class Operation>
auto dim_operator(Operation operation) {
  return [operation](nb::handle a, nb::handle b) {
    return to_python(operation(dim_from(a), dim_from(b)));
  };
}

// Host code divides a size: the record is valid for nonzero divisors.
void expect_divisor(Dim a, std::string_view sign, Dim b) {
  if (b.is_number() || sizes_hold({b, SizeFact::not_equal, 0})) return;
  throw ValueError("{} {} {}: a size is divided by zero", a, sign, b).at(Location::of_caller());
}
Dim quotient(Dim a, Dim b) {
  expect_divisor(a, "//", b);
  return floor_div(a, b);
}
Dim remainder(Dim a, Dim b) {
  expect_divisor(a, "%", b);
  return mod(a, b);
}

// A bool if the sizes are known, which leaves a guard; else a bool[], for tests of loops
// and branches in a trace.
template <class Comparison>
auto dim_comparison(Comparison comparison) {
  return [comparison](nb::handle a, nb::handle b) -> nb::object {
    const SizeFact fact = comparison(dim_from(a), dim_from(b));
    if (const std::optional<bool> known = SizeReader::ask(fact)) return nb::bool_(*known);
    return to_python(holds(fact));
  };
}

// A size is an int for isinstance, like the number that it represents.
PyObject* class_of_size(PyObject*, void*) {
  return Py_NewRef(reinterpret_cast<PyObject*>(&PyLong_Type));
}

void bind_dims(nb::module_& module) {
  static std::array<PyGetSetDef, 2> getters = {
      PyGetSetDef{"__class__", class_of_size, nullptr, nullptr, nullptr}, PyGetSetDef{}};
  static std::array<PyType_Slot, 2> slots = {PyType_Slot{Py_tp_getset, getters.data()},
                                             PyType_Slot{0, nullptr}};
  nb::class_<Dim>(module, "Dim", nb::type_slots(slots.data()),
                  "A size that is an expression over named sizes.")
      .def("__add__", dim_operator([](Dim a, Dim b) { return a + b; }))
      .def("__radd__", dim_operator([](Dim a, Dim b) { return b + a; }))
      .def("__sub__", dim_operator([](Dim a, Dim b) { return a - b; }))
      .def("__rsub__", dim_operator([](Dim a, Dim b) { return b - a; }))
      .def("__mul__", dim_operator([](Dim a, Dim b) { return a * b; }))
      .def("__rmul__", dim_operator([](Dim a, Dim b) { return b * a; }))
      .def("__floordiv__", dim_operator(quotient))
      .def("__rfloordiv__", dim_operator([](Dim a, Dim b) { return quotient(b, a); }))
      .def("__mod__", dim_operator(remainder))
      .def("__rmod__", dim_operator([](Dim a, Dim b) { return remainder(b, a); }))
      .def("__eq__",
           [](Dim a, nb::handle b) -> nb::object {
             if (nb::isinstance<Dim>(b)) return nb::bool_(a == nb::cast<Dim>(b));
             if (PyIndex_Check(b.ptr())) return nb::bool_(a == Dim(integer_from(b)));
             return nb::borrow(Py_NotImplemented);
           })
      .def("__int__", [](Dim a) { return a.number(); })
      .def("__index__", [](Dim a) { return a.number(); })
      .def("__float__", [](Dim a) { return static_cast<double>(a.number()); })
      .def("__bool__", [](Dim a) { return a != Dim(0); })
      .def("__lt__", dim_comparison([](Dim a, Dim b) { return a < b; }))
      .def("__le__", dim_comparison([](Dim a, Dim b) { return a <= b; }))
      .def("__gt__", dim_comparison([](Dim a, Dim b) { return a > b; }))
      .def("__ge__", dim_comparison([](Dim a, Dim b) { return a >= b; }))
      .def("__hash__", [](Dim a) { return static_cast<int64_t>(a.word() >> 1); })
      .def("__repr__", [](Dim a) { return a.text(); });
  module.def(
      "symbol", [](const std::string& name) { return Dim::symbol(name); }, nb::arg("name"),
      "A symbolic size with this name.");
}

}  // namespace

void bind_tensor(nb::module_& module) {
  bind_dims(module);
  nb::class_<Tensor> tensor(module, "Tensor",
                            "An array of elements of one dtype. x[i] = y changes the elements of "
                            "this object only: results computed from it before keep theirs.",
                            nb::is_weak_referenceable());
  tensor
      .def("__init__",
           [](Tensor*, const nb::args&, const nb::kwargs&) {
             throw TypeError("plait.Tensor cannot be called")
                 .hint(
                     "plait.tensor([1.0, 2.0]) makes a tensor of numbers, plait.zeros((2, 3)) one "
                     "of a shape");
           })
      .def_prop_ro("dtype", [](const Tensor& x) { return PythonDType{x.dtype()}; })
      .def_prop_ro("shape", [](const Tensor& x) { return to_python(x.shape()); })
      .def_prop_ro("ndim", [](const Tensor& x) { return x.rank(); })
      .def_prop_ro("size", &element_count_of)
      .def_prop_ro("is_traced", [](const Tensor& x) { return x.is_traced(); })
      .def_prop_ro("is_contiguous", [](const Tensor& x) { return x.array().is_contiguous(); })
      .def("item", item_for_host,
           "The only element as a Python number; if it is recorded, an object that may be compared "
           "without being read.")
      .def("_read", item)
      .def("_array_interface", array_interface)
      .def("__repr__",
           [](const Tensor& x) {
             if (x.is_traced() && !x.traced().actual) return "traced " + x.type().text();
             if (!x.is_array()) return x.text();  // a read, if recorded
             const Tensor array(x.array());
             return array.device().is_cpu() ? array.text()
                                            : array.text() + " on " + text_of(array.device());
           })
      .def(
          "__bool__",
          [](const Tensor& x) { return x.is_traced() ? nb::bool_(x.truth()) : nb::bool_(item(x)); })
      .def("__float__", [](const Tensor& x) { return nb::float_(item_for_library(x, "float")); })
      .def("__int__", [](const Tensor& x) { return nb::int_(item(x)); })
      .def("__complex__",
           [](const Tensor& x) {
             const nb::object number = item_for_library(x, "complex");
             if (PyComplex_Check(number.ptr())) return number;
             return nb::steal(PyComplex_FromDoubles(nb::cast<double>(nb::float_(number)), 0));
           })
      .def("__index__",
           [](const Tensor& x) {
             if (is_integer(x.dtype())) return item(x);
             throw TypeError("an index is an integer, not {}", x.type().text())
                 .at(Location::of_caller());
           })
      .def("__len__",
           [](const Tensor& x) {
             if (x.rank() == 0) throw TypeError("a tensor without dimensions has no length");
             return to_python(x.shape(0));
           })
      .def("__hash__", [](nb::handle x) { return reinterpret_cast<intptr_t>(x.ptr()) >> 4; })
      .def(
          "requires_grad_",
          [](nb::handle self) {
            Tensor& x = tensor_in(self);
            x = x.requires_grad();
            return nb::borrow(self);
          },
          "Marks this object as one that a tape follows.")
      .def("_share", [](const Tensor& x) { return Tensor(x); })
      .def("_copied",
           [](const Tensor& x) { return computed([&] { return Tensor(x.array().copy()); }); })
      .def("__iter__", [](const Tensor& x) {
        if (x.rank() == 0) throw TypeError("a tensor without dimensions cannot be iterated over");
        return nb::iter(to_python(computed([&] { return unstack(x); })));
      });
  bind_operators(tensor);
  bind_indexing(tensor);
  bind_dlpack(tensor, module);
}

}  // namespace plait::python
