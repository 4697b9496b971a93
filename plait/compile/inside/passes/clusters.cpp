#include "plait/compile/inside/passes/clusters.h"

#include <algorithm>

#include "plait/compile/inside/nests/nest_space.h"
#include "plait/compile/inside/passes/cluster_graph.h"
#include "plait/compile/inside/passes/row_chains.h"

namespace plait::compile {
namespace {

using ir::Instruction;
using ir::ValueId;

// Kernels with a common operand that are tried, the latest first.
constexpr size_t kMostSiblings = 4;
// Elements of an instruction that is a kernel by itself.
constexpr int64_t kMostAlone = 4096;

class Clustering {
 public:
  Clustering(const ir::EffectAnalysis& effects, size_t index, const Target& target, uint32_t turn,
             bool is_in_loop)
      : target_(target),
        turn_(turn),
        is_in_loop_(is_in_loop),
        graph_(effects, index),
        function_(graph_.function()),
        roles_(graph_.roles()) {}

  std::vector<Cluster> run() {
    for (const Instruction instruction : function_.instructions()) {
      const bool is_product = roles_.of(instruction) == Role::product;
      products_before_.push_back(products_before_.back() + (is_product ? 1 : 0));
    }
    for (const Instruction instruction : function_.instructions()) {
      if (is_computed_by(target_, roles_, instruction)) place(instruction);
    }
    const auto take_products = [&](bool leaves_rows) {
      for (uint32_t i = 0; i < graph_.groups().size(); ++i) take_product(i, leaves_rows);
    };
    take_products(true);
    chain_products(graph_);
    take_products(false);
    std::vector<Cluster> clusters;
    for (const auto& group : graph_.groups()) {
      if (group.members.empty() || (group.members.size() == 1 && !keeps(group.members[0])))
        continue;
      clusters.push_back({group.members, group.recomputed, graph_.results_of(group.members)});
    }
    return clusters;
  }

 private:
  using Members = ClusterGraph::Members;
  static constexpr uint32_t kNone = ClusterGraph::kNone;

  // True for an instruction that is a cluster by itself.
  bool keeps(uint32_t instruction) const {
    if (!is_in_loop_) return false;
    const Instruction only = function_.instruction(instruction);
    const Dim elements = shape_of(roles_, only).element_count();
    return elements.is_number() && elements.number() <= kMostAlone;
  }

  // ---- Growing.

  bool is_late(uint32_t instruction) const { return instruction >= turn_; }

  bool is_one_kernel(const Members& members) const {
    return has_kernel_size(graph_, members, graph_.results_of(members));
  }

  // The groups that produce its operands, and then those that read the same operands, the
  // latest first.
  std::vector<uint32_t> candidates(const Instruction& instruction) const {
    std::vector<uint32_t> found;
    const auto add = [&](uint32_t group) {
      if (group != kNone && std::ranges::find(found, group) == found.end()) found.push_back(group);
    };
    for (const ValueId operand : instruction.operands()) {
      if (const auto from = roles_.source_of(operand)) add(graph_.group_of(*from));
    }
    std::ranges::sort(found, std::greater());
    size_t siblings = 0;
    for (const ValueId operand : instruction.operands()) {
      const ValueId seen = roles_.seen_through(operand);
      if (roles_.is_number(seen)) continue;
      const auto users = graph_.users(seen);
      for (size_t i = users.size(); i-- > 0 && siblings < kMostSiblings;) {
        if (users[i] >= instruction.index() || graph_.group_of(users[i]) == kNone) continue;
        if (products_before_[users[i]] < products_before_[instruction.index()]) break;
        add(graph_.group_of(users[i]));
        ++siblings;
      }
    }
    return found;
  }

