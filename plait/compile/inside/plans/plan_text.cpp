// Plans as text.
#include <fmt/format.h>

#include "plait/compile/inside/plans/plan.h"
#include "plait/ir/primitive.h"

namespace plait::compile {
namespace {

constexpr std::string_view kNames[] = {
    "kernel",    "primitive",  "view",   "constant", "size",      "as_size",    "refine",
    "guard",     "size_guard", "tuple",  "element",  "pack",      "unpack",     "absent",
    "present",   "is_present", "unwrap", "move",     "set_sizes", "begin_scan", "next_slice",
    "put_slice", "next_node",  "jump",   "branch",   "choose",    "call",       "drop"};

std::string registers(std::span<const Register> list, const std::vector<bool>* is_last = nullptr) {
  std::string text;
  for (size_t i = 0; i < list.size(); ++i) {
    text += fmt::format("{}r{}{}", i == 0 ? "" : ", ", list[i],
                        is_last != nullptr && (*is_last)[i] ? "!" : "");
  }
  return text;
}

std::string what(const Plan& plan, const Step& step) {
  using Kind = Step::Kind;
  switch (step.kind) {
    case Kind::kernel: return "@" + plan.kernels[step.kernel].function->name();
    case Kind::primitive:
    case Kind::view: return step.primitive->name;
    case Kind::call: return "@" + plan.functions[step.target].name;
    default: return "";
  }
}

std::string line(const Plan& plan, const PlannedFunction& function, const Step& step) {
  using Kind = Step::Kind;
  std::string text = registers(step.results);
  if (!text.empty()) text += " = ";
  text += kNames[static_cast<size_t>(step.kind)];
  if (const std::string name = what(plan, step); !name.empty()) text += " " + name;
  if (!step.operands.empty()) text += " " + registers(step.operands, &step.is_last);
  const bool goes = step.kind == Kind::jump || step.kind == Kind::branch ||
                    step.kind == Kind::next_slice || step.kind == Kind::next_node;
  if (goes) text += fmt::format(" -> {}", step.target);
  for (const uint32_t target : step.targets) text += fmt::format(" -> {}", target);
  for (const Register r : step.results) {
    const RegisterInfo& info = function.registers[r];
    if (info.storage == Storage::frame) text += fmt::format("  [r{}: {}]", r, info.type.text());
  }
  return text;
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
    if (const auto& product = kernel.product) {
      text += fmt::format(" along the rows of parameter {}, operand {} x operand {}",
                          product->parameter, product->a, product->b);
    }
    text += "\n" + kernel.nest.text();
  }
  return text;
}

}  // namespace plait::compile
