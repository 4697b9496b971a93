#include "plait/compile/inside/passes/row_chains.h"

#include <algorithm>
#include <map>
#include <set>

#include "plait/compile/inside/passes/usual_bytes.h"

namespace plait::compile {
namespace {

using ir::Instruction;
using ir::ValueId;
using Members = ClusterGraph::Members;

constexpr uint32_t kNone = ClusterGraph::kNone;
// Products with longer inner dimensions take longer than moving their results.
constexpr int64_t kMostWidth = 256;
// A few rows, or little memory, are not worth the blocks. Neither are short rows in bf16, whose
// products are faster as a whole.
constexpr int64_t kLeastRows = 16, kLeastBytes = 1 << 18, kLeastNarrowColumns = 512;

// A product that reads rows of a group.
struct Follower {
  uint32_t product;
  TrailingProduct operands;
};

bool is_narrow(const Dim& size) { return size.is_number() && size.number() <= kMostWidth; }

Dim last(const Shape& shape) { return shape[shape.rank() - 1]; }

// `leading` computes the rows, `product` reads them.
bool is_worth(const Instruction& leading, const Instruction& product,
              const TrailingProduct& operands) {
  using Kind = TrailingProduct::Kind;
  const Shape& rows = leading.result_types()[0].shape();
  const Shape& result = product.result_types()[0].shape();
  const Dim height = rows[rows.rank() - 2];
  if (!same(Shape(rows.dims().first(rows.rank() - 2)),
            Shape(result.dims().first(result.rank() - 2)))) {
    return false;
  }
  const Dim width = operands.kind == Kind::sum_right ? result[result.rank() - 2] : last(result);
  const auto is_below = [](Dim size, int64_t least) {
    return size.is_number() && size.number() < least;
  };
  const bool has_short_rows =
      size_of(leading.result_types()[0].dtype()) < 4 && is_below(last(rows), kLeastNarrowColumns);
  return is_narrow(last(leading.operand_type(0).shape())) && is_narrow(width) &&
         !is_below(height, kLeastRows) && !has_short_rows &&
         usual_bytes(leading.result_types()[0]) >= kLeastBytes;
}

// Nothing if the product reads no rows, or it is not worth it. The other number is the group's.
std::optional<std::pair<TrailingProduct, uint32_t>> followed_rows(const ClusterGraph& graph,
                                                                  const Instruction& product) {
  const ir::Function& function = graph.function();
  for (const TrailingProduct& operands : trailing_products(graph.roles(), product)) {
    const uint32_t number = graph.group_of(function.definition(operands.rows)->index());
    if (number == kNone || !graph.group(number).product) continue;
    const Instruction leading = function.instruction(*graph.group(number).product);
    const Shape& shape = leading.result_types()[0].shape();
    if (!same(function.type_of(operands.rows).shape(), shape)) continue;
    if (is_worth(leading, product, operands)) return std::pair(operands, number);
  }
  return std::nullopt;
}

Members merged(std::span<const uint32_t> a, std::span<const uint32_t> b) {
  Members both;
  std::ranges::set_union(a, b, std::back_inserter(both));
  return both;
}

class Chaining {
 public:
  explicit Chaining(ClusterGraph& graph)
      : graph_(graph), function_(graph.function()), roles_(graph.roles()) {}

  void run() {
    for (const Instruction instruction : function_.instructions()) {
      if (roles_.of(instruction) != Role::product) continue;
      if (graph_.group_of(instruction.index()) != kNone) continue;
      if (!graph_.is_used_outside(instruction.result(), {})) continue;
      if (const auto found = followed_rows(graph_, instruction)) {
        followers_[found->second].push_back({instruction.index(), found->first});
      }
    }
    for (const auto& [number, followers] : followers_) {
      if (is_extended_.contains(number)) continue;
      const Sides sides = sides_of(followers);
      if (!recompute(number, sides)) extend(number, sides.early);
    }
    for (const Instruction instruction : function_.instructions()) {
      if (roles_.of(instruction) == Role::draw) take_draw(instruction);
    }
  }

 private:
  // True if the members depend on the first product that reads the rows, as those of a backward
  // pass do: meanwhile the rows would have to be kept.
  bool is_late(const Members& members, const std::vector<Follower>& followers) const {
    const Members first{followers[0].product};
    return members != first && graph_.needs_through_others(members, first);
  }

  struct Sides {
    std::vector<Follower> early, late;
  };
  Sides sides_of(const std::vector<Follower>& followers) const {
    Sides sides;
    for (const Follower& each : followers) {
      (is_late({each.product}, followers) ? sides.late : sides.early).push_back(each);
    }
    return sides;
  }

