// What lies behind a Dim that is no number: nodes in canonical form, made once and kept for ever.
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
  product,    // of two or more atoms in order, repeated for powers
  sum,        // of terms in order
  floor_div,  // of two
  mod,        // of two; only in shown(), since canonical forms spell remainders out
  max,        // of two or more, in order
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
  std::vector<Dim> operands;   // of all kinds but symbol and sum
  std::vector<Term> terms;     // of a sum
  std::vector<Term> gathered;  // of a sum: see shown(); empty where those are the terms
  std::vector<Dim> symbols;    // each symbol in it once, by name
  int64_t parts;               // symbols and numbers in it
  int depth;                   // quotients, maxima and minima within each other
  Interval bounds;             // of its values, for all symbols ≥ 0
  std::string text;
  uint64_t hash;
  uint64_t table_hash;  // of the parts' addresses

  // The terms of a sum where a - b*(a//b) is gathered to a % b.
  std::span<const Term> shown() const { return gathered.empty() ? terms : gathered; }
};

class DimTable {
 public:
  static const DimNode& node(Dim dim) {  // of a Dim that is no number
    return *reinterpret_cast<const DimNode*>(dim.word() - 1);
  }
  static Dim symbol(std::string_view name);
  // The parts must be in canonical form: see DimKind.
  static Dim intern(DimKind kind, std::span<const Dim> operands);
  static Dim intern_sum(std::span<const Term> terms);

  static Dim of(const DimNode& node) {
    return Dim(static_cast<uint64_t>(reinterpret_cast<uintptr_t>(&node)) | 1, 0);
  }
};

inline bool is_kind(Dim dim, DimKind kind) {
  return !dim.is_number() && DimTable::node(dim).kind == kind;
}

// The atoms of a base, in order; none for 1. The span may refer to `base` itself.
std::span<const Dim> atoms_of(const Dim& base);
// The order of terms in a sum: by falling degree, then by the atoms' texts. It is kept when both
// sides are multiplied by the same base, which makes division of polynomials end.
bool comes_before(Dim base, Dim other);
// The order of factors in a product, and of members of a maximum: by text, numbers last.
bool text_comes_before(Dim a, Dim b);

// What the terms add up to where `bounds_of` bounds their atoms.
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

// What a node is called, from its parts.
std::string text_of_node(const DimNode& node);
// For messages: cut short where it is long.
std::string short_text(Dim dim);

}  // namespace plait
