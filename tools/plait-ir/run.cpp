#include "run.h"

#include <charconv>

#include "plait/compile/compiler.h"
#include "plait/compile/inside/running/compiled_access.h"
#include "plait/core/error.h"
#include "plait/ir/evaluation/evaluator.h"
#include "plait/tensor/array_machine.h"
#include "plait/transform/programs.h"

#include "arguments.h"

using namespace plait;
using namespace plait::ir;

namespace {

void set_size(SymbolMap<int64_t>& sizes, const std::string& text) {
  size_t equals = text.find('=');
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const char* number = text.data() + (equals == std::string::npos ? text.size() : equals + 1);
  auto [stop, error] = std::from_chars(number, end, value);
  if (equals == std::string::npos || error != std::errc() || stop != end || value < 0)
    throw ValueError("--size {}: expected name=number", text);
  sizes.set(Dim::symbol(text.substr(0, equals)), value);
}

std::string text_of(const Value& value) {
  if (value.is_absent()) return "absent";
  if (value.is_present()) return "present " + text_of(value.unwrapped());
  if (!value.is_aggregate()) return plait::text_of(TensorMachine::array_of(value));
  std::string out = "(";
  for (const Value& field : value.fields()) out += (out.size() > 1 ? ", " : "") + text_of(field);
  return out + ")";
}

std::vector<Value> arguments_of(const Function& function, const std::vector<std::string>& texts) {
  const std::vector<Type>& parameters = function.signature().parameters;
  if (texts.size() != parameters.size())
    throw ValueError("@{} takes {} arguments, {} are given", function.name(), parameters.size(),
                     texts.size());
  std::vector<Value> arguments;
  for (size_t i = 0; i < parameters.size(); ++i) {
    try {
      arguments.push_back(parse_argument(texts[i], parameters[i]));
    } catch (Error& error) {
      error.set_hint(
          fmt::format("argument {} of @{} is {}", i, function.name(), parameters[i].text()));
      throw;
    }
  }
  return arguments;
}

Program beginning_with(const Program& program, const std::string& function) {
  std::vector<std::shared_ptr<const Function>> functions(program.functions().begin(),
                                                         program.functions().end());
  std::swap(functions.front(), functions[program.index_of(function)]);
  return Program::of(std::move(functions), {program.records().begin(), program.records().end()});
}

Evaluated done(const Run& run, bool compiled) {
  if (compiled) {
    auto given = compile::CompiledAccess::run_values(compile::Compiled(run.program), run.arguments,
                                                     run.sizes, {});
    return {std::move(given.values), std::move(given.sizes)};
  }
  TensorMachine machine;
  return evaluate_function(with_tapes(run.program), run.program.entry().name(), machine,
                           run.arguments, {.check_types = true, .sizes = run.sizes});
}

void add_arrays(const std::string& name, const Value& value, std::map<std::string, Array>& into) {
  if (value.is_absent()) return;
  if (value.is_present()) return add_arrays(name, value.unwrapped(), into);
  if (!value.is_aggregate()) {
    into[name] = TensorMachine::array_of(value);
    return;
  }
  for (size_t i = 0; i < value.fields().size(); ++i) {
    add_arrays(fmt::format("{}.{}", name, i), value.fields()[i], into);
  }
}

}  // namespace

Run read_run(const Program& program, const RunOptions& options) {
  Run run{options.function.empty() ? program : beginning_with(program, options.function)};
  run.arguments = arguments_of(run.program.entry(), options.arguments);
  for (const std::string& size : options.sizes) set_size(run.sizes, size);
  return run;
}

std::string run(const Program& program, const RunOptions& options) {
  const Run what = read_run(program, options);
  const Evaluated found = done(what, options.compiled);
  const std::vector<Dim>& sizes = what.program.entry().signature().result_sizes;
  std::string out;
  for (size_t i = 0; i < sizes.size(); ++i) {
    out += fmt::format("{} = {}\n", sizes[i].text(), found.sizes[i]);
  }
  for (const Value& value : found.results) out += text_of(value) + "\n";
  return out;
}

std::map<std::string, Array> run_to_arrays(const Program& program, const RunOptions& options) {
  const Run what = read_run(program, options);
  const Evaluated found = done(what, options.compiled);
  const std::vector<Dim>& sizes = what.program.entry().signature().result_sizes;
  std::map<std::string, Array> arrays;
  for (size_t i = 0; i < sizes.size(); ++i) arrays[sizes[i].text()] = Array::of(found.sizes[i]);
  for (size_t i = 0; i < found.results.size(); ++i) {
    add_arrays(std::to_string(i), found.results[i], arrays);
  }
  return arrays;
}
