#include "plait/core/inside/sizes/size_proof.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "plait/core/inside/sizes/integer_arithmetic.h"

namespace plait {

namespace {

constexpr int kSteps = 3;  // between the question and an answer from bounds

Polynomial without_constant(const Polynomial& sum) {
  Polynomial rest = sum;
  rest.add(1, -sum.constant());
  return rest;
}

// The greatest common divisor of all coefficients except the constant.
int64_t content_without_constant(const Polynomial& sum) {
  int64_t content = 0;
  for (const Term& term : sum.terms()) {
    if (!term.base.is_number()) content = std::gcd(content, term.coefficient);
  }
  return content;
}

// The t with whole = t*part, ignoring constants.
std::optional<int64_t> ratio(const Polynomial& whole, const Polynomial& part) {
  const Polynomial a = without_constant(whole), b = without_constant(part);
  if (a.terms().size() != b.terms().size() || b.is_zero()) return std::nullopt;
  const int64_t times = a.terms()[0].coefficient / b.terms()[0].coefficient;
  const auto matches = [&](const Term& x, const Term& y) {
    return same(x.base, y.base) && WideInt{y.coefficient} * times == x.coefficient;
  };
  if (times == 0 || !std::ranges::equal(a.terms(), b.terms(), matches)) return std::nullopt;
  return times;
}

// The number of times that `part` may be subtracted from `whole` so that a common term shrinks
// towards 0; 0 if they have no common term.
int64_t shared_times(const Polynomial& whole, const Polynomial& part) {
  for (const Term& term : part.terms()) {
    if (term.base.is_number()) continue;
    const int64_t times = whole.coefficient_of(term.base) / term.coefficient;
    if (times != 0) return times;
  }
  return 0;
}

// A multiple of both a and b is a multiple of this.
int64_t common_multiple(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  const WideInt multiple = WideInt{a / std::gcd(a, b)} * b;
  return fits_a_size(multiple) ? static_cast<int64_t>(multiple) : std::max(a, b);
}

// The product of a multiple of a and a multiple of b is a multiple of this.
int64_t product_divisor(int64_t a, int64_t b) {
  const WideInt product = WideInt{a} * b;
  return fits_a_size(product) ? static_cast<int64_t>(product) : a;
}

}  // namespace

Dim tightened_at_least_zero(Dim dim) {
  const Polynomial sum(dim);
  const int64_t content = content_without_constant(sum);
  if (content < 2) return dim;
  Polynomial tight;
  for (const Term& term : sum.terms()) {
    tight.add(term.base, floor_quotient(term.coefficient, content));
  }
  return tight.dim();
}

Interval SizeProof::bounds(Dim dim) { return bounds_of_sum(Polynomial(dim)); }

// Bounds from facts about exactly this sum, up to a factor.
Interval SizeProof::stated_bounds(const Polynomial& sum) const {
  Interval bounds;
  const Interval constant = Interval::of(sum.constant());
  for (const Dim fact : known_.at_least_zero) {
    const Polynomial stated(fact);
    const auto times = ratio(sum, stated);
    if (!times) continue;
    // sum = times*stated + (constant - times*stated's constant), and stated ≥ 0.
    const Interval shift = constant + -(Interval::of(*times) * Interval::of(stated.constant()));
    bounds = intersect(bounds, Interval::of(*times) * Interval{0, std::nullopt} + shift);
  }
  return bounds;
}

Interval SizeProof::bounds_of_sum(const Polynomial& sum) {
  const auto of_base = [this](Dim base) { return bounds_of_base(base); };
  const auto shown = with_remainders(sum.terms());
  Interval bounds = bounds_of_terms(sum.terms(), of_base);
  if (!std::ranges::equal(shown, sum.terms(), kSame)) {
    bounds = intersect(bounds, bounds_of_terms(shown, of_base));
  }
  return intersect(bounds, stated_bounds(sum));
}

Interval SizeProof::bounds_of_base(Dim base) {
  if (base.is_number()) return Interval::of(base.number());
  if (const auto found = bounds_.find(base); found != bounds_.end()) return found->second;
  const bool remainder = is_kind(base, DimKind::mod);
  const auto& operands = DimTable::node(base).operands;
  const Polynomial sum(remainder ? mod(operands[0], operands[1]) : base);
  const Interval result = intersect(bounds_of_atom(base), stated_bounds(sum));
  bounds_.emplace(base, result);
  return result;
}

Interval SizeProof::bounds_of_atom(Dim atom) {
  const DimNode& node = DimTable::node(atom);
  switch (node.kind) {
    case DimKind::floor_div:
      return intersect(node.bounds, floor_div(bounds(node.operands[0]), bounds(node.operands[1])));
    case DimKind::mod: {
      const Dim divisor = node.operands[1];
      if (divisor.is_number() && divisor_of(node.operands[0]) % divisor.number() == 0) {
        return Interval::of(0);
      }
      return intersect(node.bounds, mod(bounds(node.operands[0]), bounds(divisor)));
    }
    case DimKind::max:
    case DimKind::min: {
      Interval result = bounds(node.operands[0]);
      for (const Dim member : node.operands) {
        const Interval other = bounds(member);
        result = node.kind == DimKind::max ? max(result, other) : min(result, other);
      }
      return intersect(node.bounds, result);
    }
    default: return node.bounds;
  }
}

bool SizeProof::is_at_least_zero(Dim dim) { return is_at_least_zero(Polynomial(dim), kSteps); }

bool SizeProof::is_at_least_zero(const Polynomial& sum, int steps) {
  if (bounds_of_sum(sum).low.value_or(-1) >= 0) return true;
  if (steps == 0 || --attempts_left_ < 0) return false;
  return is_at_least_zero_by_facts(sum, steps) || is_at_least_zero_by_atoms(sum, steps);
}

// Facts state that other sums are ≥ 0: the difference from one of them must be ≥ 0.
bool SizeProof::is_at_least_zero_by_facts(const Polynomial& sum, int steps) {
  return std::ranges::any_of(known_.at_least_zero, [&](Dim fact) {
    const Polynomial stated(fact);
    const int64_t times = shared_times(sum, stated);
    Polynomial rest = sum;
    return times > 0 && rest.add(stated, -times) && is_at_least_zero(rest, steps - 1);
  });
}

bool SizeProof::is_at_least_zero_by_atoms(const Polynomial& sum, int steps) {
  return std::ranges::any_of(sum.terms(), [&](const Term& term) {
    if (term.base.is_number()) return false;
    const DimNode& node = DimTable::node(term.base);
    switch (node.kind) {
      case DimKind::floor_div: return is_at_least_zero_by_quotient(sum, term, steps);
      case DimKind::max: return is_at_least_zero_by_members(sum, term, term.coefficient > 0, steps);
      case DimKind::min: return is_at_least_zero_by_members(sum, term, term.coefficient < 0, steps);
      default: return false;
    }
  });
}

// A maximum equals one of its members, and is no less than any. So if its coefficient is positive,
// the sum is ≥ 0 if it is with some member in its place; if negative, if it is with each member.
// For minima the opposite.
bool SizeProof::is_at_least_zero_by_members(const Polynomial& sum, const Term& extremum, bool some,
                                            int steps) {
  const auto holds_with = [&](Dim member) {
    Polynomial with_member = sum;
    return with_member.add(extremum.base, -extremum.coefficient) &&
           with_member.add(Polynomial(member), extremum.coefficient) &&
           is_at_least_zero(with_member, steps - 1);
  };
  const auto& members = DimTable::node(extremum.base).operands;
  return some ? std::ranges::any_of(members, holds_with) : std::ranges::all_of(members, holds_with);
}

// For b > 0, b*(a//b) = a - r where 0 ≤ r < b, so
//   b*(c*(a//b) + rest) ≥ c*a + b*rest - max(c, 0)*(b - 1),
// and since integers above -1 are ≥ 0, it suffices that this is ≥ -(b - 1).
bool SizeProof::is_at_least_zero_by_quotient(const Polynomial& sum, const Term& quotient,
                                             int steps) {
  const auto& operands = DimTable::node(quotient.base).operands;
  if (!operands[1].is_number()) return false;
  const int64_t b = operands[1].number(), c = quotient.coefficient;
  const WideInt slack = WideInt{b - 1} * (1 - std::max<int64_t>(c, 0));
  Polynomial rest = sum, scaled;
  return fits_a_size(slack) && rest.add(quotient.base, -c) && scaled.add(rest, b) &&
         scaled.add(Polynomial(operands[0]), c) && scaled.add(1, static_cast<int64_t>(slack)) &&
         is_at_least_zero(scaled, steps - 1);
}

bool SizeProof::is_stated_not_zero(Dim dim) const {
  const Polynomial sum(dim);
  return std::ranges::any_of(known_.not_zero, [&](Dim fact) {
    const Polynomial stated(fact);
    const auto times = ratio(sum, stated);
    return times && WideInt{*times} * stated.constant() == sum.constant();
  });
}

std::optional<bool> SizeProof::is_zero(Dim dim) {
  if (dim.is_number()) return same(dim, Dim(0));
  if (is_stated_not_zero(dim)) return false;
  const Interval range = bounds(dim);
  if (range == Interval::of(0)) return true;
  if (!range.contains(0)) return false;
  const int64_t constant = Polynomial(dim).constant();
  const int64_t divisor = divisor_of(dim - constant);
  if (divisor == 0 ? constant != 0 : constant % divisor != 0) return false;
  if (is_at_least_zero(dim - 1) || is_at_least_zero(-dim - 1)) return false;
  if (is_at_least_zero(dim) && is_at_least_zero(-dim)) return true;
  return std::nullopt;
}

int64_t SizeProof::divisor_of(Dim dim) {
  const Polynomial sum(dim);
  return divisor_by_facts(sum, divisor_by_structure(sum.terms()));
}

int64_t SizeProof::divisor_by_structure(std::span<const Term> terms) {
  int64_t divisor = 0;
  for (const Term& term : terms) {
    int64_t of_term = std::abs(term.coefficient);
    for (const Dim atom : atoms_of(term.base)) {
      of_term = product_divisor(of_term, divisor_of_atom(atom));
    }
    divisor = std::gcd(divisor, of_term);
  }
  return divisor;
}

// If d divides x, the greatest common divisor of d and y divides t*x + y.
int64_t SizeProof::divisor_by_facts(const Polynomial& sum, int64_t divisor) {
  for (const auto& [dim, stated] : known_.divisible) {
    const Polynomial multiple(dim);
    const int64_t times = shared_times(sum, multiple);
    Polynomial rest = sum;
    if (times == 0 || !rest.add(multiple, -times)) continue;
    const int64_t of_multiple = product_divisor(stated, std::abs(times));
    divisor = common_multiple(divisor, std::gcd(of_multiple, divisor_by_structure(rest.terms())));
  }
  return divisor;
}

int64_t SizeProof::divisor_of_atom(Dim atom) {
  // 1 until known, in case a fact leads back to the atom.
  const auto [place, is_new] = divisors_.emplace(atom, 1);
  if (!is_new) return place->second;
  const int64_t divisor = divisor_by_facts(Polynomial(atom), divisor_of_parts(atom));
  return divisors_[atom] = divisor;
}

int64_t SizeProof::divisor_of_parts(Dim atom) {
  const DimNode& node = DimTable::node(atom);
  switch (node.kind) {
    case DimKind::floor_div: {
      const Dim divisor = node.operands[1];
      if (!divisor.is_number()) return 1;
      const int64_t dividend = divisor_of(node.operands[0]);
      return dividend % divisor.number() == 0 ? dividend / divisor.number() : 1;
    }
    case DimKind::max:
    case DimKind::min: {
      int64_t common = 0;
      for (const Dim member : node.operands) common = std::gcd(common, divisor_of(member));
      return common;
    }
    default: return 1;
  }
}

}  // namespace plait
