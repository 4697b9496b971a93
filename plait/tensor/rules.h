// What transforms need to know of a primitive, written as ordinary Tensor code, so that it serves
// eager and traced alike.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/ir/primitive.h"
#include "plait/tensor/tensor.h"

namespace plait {

// The type of an operand, told without keeping the operand, and made an ir::Type only when asked.
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
  std::string text() const { return type().text(); }

 private:
  DType dtype_ = DType::f32;
  Sizes sizes_;
  ir::Type traced_;  // in place of the others; of records too
};

// What a rule looks at. Operands and results that it does not read are empty tensors.
struct RuleContext {
  const ir::Attributes& attributes;
  std::span<const Tensor> operands;
  std::span<const Tensor> results;
  std::span<const OperandType> operand_types;

  const Tensor& operand(size_t i) const { return operands[i]; }
  const Tensor& result(size_t i = 0) const { return results[i]; }
};

// Which operands and results a rule reads: only those are kept until it runs.
struct Reads {
  uint32_t operands = 0;  // a bit each
  uint32_t results = 0;

  static constexpr Reads nothing() { return {}; }
  static constexpr Reads operand(uint32_t i) { return {1U << i, 0}; }
  static constexpr Reads result(uint32_t i = 0) { return {0, 1U << i}; }
  friend constexpr Reads operator|(Reads a, Reads b) {
    return {a.operands | b.operands, a.results | b.results};
  }
};

// The derivative of each element of an elementwise primitive's result with respect to the element
// of one operand.
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

// Of a primitive that is linear in one operand (the others held): what the cotangent of its result
// means for that operand.
struct Transpose {
  Reads reads = {};
  Tensor (*of)(const RuleContext& context, const Tensor& cotangent, size_t operand) = nullptr;
};

// Of a primitive that is neither elementwise nor linear: the tangents of its results, linear in
// those of its operands. An empty tensor is a tangent of zero, and so is one left empty.
struct Tangents {
  Reads reads = {};
  std::vector<Tensor> (*of)(const RuleContext& context, std::span<const Tensor> tangents) = nullptr;
};

// Of a primitive without an index signature: the operation done for each value of one more
// dimension, which stands in front of the operands that are `batched` and of all results.
struct Batching {
  std::vector<Tensor> (*of)(const ir::Attributes& attributes, std::span<const Tensor> operands,
                            const std::vector<bool>& batched) = nullptr;
};

// Of a collective: what it is along one of its axes, where the values of all places along that axis
// lie along the first dimension of x. So lie those of the result, if it varies along the axis.
struct Collective {
  Tensor (*of)(const ir::Attributes& attributes, const Tensor& x, std::string_view axis) = nullptr;
};

struct Rules {
  std::vector<Partial> partials = {};  // of an elementwise primitive, one an operand
  // Of a primitive that is linear, one an operand; the last one serves all further operands. Empty
  // for an operand in which it is not linear; then `tangents` say what its derivative is, or it is
  // one of whole numbers.
  std::vector<Transpose> transposes = {};
  Tangents tangents = {};
  // Why the primitive has no derivative, such as "gives integers"; a rule is missing where this and
  // the above are empty.
  std::string not_differentiable = {};
  Batching batching = {};
  // The results by operations that kernels are made of, where that is worth it for these operands;
  // else nothing.
  std::vector<Tensor> (*in_parts)(const RuleContext& context) = nullptr;
  Collective collective = {};

  bool has_derivative() const {
    return !partials.empty() || !transposes.empty() || tangents.of != nullptr;
  }
};

void register_rules(const ir::Primitive& primitive, Rules rules);
const Rules* find_rules(const ir::Primitive& primitive);  // null when none were registered

}  // namespace plait
