// A prover for questions about sizes, given facts. Created for one question.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>

#include "plait/core/inside/sizes/dim_polynomial.h"
#include "plait/core/sizes/size_facts.h"

namespace plait {

class SizeProof {
 public:
  explicit SizeProof(const SizeKnowledge& knowledge) : known_(knowledge) {}

  // The arguments must not contain symbols that have replacements.
  Interval bounds(Dim dim);
  bool is_at_least_zero(Dim dim);
  std::optional<bool> is_zero(Dim dim);
  int64_t divisor_of(Dim dim);  // a number that divides it; 0 if it is 0

 private:
  Interval bounds_of_sum(const Polynomial& sum);
  Interval bounds_of_base(Dim base);
  Interval bounds_of_atom(Dim atom);
  Interval stated_bounds(const Polynomial& sum) const;
  // Recursive search with at most `steps` steps; each asks the same question of another sum.
  bool is_at_least_zero(const Polynomial& sum, int steps);
  bool is_at_least_zero_by_facts(const Polynomial& sum, int steps);
  bool is_at_least_zero_by_atoms(const Polynomial& sum, int steps);
  bool is_at_least_zero_by_members(const Polynomial& sum, const Term& extremum, bool some,
                                   int steps);
  bool is_at_least_zero_by_quotient(const Polynomial& sum, const Term& quotient, int steps);
  bool is_stated_not_zero(Dim dim) const;
  int64_t divisor_by_structure(std::span<const Term> terms);
  int64_t divisor_by_facts(const Polynomial& sum, int64_t divisor);
  int64_t divisor_of_atom(Dim atom);
  int64_t divisor_of_parts(Dim atom);

  const SizeKnowledge& known_;
  int attempts_left_ = 2000;  // at recursive proofs
  std::unordered_map<Dim, Interval> bounds_;
  std::unordered_map<Dim, int64_t> divisors_;
};

// dim ≥ 0, tightened for integers: 2*n - 3 ≥ 0 is n - 2 ≥ 0.
Dim tightened_at_least_zero(Dim dim);

}  // namespace plait
