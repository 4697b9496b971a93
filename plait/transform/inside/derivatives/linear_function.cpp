#include "plait/transform/inside/derivatives/linear_function.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/core/hash.h"
#include "plait/core/inside/system/recent_cache.h"
#include "plait/ir/text/printer.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/derivation.h"
#include "plait/transform/inside/derivatives/tangents.h"
#include "plait/transform/inside/derivatives/tensor_lists.h"
#include "plait/transform/inside/forms/form.h"
#include "plait/transform/inside/running/run_instruction.h"

namespace plait {
namespace {

[[noreturn]] void refuse_nonlinear(const ir::Instruction& instruction, std::string_view why) {
  throw ValueError("{} is not linear: {}", ir::print(instruction), why).at(instruction.location());
}

// Runs the instructions that depend on known values only, and marks the values that are linear.
class LinearFunction {
 public:
  LinearFunction(const ir::Function& function, std::span<const Tensor> values)
      : function_(function),
        values_(function.value_count()),
        is_linear_(function.value_count(), false) {
    for (size_t i = 0; i < function.parameter_count(); ++i) {
      values_[i] = values[i];
      is_linear_[i] = !values[i];
    }
    for (const ir::Instruction instruction : function.instructions()) run(instruction);
  }

  std::vector<Tensor> transpose(std::span<const Tensor> cotangents) {
    cotangents_.assign(function_.value_count(), {});
    for (size_t i = 0; i < cotangents.size(); ++i) {
      add(function_.results()[i], cotangents[i]);
    }
    for (size_t i = function_.size(); i-- > 0;) {
      const ir::Instruction instruction = function_.instruction(i);
      if (is_linear_[instruction.result()]) pull_through(instruction);
    }
    return {cotangents_.begin(),
            cotangents_.begin() + static_cast<std::ptrdiff_t>(function_.parameter_count())};
  }

 private:
  void run(const ir::Instruction& instruction) {
    const auto operands = instruction.operands();
    if (std::ranges::any_of(operands, [&](ir::ValueId id) { return is_linear_[id]; })) {
      for (size_t r = 0; r < instruction.result_count(); ++r) {
        is_linear_[instruction.result(r)] = true;
      }
      return;
    }
    std::vector<Tensor> given;
    for (const ir::ValueId operand : operands) given.push_back(values_[operand]);
    const std::vector<Tensor> results = run_instruction(instruction, given, {});
    for (size_t r = 0; r < results.size(); ++r) values_[instruction.result(r)] = results[r];
  }

  void add(ir::ValueId value, const Tensor& cotangent) {
    if (!cotangent || !is_linear_[value]) return;
    Tensor& total = cotangents_[value];
    total = sum_of(total, cotangent);
  }

  void pull_through(const ir::Instruction& instruction) {
    std::vector<Tensor> cotangents;
    bool is_zero = true;
    for (size_t r = 0; r < instruction.result_count(); ++r) {
      cotangents.push_back(std::exchange(cotangents_[instruction.result(r)], {}));
      is_zero = is_zero && !cotangents.back();
    }
    if (is_zero) return;
    const auto operands = instruction.operands();
    if (const auto pull = form_of(instruction.primitive().structure).follow.pull) {
      add(operands[0], pull(instruction, cotangents[0]));
      return;
    }
    std::vector<bool> wanted;
    std::vector<Tensor> known;
    std::vector<OperandType> operand_types, result_types;
    for (size_t i = 0; i < operands.size(); ++i) {
      wanted.push_back(is_linear_[operands[i]]);
      known.push_back(values_[operands[i]]);
      operand_types.emplace_back(instruction.operand_type(i));
    }
    for (const ir::Type& type : instruction.result_types()) result_types.emplace_back(type);
    check_reads(instruction, wanted);
    const std::vector<Tensor> none(instruction.result_count());
    const std::vector<Tensor> given = pull_back({instruction.primitive(), instruction.attributes(),
                                                 known, none, operand_types, result_types},
                                                cotangents, wanted);
    for (size_t i = 0; i < operands.size(); ++i) add(operands[i], given[i]);
  }

