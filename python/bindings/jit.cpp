// jit: what a function finds outside of its arguments is the package's business
// (python/plait/jitting.py), and so is a call that looks like none before; all others are seen to
// here.
#include "plait/transform/jit.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <ranges>

#include <fmt/ranges.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "plait/tensor/trace.h"

#include "python/bindings/handed.h"
#include "python/bindings/structure.h"

namespace plait::python {
namespace {

struct Key {
  std::shared_ptr<PyObject> object;
  size_t hash;

  friend bool operator==(const Key& a, const Key& b) {
    if (a.hash != b.hash) return false;
    const nb::gil_scoped_acquire locked;
    return nb::handle(a.object.get()).equal(nb::handle(b.object.get()));
  }
};

// Of a call some of whose leaves are one tensor: which, a function that is given them can tell.
struct SharedKey {
  TreeKey key;
  std::vector<size_t> firsts;

  friend bool operator==(const SharedKey&, const SharedKey&) = default;
};

}  // namespace
}  // namespace plait::python

template <>
struct std::hash<plait::python::Key> {
  size_t operator()(const plait::python::Key& key) const { return key.hash; }
};
template <>
struct std::hash<plait::python::SharedKey> {
  size_t operator()(const plait::python::SharedKey& key) const { return key.key.hash(); }
};

namespace plait::python {
namespace {

std::string text_of_key(const Key& key) {
  const nb::gil_scoped_acquire locked;
  return nb::cast<std::string>(nb::str(nb::handle(key.object.get())));
}

TreeKey tree_key_of(nb::object object) {
  static constexpr TreeType kPython{.form = TreeForm::opaque, .name = "Python", .fields = {}};
  const size_t hash = nb::hash(object);
  TreeKeyBuilder builder;
  builder.add_opaque(kPython, Key{held(std::move(object)), hash}, &text_of_key);
  return std::move(builder).finish();
}

TreeKey with_shared(const TreeKey& key, const std::vector<size_t>& firsts) {
  static constexpr TreeType kShared{.form = TreeForm::opaque, .name = "shared", .fields = {}};
  TreeKeyBuilder builder;
  builder.add_opaque(
      kShared, SharedKey{key, firsts}, +[](const SharedKey& shared) {
        return fmt::format("tensors of which some are one ({})", fmt::join(shared.firsts, ", "));
      });
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
  throw ValueError("jit: there is no mode \"{}\"", name)
      .at(Location::of_caller())
      .hint("the modes are default, fast_compile and max_autotune");
}

// ---- Calls that look like an earlier one.

// Where a function finds a value outside of its arguments: in a cell, a dict or a tuple.
struct ValuePlace {
  nb::object holder, key;

