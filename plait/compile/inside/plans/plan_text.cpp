// Plans as text.
#include <fmt/format.h>

#include "plait/compile/inside/plans/plan.h"
#include "plait/ir/primitive.h"

namespace plait::compile {
namespace {

std::string registers(std::span<const Register> list, const std::vector<bool>* is_last = nullptr) {
  std::string text;
  for (size_t i = 0; i < list.size(); ++i) {
    text += fmt::format("{}r{}{}", i == 0 ? "" : ", ", list[i],
                        is_last != nullptr && (*is_last)[i] ? "!" : "");
  }
  return text;
}

// The subject of a step, besides its operands.
std::string subject(const Plan& plan, const Step& step) {
  if (const auto* kernel = step.as<KernelStep>()) {
    return "@" + plan.kernels[kernel->kernel].function->name();
  }
  if (const auto* call = step.as<CallStep>()) return "@" + plan.functions[call->callee].name;
  const Operation* const operation = step.operation();
  return operation != nullptr ? operation->primitive->name : "";
}

std::string targets(const Step& step) {
  std::string text;
  std::visit(
      [&]<class Kind>(const Kind& kind) {
        if constexpr (HasTarget<Kind>) text = fmt::format(" -> {}", kind.target);
      },
      step.kind);
  if (const auto* choose = step.as<ChooseStep>()) {
    for (const uint32_t target : choose->targets) text += fmt::format(" -> {}", target);
  }
  return text;
}

std::string line(const Plan& plan, const PlannedFunction& function, const Step& step) {
  std::string text = registers(step.results);
  if (!text.empty()) text += " = ";
  text += step.name();
  if (const std::string name = subject(plan, step); !name.empty()) text += " " + name;
  if (!step.operands.empty()) text += " " + registers(step.operands, &step.is_last);
  text += targets(step);
  for (const Register r : step.results) {
    const RegisterInfo& info = function.registers[r];
    if (info.storage == Storage::frame) text += fmt::format("  [r{}: {}]", r, info.type.text());
  }
  return text;
}

std::string trailing_text(const PlannedKernel::Trailing& trailing) {
  using Kind = TrailingProduct::Kind;
  switch (trailing.kind) {
    case Kind::rows: return fmt::format("result {} x operand {}", trailing.rows, trailing.other);
    case Kind::sum_left:
      return fmt::format("transposed result {} x operand {}", trailing.rows, trailing.other);
    case Kind::sum_right: break;
  }
  return fmt::format("operand {} x result {}", trailing.other, trailing.rows);
}

std::string needed_text(const ColumnNeeds& needs, size_t product) {
  const NeededColumns& needed = needs.products[product];
  switch (needed.by) {
    case NeededColumns::By::none: break;
    case NeededColumns::By::mask:
      return fmt::format(" where parameter {} is true", needs.mask->parameter);
    case NeededColumns::By::factor: return fmt::format(" where result {} is not 0", needed.result);
  }
  return "";
}

}  // namespace

std::string Plan::text_of(const PlannedFunction& function, const Step& step) const {
  return line(*this, function, step);
}

std::string Plan::text() const {
  std::string text;
  for (const PlannedFunction& function : functions) {
    text += fmt::format("plan @{}({}) -> ({})\n", function.name, registers(function.parameters),
                        registers(function.results));
    for (size_t i = 0; i < function.steps.size(); ++i) {
      text += fmt::format("{:4}  {}\n", i, line(*this, function, function.steps[i]));
    }
  }
  for (const PlannedKernel& kernel : kernels) {
    text += fmt::format("kernel @{}", kernel.function->name());
    for (size_t i = 0; i < kernel.products.size(); ++i) {
      const PlannedKernel::Product& product = kernel.products[i];
      text += fmt::format("{} along the rows of parameter {}, operand {} x operand {}",
                          i == 0 ? "" : ",", product.parameter, product.a, product.b);
      if (!kernel.trailing.empty()) text += needed_text(kernel.needs, i);
    }
    for (const PlannedKernel::Draw& draw : kernel.draws) {
      text +=
          fmt::format(", parameter {} drawn from the key of operand {}", draw.parameter, draw.key);
    }
    for (const PlannedKernel::Trailing& trailing : kernel.trailing) {
      text += ", then " + trailing_text(trailing);
    }
    text += "\n" + kernel.nest.text();
  }
  return text;
}

}  // namespace plait::compile
