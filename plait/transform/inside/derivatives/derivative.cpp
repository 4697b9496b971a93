#include "plait/transform/inside/derivatives/derivative.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/ir/structure.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/transform/inside/derivatives/linear_function.h"
#include "plait/transform/inside/derivatives/tangents.h"

namespace plait {
namespace {

constexpr size_t kBits = 32;  // bits of a mask; the last bit represents all further ones

bool has_bit(uint32_t mask, size_t i) { return (mask >> std::min(i, kBits - 1) & 1) != 0; }

const Rules& rules_of(const ir::Primitive& primitive) {
  const Rules* rules = find_rules(primitive);
  if (rules == nullptr || (!rules->has_derivative() && rules->not_differentiable.empty())) {
    throw TypeError("{} has no rule for its derivative", primitive.name)
        .hint("declare partials, transposes or tangents, or the reason why it has none");
  }
  return *rules;
}

const Transpose* transpose_of(const Rules& rules, size_t operand) {
  if (rules.transposes.empty()) return nullptr;
  const Transpose& rule = rules.transposes[std::min(operand, rules.transposes.size() - 1)];
  return rule.of == nullptr ? nullptr : &rule;
}

RuleContext context_of(const Application& applied) {
  return {applied.attributes, applied.operands, applied.results, applied.operand_types};
}

// c · d in the dtype of the operand; d may be wider.
Tensor scaled(const Tensor& c, const Tensor& d, DType dtype) {
  return astype(multiply(c, d), dtype);
}

Tensor times_partial(const Partial& partial, const RuleContext& context, const Tensor& x,
                     DType dtype) {
  switch (partial.kind) {
    case Partial::Kind::zero: return {};
    case Partial::Kind::one: return x;
    case Partial::Kind::minus_one: return negative(x);
    case Partial::Kind::given: return scaled(x, partial.value(context), dtype);
  }
  return {};
}

// Where a rule makes its constants: where its operands, results and the derivatives given to it
// are.
Device device_of_rule(const Application& applied, std::span<const Tensor> derivatives) {
  for (const std::span<const Tensor> tensors : {derivatives, applied.operands, applied.results}) {
    if (const Device device = device_of(tensors); !device.is_cpu()) return device;
  }
  return {};
}

// JVP of a primitive that is linear in its operands, jointly or in each with the others fixed:
// operands that the transpose reads are fixed, the others are replaced by their tangents.
std::vector<Tensor> push_through_linear(const Application& applied, const Rules& rules,
                                        std::span<const Tensor> tangents) {
  const size_t count = tangents.size();
  std::vector<Tensor> total;
  std::vector<bool> done(count, false);
  for (size_t i = 0; i < count; ++i) {
    const Transpose* rule = transpose_of(rules, i);
    if (!tangents[i] || done[i] || rule == nullptr) continue;
    std::vector<Tensor> operands(applied.operands.begin(), applied.operands.end());
    for (size_t k = 0; k < count; ++k) {
      const bool is_linear = k == i || (is_inexact(applied.operand_types[k].dtype()) &&
                                        !reads_operand(rule->reads, k));
      if (!is_linear) continue;
      done[k] = true;
      operands[k] = tangents[k] ? tangents[k] : zeros_of(applied.operand_types[k]);
    }
    std::vector<Tensor> term = apply_all(applied.primitive, operands, applied.attributes);
    if (total.empty()) {
      total = std::move(term);
    } else {
      for (size_t r = 0; r < total.size(); ++r) total[r] = sum_of(total[r], term[r]);
    }
  }
  total.resize(applied.result_types.size());
  return total;
}

}  // namespace

std::vector<OperandType> types_of(std::span<const Tensor> tensors) {
  return {tensors.begin(), tensors.end()};
}

bool reads_operand(const Reads& reads, size_t i) { return has_bit(reads.operands, i); }
bool reads_result(const Reads& reads, size_t i) { return has_bit(reads.results, i); }

Reads reads_of(const ir::Primitive& primitive, const std::vector<bool>& wanted) {
  const Rules& rules = rules_of(primitive);
  Reads reads;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    if (!rules.partials.empty()) {
      reads = reads | rules.partials[i].reads;
    } else if (const Transpose* rule = transpose_of(rules, i)) {
      reads = reads | rule->reads;
    } else {
      reads = reads | rules.tangents.reads;
    }
  }
  return reads;
}

bool is_differentiable(const ir::Primitive& primitive, const std::vector<bool>& wanted) {
  const Rules& rules = rules_of(primitive);
  if (!rules.has_derivative()) return false;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    if (rules.partials.empty()) return true;
    if (rules.partials[i].kind != Partial::Kind::zero) return true;
  }
  return false;
}

std::vector<Tensor> push_forward(const Application& applied, std::span<const Tensor> tangents) {
  const Rules& rules = rules_of(applied.primitive);
  const DeviceScope there(device_of_rule(applied, tangents));
  const RuleContext context = context_of(applied);
  if (!rules.partials.empty()) {
    Tensor total;
    for (size_t i = 0; i < tangents.size(); ++i) {
      if (!tangents[i]) continue;
      const DType dtype = applied.result_types[0].dtype();
      total = sum_of(total, times_partial(rules.partials[i], context, tangents[i], dtype));
    }
    return {total};
  }
  const auto is_linear_in = [&](size_t i) {
    return !tangents[i] || transpose_of(rules, i) != nullptr;
  };
  bool is_linear = true;
  for (size_t i = 0; i < tangents.size(); ++i) is_linear = is_linear && is_linear_in(i);
  if (is_linear) return push_through_linear(applied, rules, tangents);
  return rules.tangents.of(context, tangents);
}

std::vector<Tensor> pull_back(const Application& applied, std::span<const Tensor> cotangents,
                              const std::vector<bool>& wanted) {
  const Rules& rules = rules_of(applied.primitive);
  const DeviceScope there(device_of_rule(applied, cotangents));
  const RuleContext context = context_of(applied);
  std::vector<Tensor> pulled(wanted.size());
  std::vector<bool> by_tangents(wanted.size(), false);
  bool needs_tangents = false;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    if (!rules.partials.empty()) {
      const DType dtype = applied.operand_types[i].dtype();
      pulled[i] = times_partial(rules.partials[i], context, cotangents[0], dtype);
    } else if (const Transpose* rule = transpose_of(rules, i)) {
      pulled[i] = rule->of(context, cotangents[0], i);
    } else {
      by_tangents[i] = needs_tangents = true;
    }
  }
  if (!needs_tangents) return pulled;
  const std::vector<Tensor> rest = transpose_tangents(applied, cotangents, by_tangents);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (by_tangents[i]) pulled[i] = rest[i];
  }
  return pulled;
}

}  // namespace plait
