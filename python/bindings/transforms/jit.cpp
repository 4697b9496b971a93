// jit. The package (python/plait/inside/jit/jitting.py) handles the first call of each kind, and
// the state outside of the arguments; repeated calls are handled here.
#include "plait/transform/jit.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <ranges>
#include <unordered_map>
#include <utility>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "plait/core/inside/error_count.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/inside/tracing/trace_scopes.h"
#include "plait/tensor/tracing/derivation.h"

#include "python/bindings/trees/structure.h"

namespace plait::python {
namespace {

struct Key {
  std::shared_ptr<PyObject> object;
  size_t hash;

  friend bool operator==(const Key& a, const Key& b) {
    if (a.hash != b.hash) return false;
    const LockedPython locked;
    return nb::handle(a.object.get()).equal(nb::handle(b.object.get()));
  }
};

}  // namespace
}  // namespace plait::python

template <>
struct std::hash<plait::python::Key> {
  size_t operator()(const plait::python::Key& key) const { return key.hash; }
};

namespace plait::python {
namespace {

std::string text_of_key(const Key& key) {
  const LockedPython locked;
  return utf8_of(nb::handle(key.object.get()));
}

// A key from (name, value) pairs.
TreeKey tree_key_of(nb::handle parts) {
  static constexpr TreeType kParts{.form = TreeForm::map, .name = "call", .fields = {}};
  static constexpr TreeType kName{.form = TreeForm::text, .name = "name", .fields = {}};
  static constexpr TreeType kValue{.form = TreeForm::opaque, .name = "value", .fields = {}};
  TreeKeyBuilder builder;
  builder.add(kParts, nb::len(parts));
  for (const nb::handle part : parts) {
    const std::string name = utf8_of(nb::object(part[0]));
    builder.add(StaticValue{.type = kName, .text = name});
    nb::object value = part[1];
    const size_t hash = nb::hash(value);
    const Key key{held(std::move(value)), hash};
    builder.add(StaticValue{.type = kValue,
                            .word = hash,
                            .object = &key,
                            .keep = [](const void* object) -> std::shared_ptr<const OpaqueValue> {
                              return std::make_shared<const OpaqueOf<Key>>(
                                  *static_cast<const Key*>(object), &text_of_key);
                            }});
  }
  return std::move(builder).finish();
}

std::vector<DynamicSize> dynamic_from(nb::handle given) {
  std::vector<DynamicSize> all;
  for (const nb::handle each : given) {
    if (!nb::hasattr(each, "argument")) {
      throw TypeError("jit: dynamic: expected plait.Dynamic, not {}", class_name_of(each))
          .at(Location::of_caller());
    }
    const auto of = [&](const char* name) { return each.attr(name); };
    DynamicSize size{.argument = nb::cast<size_t>(of("argument")),
                     .axis = integer_from(of("axis")),
                     .leaf = nb::cast<std::string>(of("leaf")),
                     .name = nb::cast<std::string>(of("name")),
                     .at_least = integer_from(of("at_least")),
                     .divisor = integer_from(of("divisor"))};
    if (!of("at_most").is_none()) size.at_most = integer_from(of("at_most"));
    all.push_back(std::move(size));
  }
  return all;
}

JitMode mode_from(const std::string& name) {
  if (name == "default") return JitMode::plain;
  if (name == "fast_compile") return JitMode::fast_compile;
  if (name == "max_autotune") return JitMode::max_autotune;
  throw ValueError("jit: unknown mode \"{}\"", name)
      .at(Location::of_caller())
      .hint("the modes are default, fast_compile and max_autotune");
}

// ---- Recognition of repeated calls.

// A place outside of the arguments where a function finds a value: in a cell, a dict or a tuple, in
// a class or its bases, or an attribute of another object.
struct ValuePlace {
  nb::object holder, key;

