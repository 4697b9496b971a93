// Programs, and recording them. The package (python/plait/inside/transforms/tracing.py) handles the
// trees of arguments and results; here they are lists of tensors.
#include "plait/transform/programs.h"

#include <algorithm>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "plait/compile/planned_memory.h"
#include "plait/core/error.h"
#include "plait/ir/text/parser_types.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/transform/autocast.h"

#include "python/bindings/bindings.h"
#include "python/bindings/transforms/argument_copies.h"

namespace plait::python {

ir::Type type_from(nb::handle given) {
  if (nb::isinstance<Tensor>(given)) return nb::cast<Tensor>(given).type();
  const std::string text = utf8_of(given);
  return parse_whole(text, ir::parse_type);
}

namespace {

struct PythonProgram {
  ir::Program program;
  std::vector<Tensor> hidden_inputs;  // tensors that the function captured
};

// `function` is called with a list of traced tensors, and returns a list.
PythonProgram record(const std::string& name, nb::handle function, nb::handle types,
                     nb::handle labels) {
  Trace trace(name, Trace::apart);
  nb::list arguments;
  ArgumentCopies copies("a function that is traced");
  for (size_t i = 0; i < nb::len(types); ++i) {
    const std::string label = utf8_of(labels[nb::int_(i)]);
    const nb::handle given = types[nb::int_(i)];
    const bool is_tensor = nb::isinstance<Tensor>(given);
    const Device device = is_tensor ? nb::cast<Tensor>(given).device() : Device();
    arguments.append(copies.add(trace.parameter(type_from(given), label, {}, device)));
  }
  const nb::object results = function(arguments);
  RecordedFunction recorded = trace.finish(tensors_from(results));
  return {trace.program(recorded), std::move(recorded.captures)};
}

nb::list run(const PythonProgram& program, nb::handle arguments) {
  std::vector<Tensor> tensors = tensors_from(arguments);
  tensors.insert(tensors.end(), program.hidden_inputs.begin(), program.hidden_inputs.end());
  return nb::cast<nb::list>(
      to_python(computed([&] { return plait::run(program.program, tensors); })));
}

PythonProgram gradient_of(const PythonProgram& program, const std::vector<int64_t>& by,
                          bool with_value, std::vector<std::string> stop_gradients) {
  std::vector<size_t> places;
  for (const int64_t place : by) {
    if (place < 0) throw ValueError("grad: unknown parameter {}", place);
    places.push_back(static_cast<size_t>(place));
  }
  const ProgramGradOptions options{with_value, std::move(stop_gradients)};
  return {grad(program.program, places, options), program.hidden_inputs};
}

// (arguments, results, temporaries, whether all of it is known)
nb::tuple planned_memory_of(const PythonProgram& program, const nb::dict& sizes,
                            std::optional<double> memory_budget) {
  const std::vector<Dim>& symbols = program.program.entry().signature().size_parameters;
  SymbolMap<int64_t> given;
  for (const auto& [name, size] : sizes) {
    const std::string text = utf8_of(name);
    const auto symbol =
        std::ranges::find_if(symbols, [&](Dim each) { return fmt::format("{}", each) == text; });
    if (symbol == symbols.end()) throw ValueError("memory: the program has no size {}", text);
    given.set(*symbol, nb::cast<int64_t>(size));
  }
  const compile::PlannedMemory memory = compile::planned_memory(
      compile::Compiled(program.program, {.memory_budget = memory_budget}), given);
  return nb::make_tuple(memory.arguments, memory.results, memory.temporaries, memory.is_complete);
}

}  // namespace

void bind_programs(nb::module_& module) {
  nb::class_<PythonProgram>(module, "RecordedProgram")
      .def("text", [](const PythonProgram& p) { return p.program.text(); })
      .def("bytes",
           [](const PythonProgram& p) {
             const std::string bytes = p.program.bytes();
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def("run", run, nb::arg("arguments"))
      .def("memory", planned_memory_of, nb::arg("sizes"), nb::arg("memory_budget").none())
      .def("grad", gradient_of, nb::arg("by"), nb::arg("with_value"), nb::arg("stop_gradients"))
      .def("autocast",
           [](const PythonProgram& p, nb::handle dtype) {
             return PythonProgram{autocast(p.program, {.dtype = dtype_from(dtype)}),
                                  p.hidden_inputs};
           })
      .def_static(
          "parse",
          [](const std::string& text) { return PythonProgram{ir::Program::parse(text), {}}; })
      .def_static("from_bytes",
                  [](const nb::bytes& bytes) {
                    return PythonProgram{ir::Program::from_bytes({bytes.c_str(), bytes.size()}),
                                         {}};
                  })
      .def("hidden_inputs", [](const PythonProgram& p) { return to_python(p.hidden_inputs); });
  module.def("_record", record, nb::arg("name"), nb::arg("function"), nb::arg("types"),
             nb::arg("labels"));
  module.def("_is_tracing", [] { return Trace::current() != nullptr; });
}

}  // namespace plait::python
