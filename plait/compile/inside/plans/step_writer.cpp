#include "plait/compile/inside/plans/step_writer.h"

#include <fmt/format.h>

namespace plait::compile {

StepWriter::StepWriter(const ir::Function& function) {
  const ir::Signature& signature = function.signature();
  planned_.name = function.name();
  planned_.size_parameters = signature.size_parameters;
  planned_.facts = signature.facts;
  for (const Dim size : planned_.size_parameters) taken_.insert(size);
  for (const ir::Type& type : signature.parameters) {
    planned_.parameters.push_back(new_register(type));
  }
}

Register StepWriter::new_register(const ir::Type& type) {
  planned_.registers.push_back({.type = type});
  return static_cast<Register>(planned_.registers.size() - 1);
}

Dim StepWriter::fresh(Dim symbol) {
  Dim name = symbol;
  for (int i = 1; !taken_.insert(name).second; ++i) {
    name = Dim::symbol(fmt::format("{}.{}", symbol.name(), i));
  }
  return name;
}

uint32_t StepWriter::emit(Step step) {
  planned_.steps.push_back(std::move(step));
  return here() - 1;
}

void StepWriter::lead(uint32_t step, uint32_t target) {
  std::visit(
      [&]<class Kind>(Kind& kind) {
        if constexpr (HasTarget<Kind>) kind.target = target;
      },
      planned_.steps[step].kind);
}

void StepWriter::lead(uint32_t step, std::vector<uint32_t> targets) {
  std::get<ChooseStep>(planned_.steps[step].kind).targets = std::move(targets);
}

void StepWriter::move(std::vector<Register> from, std::vector<Register> to, Location location,
                      bool is_loop_carry) {
  if (from.empty()) return;
  emit({.kind = MoveStep{.is_loop_carry = is_loop_carry},
        .operands = std::move(from),
        .results = std::move(to),
        .location = location});
}

void StepWriter::end_loop(PlannedFunction::Loop loop, uint32_t leaving) {
  emit({.kind =
            JumpStep{.target = loop.begin, .loop = static_cast<uint32_t>(planned_.loops.size())}});
  lead(leaving, here());
  loop.end = here();
  emit({.kind = DropStep{}});  // filled in once lifetimes through the loop are known
  planned_.loops.push_back(std::move(loop));
}

void StepWriter::end_branches(std::vector<uint32_t> begins) {
  planned_.branches.push_back({std::move(begins), here()});
}

PlannedFunction StepWriter::finish(std::vector<Register> results, std::vector<Dim> result_sizes) {
  planned_.results = std::move(results);
  planned_.result_sizes = std::move(result_sizes);
  return std::move(planned_);
}

}  // namespace plait::compile
