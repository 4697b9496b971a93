// Quotients and remainders in canonical form.
#include <algorithm>
#include <numeric>

#include "plait/core/error.h"
#include "plait/core/inside/sizes/dim_polynomial.h"
#include "plait/core/inside/sizes/integer_arithmetic.h"

namespace plait {

namespace {

Dim quotient_atom(Dim a, Dim b) {
  const Dim operands[] = {a, b};
  return DimTable::intern(DimKind::floor_div, operands);
}

// The greatest common divisor of all coefficients except the constant; 0 if there are none.
int64_t content_of(const Polynomial& sum) {
  int64_t content = 0;
  for (const Term& term : sum.terms()) {
    if (!term.base.is_number()) content = std::gcd(content, term.coefficient);
  }
  return content;
}

// Divides each coefficient by a divisor of the content; the constant is rounded down.
Dim divided_by_content(const Polynomial& sum, int64_t divisor) {
  Polynomial result;
  for (const Term& term : sum.terms()) {
    result.add(term.base, floor_quotient(term.coefficient, divisor));
  }
  return result.dim();
}

// True if the negated sum is easier to read.
bool is_mostly_negative(const Polynomial& sum) {
  int64_t balance = 0;
  for (const Term& term : sum.terms()) {
    if (!term.base.is_number()) balance += term.coefficient < 0 ? -1 : 1;
  }
  return balance < 0;
}

struct Split {
  Dim quotient, rest;
};

// a = b*quotient + rest, where the constant of rest is in [0, b) and its other coefficients are in
// (-b, b).
Split split_by_number(Dim a, int64_t b) {
  Polynomial quotient, rest;
  const Polynomial sum(a);
  for (const Term& term : sum.terms()) {
    const int64_t part =
        term.base.is_number() ? floor_quotient(term.coefficient, b) : term.coefficient / b;
    quotient.add(term.base, part);
    rest.add(term.base, term.coefficient - part * b);
  }
  return {quotient.dim(), rest.dim()};
}

// The quotient x//c by a number that is a term of coefficient 1, if there is exactly one.
std::optional<Dim> only_inner_quotient(const Polynomial& sum) {
  std::optional<Dim> found;
  for (const Term& term : sum.terms()) {
    if (term.coefficient != 1 || !is_kind(term.base, DimKind::floor_div)) continue;
    if (!DimTable::node(term.base).operands[1].is_number()) continue;
    if (found) return std::nullopt;
    found = term.base;
  }
  return found;
}

std::optional<Dim> known_quotient(Dim a, Dim b) {
  const Interval bounds = floor_div(bounds_of(a), bounds_of(b));
  if (!bounds.low || bounds.low != bounds.high) return std::nullopt;
  return Dim(*bounds.low);
}

// For b > 0.
Dim divide_by_number(Dim a, int64_t b) {
  if (b == 1) return a;
  const auto [quotient, rest] = split_by_number(a, b);
  if (rest.is_number()) return quotient;
  const Polynomial sum(rest);
  // floor(a/b) = -ceil(-a/b) = -floor((-a + b - 1)/b)
  if (is_mostly_negative(sum)) {
    return quotient - divide_by_number(Dim(b - 1) - rest, b);
  }
  // floor((g*x + r)/(g*c)) = floor((x + floor(r/g))/c)
  if (const int64_t common = std::gcd(content_of(sum), b); common > 1) {
    return quotient + divide_by_number(divided_by_content(sum, common), b / common);
  }
  // floor((floor(x/c) + y)/b) = floor((x + c*y)/(b*c))
  if (const auto inner = only_inner_quotient(sum)) {
    const auto& operands = DimTable::node(*inner).operands;
    const Dim c = operands[1];
    if (const WideInt product = WideInt{b} * c.number(); fits_a_size(product)) {
      return quotient +
             divide_by_number(operands[0] + c * (rest - *inner), static_cast<int64_t>(product));
    }
  }
  if (const auto known = known_quotient(rest, b)) return quotient + *known;
  return quotient + quotient_atom(rest, b);
}

struct PolynomialSplit {
  Polynomial quotient, rest;
};

// One step of long division: subtracts a multiple of the divisor so that the first term that is a
// multiple of the divisor's leading term vanishes. Only later terms are added, so division
// terminates.
bool step(PolynomialSplit& split, const Polynomial& divisor) {
  const Term& leading = divisor.terms().front();
  for (const Term& term : split.rest.terms()) {
    const int64_t times = term.coefficient / leading.coefficient;
    if (times == 0) continue;
    const auto base = exact_quotient(term.base, leading.base);
    if (!base) continue;
    const auto multiple = Polynomial(*base).times(divisor);
    return multiple && split.rest.add(*multiple, -times) && split.quotient.add(*base, times);
  }
  return false;
}

// a = b*quotient + rest, if that does not make it longer.
Split split_by_expression(Dim a, Dim b) {
  const Polynomial divisor(b);
  PolynomialSplit split{{}, Polynomial(a)};
  const size_t terms = split.rest.terms().size();
  const size_t allowed = divisor.terms().size() == 1 ? 2 * terms : terms;
  while (split.quotient.terms().size() <= allowed && step(split, divisor)) {
  }
  if (split.quotient.terms().size() + split.rest.terms().size() > allowed) return {0, a};
  return {split.quotient.dim(), split.rest.dim()};
}

bool is_never_zero(Dim dim) { return !bounds_of(dim).contains(0); }

Dim divide_by_expression(Dim a, Dim b) {
  const Polynomial divisor(b);
  if (is_mostly_negative(divisor)) return divide_by_expression(-a, -b);
  const Polynomial sum(a);
  const int64_t common = std::gcd(std::gcd(content_of(sum), sum.constant()),
                                  std::gcd(content_of(divisor), divisor.constant()));
  if (common > 1) {
    return divide_by_expression(divided_by_content(sum, common),
                                divided_by_content(divisor, common));
  }
  const auto [quotient, rest] = split_by_expression(a, b);
  if (same(rest, Dim(0))) return quotient;
  if (!same(quotient, Dim(0))) return quotient + divide_by_expression(rest, b);
  const bool below_divisor = bounds_of_difference(b, a).low.value_or(0) > 0;
  if (below_divisor && bounds_of(a).low.value_or(-1) >= 0) return 0;
  if (is_never_zero(b)) {
    if (const auto known = known_quotient(a, b)) return *known;
  }
  return quotient_atom(a, b);
}

}  // namespace

Dim Dim::divide(Dim a, Dim b) {
  if (same(b, Dim(0))) throw ValueError("{} // 0: a size is divided by zero", short_text(a));
  if (!b.is_number()) return divide_by_expression(a, b);
  if (a.is_number()) return floor_quotient(a.number(), b.number());
  return b.number() > 0 ? divide_by_number(a, b.number()) : divide_by_number(-a, (-b).number());
}

Dim Dim::remainder(Dim a, Dim b) {
  if (same(b, Dim(0))) throw ValueError("{} % 0: a size is divided by zero", short_text(a));
  if (are_numbers(a, b)) {
    return a.number() - b.number() * floor_quotient(a.number(), b.number());
  }
  return a - b * divide(a, b);
}

}  // namespace plait