  void check_reads(const ir::Instruction& instruction, const std::vector<bool>& wanted) const {
    const Reads reads = reads_of(instruction.primitive(), wanted);
    if (reads.results != 0) refuse_nonlinear(instruction, "its derivative depends on its result");
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i] && reads_operand(reads, i)) {
        refuse_nonlinear(instruction, "its derivative depends on its operands");
      }
    }
  }

  const ir::Function& function_;
  std::vector<Tensor> values_;  // by value id; empty for linear values
  std::vector<bool> is_linear_;
  std::vector<Tensor> cotangents_;
};

// Records a rule for tangents as a function of the operands and results that it reads, and of
// the tangents.
RecordedFunction record_tangents(const Application& applied, const Tangents& rule,
                                 const std::vector<bool>& active) {
  Trace trace("tangents", Trace::apart);
  const auto parameter = [&](const OperandType& type) {
    return trace.parameter(type.type(), {}, {}, default_device());
  };
  std::vector<Tensor> operands(applied.operands.size()), results(applied.results.size());
  std::vector<Tensor> tangents(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    if (reads_operand(rule.reads, i)) {
      operands[i] = parameter(applied.operand_types[i]);
    }
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (reads_result(rule.reads, i)) results[i] = parameter(applied.result_types[i]);
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    if (active[i]) tangents[i] = parameter(applied.operand_types[i]);
  }
  std::vector<Tensor> given =
      rule.of({applied.attributes, operands, results, applied.operand_types}, tangents);
  // A result without a tangent is a constant: no cotangent is propagated from it.
  const Tensor nothing = trace.size(0, DType::i64);
  for (Tensor& tangent : given) {
    if (!tangent) tangent = nothing;
  }
  return trace.finish(given);
}

// Cache of recorded rules, most recently used first.
class RecordedTangents {
 public:
  RecordedFunction of(const Application& applied, const Tangents& rule,
                      const std::vector<bool>& active) {
    const Entry* const found =
        entries_.find([&](const Entry& entry) { return entry.answers(applied, active); });
    if (found != nullptr) return found->function;
    Entry entry{&applied.primitive, applied.attributes, active, default_device(), {}, {}, {}};
    for (const OperandType& type : applied.operand_types) entry.operands.push_back(type.type());
    for (const OperandType& type : applied.result_types) entry.results.push_back(type.type());
    entry.function = record_tangents(applied, rule, active);
    return entries_.add(std::move(entry)).function;
  }

 private:
  struct Entry {
    const ir::Primitive* primitive;
    ir::Attributes attributes;
    std::vector<bool> active;
    Device device;  // where its constants are
    std::vector<ir::Type> operands, results;
    RecordedFunction function;

    bool answers(const Application& asked, const std::vector<bool>& by) const {
      const auto is = [](const ir::Type& type, const OperandType& other) {
        return type == other.type();
      };
      return primitive == &asked.primitive && active == by && attributes == asked.attributes &&
             device == default_device() && std::ranges::equal(operands, asked.operand_types, is) &&
             std::ranges::equal(results, asked.result_types, is);
    }
  };

  RecentList<Entry> entries_{64};
};
thread_local RecordedTangents recorded_tangents;

}  // namespace

std::vector<Tensor> transpose_function(const ir::Function& function, std::span<const Tensor> values,
                                       std::span<const Tensor> cotangents) {
  return LinearFunction(function, values).transpose(cotangents);
}

std::vector<Tensor> transpose_tangents(const Application& applied,
                                       std::span<const Tensor> cotangents,
                                       const std::vector<bool>& wanted) {
  const Tangents& rule = find_rules(applied.primitive)->tangents;
  const RecordedFunction recorded = recorded_tangents.of(applied, rule, wanted);
  std::vector<Tensor> values;
  for (size_t i = 0; i < applied.operands.size(); ++i) {
    if (reads_operand(rule.reads, i)) values.push_back(applied.operands[i]);
  }
  for (size_t i = 0; i < applied.results.size(); ++i) {
    if (reads_result(rule.reads, i)) values.push_back(applied.results[i]);
  }
  const size_t first_tangent = values.size();
  values.resize(recorded.function->parameter_count() - recorded.captures.size());
  values.insert(values.end(), recorded.captures.begin(), recorded.captures.end());
  const std::vector<Tensor> all = transpose_function(*recorded.function, values, cotangents);
  std::vector<Tensor> given(wanted.size());
  for (size_t i = 0, next = first_tangent; i < wanted.size(); ++i) {
    if (wanted[i]) given[i] = all[next++];
  }
  return given;
}

}  // namespace plait
