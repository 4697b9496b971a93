#include "plait/core/inside/sizes/dim_polynomial.h"

#include <algorithm>

#include "plait/core/inside/sizes/integer_arithmetic.h"

namespace plait {

std::span<const Dim> atoms_of(const Dim& base) {
  if (base.is_number()) return {};
  const DimNode& node = DimTable::node(base);
  if (node.kind == DimKind::product) return node.operands;
  return {&base, 1};
}

bool text_comes_before(Dim a, Dim b) {
  if (a.is_number() || b.is_number()) {
    return b.is_number() && (!a.is_number() || a.number() < b.number());
  }
  return DimTable::node(a).text < DimTable::node(b).text;
}

bool comes_before(Dim base, Dim other) {
  const auto a = atoms_of(base), b = atoms_of(other);
  if (a.size() != b.size()) return a.size() > b.size();
  return std::ranges::lexicographical_compare(a, b, text_comes_before);
}

Dim product_of(Dim base, Dim other_base) {
  if (base.is_number()) return other_base;
  if (other_base.is_number()) return base;
  std::vector<Dim> atoms;
  std::ranges::merge(atoms_of(base), atoms_of(other_base), std::back_inserter(atoms),
                     text_comes_before);
  return DimTable::intern(DimKind::product, atoms);
}

std::optional<Dim> exact_quotient(Dim base, Dim divisor) {
  const auto atoms = atoms_of(base), divisor_atoms = atoms_of(divisor);
  if (!std::ranges::includes(atoms, divisor_atoms, text_comes_before)) return std::nullopt;
  std::vector<Dim> rest;
  std::ranges::set_difference(atoms, divisor_atoms, std::back_inserter(rest), text_comes_before);
  if (rest.empty()) return Dim(1);
  return rest.size() == 1 ? rest[0] : DimTable::intern(DimKind::product, rest);
}

Polynomial::Polynomial(Dim dim) {
  if (dim.is_number()) {
    if (dim.number() != 0) terms_.push_back({1, dim.number()});
  } else if (const DimNode& node = DimTable::node(dim); node.kind == DimKind::sum) {
    terms_ = node.terms;
  } else {
    terms_.push_back({dim, 1});
  }
}

int64_t Polynomial::constant() const {
  return !is_zero() && terms_.back().base.is_number() ? terms_.back().coefficient : 0;
}

int64_t Polynomial::coefficient_of(Dim base) const {
  const auto term = std::ranges::find_if(terms_, is_same_as(base), &Term::base);
  return term == terms_.end() ? 0 : term->coefficient;
}

bool Polynomial::add(const Polynomial& other, int64_t factor) {
  std::vector<Term> sum;
  sum.reserve(terms_.size() + other.terms_.size());
  auto mine = terms_.begin();
  for (const Term& term : other.terms_) {
    while (mine != terms_.end() && !same(mine->base, term.base) &&
           comes_before(mine->base, term.base)) {
      sum.push_back(*mine++);
    }
    const bool shared = mine != terms_.end() && same(mine->base, term.base);
    const WideInt coefficient =
        WideInt{term.coefficient} * factor + (shared ? (mine++)->coefficient : 0);
    if (!fits_a_size(coefficient)) return false;
    if (coefficient != 0) sum.push_back({term.base, static_cast<int64_t>(coefficient)});
  }
  sum.insert(sum.end(), mine, terms_.end());
  terms_ = std::move(sum);
  return true;
}

bool Polynomial::add(Dim base, int64_t coefficient) {
  Polynomial other;
  if (coefficient != 0) other.terms_.push_back({base, coefficient});
  return add(other);
}

std::optional<Polynomial> Polynomial::times(const Polynomial& other) const {
  std::vector<Term> products;
  products.reserve(terms_.size() * other.terms_.size());
  for (const Term& a : terms_) {
    for (const Term& b : other.terms_) {
      const WideInt coefficient = WideInt{a.coefficient} * b.coefficient;
      if (!fits_a_size(coefficient)) return std::nullopt;
      products.push_back({product_of(a.base, b.base), static_cast<int64_t>(coefficient)});
    }
  }
  std::ranges::sort(products, comes_before, &Term::base);
  Polynomial result;
  for (size_t i = 0; i < products.size();) {
    WideInt coefficient = 0;
    const Dim base = products[i].base;
    for (; i < products.size() && same(products[i].base, base); ++i) {
      coefficient += products[i].coefficient;
    }
    if (!fits_a_size(coefficient)) return std::nullopt;
    if (coefficient != 0) result.terms_.push_back({base, static_cast<int64_t>(coefficient)});
  }
  return result;
}

Dim Polynomial::dim() const {
  if (is_zero()) return 0;
  const Term& first = terms_.front();
  if (first.base.is_number()) return first.coefficient;
  if (terms_.size() == 1 && first.coefficient == 1) return first.base;
  return DimTable::intern_sum(terms_);
}

Interval bounds_of_difference(Dim a, Dim b) {
  Polynomial difference(a);
  if (!difference.add(Polynomial(b), -1)) return {};
  return intersect(bounds_of_terms(difference.terms(), bounds_of),
                   bounds_of_terms(with_remainders(difference.terms()), bounds_of));
}

}  // namespace plait
