// Instructions without calls: sizes, guards, tuples, records, optional values, and those of the
// machine.
#include "plait/ir/inside/evaluation/evaluation.h"
#include "plait/ir/structure.h"
#include "plait/ir/text/printer.h"

namespace plait::ir {

namespace {

// Compares two types that are equal except for sizes, given the values of their symbols. Stores the
// first two sizes that differ.
struct SizeComparison {
  const SymbolMap<int64_t>& sizes;
  Dim first = 0, second = 0;

  bool agree(Dim a, Dim b) {
    if (same(a, b) || a.evaluate(sizes) == b.evaluate(sizes)) return true;
    first = a;
    second = b;
    return false;
  }

  template <class Dims>
  bool all_agree(const Dims& a, const Dims& b) {
    auto other = std::begin(b);
    for (Dim dim : a) {
      if (!agree(dim, *other++)) return false;
    }
    return true;
  }

  bool agree(const Type& a, const Type& b) {
    switch (a.kind()) {
      case Type::Kind::none: return true;
      case Type::Kind::array: return all_agree(a.shape(), b.shape());
      case Type::Kind::record: return all_agree(a.record_arguments(), b.record_arguments());
      case Type::Kind::optional: return agree(a.element(), b.element());
      case Type::Kind::tuple:
        for (size_t i = 0; i < a.elements().size(); ++i) {
          if (!agree(a.elements()[i], b.elements()[i])) return false;
        }
        return true;
    }
    return true;
  }
};

}  // namespace

void Evaluation::run_machine(const Instruction& instruction) {
  results.resize(instruction.result_count());
  size_results.resize(instruction.size_results().size());
  PrimitiveCall call{instruction, operands_, frames_.back().sizes, results, size_results};
  machine_.run(call);
}

void Evaluation::give_size(const Instruction& instruction) {
  const auto& attributes = instruction.attributes_as<SizeAttributes>();
  results.push_back(machine_.from_size(size(attributes.value), attributes.dtype));
}

void Evaluation::take_as_size(const Instruction& instruction) {
  int64_t count = machine_.to_integer(operands_[0]);
  if (count < 0) {
    throw ValueError("as_size: {} is {}, and a size must not be negative",
                     value_name(instruction.function(), instruction.operands()[0]), count);
  }
  size_results.push_back(count);
}

void Evaluation::refine(const Instruction& instruction) {
  const Type &from = instruction.operand_type(0), &to = instruction.result_types()[0];
  SizeComparison comparison{frames_.back().sizes};
  if (!comparison.agree(from, to)) {
    Dim dims[] = {comparison.first, comparison.second};
    throw ShapeError("refine: {} is {}, not {}: {} differs from {} where {}",
                     value_name(instruction.function(), instruction.operands()[0]), from.text(),
                     to.text(), dims[0].text(), dims[1].text(),
                     sizes_text(dims, frames_.back().sizes));
  }
  results.push_back(std::move(operands_[0]));
}

void Evaluation::fail_guard(const Instruction& instruction, std::string message) {
  FailedGuard failed{instruction, frames_.back().sizes, guards_ - 1, std::move(message)};
  if (options_.on_guard && options_.on_guard(failed) == GuardAnswer::go_on) return;
  throw CheckError("{}", failed.message)
      .hint("this held for the traced arguments; trace the program again for the present ones");
}

void Evaluation::check_size_guard(const Instruction& instruction) {
  const SizeFact& fact = instruction.attributes_as<SizeGuardAttributes>().fact;
  const SymbolMap<int64_t>& sizes = frames_.back().sizes;
  ++guards_;
  if (fact.evaluate(sizes)) return;
  Dim sides[] = {fact.left, fact.right};
  fail_guard(instruction, fmt::format("size_guard: {} does not hold: {}", fact.text(),
                                      sizes_text(sides, sizes)));
}

void Evaluation::check_guard(const Instruction& instruction) {
  bool expected = instruction.attributes_as<GuardAttributes>().expect;
  ++guards_;
  if (machine_.to_boolean(operands_[0]) == expected) return;
  fail_guard(instruction, fmt::format("guard: {} is {}, expected {}",
                                      value_name(instruction.function(), instruction.operands()[0]),
                                      !expected, expected));
}

void Evaluation::take_element(const Instruction& instruction) {
  std::span<const Value> fields = operands_[0].fields();
  int64_t index = instruction.attributes_as<ElementAttributes>().index;
  if (index < 0 || index >= static_cast<int64_t>(fields.size())) {
    throw IndexError("element: index {} is out of range for a tuple of {}", index, fields.size());
  }
  results.push_back(fields[static_cast<size_t>(index)]);
}

void Evaluation::pack(const Instruction& instruction) {
  std::vector<int64_t> held = sizes(instruction.size_arguments());
  for (size_t i = 0; i < held.size(); ++i) {
    if (held[i] >= 0) continue;
    throw ShapeError("pack: size {} is {}", instruction.size_arguments()[i].text(), held[i]);
  }
  results.push_back(Value::aggregate(std::move(operands_), std::move(held)));
}

void Evaluation::unpack() {
  std::span<const int64_t> held = operands_[0].held_sizes();
  size_results.assign(held.begin(), held.end());
  results = std::move(operands_[0]).take_fields();
}

void Evaluation::test_presence() {
  const Value& value = operands_[0];
  if (!value.is_present() && !value.is_absent()) {
    throw TypeError("is_present: the value is not optional");
  }
  results.push_back(machine_.from_boolean(value.is_present()));
}

}  // namespace plait::ir
