#include "plait/compile/inside/passes/scan_products.h"

#include <algorithm>
#include <utility>

#include "plait/compile/inside/passes/usual_bytes.h"
#include "plait/ops/inside/primitives.h"

namespace plait::compile {
namespace {

using ir::Instruction;
using ir::ValueId;

// Products of more rows are as fast one by one.
constexpr int64_t kMostRows = 128;

bool is_of(const std::optional<Instruction>& instruction, const ir::Primitive& primitive) {
  return instruction && &instruction->primitive() == &primitive;
}

bool is_matrix(const ir::Type& type) { return type.is_array() && type.shape().rank() == 2; }

bool are_few(Dim rows) { return !rows.is_number() || rows.number() <= kMostRows; }

// True if a converted sum is as good as a sum of converted numbers: no less precise, but for bf16,
// and without overflow.
bool converts_sums(const Instruction& conversion) {
  const DType from = conversion.operand_type(0).dtype(), to = conversion.result_types()[0].dtype();
  if (!is_floating(from) || !is_floating(to)) return false;
  return size_of(to) <= size_of(from) || (from == DType::bf16 && to == DType::f32);
}

}  // namespace

ScanBody::ScanBody(const ir::Function& function, const ir::ScanAttributes& scan)
    : function_(function),
      constants_(static_cast<size_t>(scan.constants)),
      carries_(static_cast<size_t>(scan.carries)),
      reads_(function.value_count()) {
  for (const Instruction instruction : function.instructions()) {
    for (const ValueId operand : instruction.operands()) ++reads_[operand];
  }
  for (const ValueId result : function.results()) ++reads_[result];
}

bool ScanBody::has_stack(ValueId value) const {
  const auto stacks = function_.results().subspan(carries_);
  return is_slice(source_of(value)) || std::ranges::find(stacks, value) != stacks.end();
}

ValueId ScanBody::source_of(ValueId value) const {
  for (auto from = function_.definition(value); from; from = function_.definition(value)) {
    if (!is_of(from, permute_primitive()) && !is_of(from, convert_primitive())) break;
    value = from->operands()[0];
  }
  return value;
}

ScanProducts::ScanProducts(const ScanBody& body)
    : body_(body), is_dropped_(body.carries()), is_sum_(body.function().value_count()) {
  for (const Instruction instruction : body.function().instructions()) {
    if (is_product_of_slice(instruction)) before_.push_back(instruction);
  }
  std::vector<std::pair<size_t, std::vector<ValueId>>> sums;
  for (size_t i = 0; i < body.carries(); ++i) {
    auto addends = addends_of(i);
    if (!addends.empty()) sums.emplace_back(i, std::move(addends));
  }
  for (const auto& [carry, addends] : sums) note_factors(carry, addends);
  for (const auto& [carry, addends] : sums) note(carry, addends);
}

size_t ScanProducts::count_of_kept_carries() const {
  return static_cast<size_t>(std::ranges::count(is_dropped_, false));
}

bool ScanProducts::is_product_of_slice(const Instruction& instruction) const {
  if (&instruction.primitive() != &matmul_primitive()) return false;
  const ValueId a = instruction.operands()[0], b = instruction.operands()[1];
  return body_.is_slice(body_.source_of(a)) && body_.is_constant(body_.source_of(b)) &&
         is_matrix(body_.type_of(a)) && is_matrix(body_.type_of(b)) &&
         are_few(body_.type_of(a).shape()[0]) &&
         usual_bytes(instruction.result_types()[0]) <= usual_bytes(body_.type_of(b));
}

// Empty if the carry is used other than as one addend of its next value.
std::vector<ValueId> ScanProducts::addends_of(size_t i) const {
  const ValueId carry = body_.carry(i);
  if (!body_.type_of(carry).is_array() || !body_.has_one_reader(carry)) return {};
  std::vector<ValueId> waiting{body_.function().results()[i]}, addends;
  bool has_carry = false;
  while (!waiting.empty()) {
    const ValueId value = waiting.back();
    waiting.pop_back();
    if (value == carry) {
      has_carry = true;
    } else if (is_part_of_sum(value)) {
      const Instruction sum = *body_.function().definition(value);
      waiting.push_back(sum.operands()[1]);
      waiting.push_back(sum.operands()[0]);
    } else {
      addends.push_back(value);
    }
  }
  return has_carry ? addends : std::vector<ValueId>();
}

// The product or the sum over dimensions that an addend is, behind transpositions and conversions.
std::optional<Instruction> ScanProducts::summed(ValueId addend,
                                                const ir::Primitive& primitive) const {
  auto from = body_.function().definition(addend);
  while (is_of(from, permute_primitive()) ||
         (is_of(from, convert_primitive()) && converts_sums(*from))) {
    from = body_.function().definition(from->operands()[0]);
  }
  return is_of(from, primitive) ? from : std::nullopt;
}

std::optional<Instruction> ScanProducts::product_of(size_t carry, ValueId addend) const {
  const auto product = summed(addend, matmul_primitive());
  if (!product || !is_matrix(product->operand_type(0)) || !is_matrix(product->operand_type(1)) ||
      !are_few(product->operand_type(1).shape()[0])) {
    return std::nullopt;
  }
  int64_t bytes = 0;  // bytes of new stacks in each round
  for (const ValueId operand : product->operands()) {
    const ValueId factor = untransposed(operand);
    if (body_.is_constant(body_.source_of(factor))) return std::nullopt;
    if (!body_.has_stack(factor)) bytes += usual_bytes(body_.type_of(factor));
  }
  const bool is_small = bytes <= usual_bytes(body_.type_of(body_.carry(carry)));
  return is_small ? product : std::nullopt;
}

ValueId ScanProducts::untransposed(ValueId value) const {
  const auto from = body_.function().definition(value);
  return is_of(from, permute_primitive()) ? from->operands()[0] : value;
}

void ScanProducts::note_factors(size_t carry, const std::vector<ValueId>& addends) {
  for (const ValueId addend : addends) {
    const auto product = product_of(carry, addend);
    if (!product) continue;
    for (const ValueId operand : product->operands()) {
      const ValueId factor = untransposed(operand);
      if (!body_.has_stack(factor) && !is_stacked(factor)) stacked_.push_back(factor);
    }
  }
}

bool ScanProducts::is_stacked(ValueId value) const {
  return std::ranges::find(stacked_, value) != stacked_.end();
}

// Sums over dimensions of what is stacked anyway are computed outside too.
bool ScanProducts::is_outside(size_t carry, ValueId addend) const {
  if (product_of(carry, addend)) return true;
  const auto sum = summed(addend, reduce_sum_primitive());
  return sum && (is_stacked(sum->operands()[0]) || body_.has_stack(sum->operands()[0]));
}

void ScanProducts::note(size_t carry, const std::vector<ValueId>& addends) {
  Accumulated sum{carry};
  for (const ValueId addend : addends) {
    (is_outside(carry, addend) ? sum.outside : sum.inside).push_back(addend);
  }
  if (sum.outside.empty()) return;
  is_dropped_[carry] = sum.inside.empty();
  mark_sums(carry);
  after_.push_back(std::move(sum));
}

void ScanProducts::mark_sums(size_t carry) {
  std::vector<ValueId> waiting{body_.function().results()[carry]};
  while (!waiting.empty()) {
    const ValueId value = waiting.back();
    waiting.pop_back();
    if (!is_part_of_sum(value)) continue;
    is_sum_[value] = true;
    const Instruction sum = *body_.function().definition(value);
    waiting.insert(waiting.end(), sum.operands().begin(), sum.operands().end());
  }
}

bool ScanProducts::is_part_of_sum(ValueId value) const {
  return is_of(body_.function().definition(value), add_primitive()) && body_.has_one_reader(value);
}

}  // namespace plait::compile
