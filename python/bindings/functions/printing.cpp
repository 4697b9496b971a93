// Effects: prints, checks, calls of host code.
#include <algorithm>
#include <map>
#include <utility>

#include "plait/ops/effects/callback.h"
#include "plait/ops/effects/check.h"
#include "plait/ops/effects/checkpoint_name.h"
#include "plait/ops/effects/print.h"
#include "plait/tensor/inside/tracing/trace.h"

#include "python/bindings/functions/bind.h"
#include "python/bindings/transforms/argument_copies.h"

namespace plait::python {
namespace {

// A Python function that any thread may call and release; it acquires Python's lock.
class PythonSink {
 public:
  explicit PythonSink(nb::object function)
      : function_(new nb::object(std::move(function)), [](nb::object* held) {
          if (Py_IsInitialized() == 0 || is_ended_elsewhere()) return;
          const LockedPython locked;
          delete held;
        }) {}

  void operator()(std::string_view text) const {
    const LockedPython locked;
    (*function_)(nb::str(text.data(), text.size()));
  }
  const nb::object& function() const { return *function_; }

 private:
  std::shared_ptr<nb::object> function_;
};

// Returns the previous sink, or None for standard output.
nb::object set_sink(nb::handle given) {
  PrintSink sink;
  if (!given.is_none()) {
    if (PyCallable_Check(given.ptr()) == 0) {
      throw TypeError("set_print_sink: sink: expected a function, not {}", class_name_of(given));
    }
    sink = PythonSink(nb::borrow(given));
  }
  const PrintSink former = computed([&] { return set_print_sink(std::move(sink)); });
  const auto* function = former.target<PythonSink>();
  return function == nullptr ? nb::none() : function->function();
}

// Converts the result of a Python function to tensors: one, a sequence, or nothing.
std::vector<Tensor> tensors_given(nb::handle function, bool is_one,
                                  std::span<const Tensor> operands) {
  const LockedPython locked;
  try {
    ArgumentCopies handed("a function that plait.callback calls");
    nb::list arguments;
    for (const Tensor& each : operands) arguments.append(handed.add(each));
    const nb::object given = function(*arguments);
    if (is_one) return {tensor_from(given)};
    return given.is_none() ? std::vector<Tensor>() : tensors_from(given);
  } catch (const nb::python_error& error) {
    rethrow_passing(error);
    throw;
  }
}

// The same function is stored only once.
int64_t number_of_kept(nb::handle function, bool is_one) {
  static auto& numbers = *new std::map<std::pair<PyObject*, bool>, int64_t>;
  const auto [place, is_new] = numbers.try_emplace({function.ptr(), is_one}, 0);
  if (is_new) {
    place->second = keep_callback([kept = held(nb::borrow(function)), is_one](auto operands) {
      return tensors_given(kept.get(), is_one, operands);
    });
  }
  return place->second;
}

nb::object call_host(nb::handle function, bool is_one, nb::handle given, nb::handle results) {
  const std::vector<Tensor> operands = tensors_from(given);
  std::vector<ir::Type> types;
  for (size_t i = 0; i < nb::len(results); ++i) types.push_back(type_from(results[nb::int_(i)]));
  const bool is_over =
      Trace::current() == nullptr &&
      std::ranges::none_of(operands, [](const Tensor& x) { return x.derivation() != nullptr; });
  if (!is_over) {
    const int64_t number = number_of_kept(function, is_one);
    return to_python(computed([&] { return call_back(number, operands, types); }));
  }
  const auto now = [&](auto arguments) { return tensors_given(function, is_one, arguments); };
  return to_python(computed([&] { return callback(now, operands, types); }));
}

}  // namespace

void bind_printing(nb::module_& module) {
  using nb::arg;
  add_functions<Tensor(const Tensor&, std::string_view)>(
      module,
      {{"print", print,
        "Prints x, in a program each time that the program reaches it; returns x."}},
      arg("x"), arg("label") = "");
  add_functions<Tensor(const Tensor&, std::string_view)>(
      module,
      {{"checkpoint_name", checkpoint_name,
        "x, with a name by which a policy of remat can keep it."}},
      arg("x"), arg("name"));
  add_functions<void(const Tensor&, std::string_view)>(
      module,
      {{"check", check, "An error with the message if any element of the condition is false."}},
      arg("condition"), arg("message") = "");
  module.def("_callback", &call_host);
  module.def("set_print_sink", set_sink, arg("sink").none(),
             "Sends printed text to sink(text), or to standard output for None. Returns the "
             "previous sink.");
}

}  // namespace plait::python
