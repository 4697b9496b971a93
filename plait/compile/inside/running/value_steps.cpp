#include "plait/compile/inside/running/value_steps.h"

#include "plait/core/error.h"
#include "plait/ir/inside/evaluation/value_check.h"
#include "plait/tensor/array_machine.h"

namespace plait::compile {
namespace {

using ir::Value;

void unpack(Frame& frame, Value record, std::span<const Dim> symbols,
            std::span<const Register> into) {
  const std::vector<int64_t> held(record.held_sizes().begin(), record.held_sizes().end());
  std::vector<Value> fields = std::move(record).take_fields();
  frame.set_sizes(symbols, held);
  for (size_t i = 0; i < into.size(); ++i) frame.value(into[i]) = std::move(fields[i]);
}

}  // namespace

void run_step(Frame& frame, const Step& step, const SizeStep& kind) {
  TensorMachine machine;
  frame.value(step.results[0]) = machine.from_size(frame.number(kind.size), kind.dtype);
}

void run_step(Frame& frame, const Step& step, const AsSizeStep& kind) {
  TensorMachine machine;
  const int64_t count = machine.to_integer(frame.operand(step, 0));
  if (count < 0) throw ValueError("as_size: {}, and a size must not be negative", count);
  frame.set_size(kind.symbol, count);
}

void run_step(Frame& frame, const Step& step, const RefineStep& kind) {
  std::vector<Dim> wanted, given;
  kind.to.for_each_dim([&](Dim dim) { wanted.push_back(dim); });
  kind.from.for_each_dim([&](Dim dim) { given.push_back(dim); });
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (frame.number(wanted[i]) == frame.number(given[i])) continue;
    const Dim dims[] = {given[i], wanted[i]};
    throw ShapeError("refine: {} is not {}: {} differs from {} where {}", kind.from.text(),
                     kind.to.text(), dims[0].text(), dims[1].text(),
                     ir::sizes_text(dims, frame.sizes()));
  }
  frame.value(step.results[0]) = frame.operand(step, 0);
}

void run_step(Frame& frame, const Step&, const SetSizesStep& kind) {
  frame.set_sizes(kind.symbols, frame.numbers(kind.values));
}

void run_step(Frame& frame, const Step& step, const TupleStep&) {
  frame.value(step.results[0]) = Value::aggregate(frame.operands(step));
}

void run_step(Frame& frame, const Step& step, const ElementStep& kind) {
  const Value tuple = frame.operand(step, 0);
  const auto fields = tuple.fields();
  if (kind.index >= fields.size()) {
    throw IndexError("element: index {} is out of range for a tuple of {}", kind.index,
                     fields.size());
  }
  frame.value(step.results[0]) = fields[kind.index];
}

void run_step(Frame& frame, const Step& step, const PackStep& kind) {
  std::vector<int64_t> held = frame.numbers(kind.held);
  for (size_t i = 0; i < held.size(); ++i) {
    if (held[i] < 0) throw ShapeError("pack: size {} is {}", kind.held[i].text(), held[i]);
  }
  frame.value(step.results[0]) = Value::aggregate(frame.operands(step), std::move(held));
}

void run_step(Frame& frame, const Step& step, const UnpackStep& kind) {
  unpack(frame, frame.operand(step, 0), kind.held, step.results);
}

void run_step(Frame& frame, const Step& step, const AbsentStep&) {
  frame.value(step.results[0]) = Value::absent();
}

void run_step(Frame& frame, const Step& step, const PresentStep&) {
  frame.value(step.results[0]) = Value::present(frame.operand(step, 0));
}

void run_step(Frame& frame, const Step& step, const IsPresentStep&) {
  const Value value = frame.operand(step, 0);
  if (!value.is_present() && !value.is_absent()) {
    throw TypeError("is_present: the value is not optional");
  }
  TensorMachine machine;
  frame.value(step.results[0]) = machine.from_boolean(value.is_present());
}

void run_step(Frame& frame, const Step& step, const UnwrapStep&) {
  frame.value(step.results[0]) = frame.operand(step, 0).unwrapped();
}

bool take_node(Frame& frame, const Step& step, const NextNodeStep& kind) {
  Value list = std::move(frame.value(step.operands[0]));
  if (list.is_absent()) return false;
  unpack(frame, std::move(list).unwrapped(), kind.held, step.results);
  return true;
}

uint32_t chosen_target(std::span<const uint32_t> targets, int64_t index) {
  if (index < 0 || index >= static_cast<int64_t>(targets.size())) {
    throw IndexError("switch: index {} is out of range for {} functions", index, targets.size());
  }
  return targets[static_cast<size_t>(index)];
}

void run_step(Frame& frame, const Step& step, const MoveStep&) {
  std::vector<Value> values = frame.operands(step);
  for (size_t i = 0; i < values.size(); ++i) frame.value(step.results[i]) = std::move(values[i]);
}

void run_step(Frame& frame, const Step& step, const DropStep&) { frame.operands(step); }

}  // namespace plait::compile
