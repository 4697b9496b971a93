#include "plait/ir/evaluation/evaluator.h"

#include "plait/ir/inside/evaluation/evaluation.h"
#include "plait/ir/inside/evaluation/value_check.h"

namespace plait::ir {

PreparedProgram::State::State(Program given) : program(std::move(given)) {
  program.entry();  // throws a clear error if there is none
  layouts.reserve(program.functions().size());
  for (uint32_t i = 0; i < program.functions().size(); ++i) {
    layouts.emplace_back(program.function(i));
  }
}

PreparedProgram::PreparedProgram(Program program)
    : state_(std::make_shared<const State>(std::move(program))) {}

const Program& PreparedProgram::program() const { return state_->program; }

bool PreparedProgram::reads(size_t parameter) const {
  const FrameLayout& entry = state_->layouts[0];
  return entry.slot_of(static_cast<ValueId>(parameter)) != FrameLayout::kNowhere ||
         !entry.function().signature().size_parameters.empty();
}

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
  return evaluate_donated(program, machine, {arguments.begin(), arguments.end()}, options);
}

std::vector<Value> evaluate_donated(const Program& program, Machine& machine,
                                    std::vector<Value> arguments, const EvaluatorOptions& options) {
  program.entry();  // throws a clear error if there is none
  return evaluate_at(program, 0, machine, std::move(arguments), options).results;
}

std::vector<Value> evaluate_donated(const PreparedProgram& prepared, Machine& machine,
                                    std::vector<Value> arguments, const EvaluatorOptions& options) {
  const Program& program = prepared.program();
  std::vector<int64_t> sizes;
  if (!program.entry().signature().size_parameters.empty()) {
    sizes = sizes_on_entry(program, program.entry(), machine, arguments, options.sizes);
  }
  return Evaluation(prepared, machine, options).run(0, sizes, arguments).results;
}

Evaluated evaluate_function(const Program& program, std::string_view function, Machine& machine,
                            std::span<const Value> arguments, const EvaluatorOptions& options) {
  auto index = static_cast<uint32_t>(program.index_of(function));
  return evaluate_at(program, index, machine, {arguments.begin(), arguments.end()}, options);
}

}  // namespace plait::ir
