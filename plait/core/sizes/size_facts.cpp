#include "plait/core/sizes/size_facts.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/core/inside/sizes/dim_polynomial.h"
#include "plait/core/inside/sizes/size_proof.h"
#include "plait/core/inside/sizes/size_reader.h"
#include "plait/core/text.h"

namespace plait {

namespace {

constexpr std::array<std::string_view, 4> kRelations = {"==", "!=", "<=", "<"};

// A symbol that occurs once in the sum, with the coefficient ±1: if the sum is 0, it can be solved
// for the symbol.
std::optional<Term> solvable_term(const Polynomial& sum) {
  for (const Term& term : sum.terms()) {
    if (!term.base.is_symbol() || std::abs(term.coefficient) != 1) continue;
    Polynomial rest = sum;
    rest.add(term.base, -term.coefficient);
    bool again = false;
    rest.dim().for_each_symbol([&](Dim symbol) { again = again || same(symbol, term.base); });
    if (!again) return term;
  }
  return std::nullopt;
}

// Derives the knowledge from the facts.
class Derivation {
 public:
  explicit Derivation(const std::vector<SizeFact>& facts) : facts_(facts) {}

  SizeKnowledge run() {
    while (replace_one()) {
    }
    for (const auto& [symbol, replacement] : known_.replacements) note_at_least_zero(replacement);
    for (const SizeFact& fact : facts_) note(fact);
    for (const Dim dim : known_.not_zero) exclude_zero(dim);
    return std::move(known_);
  }

 private:
  Dim difference(const SizeFact& fact) const {
    return fact.left.substitute(known_.replacements) - fact.right.substitute(known_.replacements);
  }

  bool replace_one() {
    for (const SizeFact& fact : facts_) {
      if (fact.relation != SizeFact::equal) continue;
      const Dim zero = difference(fact);
      const auto term = solvable_term(Polynomial(zero));
      if (!term) continue;
      replace(term->base, term->coefficient > 0 ? term->base - zero : term->base + zero);
      return true;
    }
    return false;
  }

  void replace(Dim symbol, Dim replacement) {
    SymbolMap<Dim> updated{{symbol, replacement}};
    const SymbolMap<Dim> one{{symbol, replacement}};
    for (const auto& [earlier, value] : known_.replacements) {
      updated.set(earlier, value.substitute(one));
    }
    known_.replacements = std::move(updated);
  }

  void note(const SizeFact& fact) {
    const Dim left_minus_right = difference(fact);
    switch (fact.relation) {
      case SizeFact::equal:
        note_at_least_zero(left_minus_right);
        note_at_least_zero(-left_minus_right);
        note_divisible(left_minus_right);
        return;
      case SizeFact::not_equal:
        if (!left_minus_right.is_number()) known_.not_zero.push_back(left_minus_right);
        return;
      case SizeFact::less_equal: return note_at_least_zero(-left_minus_right);
      case SizeFact::less: return note_at_least_zero(-left_minus_right - 1);
    }
  }

  void note_at_least_zero(Dim dim) {
    if (!dim.is_number()) known_.at_least_zero.push_back(tightened_at_least_zero(dim));
  }

  // c*(a%b) + r = 0 makes b a divisor of a + r/c.
  void note_divisible(Dim zero) {
    const Polynomial sum(zero);
    const std::vector<Term> terms = with_remainders(sum.terms());
    if (terms.empty() || terms.size() > 2 || !is_kind(terms[0].base, DimKind::mod)) return;
    const int64_t constant = terms.size() == 2 ? terms[1].coefficient : 0;
    if (terms.size() == 2 && !terms[1].base.is_number()) return;
    const auto& operands = DimTable::node(terms[0].base).operands;
    if (!operands[1].is_number() || constant % terms[0].coefficient != 0) return;
    const Dim multiple = operands[0] + constant / terms[0].coefficient;
    known_.divisible.push_back({multiple, operands[1].number()});
  }

  // An integer that is ≥ 0 and not 0 is at least 1.
  void exclude_zero(Dim dim) {
    const Interval bounds = SizeProof(known_).bounds(dim);
    if (bounds.low == 0) note_at_least_zero(dim - 1);
    if (bounds.high == 0) note_at_least_zero(-dim - 1);
  }