  // Invalid if there is no value.
  nb::object value() const {
    PyObject* from = holder.ptr();
    if (PyCell_Check(from)) return nb::borrow(PyCell_GET(from));
    if (PyDict_Check(from)) return nb::borrow(PyDict_GetItemWithError(from, key.ptr()));
    if (PyTuple_Check(from)) return holder[key];
    if (PyType_Check(from)) {
      return nb::borrow(_PyType_Lookup(reinterpret_cast<PyTypeObject*>(from), key.ptr()));
    }
    PyObject* found = PyObject_GetAttr(from, key.ptr());
    if (found == nullptr) PyErr_Clear();
    return nb::steal(found);
  }
};

// An integer that is an argument itself. It is passed as the size of a tensor without elements, so
// that it becomes a symbol when it differs, like a size.
enum class IntegerArgument : uint8_t { no, positive, negative };

IntegerArgument integer_argument_of(nb::handle value) {
  if (!PyLong_CheckExact(value.ptr())) return IntegerArgument::no;
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  constexpr long long kMost = 1ll << 40;
  if (overflow != 0 || number > kMost || number < -kMost) return IntegerArgument::no;
  return number < 0 ? IntegerArgument::negative : IntegerArgument::positive;
}

Tensor size_argument(nb::handle number) {
  const int64_t size = std::abs(PyLong_AsLongLong(number.ptr()));
  return Tensor(Array::empty(DType::boolean, {size, 0}));
}

// For each leaf that is the same object as an earlier one its index and that of the first, like
// `_shared` in jitting.py. Numbers are converted to separate tensors.
std::vector<size_t> shared_of(const Objects& leaves) {
  std::unordered_map<PyObject*, size_t> places;
  std::vector<size_t> shared;
  for (size_t i = 0; i < leaves.size(); ++i) {
    PyObject* leaf = leaves[i].ptr();
    if (PyFloat_Check(leaf) || PyComplex_Check(leaf) || PyLong_Check(leaf)) continue;
    const size_t first = places.try_emplace(leaf, i).first->second;
    if (first != i) shared.insert(shared.end(), {i, first});
  }
  return shared;
}

// A call seen before, without its tensors. A call that matches it has the same key.
class KnownCall {
 public:
  // `first` is the object of a method, `named` a dict in the order of names, `functions` those
  // were analysed, and `places` (holder, key, true if it must be the same object) the state that
  // they read. `dicts` must keep their number of entries. `shared` are pairs of leaves that are the
  // same object, `arrays` the NumPy arrays found outside, which `agree` compares.
  KnownCall(nb::handle first, nb::handle arguments, const nb::dict& named, nb::handle functions,
            nb::object places, nb::handle dicts, std::vector<size_t> shared, nb::object arrays,
            nb::object agree, nb::handle key, std::vector<size_t> donated)
      : tree_key_(tree_key_of(key)),
        donated_(std::move(donated)),
        shared_(std::move(shared)),
        arrays_(std::move(arrays)),
        agree_(std::move(agree)),
        places_given_(places) {
    Objects leaves;
    for (const nb::handle each : first) first_.push_back(nb::borrow(each));
    for (const nb::handle each : arguments) arguments_.emplace_back(each, leaves);
    for (const auto& [name, value] : named) {
      named_.emplace_back(nb::borrow(name), Argument(value, leaves));
    }
    for (const nb::handle function : functions) {
      functions_.emplace_back(nb::borrow(function), made_of(function));
    }
    for (const nb::handle each : dicts) dicts_.emplace_back(nb::borrow(each), nb::len(each));
    for (const nb::handle each : places) {
      if (each[2].is_none()) continue;  // the code that was recorded does not read it
      Found& found = places_.emplace_back(Found{.place = {each[0], each[1]}});
      const nb::object value = found.place.value();
      if (!value.is_valid()) continue;
      if (nb::cast<bool>(each[2])) {
        found.same = value;
      } else {
        found.structure.emplace(value, leaves);
      }
    }
  }

  const TreeKey& tree_key() const { return tree_key_; }
  const std::vector<size_t>& donated() const { return donated_; }
  const nb::object& places() const { return places_given_; }

