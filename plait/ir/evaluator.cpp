#include "plait/ir/evaluator.h"

#include "plait/ir/evaluation.h"
#include "plait/ir/value_check.h"

namespace plait::ir {

namespace {

Evaluated evaluate_at(const Program& program, uint32_t function, Machine& machine,
                      std::vector<Value> arguments, const EvaluatorOptions& options) {
  std::vector<int64_t> sizes =
      sizes_on_entry(program, program.function(function), machine, arguments, options.sizes);
  return Evaluation(program, machine, options).run(function, sizes, arguments);
}

}  // namespace

bool checks_types_by_default() {
#ifdef NDEBUG
  return false;
#else
  return true;
#endif
}

std::vector<Value> evaluate(const Program& program, Machine& machine,
                            std::span<const Value> arguments, const EvaluatorOptions& options) {
  return evaluate_given(program, machine, {arguments.begin(), arguments.end()}, options);
}

std::vector<Value> evaluate_given(const Program& program, Machine& machine,
                                  std::vector<Value> arguments, const EvaluatorOptions& options) {
  program.entry();  // there is one, or a clear error
  return evaluate_at(program, 0, machine, std::move(arguments), options).results;
}

Evaluated evaluate_function(const Program& program, std::string_view function, Machine& machine,
                            std::span<const Value> arguments, const EvaluatorOptions& options) {
  auto index = static_cast<uint32_t>(program.index_of(function));
  return evaluate_at(program, index, machine, {arguments.begin(), arguments.end()}, options);
}

}  // namespace plait::ir
