// The expression nodes behind a Dim that is not a number: in canonical form, interned, and never
// freed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/core/sizes/dim.h"
#include "plait/core/sizes/interval.h"

namespace plait {

enum class DimKind : uint8_t {
  symbol,
  product,    // product of two or more atoms, sorted, repeated for powers
  sum,        // sum of terms, sorted
  floor_div,  // quotient of two, rounded down
  mod,        // remainder of two; only in shown(), since canonical forms expand remainders
  max,        // maximum of two or more, sorted
  min,
};

// A coefficient (not 0) times a base: 1, an atom, or a product of atoms. An atom is a symbol, a
// quotient, a remainder, a maximum or a minimum.
struct Term {
  Dim base;
  int64_t coefficient;
  friend bool same(const Term& a, const Term& b) {
    return same(a.base, b.base) && a.coefficient == b.coefficient;
  }
};

struct DimNode {
  DimKind kind;
  std::vector<Dim> operands;   // for all kinds but symbol and sum
  std::vector<Term> terms;     // for a sum
  std::vector<Term> gathered;  // for a sum: see shown(); empty if equal to `terms`
  std::vector<Dim> symbols;    // each symbol in it once, by name
  int64_t parts;               // number of symbols and numbers in it
  int depth;                   // nesting depth of quotients, maxima and minima
  Interval bounds;             // bounds of its value, for all symbols ≥ 0
  std::string text;
  uint64_t hash;
  uint64_t table_hash;  // hash of the operands' addresses

  // The terms of a sum with a - b*(a//b) collected to a % b.
  std::span<const Term> shown() const { return gathered.empty() ? terms : gathered; }
};

class DimTable {
 public:
  static const DimNode& node(Dim dim) {  // the node of a Dim that is not a number
    return *reinterpret_cast<const DimNode*>(dim.word() - 1);
  }
  static Dim symbol(std::string_view name);
  // The operands must be in canonical form: see DimKind.
  static Dim intern(DimKind kind, std::span<const Dim> operands);
  static Dim intern_sum(std::span<const Term> terms);

  static Dim of(const DimNode& node) {
    return Dim(static_cast<uint64_t>(reinterpret_cast<uintptr_t>(&node)) | 1, 0);
  }
};

inline bool is_kind(Dim dim, DimKind kind) {
  return !dim.is_number() && DimTable::node(dim).kind == kind;
}

// The atoms of a base, sorted; none for 1. The span may refer to `base` itself.
std::span<const Dim> atoms_of(const Dim& base);
// The order of terms in a sum: descending degree, then the atoms' texts. Multiplying both sides by
// the same base preserves it, which makes polynomial division terminate.
bool comes_before(Dim base, Dim other);
// The order of factors in a product and of members of a maximum: by text, numbers last.
bool text_comes_before(Dim a, Dim b);

// Bounds of the sum of the terms, where `bounds_of` bounds their atoms.
template <class BoundsOf>
Interval bounds_of_terms(std::span<const Term> terms, const BoundsOf& bounds_of) {
  Interval sum = Interval::of(0);
  for (const Term& term : terms) {
    Interval product = Interval::of(term.coefficient);
    for (const Dim atom : atoms_of(term.base)) product = product * bounds_of(atom);
    sum = sum + product;
  }
  return sum;
}
// For all symbols ≥ 0.
Interval bounds_of(Dim dim);

// The text of a node, from its operands.
std::string text_of_node(const DimNode& node);
// For messages: abbreviated if it is long.
std::string short_text(Dim dim);

}  // namespace plait
