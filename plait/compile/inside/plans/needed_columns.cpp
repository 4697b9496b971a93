#include "plait/compile/inside/plans/needed_columns.h"

#include <algorithm>

#include "plait/ops/inside/primitives.h"

namespace plait::compile {
namespace {

using Kind = NestValue::Kind;

class Needs {
 public:
  Needs(const Nest& nest, std::span<const uint32_t> rows) : nest_(nest), rows_(rows) {}

  NeededColumns of(uint32_t product) {
    follow(product);
    if (is_selected()) return {NeededColumns::By::mask};
    if (const auto factor = factor_of(product)) return {NeededColumns::By::factor, *factor};
    return {};
  }

  std::optional<ColumnMask> mask() const { return mask_; }

 private:
  bool is_operation(const NestValue& value, const ir::Primitive& primitive) const {
    return value.kind == Kind::compute && value.primitive == &primitive;
  }
  bool is_conversion(const NestValue& value) const {
    return is_operation(value, convert_primitive());
  }

  // Marks what is computed of the product, up to selections.
  void follow(uint32_t product) {
    is_from_product_.assign(nest_.values.size(), false);
    selections_.clear();
    for (uint32_t v = 0; v < nest_.values.size(); ++v) {
      const NestValue& value = nest_.values[v];
      const auto reads = [&](uint32_t operand) { return bool{is_from_product_[operand]}; };
      if (is_operation(value, select_primitive()) && reads(value.operands[1])) {
        selections_.push_back(v);
      } else {
        is_from_product_[v] = (value.kind == Kind::load && value.parameter == product) ||
                              std::ranges::any_of(value.operands, reads);
      }
    }
  }

  // True if everything that reads the product selects it by one mask.
  bool is_selected() {
    if (selections_.empty() || !is_read_by_selections_only()) return false;
    for (const uint32_t selection : selections_) {
      const NestValue& mask = nest_.values[nest_.values[selection].operands[0]];
      if (mask.kind != Kind::load || mask.dtype != DType::boolean || !mask.domains.empty()) {
        return false;
      }
      const Dim step = mask.place.strides.back();
      if (!same(step, Dim(0)) && !same(step, Dim(1))) return false;
      if (!mask_) mask_ = ColumnMask{mask.parameter, mask.place};
      const bool is_same = mask.parameter == mask_->parameter &&
                           same(mask.place.offset, mask_->place.offset) &&
                           std::ranges::equal(mask.place.strides, mask_->place.strides, kSame);
      if (!is_same) return false;
    }
    return true;
  }

  // Values that are computed of the product may be anything where the mask is false: no reduction,
  // result, condition or alternative may be among them.
  bool is_read_by_selections_only() const {
    for (const NestResult& result : nest_.results) {
      if (is_from_product_[result.value]) return false;
    }
    for (const NestValue& value : nest_.values) {
      const bool is_selection =
          is_operation(value, select_primitive()) && is_from_product_[value.operands[1]];
      for (size_t i = 0; i < value.operands.size(); ++i) {
        if (!is_from_product_[value.operands[i]]) continue;
        if (value.kind == Kind::reduce || (is_selection && i != 1)) return false;
      }
    }
    return true;
  }

  uint32_t without_conversions(uint32_t value) const {
    while (is_conversion(nest_.values[value])) value = nest_.values[value].operands[0];
    return value;
  }

  // The number of the result by which each value of the product is multiplied, conversions apart.
  std::optional<uint32_t> factor_of(uint32_t product) const {
    std::optional<uint32_t> factor;
    const auto is_product = [&](uint32_t v) {
      const NestValue& value = nest_.values[without_conversions(v)];
      return value.kind == Kind::load && value.parameter == product;
    };
    for (const NestResult& result : nest_.results) {
      if (is_product(result.value)) return std::nullopt;
    }
    for (const NestValue& value : nest_.values) {
      if (is_conversion(value)) continue;
      if (std::ranges::none_of(value.operands, is_product)) continue;
      if (!is_operation(value, multiply_primitive())) return std::nullopt;
      const uint32_t other = is_product(value.operands[0]) ? value.operands[1] : value.operands[0];
      const auto found = result_of(other);
      if (is_product(other) || !found || (factor && *factor != *found)) return std::nullopt;
      factor = found;
    }
    return factor;
  }

  // The result that is 0 where the value is, and nowhere else.
  std::optional<uint32_t> result_of(uint32_t value) const {
    for (const uint32_t row : rows_) {
      const uint32_t result = nest_.results[row].value;
      if (without_conversions(result) != without_conversions(value)) continue;
      if (keeps_small_numbers(result)) return row;
    }
    return std::nullopt;
  }

  // f16 and f8 round numbers to 0 that are not small for f32.
  bool keeps_small_numbers(uint32_t value) const {
    while (true) {
      const DType dtype = nest_.values[value].dtype;
      if (dtype != DType::f32 && dtype != DType::f64 && dtype != DType::bf16) return false;
      if (!is_conversion(nest_.values[value])) return true;
      value = nest_.values[value].operands[0];
    }
  }

  const Nest& nest_;
  const std::span<const uint32_t> rows_;
  std::vector<bool> is_from_product_;
  std::vector<uint32_t> selections_;
  std::optional<ColumnMask> mask_;
};

}  // namespace

ColumnNeeds column_needs(const Nest& nest, std::span<const uint32_t> products,
                         std::span<const uint32_t> rows) {
  Needs needs(nest, rows);
  ColumnNeeds found;
  for (const uint32_t product : products) found.products.push_back(needs.of(product));
  const bool is_masked = std::ranges::any_of(
      found.products, [](const NeededColumns& each) { return each.by == NeededColumns::By::mask; });
  if (is_masked) found.mask = needs.mask();
  return found;
}

}  // namespace plait::compile
