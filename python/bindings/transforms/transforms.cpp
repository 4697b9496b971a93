// Derivatives. The package (python/plait/inside/transforms/derivatives.py) handles the trees of
// arguments and results; here they are lists of tensors.
#include <memory>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "plait/core/system/deep_stack.h"
#include "plait/tensor/tracing/named_axes.h"
#include "plait/transform/autocast.h"
#include "plait/transform/control/associative_scan.h"
#include "plait/transform/control/control.h"
#include "plait/transform/control/recursive.h"
#include "plait/transform/derivatives/custom.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/derivatives/remat.h"
#include "plait/transform/derivatives/tape.h"
#include "plait/transform/shard_map.h"
#include "plait/transform/vmap.h"

#include "python/bindings/bindings.h"
#include "python/bindings/transforms/argument_copies.h"

namespace plait::python {
namespace {

// A level, and the tensors passed to the differentiated function.
template <class Level>
struct Followed {
  Level level;
  ArgumentCopies copies{"a function that is differentiated"};

  void close() {
    level.close();
    copies.close();
  }
};
using FollowedPullback = Followed<Pullback>;
using FollowedPushforward = Followed<Pushforward>;

void bind_argument_copies(nb::module_& module) {
  nb::class_<ArgumentCopies>(module, "_ArgumentCopies")
      .def("__init__",
           [](ArgumentCopies* self, std::string to) { new (self) ArgumentCopies(std::move(to)); })
      .def("add", &ArgumentCopies::add);
}

void bind_pullback(nb::module_& module) {
  nb::class_<FollowedPullback>(module, "_Pullback")
      .def("__init__", [](FollowedPullback* self) { new (self) FollowedPullback(); })
      .def("begin",
           [](FollowedPullback& followed, const Tensor& argument) {
             return followed.copies.add(followed.level.begin(argument));
           })
      .def("finish", [](FollowedPullback& followed,
                        const Tensor& result) { return followed.level.finish(result); })
      .def("passed", [](const FollowedPullback& followed,
                        const Tensor& result) { return followed.level.passed(result); })
      .def("close", &FollowedPullback::close)
      .def("push",
           [](const FollowedPullback& followed, nb::handle tangents) {
             const std::vector<Tensor> given = optional_tensors_from(tangents);
             return to_python(computed([&] { return followed.level.push(given); }));
           })
      .def(
          "pull",
          [](const FollowedPullback& followed, nb::handle cotangents, bool keep) {
            const std::vector<Tensor> given = optional_tensors_from(cotangents);
            return to_python(computed([&] { return followed.level(given, keep); }));
          },
          nb::arg("cotangents"), nb::arg("keep"));
}

void bind_pushforward(nb::module_& module) {
  nb::class_<FollowedPushforward>(module, "_Pushforward")
      .def("__init__", [](FollowedPushforward* self) { new (self) FollowedPushforward(); })
      .def(
          "begin",
          [](FollowedPushforward& followed, const Tensor& argument, nb::handle tangent,
             const std::string& path) {
            const Tensor along = tangent.is_none() ? Tensor() : tensor_from(tangent);
            return followed.copies.add(followed.level.begin(argument, along, path));
          },
          nb::arg("argument"), nb::arg("tangent").none(), nb::arg("path"))
      .def("finish",
           [](FollowedPushforward& followed, const Tensor& result) {
             auto [value, tangent] = followed.level.finish(result);
             return nb::make_tuple(value, to_python(tangent));
           })
      .def("close", &FollowedPushforward::close);
}

void bind_levels(nb::module_& module) {
  bind_argument_copies(module);
  bind_pullback(module);
  bind_pushforward(module);
  module.def("_numbers_like", &linearity::numbers_like);
  module.def("_check_linear", [](nb::handle values, nb::handle derivatives) {
    linearity::check(tensors_from(values), tensors_from(derivatives));
  });
  nb::class_<NoGrad>(module, "_NoGrad");
  module.def("_no_grad", [] { return std::make_unique<NoGrad>(); });
  module.def("_check_argument", [](const Tensor& leaf, const std::string& path, size_t argument,
                                   bool holomorphic, bool allow_integers) {
    gradients::check_argument(leaf, path, argument, {holomorphic, allow_integers});
  });
  module.def("_check_result", [](const Tensor& result, bool holomorphic) {
    gradients::check_result(result, {.holomorphic = holomorphic});
  });
}

GradientOptions options_from(bool create_graph, bool retain_graph, bool allow_unused,
                             nb::handle stop_at) {
  return {create_graph, retain_graph, allow_unused, tensors_from(stop_at)};
}

void bind_tape(nb::module_& module) {
  module.def(
      "_gradient",
      [](const Tensor& result, nb::handle inputs, nb::handle cotangent, bool create_graph,
         bool retain_graph, bool allow_unused, nb::handle stop_at) {
        const std::vector<Tensor> by = tensors_from(inputs);
        const Tensor given = cotangent.is_none() ? Tensor() : tensor_from(cotangent);
        const auto options = options_from(create_graph, retain_graph, allow_unused, stop_at);
        return to_python(computed([&] { return gradient(result, by, given, options); }));
      },
      nb::arg("result"), nb::arg("inputs"), nb::arg("cotangent").none(), nb::arg("create_graph"),
      nb::arg("retain_graph"), nb::arg("allow_unused"), nb::arg("stop_at"));
  nb::class_<Tape>(module, "_Tape")
      .def("__init__",
           [](Tape* self, bool persistent) { new (self) Tape(Tape::Options{persistent}); })
      .def("watch", &Tape::watch)
      .def(
          "gradient",
          [](Tape& tape, const Tensor& result, nb::handle inputs, nb::handle cotangent) {
            const std::vector<Tensor> by = tensors_from(inputs);
            const Tensor given = cotangent.is_none() ? Tensor() : tensor_from(cotangent);
            return to_python(computed([&] { return tape.gradient(result, by, given); }));
          },
          nb::arg("result"), nb::arg("inputs"), nb::arg("cotangent").none());
}

// A Python function that C++ owns.
class PythonFunction {
 public:
  explicit PythonFunction(nb::object given) : function_(held(std::move(given))) {}
  nb::handle get() const { return function_.get(); }

