// What is known about sizes: facts, what follows from them, and facts that are found out on the
// way.
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
  // As host code asks: where sizes are symbols, of those that they stand for at present
  // (size_reader.h). ShapeError where nobody knows.
  explicit operator bool() const;
  std::string text() const;
  // Reads as parse_dim does. ">=" and ">" are read as "<=" and "<" with the sides exchanged.
  static SizeFact parse(TextReader& reader);
  friend bool operator==(const SizeFact& a, const SizeFact& b) {  // of the same expressions
    return same(a.left, b.left) && a.relation == b.relation && same(a.right, b.right);
  }
};

inline SizeFact operator<(Dim a, Dim b) { return {a, SizeFact::less, b}; }
inline SizeFact operator<=(Dim a, Dim b) { return {a, SizeFact::less_equal, b}; }
inline SizeFact operator>(Dim a, Dim b) { return b < a; }
inline SizeFact operator>=(Dim a, Dim b) { return b <= a; }

// What follows from facts, in a form that is quick to use. No symbol that is replaced occurs in the
// expressions.
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

// A set of facts that hold. All answers are for sizes for which they do.
class SizeFacts {
 public:
  SizeFacts() = default;
  explicit SizeFacts(const std::vector<SizeFact>& facts);

  // ValueError when it contradicts what is known already.
  void add(const SizeFact& fact);
  const std::vector<SizeFact>& facts() const { return facts_; }  // as added, each once

  // Whether the fact holds: none where these means do not tell. They are the canonical form of the
  // difference, equalities, bounds, divisibility, and up to three steps of adding a fact, choosing
  // a member of a maximum or minimum, or rounding a quotient.
  std::optional<bool> prove(const SizeFact& fact) const;
  Interval bounds(Dim dim) const;
  bool divisible_by(Dim dim, int64_t divisor) const;  // ValueError for a divisor below 1

 private:
  std::vector<SizeFact> facts_;
  SizeKnowledge knowledge_;
};

// Where decisions about sizes are taken: what is known, the actual sizes where there are some (they
// outlive this), and what was assumed on the strength of them.
class SizeContext {
 public:
  explicit SizeContext(SizeFacts facts = {}, const SymbolMap<int64_t>* actual_sizes = nullptr)
      : facts_(std::move(facts)), actual_sizes_(actual_sizes) {}

  // Whether the fact holds. Where that cannot be proved, the actual sizes decide, and leave a
  // guard: the fact or its negation. Without them an equality is taken to hold, which leaves a
  // check on entry; any other relation is a ShapeError.
  bool decide(const SizeFact& fact);
  // Takes the fact to hold from now on, and leaves a guard or check.
  void assume(const SizeFact& fact);
  // The value of a size: none where one of its symbols has no actual size.
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