  // Not valid where there is none.
  nb::object value() const {
    PyObject* from = holder.ptr();
    if (PyCell_Check(from)) return nb::borrow(PyCell_GET(from));
    if (PyDict_Check(from)) return nb::borrow(PyDict_GetItemWithError(from, key.ptr()));
    return holder[key];
  }
};

// What a call looked like, but for its tensors. One that looks the same has the same key.
class KnownCall {
 public:
  // `named` is a dict by names in order, `functions` those that are looked into, and `places`
  // (holder, key, whether it is to be the same object) what is looked at there.
  KnownCall(nb::handle arguments, const nb::dict& named, nb::handle functions, nb::handle places,
            nb::object key, std::vector<size_t> donated)
      : tree_key_(tree_key_of(std::move(key))), donated_(std::move(donated)) {
    Objects leaves;
    for (const nb::handle each : arguments) arguments_.emplace_back(each, leaves);
    for (const auto& [name, value] : named) {
      named_.emplace_back(nb::borrow(name), Structure(value, leaves));
    }
    for (const nb::handle function : functions) {
      functions_.emplace_back(nb::borrow(function), made_of(function));
    }
    for (const nb::handle each : places) {
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

  // Puts the leaves of such a call there; false where it is another.
  bool finds_leaves(nb::handle first, nb::handle arguments, nb::handle named,
                    Objects& leaves) const {
    leaves.clear();
    const size_t before = nb::len(first);
    if (before + nb::len(arguments) != arguments_.size() || nb::len(named) != named_.size()) {
      return false;
    }
    for (size_t i = 0; i < arguments_.size(); ++i) {
      const nb::object value = i < before ? first[i] : arguments[i - before];
      if (!finds_argument(arguments_[i], value, leaves)) return false;
    }
    for (const auto& [name, structure] : named_) {
      const nb::object value = ValuePlace{nb::borrow(named), name}.value();
      if (!value.is_valid() || !finds_argument(structure, value, leaves)) return false;
    }
    for (const auto& [function, made] : functions_) {
      const MadeOf now = made_of(function);
      if (!std::ranges::equal(now, made, [](const auto& a, const auto& b) { return a.is(b); })) {
        return false;
      }
    }
    return std::ranges::all_of(places_, [&](const Found& found) {
      const nb::object value = found.place.value();
      if (!found.structure) return value.is(found.same);
      return value.is_valid() && found.structure->finds_leaves(value, leaves);
    });
  }

  int visit(visitproc visit, void* arg) const {
    const auto visit_all = [&](const auto& structures) {
      int status = 0;
      for (const auto& each : structures) status = status != 0 ? status : each.visit(visit, arg);
      return status;
    };
    if (const int status = visit_all(arguments_); status != 0) return status;
    if (const int status = visit_all(std::views::values(named_)); status != 0) return status;
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
  struct Found {
    ValuePlace place;
    nb::object same = {};
    std::optional<Structure> structure = {};  // with neither there was nothing
  };
  // What a function may be given anew while it stays the same object.
  using MadeOf = std::array<nb::object, 3>;
  static MadeOf made_of(nb::handle function) {
    PyObject* f = function.ptr();
    return {nb::borrow(PyFunction_GET_CODE(f)), nb::borrow(PyFunction_GET_DEFAULTS(f)),
            nb::borrow(PyFunction_GET_KW_DEFAULTS(f))};
  }

  // Floats among the arguments themselves count as tensors.
  static bool finds_argument(const Structure& structure, nb::handle value, Objects& leaves) {
    if (!PyFloat_Check(value.ptr()) && !PyComplex_Check(value.ptr())) {
      return structure.finds_leaves(value, leaves);
    }
    leaves.push_back(nb::borrow(value));
    return structure.is_leaf();
  }

  TreeKey tree_key_;
  std::vector<size_t> donated_;
  std::vector<Structure> arguments_;
  std::vector<std::pair<nb::object, Structure>> named_;
  std::vector<std::pair<nb::object, MadeOf>> functions_;
  std::vector<Found> places_;
};

// ---- Calls.

Tensor leaf_from(nb::handle leaf) {
  if (nb::isinstance<Tensor>(leaf)) return *nb::inst_ptr<Tensor>(leaf);
  return tensor_from(nb::module_::import_("plait.interop").attr("asarray")(leaf));
}

class Jit {
 public:
  explicit Jit(JitOptions options) : cache_(std::move(options)) {}

  // NotImplemented where it looks like none that is known. `call` has what is asked of it when
  // something is to be recorded: paths() of the leaves, and host(leaves), which gives those of the
  // result, and its structure.
  nb::object again(nb::handle first, nb::handle arguments, nb::handle named, nb::handle call) {
    Objects leaves;
    for (size_t i = 0; i < known_.size(); ++i) {
      const std::shared_ptr<const KnownCall> known = known_[i];
      if (!known->finds_leaves(first, arguments, named, leaves)) continue;
      if (i > 0 && i < known_.size() && known_[i] == known) {
        std::rotate(known_.begin(), known_.begin() + static_cast<std::ptrdiff_t>(i),
                    known_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      }
      return run(known->tree_key(), leaves, call, known->donated());
    }
    return nb::borrow(Py_NotImplemented);
  }

  // The result, a tree. What is donated, numbers of leaves in order, is gone from Python's tensors
  // afterwards.
  nb::object run(const TreeKey& key, const Objects& leaves, nb::handle call,
                 const std::vector<size_t>& donated) const {
    std::vector<Tensor> given;
    given.reserve(leaves.size());
    for (const nb::object& leaf : leaves) given.push_back(leaf_from(leaf));
    std::vector<Tensor*> to_take;
    for (const size_t leaf : donated) to_take.push_back(&given[leaf]);
    const auto names = [&] {
      const nb::gil_scoped_acquire locked;
      std::vector<std::string> paths;
      for (const nb::handle path : nb::object(call.attr("paths")())) {
        paths.emplace_back(nb::str(path).c_str());
      }
      return paths;
    };
    const std::vector<size_t> firsts = firsts_of(leaves);
    std::optional<TreeKey> shared;
    if (!firsts.empty()) shared = with_shared(key, firsts);
    const auto host = [&](std::span<const Tensor> arguments, std::any& structure) {
      const nb::gil_scoped_acquire locked;
      Handed handed("a jitted function");
      Objects made;
      for (size_t i = 0; i < arguments.size(); ++i) {
        const bool is_first = firsts.empty() || firsts[i] == i;
        made.push_back(is_first ? handed.add(arguments[i]) : made[firsts[i]]);
      }
      nb::list list;
      for (const nb::object& each : made) list.append(each);
      try {
        const nb::object result = call.attr("host")(list);
        Objects results;
        for (const nb::handle each : nb::object(result[0])) results.push_back(nb::borrow(each));
        structure = Results{held(result[1]), firsts_of(results)};
        return tensors_from(nb::object(result[0]));
      } catch (const nb::python_error& error) {
        rethrow_passing(error);
        throw;
      }
    };
    const auto let_go = [&] {
      const nb::gil_scoped_acquire locked;
      for (const size_t leaf : donated) {
        if (nb::isinstance<Tensor>(leaves[leaf])) *nb::inst_ptr<Tensor>(leaves[leaf]) = Tensor();
      }
    };
    const jits::Outcome outcome = computed([&] {
      return cache_({shared ? *shared : key, JitArguments(given, to_take), names, host, let_go});
    });
    if (Trace::current() == nullptr) let_go();
    const auto& [structure, one] = std::any_cast<const Results&>(*outcome.result);
    Objects results;
    results.reserve(outcome.leaves.size());
    for (size_t i = 0; i < outcome.leaves.size(); ++i) {
      const bool is_first = one.empty() || one[i] == i;
      results.push_back(is_first ? to_python(outcome.leaves[i]) : results[one[i]]);
    }
    return nb::inst_ptr<Structure>(structure.get())->unflatten(results);
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
  // A tree without its leaves, and of each of those the first that is the same tensor.
  struct Results {
    std::shared_ptr<PyObject> structure;
    std::vector<size_t> firsts;
  };

  jits::Cache cache_;
  std::vector<std::shared_ptr<const KnownCall>> known_;  // the latest called first
};

int traverse_jit(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<Jit>(self)->visit(visit, arg) : 0;
}

int clear_jit(PyObject* self) {
  if (nb::inst_ready(self)) nb::inst_ptr<Jit>(self)->forget();
  return 0;
}

}  // namespace

void bind_jit(nb::module_& module) {
  static std::array<PyType_Slot, 3> slots = {
      PyType_Slot{Py_tp_traverse, reinterpret_cast<void*>(traverse_jit)},
      PyType_Slot{Py_tp_clear, reinterpret_cast<void*>(clear_jit)}, PyType_Slot{0, nullptr}};
  nb::class_<Jit>(module, "_Jit", nb::type_slots(slots.data()))
      .def(
          "__init__",
          [](Jit* self, const std::string& name, nb::handle dynamic, bool fullgraph, bool disable,
             const std::string& backend, const std::string& mode, size_t most_ways,
             size_t most_structures, bool donates) {
            new (self) Jit({.name = name,
                            .dynamic = dynamic_from(dynamic),
                            .donate = std::vector<size_t>(donates ? 1 : 0),
                            .fullgraph = fullgraph,
                            .disable = disable,
                            .backend = backend,
                            .mode = mode_from(mode),
                            .most_ways = most_ways,
                            .most_structures = most_structures});
          },
          nb::arg("name"), nb::arg("dynamic"), nb::arg("fullgraph"), nb::arg("disable"),
          nb::arg("backend"), nb::arg("mode"), nb::arg("most_ways"), nb::arg("most_structures"),
          nb::arg("donates"))
      .def("again", &Jit::again)
      .def("run",
           [](const Jit& jit, nb::object key, nb::handle given, nb::handle call,
              const std::vector<size_t>& donated) {
             Objects leaves;
             for (const nb::handle leaf : given) leaves.push_back(nb::borrow(leaf));
             return jit.run(tree_key_of(std::move(key)), leaves, call, donated);
           })
      .def("remember",
           [](Jit& jit, nb::handle arguments, const nb::dict& named, nb::handle functions,
              nb::handle places, nb::object key, std::vector<size_t> donated) {
             jit.remember(std::make_shared<KnownCall>(arguments, named, functions, places,
                                                      std::move(key), std::move(donated)));
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
  module.def("list_backends", &list_backends, "The names of what may run jitted programs.");
  module.def("_is_known", [](const Tensor& x) { return x.is_traced() && x.traced().actual; });
  module.def(
      "_value_at",
      [](nb::object holder, nb::object key, nb::object otherwise) {
        const nb::object value = ValuePlace{std::move(holder), std::move(key)}.value();
        return value.is_valid() ? value : otherwise;
      },
      nb::arg("holder"), nb::arg("key").none(), nb::arg("otherwise"));
  module.def("_truth", [](const Tensor& x) { return x.truth(); });
}

}  // namespace plait::python