  // ---- Rows that the backward pass needs: computed again in the kernel that reads them.

  // Returns false, and changes nothing, unless the rows need not be in memory then.
  bool recompute(uint32_t number, const Sides& sides) {
    const auto reader = late_reader(number);
    if (!reader) return false;
    std::vector<Follower> others(sides.late);
    if (const auto more = followers_.find(*reader); more != followers_.end()) {
      const std::vector<Follower> early = sides_of(more->second).early;
      others.insert(others.end(), early.begin(), early.end());
    }
    const Members own_members = with(graph_.group(number).members, sides.early);
    const Members other_members = with(graph_.group(*reader).members, others);
    const Members all = merged(own_members, other_members);
    for (const ValueId rows : rows_of(number)) {
      if (graph_.is_used_outside(rows, all)) return false;
    }
    if (!need_leading(number, sides.early)) return false;
    const Members again = needed_for(number, rows_of(number));
    if (!can_chain(*reader, again, others) || !can_chain(number, {}, sides.early)) return false;
    graph_.set_recomputed(*reader, again);
    graph_.set_members(*reader, other_members);
    graph_.set_members(number, own_members);
    is_extended_.insert(number);
    is_extended_.insert(*reader);
    return true;
  }

  // The results with the shape of the product.
  std::vector<ValueId> rows_of(uint32_t number) const {
    const auto& group = graph_.group(number);
    const Shape& shape = function_.instruction(*group.product).result_types()[0].shape();
    std::vector<ValueId> rows;
    for (const ValueId result : graph_.results_of(group.members)) {
      if (same(function_.type_of(result).shape(), shape)) rows.push_back(result);
    }
    return rows;
  }

  // The only later group that reads the rows, if it reads rows of a product itself.
  std::optional<uint32_t> late_reader(uint32_t number) const {
    std::optional<uint32_t> reader;
    for (const ValueId rows : rows_of(number)) {
      for (const uint32_t user : graph_.users(rows)) {
        const uint32_t group = graph_.group_of(user);
        if (group == kNone || group == number) continue;
        if (!graph_.group(group).product || is_extended_.contains(group)) return std::nullopt;
        if (reader && *reader != group) return std::nullopt;
        reader = group;
      }
    }
    if (!reader || !is_late(graph_.group(*reader).members, followers_.at(number))) return {};
    return reader;
  }

  // True if what the followers read depends on the leading product. Otherwise it would be left out
  // of the group, if another one computes all that does depend on it.
  bool need_leading(uint32_t number, const std::vector<Follower>& followers) const {
    std::vector<ValueId> rows;
    for (const Follower& each : followers) rows.push_back(each.operands.rows);
    return std::ranges::binary_search(needed_for(number, rows), *graph_.group(number).product);
  }

  // The members that the rows depend on.
  Members needed_for(uint32_t number, std::span<const ValueId> all_rows) const {
    const Members& members = graph_.group(number).members;
    std::vector<uint32_t> waiting;
    for (const ValueId rows : all_rows) waiting.push_back(function_.definition(rows)->index());
    Members needed;
    while (!waiting.empty()) {
      const uint32_t next = waiting.back();
      waiting.pop_back();
      if (!std::ranges::binary_search(members, next) ||
          std::ranges::find(needed, next) != needed.end()) {
        continue;
      }
      needed.push_back(next);
      for (const ValueId operand : function_.instruction(next).operands()) {
        if (const auto from = graph_.roles().source_of(operand)) waiting.push_back(*from);
      }
    }
    std::ranges::sort(needed);
    return needed;
  }

  // ---- Products that follow.

  static Members with(const Members& members, const std::vector<Follower>& followers) {
    Members all(members);
    for (const Follower& each : followers) all.push_back(each.product);
    std::ranges::sort(all);
    return all;
  }

  void extend(uint32_t number, std::vector<Follower> followers) {
    while (!followers.empty() && !can_chain(number, {}, followers)) followers.pop_back();
    if (followers.empty()) return;
    is_extended_.insert(number);
    graph_.set_members(number, with(graph_.group(number).members, followers));
  }

  bool can_chain(uint32_t number, const Members& recomputed,
                 const std::vector<Follower>& followers) const {
    const Members own = with(graph_.group(number).members, followers);
    const Members all = merged(own, recomputed);
    for (const Follower& each : followers) {
      const auto other = graph_.roles().source_of(each.operands.other);
      if (other && std::ranges::binary_search(all, *other)) return false;
      const Members alone{each.product};
      if (graph_.needs_through_others(alone, own) || graph_.needs_through_others(all, alone)) {
        return false;
      }
    }
    if (graph_.needs_through_others(recomputed, own)) return false;
    return is_one_kernel(number, all, followers);
  }