  // Appends the leaves of a call; false if it does not match.
  bool finds_leaves(nb::handle first, nb::handle arguments, nb::handle named,
                    Objects& leaves) const {
    leaves.clear();
    if (nb::len(first) != first_.size() || nb::len(arguments) != arguments_.size() ||
        nb::len(named) != named_.size()) {
      return false;
    }
    for (size_t i = 0; i < first_.size(); ++i) {
      if (!nb::object(first[i]).is(first_[i])) return false;
    }
    for (size_t i = 0; i < arguments_.size(); ++i) {
      if (!arguments_[i].finds_leaves(nb::object(arguments[i]), leaves)) return false;
    }
    for (const auto& [name, argument] : named_) {
      const nb::object value = ValuePlace{nb::borrow(named), name}.value();
      if (!value.is_valid() || !argument.finds_leaves(value, leaves)) return false;
    }
    for (const auto& [function, made] : functions_) {
      const MadeOf now = made_of(function);
      if (!std::ranges::equal(now, made, [](const auto& a, const auto& b) { return a.is(b); })) {
        return false;
      }
    }
    for (const auto& [dict, size] : dicts_) {
      if (nb::len(dict) != size) return false;
    }
    Objects found;
    const bool all_alike = std::ranges::all_of(places_, [&](const Found& each) {
      const nb::object value = each.place.value();
      if (!each.structure) return value.is(each.same);
      return value.is_valid() && each.structure->finds_leaves(value, found);
    });
    return all_alike && takes_found(found, leaves);
  }

  int visit(visitproc visit, void* arg) const {
    for (const nb::object& each : first_) Py_VISIT(each.ptr());
    for (const nb::object& each : std::views::keys(dicts_)) Py_VISIT(each.ptr());
    for (const nb::object* each : {&arrays_, &agree_, &places_given_}) Py_VISIT(each->ptr());
    for (const Argument& each : arguments_) {
      if (const int status = each.structure.visit(visit, arg); status != 0) return status;
    }
    for (const Argument& each : std::views::values(named_)) {
      if (const int status = each.structure.visit(visit, arg); status != 0) return status;
    }
    for (const nb::object& function : std::views::keys(functions_)) Py_VISIT(function.ptr());
    for (const Found& found : places_) {
      Py_VISIT(found.place.holder.ptr());
      Py_VISIT(found.same.ptr());
      if (!found.structure) continue;
      if (const int status = found.structure->visit(visit, arg); status != 0) return status;
    }
    return 0;
  }

 private:
  struct Argument {
    Argument(nb::handle value, Objects& leaves)
        : number(integer_argument_of(value)),
          structure(number == IntegerArgument::no ? Structure(value, leaves) : Structure()) {}

    // Floats that are arguments themselves count as tensors.
    bool finds_leaves(nb::handle value, Objects& leaves) const {
      const bool is_number = PyFloat_Check(value.ptr()) || PyComplex_Check(value.ptr()) ||
                             number != IntegerArgument::no;
      if (!is_number) return structure.finds_leaves(value, leaves);
      if (number != integer_argument_of(value)) return false;
      leaves.push_back(nb::borrow(value));
      return structure.is_leaf();
    }

    IntegerArgument number;
    Structure structure;
  };
  struct Found {
    ValuePlace place;
    nb::object same = {};
    std::optional<Structure> structure = {};  // if both are unset, there was no value
  };
  // The parts of a function or of a class that may be reassigned.
  using MadeOf = std::array<nb::object, 3>;
  static MadeOf made_of(nb::handle function) {
    PyObject* f = function.ptr();
    if (PyType_Check(f)) {
      return {nb::borrow(reinterpret_cast<PyTypeObject*>(f)->tp_mro),
              nb::borrow(reinterpret_cast<PyObject*>(Py_TYPE(f)))};
    }
    if (!PyFunction_Check(f)) return {nb::borrow(reinterpret_cast<PyObject*>(Py_TYPE(f)))};
    return {nb::borrow(PyFunction_GET_CODE(f)), nb::borrow(PyFunction_GET_DEFAULTS(f)),
            nb::borrow(PyFunction_GET_KW_DEFAULTS(f))};
  }

