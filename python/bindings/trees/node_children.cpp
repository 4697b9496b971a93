#include "python/bindings/trees/node_children.h"

#include <span>

#include "python/bindings/trees/constants.h"
#include "python/bindings/trees/node_kinds.h"
#include "python/bindings/trees/registered_classes.h"

namespace plait::python {
namespace {

// A size used as a key becomes its number, by which it was hashed.
nb::object name_from(nb::object key) {
  if (!is_size(key.ptr())) return key;
  PyObject* number = PyNumber_Index(key.ptr());
  if (number == nullptr) PyErr_Clear();
  return number == nullptr ? key : nb::steal(number);
}

void add_entries(PyObject* dict, Children& children) {
  const nb::object items = checked(PyMapping_Items(dict));
  const Py_ssize_t count = PyList_GET_SIZE(items.ptr());
  children.names = checked(PyTuple_New(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    const nb::handle item = PyList_GET_ITEM(items.ptr(), i);
    PyTuple_SET_ITEM(children.names.ptr(), i, name_from(nb::object(item[0])).release().ptr());
    children.values.push_back(item[1]);
  }
}

void add_fields(nb::handle dataclass, Children& children) {
  nb::list names;
  for (const nb::handle field : nb::module_::import_("dataclasses").attr("fields")(dataclass)) {
    const nb::object name = field.attr("name");
    names.append(name);
    children.values.push_back(nb::getattr(dataclass, name));
  }
  children.names = nb::tuple(names);
}

// The static part, then the children.
void add_flattened(nb::handle value, Children& children) {
  const nb::tuple flat = registered_as(Py_TYPE(value.ptr()))->flattened(value);
  children.values.push_back(flat[1]);
  const nb::object parts = flat[0];
  if (PyDict_Check(parts.ptr()) == 0) {
    for (const nb::handle each : parts) children.values.push_back(nb::borrow(each));
    return;
  }
  Children named;
  add_entries(parts.ptr(), named);
  children.names = nb::make_tuple("static") + named.names;
  children.values.insert(children.values.end(), named.values.begin(), named.values.end());
}

nb::object new_dataclass(nb::handle type, const nb::object& names, const Objects& children) {
  const nb::object fields = type.attr("__dataclass_fields__");
  nb::dict to_init;
  Objects later;  // names and values, alternating
  for (size_t i = 0; i < children.size(); ++i) {
    const nb::object name = names[i];
    if (nb::cast<bool>(fields[name].attr("init"))) {
      to_init[name] = children[i];
    } else {
      later.insert(later.end(), {name, children[i]});
    }
  }
  nb::object made = type(**to_init);
  for (size_t i = 0; i < later.size(); i += 2) {
    if (PyObject_GenericSetAttr(made.ptr(), later[i].ptr(), later[i + 1].ptr()) != 0) {
      throw nb::python_error();
    }
  }
  return made;
}

nb::object new_registered(nb::handle type, const nb::object& names, const Objects& children) {
  nb::object own;  // without the name of the static part
  if (names.is_valid())
    own = checked(PyTuple_GetSlice(names.ptr(), 1, PyTuple_GET_SIZE(names.ptr())));
  const Registered* as = registered_as(reinterpret_cast<PyTypeObject*>(type.ptr()));
  return as->made(children[0], own, std::span(children).subspan(1));
}

void set_entries(PyObject* dict, const nb::object& names, const Objects& children) {
  for (size_t i = 0; i < children.size(); ++i) {
    PyObject* name = PyTuple_GET_ITEM(names.ptr(), static_cast<Py_ssize_t>(i));
    if (PyDict_SetItem(dict, name, children[i].ptr()) != 0) throw nb::python_error();
  }
}

nb::object new_dict(const nb::object& names, const Objects& children) {
  nb::dict made;
  set_entries(made.ptr(), names, children);
  return made;
}

// Without a call of __init__.
nb::object new_module(const nb::object& type, const nb::object& names, const Objects& children) {
  static const nb::handle no_arguments = nb::tuple().release();
  auto* cls = reinterpret_cast<PyTypeObject*>(type.ptr());
  const bool is_simple = cls == simple_namespace();
  nb::object made = is_simple ? checked(PyObject_CallNoArgs(type.ptr()))
                              : checked(PyBaseObject_Type.tp_new(cls, no_arguments.ptr(), nullptr));
  set_entries(dict_of(made).ptr(), names, children);
  return made;
}

nb::object new_deque(const nb::object& type, const Objects& children) {
  nb::list elements;
  for (size_t i = 0; i + 1 < children.size(); ++i) elements.append(children[i]);
  return type(elements, children.back());
}

nb::object new_sequence(Structure::Kind kind, const nb::object& type, const Objects& children) {
  nb::object tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(children.size())));
  for (size_t i = 0; i < children.size(); ++i) {
    PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i),
                     nb::object(children[i]).release().ptr());
  }
  if (type.is(nb::handle(reinterpret_cast<PyObject*>(&PyTuple_Type)))) return tuple;
  if (kind == Structure::Kind::sequence) return type(tuple);
  return checked(PyObject_CallObject(type.ptr(), tuple.ptr()));
}

}  // namespace

bool is_same_name(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (PyTuple_CheckExact(a) == 0) return are_equal(nb::borrow(a), nb::borrow(b));
  const Py_ssize_t count = PyTuple_GET_SIZE(a);
  if (PyTuple_GET_SIZE(b) != count) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!is_same_name(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i))) return false;
  }
  return true;
}

nb::object dict_of(nb::handle object) {
  return checked(PyObject_GenericGetDict(object.ptr(), nullptr));
}

Children children_of(nb::handle value, Structure::Kind kind) {
  using Kind = Structure::Kind;
  Children children;
  if (kind == Kind::sequence || kind == Kind::named_tuple || kind == Kind::deque) {
    const nb::object fast = checked(PySequence_Fast(value.ptr(), "a list or a tuple"));
    PyObject* const* first = PySequence_Fast_ITEMS(fast.ptr());
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.ptr()); ++i) {
      children.values.push_back(nb::borrow(first[i]));
    }
    if (kind == Kind::named_tuple) children.names = nb::tuple(value.attr("_fields"));
    if (kind == Kind::deque) children.values.push_back(value.attr("maxlen"));
  } else if (kind == Kind::dict) {
    add_entries(value.ptr(), children);
  } else if (kind == Kind::module) {
    add_entries(dict_of(value).ptr(), children);
  } else if (kind == Kind::registered) {
    add_flattened(value, children);
  } else if (kind == Kind::record) {
    children.names = nb::make_tuple("record");
    children.values.push_back(value.attr("_tensor"));
  } else {
    add_fields(value, children);
  }
  return children;
}

nb::object new_node(Structure::Kind kind, const nb::object& type, const nb::object& names,
                    const Objects& children) {
  using Kind = Structure::Kind;
  switch (kind) {
    case Kind::dict: return new_dict(names, children);
    case Kind::module: return new_module(type, names, children);
    case Kind::dataclass: return new_dataclass(type, names, children);
    case Kind::registered: return new_registered(type, names, children);
    case Kind::deque: return new_deque(type, children);
    case Kind::record: return type.attr("_of")(children[0]);
    default: return new_sequence(kind, type, children);
  }
}

}  // namespace plait::python
