// The table of interned expressions, in shards with a lock each.
#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "plait/core/error.h"
#include "plait/core/hash.h"
#include "plait/core/inside/sizes/dim_node.h"
#include "plait/core/inside/sizes/dim_polynomial.h"
#include "plait/core/inside/system/immortal.h"

namespace plait {

namespace {

constexpr int kMaxDepth = 90;  // its text is at most twice as deep, within the limit of parse_dim

struct Key {
  DimKind kind;
  std::string_view name;
  std::span<const Dim> operands;
  std::span<const Term> terms;
  uint64_t hash = 0;

  uint64_t hash_of_parts() const {
    uint64_t result = hash_combine(static_cast<uint64_t>(kind), hash_bytes(name));
    for (const Dim operand : operands) result = hash_combine(result, operand.word());
    for (const Term& term : terms) {
      result = hash_combine(hash_combine(result, term.base.word()),
                            static_cast<uint64_t>(term.coefficient));
    }
    return result;
  }
};

Key key_of(const DimNode& node) {
  const bool named = node.kind == DimKind::symbol;
  return {node.kind, named ? std::string_view(node.text) : "", node.operands, node.terms,
          node.table_hash};
}

struct KeyHash {
  using is_transparent = void;
  size_t operator()(const Key& key) const { return key.hash; }
  size_t operator()(const std::unique_ptr<const DimNode>& node) const { return node->table_hash; }
};

struct KeyEqual {
  using is_transparent = void;
  static Key key(const Key& key) { return key; }
  static Key key(const std::unique_ptr<const DimNode>& node) { return key_of(*node); }
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    const Key x = key(a), y = key(b);
    return x.hash == y.hash && x.kind == y.kind && x.name == y.name &&
           std::ranges::equal(x.operands, y.operands, kSame) &&
           std::ranges::equal(x.terms, y.terms, kSame);
  }
};

struct Shard {
  std::mutex mutex;
  std::unordered_set<std::unique_ptr<const DimNode>, KeyHash, KeyEqual> nodes;
};

Shard& shard_of(const Key& key) {
  static Immortal<std::array<Shard, 16>> shards;
  return (*shards)[key.hash >> 60];
}

void note_depth(DimNode& node, Dim part) {
  if (!part.is_number()) node.depth = std::max(node.depth, DimTable::node(part).depth);
}

// Updates the node's properties for one operand.
void note_part(DimNode& node, Dim part) {
  note_depth(node, part);
  if (part.is_number()) {
    ++node.parts;
    return;
  }
  const DimNode& other = DimTable::node(part);
  node.parts += other.parts;
  node.symbols.insert(node.symbols.end(), other.symbols.begin(), other.symbols.end());
}

void keep_each_symbol_once(DimNode& node) {
  std::ranges::sort(node.symbols, text_comes_before);
  const auto again = std::ranges::unique(node.symbols, kSame);
  node.symbols.erase(again.begin(), again.end());
  node.symbols.shrink_to_fit();
}

void refuse_excess(const DimNode& node) {
  const auto refuse = [&](int64_t most, std::string_view what) {
    const Dim part = node.operands.empty() ? node.terms[0].base : node.operands[0];
    throw ValueError("a size has more than {} {}: one with {} in it", most, what, short_text(part))
        .hint("give a part of it its own name");
  };
  if (node.parts > Dim::kMaxParts) refuse(Dim::kMaxParts, "parts");
  if (node.depth > kMaxDepth) refuse(kMaxDepth, "quotients, maxima and minima within each other");
}

Interval bounds_of_node(const DimNode& node) {
  switch (node.kind) {
    case DimKind::symbol: return {0, std::nullopt};
    case DimKind::product: {
      Interval product = Interval::of(1);
      for (const Dim atom : node.operands) product = product * bounds_of(atom);
      return product;
    }
    case DimKind::sum: {
      const Interval plain = bounds_of_terms(node.terms, bounds_of);
      return intersect(plain, bounds_of_terms(node.shown(), bounds_of));
    }
    case DimKind::floor_div:
      return floor_div(bounds_of(node.operands[0]), bounds_of(node.operands[1]));
    case DimKind::mod: return mod(bounds_of(node.operands[0]), bounds_of(node.operands[1]));
    case DimKind::max:
    case DimKind::min: break;
  }
  Interval bounds = bounds_of(node.operands[0]);
  for (const Dim member : node.operands) {
    bounds =
        node.kind == DimKind::max ? max(bounds, bounds_of(member)) : min(bounds, bounds_of(member));
  }
  return bounds;
}

DimNode made_node(const Key& key) {
  DimNode node{.kind = key.kind,
               .operands = {key.operands.begin(), key.operands.end()},
               .terms = {key.terms.begin(), key.terms.end()},
               .gathered = {},
               .symbols = {},
               .parts = key.kind == DimKind::symbol,
               .depth = 0,
               .bounds = {},
               .text = {},
               .hash = 0,
               .table_hash = key.hash};
  for (const Dim operand : node.operands) note_part(node, operand);
  for (const Term& term : node.terms) {
    note_part(node, term.base);
    node.parts += term.coefficient != 1 && !term.base.is_number();
  }
  keep_each_symbol_once(node);
  auto shown = with_remainders(node.terms);
  if (!std::ranges::equal(shown, node.terms, kSame)) node.gathered = std::move(shown);
  for (const Term& term : node.gathered) note_depth(node, term.base);
  if (key.kind != DimKind::sum && key.kind != DimKind::product) ++node.depth;
  refuse_excess(node);
  node.bounds = bounds_of_node(node);
  node.text = key.kind == DimKind::symbol ? std::string(key.name) : text_of_node(node);
  node.hash = hash_bytes(node.text);
  return node;
}

const DimNode& interned(Key key) {
  key.hash = key.hash_of_parts();
  Shard& shard = shard_of(key);
  {
    const std::lock_guard lock(shard.mutex);
    if (const auto found = shard.nodes.find(key); found != shard.nodes.end()) return **found;
  }
  // Created without the lock, since it may intern its own operands; another thread may be first.
  auto node = std::make_unique<DimNode>(made_node(key));
  if (key.kind == DimKind::symbol) node->symbols.push_back(DimTable::of(*node));
  const std::lock_guard lock(shard.mutex);
  return **shard.nodes.insert(std::move(node)).first;
}

}  // namespace

Dim DimTable::symbol(std::string_view name) {
  return of(interned({.kind = DimKind::symbol, .name = name, .operands = {}, .terms = {}}));
}

Dim DimTable::intern(DimKind kind, std::span<const Dim> operands) {
  return of(interned({.kind = kind, .name = {}, .operands = operands, .terms = {}}));
}

Dim DimTable::intern_sum(std::span<const Term> terms) {
  return of(interned({.kind = DimKind::sum, .name = {}, .operands = {}, .terms = terms}));
}

Interval bounds_of(Dim dim) {
  return dim.is_number() ? Interval::of(dim.number()) : DimTable::node(dim).bounds;
}

}  // namespace plait