  // Adds the tensors that were found outside, and compares the arrays.
  bool takes_found(const Objects& found, Objects& leaves) const {
    nb::list arrays;
    for (const nb::object& each : found) {
      if (nb::isinstance<Tensor>(each)) {
        leaves.push_back(each);
      } else {
        arrays.append(each);
      }
    }
    if (shared_of(leaves) != shared_) return false;
    return nb::len(arrays) == 0 ? nb::len(arrays_) == 0
                                : nb::cast<bool>(agree_(arrays_, nb::list(arrays)));
  }

  TreeKey tree_key_;
  std::vector<size_t> donated_;
  Objects first_;
  std::vector<Argument> arguments_;
  std::vector<std::pair<nb::object, Argument>> named_;
  std::vector<std::pair<nb::object, MadeOf>> functions_;
  std::vector<Found> places_;
  std::vector<std::pair<nb::object, size_t>> dicts_;
  std::vector<size_t> shared_;
  nb::object arrays_, agree_, places_given_;
};

// ---- Calls.

Tensor leaf_from(nb::handle leaf) {
  if (nb::isinstance<Tensor>(leaf)) return *nb::inst_ptr<Tensor>(leaf);
  if (PyLong_CheckExact(leaf.ptr())) return size_argument(leaf);
  return tensor_from(nb::module_::import_("plait.inside.arrays.interop").attr("asarray")(leaf));
}

class Jit {
 public:
  explicit Jit(JitOptions options) : cache_(std::move(options)) {}

