// Finds remainders in sums. The canonical form of a % b is a - b*(a//b); for readers and for
// bounds, a % b is better.
#include <algorithm>
#include <cstdlib>
#include <optional>

#include "plait/core/inside/sizes/dim_polynomial.h"

namespace plait {

namespace {

// x - c*q, which is x % c.
struct Remainder {
  Polynomial spelled_out;
  Dim atom;
  Term
      leading;  // leading term of c*q: the one that a sum must contain if it contains the remainder
};

std::optional<Remainder> make_remainder(Dim x, Dim c, Dim quotient) {
  if (same(x, Dim(0))) return std::nullopt;
  auto product = Polynomial(c).times(Polynomial(quotient));
  Polynomial spelled_out(x);
  if (!product || !spelled_out.add(*product, -1)) return std::nullopt;
  const Dim operands[] = {x, c};
  return Remainder{std::move(spelled_out), DimTable::intern(DimKind::mod, operands),
                   product->terms().front()};
}

bool is_quotient_by_number(Dim atom) {
  return is_kind(atom, DimKind::floor_div) && DimTable::node(atom).operands[1].is_number();
}

// The quotients among the atoms of the terms, each once.
std::vector<Dim> quotients_in(std::span<const Term> terms) {
  std::vector<Dim> quotients;
  for (const Term& term : terms) {
    for (const Dim atom : atoms_of(term.base)) {
      if (is_kind(atom, DimKind::floor_div)) quotients.push_back(atom);
    }
  }
  std::ranges::sort(quotients, text_comes_before);
  quotients.erase(std::ranges::unique(quotients, kSame).begin(), quotients.end());
  return quotients;
}

// The remainders that contain quotient = a//b: a % b; and if b = b'*c and some other quotient in
// the sum is by b', then x % c for x = a//b', where a//b is x//c in canonical form.
std::vector<Remainder> remainders_of(Dim quotient, std::span<const Dim> others) {
  std::vector<Remainder> remainders;
  const auto& operands = DimTable::node(quotient).operands;
  const Dim a = operands[0], b = operands[1];
  const auto add = [&](Dim x, Dim c) {
    if (auto remainder = make_remainder(x, c, quotient))
      remainders.push_back(*std::move(remainder));
  };
  add(a, b);
  if (!b.is_number()) return remainders;
  std::vector<int64_t> tried;
  for (const Dim other : others) {
    if (!is_quotient_by_number(other)) continue;
    const int64_t divisor = DimTable::node(other).operands[1].number();
    if (divisor >= b.number() || b.number() % divisor != 0) continue;
    if (std::ranges::find(tried, divisor) != tried.end()) continue;
    tried.push_back(divisor);
    const Dim x = floor_div(a, divisor), c = b.number() / divisor;
    // Otherwise x % c would parse to another form.
    if (same(floor_div(x, c), quotient)) add(x, c);
  }
  return remainders;
}

// The number of times that `part` is contained in `whole`: the minimum over its terms, all with the
// same sign.
int64_t multiplicity(const Polynomial& whole, const Polynomial& part) {
  int64_t least = 0;
  for (const Term& term : part.terms()) {
    const int64_t times = whole.coefficient_of(term.base) / term.coefficient;
    if (times == 0 || (least != 0 && (times < 0) != (least < 0))) return 0;
    if (least == 0 || std::abs(times) < std::abs(least)) least = times;
  }
  return least;
}

// Replaces scale*(x - c*q) by scale*(x % c), for each scale that a term suggests.
void gather(Polynomial& sum, const Remainder& remainder) {
  const std::vector<Term> terms(sum.terms().begin(), sum.terms().end());
  for (const Term& term : terms) {
    const auto scale = exact_quotient(term.base, remainder.leading.base);
    if (!scale) continue;
    const auto part = Polynomial(*scale).times(remainder.spelled_out);
    if (!part) continue;
    const int64_t times = multiplicity(sum, *part);
    if (times == 0) continue;
    Polynomial gathered = sum;
    if (gathered.add(*part, -times) && gathered.add(product_of(*scale, remainder.atom), times)) {
      sum = std::move(gathered);
    }
  }
}

}  // namespace

std::vector<Term> with_remainders(std::span<const Term> terms) {
  const std::vector<Dim> quotients = quotients_in(terms);
  if (quotients.empty()) return {terms.begin(), terms.end()};
  Polynomial sum;
  for (const Term& term : terms) sum.add(term.base, term.coefficient);
  for (const Dim quotient : quotients) {
    for (const Remainder& remainder : remainders_of(quotient, quotients)) gather(sum, remainder);
  }
  return {sum.terms().begin(), sum.terms().end()};
}

}  // namespace plait