  bool is_one_kernel(uint32_t number, const Members& all,
                     const std::vector<Follower>& followers) const {
    Members loops;
    std::vector<Instruction> products;
    for (const uint32_t member : all) {
      const Instruction instruction = function_.instruction(member);
      if (roles_.is_computed(instruction)) {
        loops.push_back(member);
      } else if (!is_follower(member, followers)) {
        products.push_back(instruction);
      }
      if (roles_.of(instruction) == Role::product &&
          !reads_from_outside(graph_, all, instruction)) {
        return false;
      }
    }
    const ValueId leading = function_.instruction(*graph_.group(number).product).result();
    if (graph_.is_used_outside(leading, all)) return false;
    std::vector<ValueId> results;
    for (const ValueId result : graph_.results_of(with(graph_.group(number).members, followers))) {
      const Instruction from = *function_.definition(result);
      if (roles_.is_computed(from)) results.push_back(result);
    }
    for (const Follower& each : followers) {
      if (std::ranges::find(results, each.operands.rows) == results.end()) {
        results.push_back(each.operands.rows);
      }
    }
    if (!has_kernel_size(graph_, loops, results)) return false;
    const auto region = nest_of(Region{roles_, loops, results});
    return !region->nest.outer.empty() &&
           std::ranges::all_of(products, [&](const Instruction& product) {
             return is_epilogue_of(*region, product);
           });
  }

  static bool is_follower(uint32_t member, const std::vector<Follower>& followers) {
    return std::ranges::any_of(followers,
                               [&](const Follower& each) { return each.product == member; });
  }

  // ---- Random numbers, which chains draw themselves if nothing else reads them.

  void take_draw(const Instruction& draw) {
    const auto key = function_.definition(draw.operands()[0]);
    if (graph_.is_result(draw.result()) || (key && roles_.of(*key) == Role::number)) return;
    const std::set<uint32_t> readers = readers_of(draw);
    if (readers.empty() || !std::ranges::all_of(readers, [&](uint32_t number) {
          return number != kNone && is_chain(number, draw.result_types()[0].shape());
        })) {
      return;
    }
    for (const uint32_t number : readers) {
      const Members drawn{draw.index()};
      if (number == *readers.begin()) {
        graph_.set_members(number, merged(graph_.group(number).members, drawn));
      } else {
        graph_.set_recomputed(number, merged(graph_.group(number).recomputed, drawn));
      }
    }
  }

  // The groups whose loops read the numbers, at their own places.
  std::set<uint32_t> readers_of(const Instruction& draw) const {
    std::set<uint32_t> readers;
    for (const uint32_t user : graph_.users(draw.result())) {
      const bool is_pointwise = roles_.of(function_.instruction(user)) == Role::pointwise;
      readers.insert(is_pointwise ? graph_.group_of(user) : kNone);
      for (uint32_t number = 0; number < graph_.groups().size(); ++number) {
        if (std::ranges::binary_search(graph_.group(number).recomputed, user)) {
          readers.insert(number);
        }
      }
    }
    return readers;
  }

  // True if the group has products of these sizes that follow one another.
  bool is_chain(uint32_t number, const Shape& shape) const {
    const auto& group = graph_.group(number);
    if (!group.product) return false;
    const Instruction leading = function_.instruction(*group.product);
    return same(leading.result_types()[0].shape(), shape) &&
           std::ranges::any_of(group.members, [&](uint32_t member) {
             const Instruction instruction = function_.instruction(member);
             if (roles_.of(instruction) != Role::product) return false;
             const auto operands = trailing_products(roles_, instruction);
             return std::ranges::any_of(operands, [&](const TrailingProduct& each) {
               return graph_.group_of(function_.definition(each.rows)->index()) == number;
             });
           });
  }

  ClusterGraph& graph_;
  const ir::Function& function_;
  const Roles& roles_;
  std::map<uint32_t, std::vector<Follower>> followers_;  // by group
  std::set<uint32_t> is_extended_;
};

}  // namespace

bool follows_rows(const ClusterGraph& graph, const Instruction& product) {
  return followed_rows(graph, product).has_value();
}

void chain_products(ClusterGraph& graph) { Chaining(graph).run(); }

}  // namespace plait::compile
