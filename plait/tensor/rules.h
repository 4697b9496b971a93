// The rules that transforms need of a primitive (derivatives, batching, decomposition), written as
// ordinary Tensor code that runs both eagerly and in a trace.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/ir/primitive.h"
#include "plait/tensor/tensor.h"

namespace plait {

// The type of an operand, stored without keeping the operand alive; converted to an ir::Type on
// demand.
class OperandType {
 public:
  OperandType() = default;
  explicit OperandType(const Tensor& tensor);
  explicit OperandType(ir::Type type) : traced_(std::move(type)) {}

  bool is_array() const { return !traced_ || traced_.is_array(); }
  DType dtype() const { return traced_ ? traced_.dtype() : dtype_; }
  Shape shape() const { return traced_ ? traced_.shape() : Shape::of_sizes(sizes_); }
  int64_t rank() const { return traced_ ? traced_.rank() : static_cast<int64_t>(sizes_.size()); }
  ir::Type type() const { return traced_ ? traced_ : ir::Type::array(dtype_, shape()); }
  Device device() const { return device_; }
  bool knows_device() const { return knows_device_; }
  bool is_unplaced() const { return is_unplaced_; }
  std::string text() const { return type().text(); }

 private:
  DType dtype_ = DType::f32;
  bool knows_device_ = false;
  bool is_unplaced_ = false;
  Device device_;
  Sizes sizes_;
  ir::Type traced_;  // replaces the others in a trace; for records too
};

// The input of a rule. Operands and results that the rule does not read are empty tensors.
struct RuleContext {
  const ir::Attributes& attributes;
  std::span<const Tensor> operands;
  std::span<const Tensor> results;
  std::span<const OperandType> operand_types;

  const Tensor& operand(size_t i) const { return operands[i]; }
  const Tensor& result(size_t i = 0) const { return results[i]; }
};

// The operands and results that a rule reads; only those are kept until it runs.
struct Reads {
  uint32_t operands = 0;  // a bit mask
  uint32_t results = 0;

  static constexpr Reads nothing() { return {}; }
  static constexpr Reads operand(uint32_t i) { return {1U << i, 0}; }
  static constexpr Reads result(uint32_t i = 0) { return {0, 1U << i}; }
  friend constexpr Reads operator|(Reads a, Reads b) {
    return {a.operands | b.operands, a.results | b.results};
  }
};

// The partial derivative of an elementwise primitive with respect to one operand, per element.
struct Partial {
  enum class Kind : uint8_t { zero, one, minus_one, given };
  Kind kind = Kind::zero;
  Reads reads = {};
  Tensor (*value)(const RuleContext& context) = nullptr;

  static constexpr Partial zero() { return {}; }
  static constexpr Partial one() { return {.kind = Kind::one}; }
  static constexpr Partial minus_one() { return {.kind = Kind::minus_one}; }
  static constexpr Partial of(Reads reads, Tensor (*value)(const RuleContext&)) {
    return {Kind::given, reads, value};
  }
};

// For a primitive that is linear in one operand (the others fixed): the adjoint, which maps the
// cotangent of the result to the cotangent of that operand.
struct Transpose {
  Reads reads = {};
  Tensor (*of)(const RuleContext& context, const Tensor& cotangent, size_t operand) = nullptr;
};

// For a primitive that is neither elementwise nor linear: the Jacobian-vector product, which maps
// tangents of the operands to tangents of the results. It is linear in the tangents. An empty
// tensor is a zero tangent, in the arguments and in the result.
struct Tangents {
  Reads reads = {};
  std::vector<Tensor> (*of)(const RuleContext& context, std::span<const Tensor> tangents) = nullptr;
};

// Batching rule, for a primitive without an index signature: applies it to each sample of a batch.
// The batch dimension is the first one of all results and of those operands that are `batched`.
struct Batching {
  std::vector<Tensor> (*of)(const ir::Attributes& attributes, std::span<const Tensor> operands,
                            const std::vector<bool>& batched) = nullptr;
};

// Batching rule of a collective along one of its axes: x has the values of all places along that
// axis in its first dimension. So has the result, if it varies along the axis.
struct Collective {
  Tensor (*of)(const ir::Attributes& attributes, const Tensor& x, std::string_view axis) = nullptr;
};

struct Rules {
  std::vector<Partial> partials = {};  // partials of an elementwise primitive, one per operand
  // For a linear primitive, one per operand; the last one serves all further operands. Empty for an
  // operand in which the primitive is not linear; then `tangents` has the derivative, or the
  // operand is an integer.
  std::vector<Transpose> transposes = {};
  Tangents tangents = {};
  // The reason why there is no derivative, such as "returns integers". If this and the above are
  // empty, a rule is missing.
  std::string not_differentiable = {};
  Batching batching = {};
  // Decomposition: computes the results with other primitives if that pays off for these operands;
  // else returns nothing.
  std::vector<Tensor> (*decomposition)(const RuleContext& context) = nullptr;
  Collective collective = {};

  bool has_derivative() const {
    return !partials.empty() || !transposes.empty() || tangents.of != nullptr;
  }
};

void register_rules(const ir::Primitive& primitive, Rules rules);
const Rules* find_rules(const ir::Primitive& primitive);  // null if there are none

}  // namespace plait