  void place(const Instruction& instruction) {
    uint32_t own = kNone;
    Members members{instruction.index()};
    if (!is_one_kernel(members)) return;
    std::vector<uint32_t> waiting = candidates(instruction);
    for (bool has_grown = true; has_grown;) {
      has_grown = false;
      std::vector<uint32_t> apart;  // something else is in between, as long as that is not a member
      for (const uint32_t candidate : waiting) {
        if (candidate == own || graph_.group(candidate).members.empty()) continue;
        if (are_apart(members, graph_.group(candidate).members)) {
          apart.push_back(candidate);
        } else if (join(members, own, candidate)) {
          has_grown = true;
        }
      }
      waiting = std::move(apart);
    }
    if (own == kNone) graph_.set_members(graph_.add_group(), members);
  }

  bool are_apart(const Members& members, const Members& others) const {
    return graph_.needs_through_others(members, others) ||
           graph_.needs_through_others(others, members);
  }

  // Joins the members, of which `own` is the group, to the candidate if they can be one kernel.
  bool join(Members& members, uint32_t& own, uint32_t candidate) {
    const Members& others = graph_.group(candidate).members;
    if (is_late(others.front()) != is_late(members.front())) return false;
    Members both;
    std::ranges::merge(members, others, std::back_inserter(both));
    if (!is_one_kernel(both)) return false;
    if (own != kNone) graph_.clear(own);
    own = candidate;
    members = std::move(both);
    graph_.set_members(own, members);
    return true;
  }

  // ---- Products that a group can be fused with, as an epilogue.

  // With `leaves_rows` not those that may follow the rows of another group.
  void take_product(uint32_t number, bool leaves_rows) {
    const Members& members = graph_.group(number).members;
    if (members.empty() || graph_.group(number).product) return;
    const std::vector<ValueId> results = graph_.results_of(members);
    const auto region = nest_of(Region{roles_, members, results});
    for (const ValueId parameter : region->parameters) {
      const auto product = function_.definition(parameter);
      if (!product || roles_.of(*product) != Role::product) continue;
      if (is_used_late(*product) != is_late(members.front())) continue;
      if (graph_.group_of(product->index()) != kNone) continue;
      if (leaves_rows && follows_rows(graph_, *product)) continue;
      if (!can_fuse_product(*region, members, *product)) continue;
      Members both(members);
      both.insert(std::ranges::lower_bound(both, product->index()), product->index());
      graph_.set_members(number, both);
      graph_.set_product(number, product->index());
      return;
    }
  }

  // True from the turn on, and for what is computed before it and only used after it.
  bool is_used_late(const Instruction& product) const {
    const auto users = graph_.users(product.result());
    return is_late(product.index()) ||
           (!graph_.is_result(product.result()) &&
            std::ranges::all_of(users, [&](uint32_t user) { return is_late(user); }));
  }

  bool can_fuse_product(const RegionNest& region, const Members& members,
                        const Instruction& product) const {
    const Members alone{product.index()};
    return is_epilogue_of(region, product) && !graph_.needs_through_others(members, alone) &&
           reads_from_outside(graph_, members, product);
  }

  const Target& target_;
  const uint32_t turn_;
  const bool is_in_loop_;
  std::vector<uint32_t> products_before_{0};  // each instruction
  ClusterGraph graph_;
  const ir::Function& function_;
  const Roles& roles_;
};

}  // namespace

bool is_computed_by(const Target& target, const Roles& roles, const Instruction& instruction) {
  if (!roles.is_computed(instruction)) return false;
  std::vector<DType> dtypes;
  for (size_t i = 0; i < instruction.operands().size(); ++i) {
    if (!instruction.operand_type(i).varying().empty()) return false;
    dtypes.push_back(instruction.operand_type(i).dtype());
    if (!target.holds(dtypes.back())) return false;
  }
  const DType result = instruction.result_types()[0].dtype();
  if (!target.holds(result)) return false;
  return roles.of(instruction) == Role::reduction ||
         target.computes(instruction.primitive(), dtypes, result);
}

std::vector<Cluster> clusters_of(const ir::EffectAnalysis& effects, size_t function,
                                 const Target& target, uint32_t turn, bool is_in_loop) {
  return Clustering(effects, function, target, turn, is_in_loop).run();
}

}  // namespace plait::compile