  // Returns NotImplemented if the call matches no known one. `call` provides the functions needed
  // for recording: paths() of the leaves and size_names(), and host(leaves), which returns the
  // leaves of the result and its structure; finish(leaves, places, call) builds the result.
  nb::object again(nb::handle first, nb::handle arguments, nb::handle named, nb::handle call) {
    Objects leaves;
    for (size_t i = 0; i < known_.size(); ++i) {
      const std::shared_ptr<const KnownCall> known = known_[i];
      if (!known->finds_leaves(first, arguments, named, leaves)) continue;
      if (i > 0 && i < known_.size() && known_[i] == known) {
        std::rotate(known_.begin(), known_.begin() + static_cast<std::ptrdiff_t>(i),
                    known_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      }
      return run(known->tree_key(), leaves, call, {.places = known->places()}, known->donated());
    }
    return nb::borrow(Py_NotImplemented);
  }

  struct Outside {
    nb::object places;     // places of state outside of the arguments
    bool by_host = false;  // run the host code
  };
  // Returns the result, a tree. Donated leaves, given by index in order, are removed from Python's
  // tensors.
  nb::object run(const TreeKey& key, const Objects& leaves, nb::handle call, const Outside& outside,
                 const std::vector<size_t>& donated) const {
    std::vector<Tensor> given;
    given.reserve(leaves.size());
    std::vector<bool> is_array;
    for (const nb::object& leaf : leaves) {
      given.push_back(leaf_from(leaf));
      is_array.push_back(is_foreign_array(leaf));
    }
    if (std::ranges::any_of(is_array, std::identity())) {
      computed([&] {
        move_arrays(given, is_array);
        return 0;
      });
    }
    // Differentiated tensors are not donated, since derivatives need them.
    static const std::vector<size_t> none;
    const bool takes = std::ranges::none_of(given, [](const Tensor& x) { return is_followed(x); });
    const std::vector<size_t>& gone = takes ? donated : none;
    std::vector<Tensor*> to_take;
    for (const size_t leaf : gone) to_take.push_back(&given[leaf]);
    const auto names = [&] { return texts_from(call, "paths"); };
    const auto host = [&](std::span<const Tensor> arguments, std::any& structure) {
      return run_host(call, arguments, structure);
    };
    const auto release_owner = [&] {
      const LockedPython locked;
      for (const size_t leaf : gone) {
        if (nb::isinstance<Tensor>(leaves[leaf])) *nb::inst_ptr<Tensor>(leaves[leaf]) = Tensor();
      }
    };
    const auto begin_again = [&] {
      const LockedPython locked;
      return nb::cast<bool>(call.attr("begin_again")());
    };
    const auto size_names = [&] { return texts_from(call, "size_names"); };
    const jits::Outcome outcome = computed([&] {
      return cache_({key, JitArguments(given, to_take), names, host, release_owner, outside.by_host,
                     begin_again, size_names});
    });
    if (Trace::current() == nullptr) release_owner();
    return result_of(outcome, call, outside);
  }

  static std::vector<std::string> texts_from(nb::handle call, const char* method) {
    const LockedPython locked;
    std::vector<std::string> texts;
    for (const nb::handle text : nb::object(call.attr(method)())) {
      texts.emplace_back(utf8_of(text));
    }
    return texts;
  }

  static std::vector<Tensor> run_host(nb::handle call, std::span<const Tensor> arguments,
                                      std::any& structure) {
    const LockedPython locked;
    try {
      const nb::object result = call.attr("host")(to_python({arguments.begin(), arguments.end()}));
      structure = held(result[1]);
      return tensors_from(nb::object(result[0]));
    } catch (const nb::python_error& error) {
      rethrow_passing(error);
      rethrow_error(error);
      throw;
    }
  }

  static nb::object result_of(const jits::Outcome& outcome, nb::handle call,
                              const Outside& outside) {
    const nb::handle kept = std::any_cast<const std::shared_ptr<PyObject>&>(*outcome.result).get();
    Objects results;
    results.reserve(outcome.leaves.size());
    for (const Tensor& leaf : outcome.leaves) results.push_back(to_python(leaf));
    if (nb::isinstance<Structure>(kept)) return nb::inst_ptr<Structure>(kept)->unflatten(results);
    nb::list list;
    for (const nb::object& each : results) list.append(each);
    return kept.attr("finish")(list, outside.places, call);
  }

  void remember(std::shared_ptr<const KnownCall> call) {
    known_.insert(known_.begin(), std::move(call));
    if (known_.size() > kMostKnown) known_.pop_back();
  }
  void forget() { known_.clear(); }
  JitStats stats() const { return cache_.stats(); }

  int visit(visitproc visit, void* arg) const {
    int status = 0;
    for (const auto& each : known_) status = status != 0 ? status : each->visit(visit, arg);
    return status;
  }

 private:
  static constexpr size_t kMostKnown = 8;

  jits::Cache cache_;
  std::vector<std::shared_ptr<const KnownCall>> known_;  // the most recently called first
};

int traverse_jit(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<Jit>(self)->visit(visit, arg) : 0;
}

int clear_jit(PyObject* self) {
  if (nb::inst_ready(self)) nb::inst_ptr<Jit>(self)->forget();
  return 0;
}

void bind_jit_class(nb::module_& module) {
  static std::array<PyType_Slot, 3> slots = {
      PyType_Slot{Py_tp_traverse, reinterpret_cast<void*>(traverse_jit)},
      PyType_Slot{Py_tp_clear, reinterpret_cast<void*>(clear_jit)}, PyType_Slot{0, nullptr}};
  nb::class_<Jit>(module, "_Jit", nb::type_slots(slots.data()))
      .def(
          "__init__",
          [](Jit* self, const std::string& name, nb::handle dynamic, bool fullgraph, bool disable,
             const std::string& backend, const std::string& mode, size_t max_paths,
             size_t max_records, bool repeatable, std::optional<double> memory_budget,
             bool donates) {
            new (self) Jit({.name = name,
                            .dynamic = dynamic_from(dynamic),
                            .donate = std::vector<size_t>(donates ? 1 : 0),
                            .fullgraph = fullgraph,
                            .disable = disable,
                            .backend = backend,
                            .mode = mode_from(mode),
                            .max_paths = max_paths,
                            .max_records = max_records,
                            .repeatable = repeatable,
                            .memory_budget = memory_budget});
          },
          nb::arg("name"), nb::arg("dynamic"), nb::arg("fullgraph"), nb::arg("disable"),
          nb::arg("backend"), nb::arg("mode"), nb::arg("max_paths"), nb::arg("max_records"),
          nb::arg("repeatable"), nb::arg("memory_budget").none(), nb::arg("donates"))
      .def("again", &Jit::again)
      .def("run",
           [](const Jit& jit, nb::handle key, nb::handle given, nb::handle call, nb::object places,
              bool by_host, const std::vector<size_t>& donated) {
             Objects leaves;
             for (const nb::handle leaf : given) leaves.push_back(nb::borrow(leaf));
             return jit.run(tree_key_of(key), leaves, call,
                            {.places = std::move(places), .by_host = by_host}, donated);
           })
      .def("remember",
           [](Jit& jit, nb::handle first, nb::handle arguments, const nb::dict& named,
              nb::handle functions, nb::object places, nb::handle dicts, std::vector<size_t> shared,
              nb::object arrays, nb::object agree, nb::handle key, std::vector<size_t> donated) {
             jit.remember(std::make_shared<KnownCall>(
                 first, arguments, named, functions, std::move(places), dicts, std::move(shared),
                 std::move(arrays), std::move(agree), key, std::move(donated)));
           })
      .def("forget", &Jit::forget)
      .def("stats", [](const Jit& jit) {
        const JitStats stats = jit.stats();
        nb::list retraces;
        for (const auto& each : stats.retraces) {
          retraces.append(nb::make_tuple(each.why, each.times));
        }
        return nb::make_tuple(stats.traces, stats.hits, stats.failed_guards, stats.host_runs,
                              stats.pieces, nb::tuple(retraces), stats.text());
      });
}

// For the package, about tensors and the arguments of a jitted function.
void bind_jit_queries(nb::module_& module) {
  module.def("_is_known", [](const Tensor& x) { return x.is_traced() && x.traced().actual; });
  module.def("_is_of_ended_trace",
             [](const Tensor& x) { return x.is_traced() && x.traced().scope->trace == nullptr; });
  nb::class_<EndedTraces>(module, "_EndedTraces")
      .def(nb::init<>())
      .def("begin", &EndedTraces::begin)
      .def("end", &EndedTraces::end)
      .def("had", &EndedTraces::had);
  module.def(
      "_value_at",
      [](nb::object holder, nb::object key, nb::object otherwise) {
        const nb::object value = ValuePlace{std::move(holder), std::move(key)}.value();
        return value.is_valid() ? value : otherwise;
      },
      nb::arg("holder"), nb::arg("key").none(), nb::arg("otherwise"));
  module.def("_count_error", &count_error);
  module.def("_declare_item", &declare_item);
  module.def("_truth", [](const Tensor& x) { return x.truth(); });
  // While host code is recorded, tensors outside of its arguments hold their recorded counterparts.
  module.def("_exchange", [](Tensor& place, const Tensor& content) {
    return std::exchange(place, Tensor(content));
  });
  module.def("_is_same",
             [](const Tensor& a, const Tensor& b) { return a.identity() == b.identity(); });
  module.def(
      "_integer_argument",
      [](nb::handle value) { return static_cast<int>(integer_argument_of(value)); },
      nb::arg("value").none());
  module.def("_size_argument", [](nb::handle number) { return size_argument(number); });
}

}  // namespace

void bind_jit(nb::module_& module) {
  bind_jit_class(module);
  bind_jit_queries(module);
  module.def("list_backends", &list_backends,
             "The names of the backends that can run jitted programs.");
}

}  // namespace plait::python
