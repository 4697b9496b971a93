#include "plait/compile/inside/plans/masked_columns.h"

#include <algorithm>
#include <limits>

#include "plait/ops/inside/primitives.h"

namespace plait::compile {
namespace {

using Kind = NestValue::Kind;

// Known of a value at an excluded column, if the maximum is large enough.
enum class Known : uint8_t {
  nothing,
  number,   // the number that stands for an excluded column
  shifted,  // that number minus the maximum
  zero,
  row,     // finite, and the same in the whole row
  finite,  // a product by which only a result is multiplied
};

class Analysis {
 public:
  Analysis(const Nest& nest, const ColumnNeeds& needs, std::span<const uint32_t> products)
      : nest_(nest), needs_(needs), products_(products), known_(nest.values.size()) {}

  // The value that is the maximum, if columns may be left out.
  std::optional<uint32_t> run(uint32_t own_results) {
    for (uint32_t v = 0; v < nest_.values.size(); ++v) known_[v] = known_of(v);
    for (uint32_t r = 0; r < nest_.results.size(); ++r) {
      const uint32_t value = nest_.results[r].value;
      if (!nest_.values[value].has_columns) continue;
      if (r < own_results || known_[value] != Known::zero) return std::nullopt;
    }
    return has_failed_ ? std::nullopt : maximum_;
  }
  double masked() const { return masked_; }

 private:
  Known known_of(uint32_t v) {
    const NestValue& value = nest_.values[v];
    switch (value.kind) {
      case Kind::load: return of_load(value);
      case Kind::number: return of_number(value.number.number.real());
      case Kind::size:
      case Kind::index: return Known::nothing;
      case Kind::compute: return of_operation(value);
      case Kind::reduce: return of_reduction(v);
    }
    return Known::nothing;
  }

  Known of_load(const NestValue& value) const {
    const auto place = std::ranges::find(products_, value.parameter);
    if (place == products_.end()) return Known::nothing;
    const NeededColumns& needed = needs_.products[place - products_.begin()];
    return needed.by == NeededColumns::By::factor ? Known::finite : Known::nothing;
  }

  static Known of_number(double number) {
    if (number == 0) return Known::zero;
    return number > -std::numeric_limits<double>::max() && number < 1e6 && number > -1e6
               ? Known::row
               : Known::nothing;
  }

  bool is(const NestValue& value, const ir::Primitive& primitive) const {
    return value.kind == Kind::compute && value.primitive == &primitive;
  }
  bool is_mask(uint32_t v) const {
    const NestValue& value = nest_.values[v];
    return value.kind == Kind::load && value.parameter == needs_.mask->parameter &&
           value.domains.empty() && same(value.place.offset, needs_.mask->place.offset) &&
           std::ranges::equal(value.place.strides, needs_.mask->place.strides, kSame);
  }

  Known of_operation(const NestValue& value) {
    const auto known = [&](size_t i) { return known_[value.operands[i]]; };
    if (is(value, select_primitive())) return of_selection(value);
    if (is(value, convert_primitive())) return of_conversion(value);
    if (is(value, negative_primitive()) && known(0) == Known::zero) return Known::zero;
    if (is(value, exp_primitive()) && known(0) == Known::shifted) return Known::zero;
    if (is(value, subtract_primitive()) && known(0) == Known::number &&
        is_maximum(value.operands[1])) {
      return Known::shifted;
    }
    if (is(value, multiply_primitive())) return of_factors(known(0), known(1));
    if (is(value, divide_primitive()) && known(0) == Known::zero && is_sum(value.operands[1])) {
      return Known::zero;
    }
    if (is(value, add_primitive()) || is(value, subtract_primitive())) {
      if (known(0) == Known::zero && known(1) == Known::zero) return Known::zero;
    }
    const bool is_of_rows =
        !value.has_columns && std::ranges::all_of(value.operands, [&](uint32_t operand) {
          return known_[operand] == Known::row;
        });
    const bool stays_finite = is(value, negative_primitive()) || is(value, add_primitive()) ||
                              is(value, subtract_primitive()) || is(value, multiply_primitive());
    return is_of_rows && stays_finite ? Known::row : Known::nothing;
  }

