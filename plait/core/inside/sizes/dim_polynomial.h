// Sums of terms while they are being computed.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "plait/core/inside/sizes/dim_node.h"

namespace plait {

// Terms in order, each base once, no coefficient 0.
class Polynomial {
 public:
  Polynomial() = default;
  explicit Polynomial(Dim dim);

  std::span<const Term> terms() const& { return terms_; }
  std::span<const Term> terms() const&& = delete;
  bool is_zero() const { return terms_.empty(); }
  bool is_number() const { return is_zero() || terms_.front().base.is_number(); }
  int64_t constant() const;  // the coefficient of 1
  int64_t coefficient_of(Dim base) const;
  // false, with no change, if a coefficient would exceed the range of sizes.
  bool add(const Polynomial& other, int64_t factor = 1);
  bool add(Dim base, int64_t coefficient);
  std::optional<Polynomial> times(const Polynomial& other) const;
  Dim dim() const;

 private:
  std::vector<Term> terms_;
};

Dim product_of(Dim base, Dim other_base);
// base / divisor if all atoms of the divisor are among those of base.
std::optional<Dim> exact_quotient(Dim base, Dim divisor);

// Terms of the same value, with a - b*(a//b) collected to a % b wherever it is recognised.
std::vector<Term> with_remainders(std::span<const Term> terms);
// Bounds of a - b for all symbols ≥ 0.
Interval bounds_of_difference(Dim a, Dim b);

}  // namespace plait