 private:
  std::shared_ptr<PyObject> function_;
};

Listeners::Hook hook_from(nb::object given) {
  return [function = PythonFunction(std::move(given))](const Tensor& cotangent) {
    const LockedPython locked;
    const nb::object result = function.get()(cotangent);
    return result.is_none() ? Tensor() : tensor_from(result);
  };
}

// Calls a Python function from within the library. Each nested call of that kind takes much more
// stack than one within Python, whose limit of recursion ends such calls first.
template <class... Arguments>
nb::object call_deep(nb::handle function, Arguments&&... arguments) {
  return with_enough_stack(
      [&]() -> nb::object { return function(std::forward<Arguments>(arguments)...); });
}

// A list of tensors from a Python function; None for an undefined one.
std::vector<Tensor> tensors_given(const nb::handle& function, nb::handle first,
                                  nb::handle second = {}) {
  const nb::object given = second ? call_deep(function, first, second) : call_deep(function, first);
  return optional_tensors_from(given);
}

nb::object called_with(nb::handle function, nb::handle arguments) {
  try {
    return call_deep(function, arguments);
  } catch (const nb::python_error& error) {
    rethrow_passing(error);
    throw;
  }
}
nb::object called(nb::handle function, std::span<const Tensor> given) {
  return called_with(function, to_python({given.begin(), given.end()}));
}

// Wraps a Python function from a list of tensors to a list, while it is called from there.
TensorFunction on_lists(nb::handle function) {
  return
      [function](std::span<const Tensor> given) { return tensors_from(called(function, given)); };
}
// Replaces it by a function whose arguments may not be assigned to.
TensorFunction in_place_of(nb::handle function, const char* what) {
  return [function, what](std::span<const Tensor> given) {
    ArgumentCopies copies(what);
    nb::list arguments;
    for (const Tensor& each : given) arguments.append(copies.add(each));
    return tensors_from(called_with(function, arguments));
  };
}

void bind_remat(nb::module_& module) {
  module.def(
      "_remat",
      [](nb::handle function, nb::handle arguments, const std::string& policy,
         std::vector<std::string> names) {
        return to_python(remat_tensors(in_place_of(function, "a function under remat"),
                                       tensors_from(arguments), {policy, std::move(names)}));
      },
      nb::arg("function"), nb::arg("arguments"), nb::arg("policy"), nb::arg("names"));
}

std::vector<BatchAxis> axes_from(nb::handle given) {
  std::vector<BatchAxis> axes;
  for (const nb::handle each : given) {
    axes.push_back(each.is_none() ? BatchAxis() : BatchAxis(integer_from(each)));
  }
  return axes;
}

std::string name_from(nb::handle given) {
  if (nb::isinstance<nb::str>(given)) return utf8_of(given);
  throw TypeError("vmap: axis_name: expected a name, not {}", class_name_of(given))
      .at(Location::of_caller());
}

void bind_vmap(nb::module_& module) {
  module.def(
      "_vmap",
      [](nb::handle function, nb::handle arguments, nb::handle in, nb::handle out, nb::handle size,
         nb::handle name) {
        const auto out_axes = [&](size_t) { return axes_from(out()); };
        const std::optional<Dim> samples =
            size.is_none() ? std::nullopt : std::optional<Dim>(integer_from(size));
        return to_python(vmaps::run(in_place_of(function, "a function under vmap"),
                                    tensors_from(arguments), axes_from(in), out_axes, samples,
                                    name.is_none() ? "" : name_from(name)));
      },
      nb::arg("function"), nb::arg("arguments"), nb::arg("in_axes"), nb::arg("out_axes"),
      nb::arg("size").none(), nb::arg("axis_name").none());
}

using Specs = std::vector<PartitionSpec>;
using GivenAxis = std::tuple<std::string, int64_t, std::shared_ptr<Communicator>>;

void bind_shard_map(nb::module_& module) {
  nb::class_<Communicator>(module, "_Communicator");
  module.def(
      "_shard_map",
      [](nb::handle function, nb::handle arguments, const std::vector<GivenAxis>& axes,
         const Specs& in, nb::handle out, bool check) {
        Mesh mesh;
        for (const auto& [name, size, ranks] : axes) mesh.axes.push_back({name, size, ranks});
        const auto specs = [&](size_t) {
          const LockedPython locked;
          return nb::cast<Specs>(out());
        };
        const std::vector<Tensor> given = tensors_from(arguments);
        const TensorFunction host = in_place_of(function, "a function under shard_map");
        const TensorFunction called = [&](std::span<const Tensor> parts) {
          const LockedPython locked;
          return host(parts);
        };
        return to_python(
            computed([&] { return shard_maps::run(called, given, mesh, in, specs, check); }));
      },
      nb::arg("function"), nb::arg("arguments"), nb::arg("axes"), nb::arg("in_specs"),
      nb::arg("out_specs"), nb::arg("check"));
}

std::optional<Checkpoints> checkpoints_from(nb::handle object) {
  if (object.is_none()) return std::nullopt;
  if (nb::isinstance<Checkpoints>(object)) return nb::cast<Checkpoints>(object);
  throw TypeError("checkpoints: expected a result of `checkpoints`, not {}", utf8_of(object))
      .at(Location::of_caller())
      .hint("pass checkpoints=plait.checkpoints(every=100)");
}

void bind_control(nb::module_& module) {
  module.def("_cond", [](const Tensor& predicate, nb::handle then, nb::handle otherwise,
                         nb::handle operands) {
    return to_python(
        control::cond(predicate, on_lists(then), on_lists(otherwise), tensors_from(operands)));
  });
  module.def("_switch", [](const Tensor& index, nb::handle branches, nb::handle operands) {
    std::vector<TensorFunction> functions;
    for (const nb::handle each : branches) functions.push_back(on_lists(each));
    return to_python(control::switch_(index, functions, tensors_from(operands)));
  });
  nb::class_<Checkpoints>(module, "_Checkpoints");
  module.def(
      "_checkpoints",
      [](std::optional<int64_t> every, std::optional<int64_t> memory) {
        return Checkpoints{every, memory};
      },
      nb::arg("every").none(), nb::arg("memory").none());
  module.def(
      "_while",
      [](nb::handle test, nb::handle body, nb::handle initial, nb::handle checkpoints) {
        return to_python(control::while_loop(on_lists(test), on_lists(body), tensors_from(initial),
                                             {checkpoints_from(checkpoints)}));
      },
      nb::arg("test"), nb::arg("body"), nb::arg("initial"), nb::arg("checkpoints").none());
  module.def("_associative_scan",
             [](nb::handle function, nb::handle elements, int64_t axis, bool reverse) {
               return to_python(control::associative_scan(on_lists(function),
                                                          tensors_from(elements), {axis, reverse}));
             });
  module.def(
      "_scan",
      [](nb::handle body, nb::handle initial, nb::handle stacked, nb::handle length, bool reverse,
         nb::handle checkpoints, int64_t unroll) {
        ScanOptions options{
            .reverse = reverse, .checkpoints = checkpoints_from(checkpoints), .unroll = unroll};
        if (!length.is_none()) options.length = Dim(integer_from(length));
        return to_python(
            control::scan(on_lists(body), tensors_from(initial), tensors_from(stacked), options));
      },
      nb::arg("body"), nb::arg("initial"), nb::arg("stacked"), nb::arg("length").none(),
      nb::arg("reverse"), nb::arg("checkpoints").none(), nb::arg("unroll"));
}

constexpr TreeType kKey{.form = TreeForm::text, .name = "key", .fields = {}};

void bind_recursion(nb::module_& module) {
  module.def("_is_staging", &control::is_staging);
  nb::class_<control::RecursiveName>(module, "_RecursiveName");
  module.def("_recursive_name", [](std::string name) {
    return std::make_shared<control::RecursiveName>(control::RecursiveName{std::move(name)});
  });
  // The body returns a list of tensors and their structure, and so does the call.
  module.def("_call_recursive", [](std::shared_ptr<control::RecursiveName> function,
                                   const std::string& key, nb::handle arguments, nb::handle body) {
    TreeKeyBuilder builder;
    builder.add(StaticValue{.type = kKey, .text = key});
    const auto on_leaves = [&](std::span<const Tensor> given, std::any& structure) {
      const nb::object result = called(body, given);
      structure = nb::object(result[1]);
      return tensors_from(result[0]);
    };
    std::any structure;
    const std::vector<Tensor> results = control::call_recursive(
        function, std::move(builder).finish(), tensors_from(arguments), on_leaves, structure);
    return nb::make_tuple(to_python(results), std::any_cast<nb::object>(structure));
  });
}

void bind_autocast(nb::module_& module) {
  nb::class_<Autocast>(module, "_Autocast");
  module.def(
      "_open_autocast",
      [](nb::handle dtype, nb::handle narrow, nb::handle wide) {
        AutocastOptions options{.dtype = dtype_from(dtype)};
        const auto names = [](nb::handle given) {
          std::set<std::string> all;
          for (const nb::handle each : given) all.insert(utf8_of(each));
          return all;
        };
        if (!narrow.is_none()) options.narrow = names(narrow);
        if (!wide.is_none()) options.wide = names(wide);
        return std::make_unique<Autocast>(std::move(options));
      },
      nb::arg("dtype"), nb::arg("narrow").none(), nb::arg("wide").none());
}

// ---- Custom rules. A forward function returns two lists, the results and the kept values; it is
// called from here. The other functions are stored, and called when a derivative is requested.

customs::Forward forward_from(nb::handle function) {
  return [function](std::span<const Tensor> given) {
    const nb::object both = called(function, given);
    return std::pair{tensors_from(both[0]), tensors_from(both[1])};
  };
}

customs::Backward backward_from(nb::object function) {
  return [function = PythonFunction(std::move(function))](std::span<const Tensor> kept,
                                                          std::span<const Tensor> cotangents) {
    const LockedPython locked;
    return tensors_given(function.get(), to_python({kept.begin(), kept.end()}),
                         to_python({cotangents.begin(), cotangents.end()}));
  };
}

customs::Along along_from(nb::object function) {
  return [function = PythonFunction(std::move(function))](std::span<const Tensor> at,
                                                          std::span<const Tensor> tangents) {
    const LockedPython locked;
    const nb::object both = call_deep(function.get(), to_python({at.begin(), at.end()}),
                                      to_python({tangents.begin(), tangents.end()}));
    return std::pair{tensors_from(both[0]), optional_tensors_from(both[1])};
  };
}

void bind_customs(nb::module_& module) {
  module.def("_vary_together",
             [](nb::handle tensors) { return to_python(vary_together(tensors_from(tensors))); });
  module.def("_is_followed",
             [](nb::handle tensors) { return customs::is_followed(tensors_from(tensors)); });
  module.def("_is_recorded",
             [](nb::handle tensors) { return customs::is_recorded(tensors_from(tensors)); });
  module.def("_follow_vjp", [](nb::handle arguments, nb::handle function, nb::handle forward,
                               nb::object backward) {
    return to_python(customs::follow_vjp(tensors_from(arguments), on_lists(function),
                                         forward_from(forward),
                                         backward_from(std::move(backward))));
  });
  module.def("_record_vjp", [](nb::handle arguments, nb::handle function, nb::handle forward,
                               nb::object backward) {
    return to_python(customs::record_vjp(tensors_from(arguments), on_lists(function),
                                         forward_from(forward),
                                         backward_from(std::move(backward))));
  });
  module.def("_follow_jvp", [](nb::handle arguments, nb::handle function, nb::object rule) {
    return to_python(customs::follow_jvp(tensors_from(arguments), on_lists(function),
                                         along_from(std::move(rule))));
  });
  module.def("_record_jvp", [](nb::handle arguments, nb::handle function, nb::object rule) {
    return to_python(customs::record_jvp(tensors_from(arguments), on_lists(function),
                                         along_from(std::move(rule))));
  });
}

}  // namespace

void bind_transforms(nb::module_& module) {
  bind_levels(module);
  bind_tape(module);
  bind_customs(module);
  bind_remat(module);
  bind_vmap(module);
  bind_shard_map(module);
  bind_control(module);
  bind_recursion(module);
  bind_autocast(module);
  auto tensor = nb::borrow<nb::class_<Tensor>>(module.attr("Tensor"));
  tensor
      .def(
          "requires_grad", [](const Tensor& x) { return x.requires_grad(); },
          "A tensor with the same elements, whose gradient backward() computes.")
      .def(
          "backward",
          [](const Tensor& x, nb::handle cotangent, bool create_graph, bool retain_graph) {
            const Tensor given = cotangent.is_none() ? Tensor() : tensor_from(cotangent);
            computed([&] {
              x.backward(given, {.create_graph = create_graph, .keep = retain_graph});
              return 0;
            });
          },
          nb::arg("cotangent").none() = nb::none(), nb::kw_only(), nb::arg("create_graph") = false,
          nb::arg("retain_graph") = false,
          "The backward pass from this tensor, with a cotangent, by default 1 for a scalar.")
      .def_prop_rw(
          "grad", [](const Tensor& x) { return to_python(x.grad()); },
          [](const Tensor& x, nb::handle gradient) {
            if (gradient.is_none()) return x.zero_grad();
            const Tensor given = tensor_from(gradient);
            computed([&] { x.set_grad(given); });
          },
          nb::for_setter(nb::arg("gradient").none()),
          "The gradient that backward() has accumulated for this tensor; None if there is none. "
          "One that is assigned takes its place.")
      .def(
          "zero_grad", [](const Tensor& x) { x.zero_grad(); }, "Resets the gradient.")
      .def(
          "detach", [](const Tensor& x) { return x.detach(); },
          "The same elements, without derivatives.")
      .def(
          "register_hook",
          [](const Tensor& x, nb::object hook) { return register_hook(x, hook_from(hook)); },
          nb::arg("hook"),
          "Calls `hook` with the cotangent, which its result, if any, replaces; returns a number "
          "for remove_hook.")
      .def(
          "remove_hook", [](const Tensor& x, uint64_t number) { remove_hook(x, number); },
          nb::arg("number"), "Removes a hook.");
}

}  // namespace plait::python