  // Rounding changes the number; f16 and f8 also make infinities of large ones.
  Known of_conversion(const NestValue& value) const {
    const Known known = known_[value.operands[0]];
    if (known == Known::zero) return Known::zero;
    const bool is_wide =
        value.dtype == DType::f32 || value.dtype == DType::f64 || value.dtype == DType::bf16;
    const bool is_exact = size_of(value.dtype) >= size_of(nest_.values[value.operands[0]].dtype);
    return is_wide && (is_exact || known == Known::row || known == Known::finite) ? known
                                                                                  : Known::nothing;
  }

  static Known of_factors(Known a, Known b) {
    if (a != Known::zero) std::swap(a, b);
    const bool is_finite = b == Known::zero || b == Known::row || b == Known::finite;
    return a == Known::zero && is_finite ? Known::zero : Known::nothing;
  }

  Known of_selection(const NestValue& value) {
    const uint32_t other = value.operands[2];
    if (is_mask(value.operands[0])) {
      const NestValue& number = nest_.values[other];
      if (known_[other] == Known::zero) return Known::zero;
      if (number.kind != Kind::number) return Known::nothing;
      const double masked = rounded(number);
      if (is_masked_ && masked != masked_) return Known::nothing;
      is_masked_ = true;
      masked_ = masked;
      return Known::number;
    }
    const bool are_zero = known_[value.operands[1]] == Known::zero && known_[other] == Known::zero;
    return are_zero ? Known::zero : Known::nothing;
  }

  // As loops see it.
  static double rounded(const NestValue& number) {
    std::byte bytes[sizeof(std::complex<double>)];
    store_element(number.dtype, number.number, bytes);
    return load_element(number.dtype, bytes).number.real();
  }

  // A reduction along the columns must not notice those that are left out.
  Known of_reduction(uint32_t v) {
    const NestValue& value = nest_.values[v];
    const Known operand = known_[value.operands[0]];
    if (value.reduction == ir::Reduction::maximum && operand == Known::number && !maximum_) {
      maximum_ = v;
      return Known::nothing;
    }
    if (value.reduction == ir::Reduction::sum && operand == Known::zero) return Known::row;
    has_failed_ = true;
    return Known::nothing;
  }

  uint32_t without_conversions(uint32_t v) const {
    while (is(nest_.values[v], convert_primitive())) v = nest_.values[v].operands[0];
    return v;
  }

  // The maximum, or 0 where it is −∞.
  bool is_maximum(uint32_t v) const {
    v = without_conversions(v);
    if (maximum_ && v == *maximum_) return true;
    const NestValue& value = nest_.values[v];
    return is(value, select_primitive()) && is_maximum(value.operands[2]) &&
           is_comparison_with(value.operands[0], -std::numeric_limits<double>::infinity());
  }

  // The sum of the exponentials, or 1 where it is 0. One of them is 1.
  bool is_sum(uint32_t v) const {
    v = without_conversions(v);
    const NestValue& value = nest_.values[v];
    if (is(value, select_primitive())) {
      return is_sum(value.operands[2]) && is_comparison_with(value.operands[0], 0);
    }
    if (value.kind != Kind::reduce || value.reduction != ir::Reduction::sum) return false;
    return is(nest_.values[without_conversions(value.operands[0])], exp_primitive());
  }

  bool is_comparison_with(uint32_t v, double wanted) const {
    const NestValue& value = nest_.values[v];
    if (!is(value, equal_primitive())) return false;
    const NestValue& number = nest_.values[value.operands[1]];
    return number.kind == Kind::number && number.number.number.real() == wanted;
  }

  const Nest& nest_;
  const ColumnNeeds& needs_;
  const std::span<const uint32_t> products_;
  std::vector<Known> known_;
  bool has_failed_ = false;
  std::optional<uint32_t> maximum_;
  bool is_masked_ = false;
  double masked_ = 0;
};

}  // namespace

void find_maximum(Nest& nest, ColumnNeeds& needs, std::span<const uint32_t> products,
                  uint32_t own_results) {
  if (!needs.mask) return;
  Analysis analysis(nest, needs, products);
  const auto maximum = analysis.run(own_results);
  if (!maximum) return;
  NestResult result{.value = *maximum, .place = {0, std::vector<Dim>(nest.outer.size() + 1, 0)}};
  Dim stride = 1;
  for (size_t i = nest.outer.size(); i-- > 0;) {
    result.place.strides[i] = stride;
    stride = stride * nest.outer[i];
  }
  needs.maximum = {static_cast<uint32_t>(nest.results.size()), analysis.masked()};
  nest.results.push_back(std::move(result));
  nest.takes_column_range = true;
}

}  // namespace plait::compile
