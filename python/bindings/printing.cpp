// Looking at values while they are computed, and who is told of them.
#include "plait/ops/checkpoint_name.h"
#include "plait/ops/print.h"

#include "python/bindings/bind.h"

namespace plait::python {
namespace {

// A function of Python, which is called and given back with Python's lock by whatever thread.
class PythonSink {
 public:
  explicit PythonSink(nb::object function)
      : function_(new nb::object(std::move(function)), [](nb::object* held) {
          if (Py_IsInitialized() == 0) return;
          const nb::gil_scoped_acquire locked;
          delete held;
        }) {}

  void operator()(std::string_view text) const {
    const nb::gil_scoped_acquire locked;
    (*function_)(nb::str(text.data(), text.size()));
  }
  const nb::object& function() const { return *function_; }

 private:
  std::shared_ptr<nb::object> function_;
};

// The former sink, or None where that was standard output.
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

}  // namespace

void bind_printing(nb::module_& module) {
  using nb::arg;
  add_functions<Tensor(const Tensor&, std::string_view)>(
      module, {{"print", print, "Prints x, in a program whenever that comes there; gives x back."}},
      arg("x"), arg("label") = "");
  add_functions<Tensor(const Tensor&, std::string_view)>(
      module,
      {{"checkpoint_name", checkpoint_name, "x itself, with a name that remat can keep it by."}},
      arg("x"), arg("name"));
  module.def("set_print_sink", set_sink, arg("sink").none(),
             "What is printed goes to sink(text); None: to standard output. Gives the former one.");
}

}  // namespace plait::python
