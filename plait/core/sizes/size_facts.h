// Knowledge about sizes: facts, conclusions from them, and facts that are found or assumed during
// tracing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plait/core/sizes/dim.h"
#include "plait/core/sizes/interval.h"

namespace plait {

// "n == m", "n%8 == 0", "1 <= n", "n != 1"
struct SizeFact {
  enum Relation : uint8_t { equal, not_equal, less_equal, less };

  Dim left;
  Relation relation = equal;
  Dim right;

  SizeFact negated() const;
  bool evaluate(const SymbolMap<int64_t>& sizes) const;  // as Dim::evaluate
  SizeFact substitute(const SymbolMap<Dim>& replacements) const;
  // For host code: evaluated with the actual sizes of symbols (size_reader.h). ShapeError if they
  // are unknown.
  explicit operator bool() const;
  std::string text() const;
  // Parses as parse_dim does. ">=" and ">" become "<=" and "<" with the sides exchanged.
  static SizeFact parse(TextReader& reader);
  friend bool operator==(const SizeFact& a, const SizeFact& b) {  // the same expressions
    return same(a.left, b.left) && a.relation == b.relation && same(a.right, b.right);
  }
};

inline SizeFact operator<(Dim a, Dim b) { return {a, SizeFact::less, b}; }
inline SizeFact operator<=(Dim a, Dim b) { return {a, SizeFact::less_equal, b}; }
inline SizeFact operator>(Dim a, Dim b) { return b < a; }
inline SizeFact operator>=(Dim a, Dim b) { return b <= a; }

// Conclusions from facts, in a form that is fast to use. The expressions contain no symbol that has
// a replacement.
struct SizeKnowledge {
  struct Divisible {
    Dim dim;
    int64_t divisor;
  };
  SymbolMap<Dim> replacements;  // symbols that equal expressions in other symbols
  std::vector<Dim> at_least_zero;
  std::vector<Dim> not_zero;
  std::vector<Divisible> divisible;
};

// A set of facts that hold. All answers are for sizes that satisfy them.
class SizeFacts {
 public:
  SizeFacts() = default;
  explicit SizeFacts(const std::vector<SizeFact>& facts);

  // ValueError if it contradicts the known facts.
  void add(const SizeFact& fact);
  const std::vector<SizeFact>& facts() const { return facts_; }  // as added, each once

  // True or false if it is proved or disproved; empty if unknown. Uses the canonical form of the
  // difference, equalities, bounds, divisibility, and up to three steps of adding a fact, choosing
  // a member of a maximum or minimum, or rounding a quotient.
  std::optional<bool> prove(const SizeFact& fact) const;
  Interval bounds(Dim dim) const;
  bool divisible_by(Dim dim, int64_t divisor) const;  // ValueError for a divisor below 1

 private:
  std::vector<SizeFact> facts_;
  SizeKnowledge knowledge_;
};

// Decides questions about sizes from known facts and, if available, actual sizes (which outlive
// this); collects what was assumed on their basis.
class SizeContext {
 public:
  explicit SizeContext(SizeFacts facts = {}, const SymbolMap<int64_t>* actual_sizes = nullptr)
      : facts_(std::move(facts)), actual_sizes_(actual_sizes) {}

  // True if the fact holds. If it cannot be proved, the actual sizes decide, and the fact or its
  // negation is recorded as a guard. Without actual sizes an equality is assumed, which is checked
  // on entry; any other relation is a ShapeError.
  bool decide(const SizeFact& fact);
  // Assumes the fact from now on, and records a guard or check.
  void assume(const SizeFact& fact);
  // The value of a size; empty if a symbol has no actual size.
  std::optional<int64_t> actual(Dim dim) const;

  const SizeFacts& facts() const { return facts_; }
  const std::vector<SizeFact>& guards() const { return guards_; }

 private:
  SizeFacts facts_;
  const SymbolMap<int64_t>* actual_sizes_ = nullptr;
  std::vector<SizeFact> guards_;
};

}  // namespace plait

template <>
struct fmt::formatter<plait::SizeFact> : fmt::formatter<std::string_view> {
  fmt::format_context::iterator format(const plait::SizeFact& fact,
                                       fmt::format_context& context) const;
};