  const std::vector<SizeFact>& facts_;
  SizeKnowledge known_;
};

}  // namespace

SizeFact SizeFact::negated() const {
  switch (relation) {
    case equal: return {left, not_equal, right};
    case not_equal: return {left, equal, right};
    case less_equal: return {right, less, left};
    case less: return {right, less_equal, left};
  }
  return *this;
}

bool SizeFact::evaluate(const SymbolMap<int64_t>& sizes) const {
  const int64_t a = left.evaluate(sizes), b = right.evaluate(sizes);
  switch (relation) {
    case equal: return a == b;
    case not_equal: return a != b;
    case less_equal: return a <= b;
    case less: return a < b;
  }
  return false;
}

SizeFact SizeFact::substitute(const SymbolMap<Dim>& replacements) const {
  return {left.substitute(replacements), relation, right.substitute(replacements)};
}

SizeFact::operator bool() const {
  if (const auto proved = SizeFacts().prove(*this)) return *proved;
  if (const auto holds = SizeReader::ask(*this)) return *holds;
  throw ShapeError("cannot decide whether {}: the sizes are symbols here", *this)
      .hint("branch with `cond`, which accepts conditions on sizes");
}

std::string SizeFact::text() const {
  return fmt::format("{} {} {}", left, kRelations[relation], right);
}

SizeFact SizeFact::parse(TextReader& reader) {
  struct Sign {
    std::string_view text;
    Relation relation;
    bool exchanged;
  };
  static constexpr Sign kSigns[] = {{"==", equal, false},      {"!=", not_equal, false},
                                    {"<=", less_equal, false}, {">=", less_equal, true},
                                    {"<", less, false},        {">", less, true}};
  const Dim left = parse_dim(reader);
  const auto sign =
      std::ranges::find_if(kSigns, [&](const Sign& sign) { return reader.accept(sign.text); });
  if (sign == std::end(kSigns)) reader.fail_expecting("==, !=, <=, <, >= or >");
  const Dim right = parse_dim(reader);
  return sign->exchanged ? SizeFact{right, sign->relation, left}
                         : SizeFact{left, sign->relation, right};
}

SizeFacts::SizeFacts(const std::vector<SizeFact>& facts) {
  for (const SizeFact& fact : facts) add(fact);
}

void SizeFacts::add(const SizeFact& fact) {
  if (std::ranges::find(facts_, fact) != facts_.end()) return;
  const auto proved = prove(fact);
  if (proved == false) {
    throw ValueError("{} contradicts what is known: {}", fact, fmt::join(facts_, ", "));
  }
  std::vector<SizeFact> facts = facts_;
  facts.push_back(fact);
  if (!proved) knowledge_ = Derivation(facts).run();
  facts_ = std::move(facts);
}

std::optional<bool> SizeFacts::prove(const SizeFact& fact) const {
  try {
    const Dim left = fact.left.substitute(knowledge_.replacements);
    const Dim right = fact.right.substitute(knowledge_.replacements);
    SizeProof proof(knowledge_);
    const auto compare = [&](Dim holds, Dim fails) -> std::optional<bool> {
      if (proof.is_at_least_zero(holds)) return true;
      if (proof.is_at_least_zero(fails)) return false;
      return std::nullopt;
    };
    switch (fact.relation) {
      case SizeFact::equal: return proof.is_zero(left - right);
      case SizeFact::not_equal: {
        const auto zero = proof.is_zero(left - right);
        return zero ? std::optional(!*zero) : std::nullopt;
      }
      case SizeFact::less_equal: return compare(right - left, left - right - 1);
      case SizeFact::less: return compare(right - left - 1, left - right);
    }
  } catch (const ValueError&) {
    return std::nullopt;  // a division by something that is known to be 0: no value
  }
  return std::nullopt;
}

Interval SizeFacts::bounds(Dim dim) const {
  try {
    return SizeProof(knowledge_).bounds(dim.substitute(knowledge_.replacements));
  } catch (const ValueError&) {  // as in prove
    return {};
  }
}

bool SizeFacts::divisible_by(Dim dim, int64_t divisor) const {
  if (divisor < 1) throw ValueError("divisible_by: {} is not a divisor", divisor);
  try {
    const Dim resolved = dim.substitute(knowledge_.replacements);
    return SizeProof(knowledge_).divisor_of(resolved) % divisor == 0;
  } catch (const ValueError&) {  // as in prove
    return false;
  }
}

bool SizeContext::decide(const SizeFact& fact) {
  if (const auto proved = facts_.prove(fact)) return *proved;
  const auto left = actual(fact.left), right = actual(fact.right);
  if (left && right) {
    const bool holds = SizeFact{*left, fact.relation, *right}.evaluate({});
    assume(holds ? fact : fact.negated());
    return holds;
  }
  if (fact.relation != SizeFact::equal) {
    throw ShapeError("cannot decide whether {}: there are no actual sizes", fact)
        .hint("declare it where the sizes are declared");
  }
  assume(fact);
  return true;
}

void SizeContext::assume(const SizeFact& fact) {
  SizeFacts facts = facts_;
  facts.add(fact);
  guards_.push_back(fact);
  facts_ = std::move(facts);
}

std::optional<int64_t> SizeContext::actual(Dim dim) const {
  if (dim.is_number()) return dim.number();
  bool known = actual_sizes_ != nullptr;
  dim.for_each_symbol([&](Dim symbol) { known = known && actual_sizes_->find(symbol); });
  if (!known) return std::nullopt;
  return dim.evaluate(*actual_sizes_);
}

}  // namespace plait

fmt::format_context::iterator fmt::formatter<plait::SizeFact>::format(
    const plait::SizeFact& fact, fmt::format_context& context) const {
  return fmt::formatter<std::string_view>::format(fact.text(), context);
}
