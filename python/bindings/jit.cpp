// jit: trees, closures and globals are the package's business (python/plait/jitting.py); here there
// are a key, a list of tensors, and a function from one list to another.
#include "plait/transform/jit.h"

#include <memory>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "plait/tensor/trace.h"

#include "python/bindings/bindings.h"

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

}  // namespace
}  // namespace plait::python

template <>
struct std::hash<plait::python::Key> {
  size_t operator()(const plait::python::Key& key) const { return key.hash; }
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

std::vector<DynamicSize> dynamic_from(nb::handle given) {
  std::vector<DynamicSize> all;
  for (const nb::handle each : given) {
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

// (results, structure) of a call. What is donated, numbers of leaves in order, is gone from
// Python's tensors afterwards.
nb::object called(const jits::Cache& cache, nb::object key, nb::handle leaves, nb::handle paths,
                  nb::handle function, const std::vector<size_t>& donated) {
  const TreeKey tree_key = tree_key_of(std::move(key));
  std::vector<Tensor> given = tensors_from(leaves);
  std::vector<Tensor*> to_take;
  for (const size_t leaf : donated) to_take.push_back(&given[leaf]);
  const auto names = [&] {
    const nb::gil_scoped_acquire locked;
    return nb::cast<std::vector<std::string>>(paths());
  };
  const auto host = [&](std::span<const Tensor> arguments, std::any& structure) {
    const nb::gil_scoped_acquire locked;
    try {
      const auto result =
          nb::cast<nb::tuple>(function(to_python({arguments.begin(), arguments.end()})));
      structure = held(result[1]);
      return tensors_from(result[0]);
    } catch (const nb::python_error& error) {
      rethrow_passing(error);
      throw;
    }
  };
  const auto let_go = [&] {
    const nb::gil_scoped_acquire locked;
    for (const size_t leaf : donated) {
      const nb::object tensor = leaves[leaf];
      if (nb::isinstance<Tensor>(tensor)) *nb::inst_ptr<Tensor>(tensor) = Tensor();
    }
  };
  const jits::Outcome outcome = computed(
      [&] { return cache({tree_key, JitArguments(given, to_take), names, host, let_go}); });
  if (Trace::current() == nullptr) let_go();
  const auto& structure = std::any_cast<const std::shared_ptr<PyObject>&>(*outcome.result);
  return nb::make_tuple(to_python(outcome.leaves), nb::borrow(structure.get()));
}

}  // namespace

void bind_jit(nb::module_& module) {
  nb::class_<jits::Cache>(module, "_Jit")
      .def(
          "__init__",
          [](jits::Cache* self, const std::string& name, nb::handle dynamic, bool fullgraph,
             bool disable, const std::string& backend, const std::string& mode, size_t most_ways,
             size_t most_structures, bool donates) {
            new (self) jits::Cache({.name = name,
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
      .def("__call__", &called)
      .def("stats", [](const jits::Cache& cache) {
        const JitStats stats = cache.stats();
        nb::list retraces;
        for (const auto& each : stats.retraces) {
          retraces.append(nb::make_tuple(each.why, each.times));
        }
        return nb::make_tuple(stats.traces, stats.hits, stats.failed_guards, stats.host_runs,
                              stats.pieces, nb::tuple(retraces), stats.text());
      });
  module.def("list_backends", &list_backends, "The names of what may run jitted programs.");
  module.def("_is_known", [](const Tensor& x) { return x.is_traced() && x.traced().actual; });
  module.def("_truth", [](const Tensor& x) { return x.truth(); });
}

}  // namespace plait::python
