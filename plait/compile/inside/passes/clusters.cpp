#include "plait/compile/inside/passes/clusters.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>

namespace plait::compile {
namespace {

using ir::Instruction;
using ir::ValueId;

constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
// Larger kernels run out of registers and take long to compile.
constexpr size_t kMostMembers = 96;
constexpr size_t kMostParameters = 40;
// Nodes visited before a path is assumed to exist.
constexpr size_t kMostVisited = 400;
// Kernels with a common operand that are tried, the latest first.
constexpr size_t kMostSiblings = 4;

class Clustering {
 public:
  Clustering(const ir::EffectAnalysis& effects, size_t index, const Target& target, uint32_t turn)
      : target_(target),
        turn_(turn),
        function_(effects.program().function(index)),
        roles_(function_),
        orders_(order_dependencies_of(effects, index)),
        group_of_(function_.size(), kNone),
        reach_(function_.size()) {
    std::iota(reach_.begin(), reach_.end(), 0U);
    find_uses();
  }

  std::vector<Cluster> run() {
    for (const Instruction instruction : function_.instructions()) {
      if (is_computed_by(target_, roles_, instruction)) place(instruction);
    }
    for (uint32_t i = 0; i < groups_.size(); ++i) take_product(i);
    std::vector<Cluster> clusters;
    for (const auto& group : groups_) {
      if (group.size() >= 2) clusters.push_back({group, results_of(group)});
    }
    return clusters;
  }

 private:
  using Group = std::vector<uint32_t>;

  void find_uses() {
    users_.resize(function_.value_count());
    for (const Instruction instruction : function_.instructions()) {
      for (const ValueId operand : instruction.operands()) {
        users_[operand].push_back(instruction.index());
      }
    }
    is_result_.resize(function_.value_count());
    for (const ValueId result : function_.results()) is_result_[result] = true;
  }

  // ---- The graph of groups and of ungrouped instructions.

  // The instruction that defines a value, behind views; nothing for numbers and parameters.
  std::optional<uint32_t> producer(ValueId value) const {
    const ValueId seen = roles_.seen_through(value);
    if (roles_.is_number(seen)) return std::nullopt;
    const auto definition = function_.definition(seen);
    return definition ? std::optional(definition->index()) : std::nullopt;
  }

  std::vector<uint32_t> producers(std::span<const uint32_t> members) const {
    std::vector<uint32_t> all;
    for (const uint32_t member : members) {
      for (const ValueId operand : function_.instruction(member).operands()) {
        if (const auto from = producer(operand)) all.push_back(*from);
      }
      all.insert(all.end(), orders_[member].begin(), orders_[member].end());
    }
    return all;
  }

  std::span<const uint32_t> node_of(const uint32_t& instruction) const {
    const uint32_t group = group_of_[instruction];
    return group == kNone ? std::span(&instruction, 1) : std::span(groups_[group]);
  }

  // The latest instruction needed by this one: a group needs everything up to its last member.
  uint32_t latest_needed(uint32_t instruction) const {
    uint32_t latest = instruction;
    while (reach_[latest] > latest) latest = reach_[latest];
    return latest;
  }

  // True if the group depends on the other group through a third node.
  bool needs_through_others(const Group& group, const Group& other) const {
    std::vector<bool>& seen = seen_;
    seen.assign(function_.size(), false);
    for (const uint32_t member : group) seen[member] = true;
    std::vector<uint32_t> waiting;
    const auto add_producers = [&](std::span<const uint32_t> node) {
      bool has_other = false;
      for (const uint32_t from : producers(node)) {
        const bool is_other = std::ranges::binary_search(other, from);
        has_other = has_other || is_other;
        if (is_other || seen[from] || latest_needed(from) < other.front()) continue;
        for (const uint32_t member : node_of(from)) seen[member] = true;
        waiting.push_back(from);
      }
      return has_other;
    };
    add_producers(group);  // direct dependencies are allowed
    for (size_t visited = 0; !waiting.empty(); ++visited) {
      if (visited == kMostVisited) return true;
      const uint32_t next = waiting.back();
      waiting.pop_back();
      if (add_producers(node_of(next))) return true;
    }
    return false;
  }

  // ---- Growing.

  bool is_late(uint32_t instruction) const { return instruction >= turn_; }

  bool is_used_outside(ValueId value, const Group& group) const {
    if (is_result_[value]) return true;
    // A view is used where its users are.
    std::vector<ValueId> values{value};
    while (!values.empty()) {
      const ValueId next = values.back();
      values.pop_back();
      for (const uint32_t user : users_[next]) {
        const Instruction instruction = function_.instruction(user);
        if (std::ranges::binary_search(group, user)) continue;
        if (roles_.of(instruction) != Role::view) return true;
        if (is_result_[instruction.result()]) return true;
        values.push_back(instruction.result());
      }
    }
    return false;
  }

  std::vector<ValueId> results_of(const Group& group) const {
    std::vector<ValueId> results;
    std::optional<ValueId> of_product;
    for (const uint32_t member : group) {
      const Instruction instruction = function_.instruction(member);
      if (!is_used_outside(instruction.result(), group)) continue;
      if (roles_.of(instruction) == Role::product) {
        of_product = instruction.result();
      } else {
        results.push_back(instruction.result());
      }
    }
    if (of_product) results.push_back(*of_product);  // after those of the loops
    return results;
  }

  bool is_one_kernel(const Group& group) const {
    if (group.size() > kMostMembers) return false;
    const std::vector<ValueId> results = results_of(group);
    const auto nest = nest_of(Region{roles_, group, results});
    return nest && nest->parameters.size() + results.size() <= kMostParameters;
  }

  // The groups that produce its operands, and then those that read the same operands, the
  // latest first.
  std::vector<uint32_t> candidates(const Instruction& instruction) const {
    std::vector<uint32_t> found;
    const auto add = [&](uint32_t group) {
      if (group != kNone && std::ranges::find(found, group) == found.end()) found.push_back(group);
    };
    for (const ValueId operand : instruction.operands()) {
      if (const auto from = producer(operand)) add(group_of_[*from]);
    }
    std::ranges::sort(found, std::greater());
    size_t siblings = 0;
    for (const ValueId operand : instruction.operands()) {
      const ValueId seen = roles_.seen_through(operand);
      if (roles_.is_number(seen)) continue;
      const auto& users = users_[seen];
      for (size_t i = users.size(); i-- > 0 && siblings < kMostSiblings;) {
        if (users[i] >= instruction.index() || group_of_[users[i]] == kNone) continue;
        add(group_of_[users[i]]);
        ++siblings;
      }
    }
    return found;
  }

  void place(const Instruction& instruction) {
    uint32_t own = kNone;
    Group group{instruction.index()};
    if (!is_one_kernel(group)) return;
    for (const uint32_t candidate : candidates(instruction)) {
      if (candidate == own || groups_[candidate].empty()) continue;
      if (is_late(groups_[candidate].front()) != is_late(instruction.index())) continue;
      if (needs_through_others(group, groups_[candidate]) ||
          needs_through_others(groups_[candidate], group)) {
        continue;
      }
      Group both;
      std::ranges::merge(group, groups_[candidate], std::back_inserter(both));
      if (!is_one_kernel(both)) continue;
      if (own != kNone) groups_[own].clear();
      own = candidate;
      group = std::move(both);
      settle(own, group);
    }
    if (own != kNone) return;
    groups_.emplace_back();
    settle(static_cast<uint32_t>(groups_.size() - 1), group);
  }

  void settle(uint32_t number, const Group& group) {
    groups_[number] = group;
    for (const uint32_t member : group) group_of_[member] = number;
    for (uint32_t i = group.front(); i < group.back(); ++i) {
      reach_[i] = std::max(reach_[i], group.back());
    }
  }

  // ---- Products that a group can be fused with, as an epilogue.

  void take_product(uint32_t number) {
    const Group& group = groups_[number];
    if (group.empty()) return;
    const std::vector<ValueId> results = results_of(group);
    const auto region = nest_of(Region{roles_, group, results});
    for (const ValueId parameter : region->parameters) {
      const auto product = function_.definition(parameter);
      if (!product || roles_.of(*product) != Role::product) continue;
      if (is_late(product->index()) != is_late(group.front())) continue;
      if (group_of_[product->index()] != kNone || !can_fuse_product(*region, group, *product))
        continue;
      Group both(group);
      both.insert(std::ranges::lower_bound(both, product->index()), product->index());
      settle(number, both);
      return;
    }
  }

  bool can_fuse_product(const RegionNest& region, const Group& group,
                        const Instruction& product) const {
    const Group alone{product.index()};
    if (!is_epilogue_of(region, product) || needs_through_others(group, alone)) return false;
    // Its operands come from outside of the kernel: views and numbers that the group reads are part
    // of the kernel.
    std::vector<ValueId> operands(product.operands().begin(), product.operands().end());
    if (const auto rounding = rounding_of(function_, product)) {
      operands.push_back(rounding->operands()[0]);
    }
    return std::ranges::none_of(operands, [&](ValueId operand) {
      const auto from = function_.definition(operand);
      return from && (roles_.of(*from) == Role::number || is_looked_through(operand, group));
    });
  }

  bool is_looked_through(ValueId look, const Group& group) const {
    for (const uint32_t member : group) {
      for (ValueId value : function_.instruction(member).operands()) {
        auto from = function_.definition(value);
        while (from && roles_.of(*from) == Role::view) {
          if (value == look) return true;
          value = from->operands()[0];
          from = function_.definition(value);
        }
      }
    }
    return false;
  }

  const Target& target_;
  const uint32_t turn_;
  const ir::Function& function_;
  const Roles roles_;
  const std::vector<std::vector<uint32_t>> orders_;
  std::vector<uint32_t> group_of_;  // the group of each instruction
  std::vector<Group> groups_;
  std::vector<uint32_t> reach_;               // the last member of groups that began by then
  std::vector<std::vector<uint32_t>> users_;  // users of each value
  std::vector<bool> is_result_;
  mutable std::vector<bool> seen_;
};

}  // namespace

std::vector<std::vector<uint32_t>> order_dependencies_of(const ir::EffectAnalysis& effects,
                                                         size_t function) {
  const ir::Function& body = effects.program().function(function);
  std::vector<std::vector<uint32_t>> orders(body.size());
  std::unordered_map<Dim, uint32_t> births;
  std::optional<uint32_t> last_effect;
  for (const Instruction instruction : body.instructions()) {
    auto& order = orders[instruction.index()];
    for_each_size(instruction, [&](Dim symbol) {
      if (const auto birth = births.find(symbol); birth != births.end()) {
        order.push_back(birth->second);
      }
    });
    for (const Dim size : instruction.size_results()) births.emplace(size, instruction.index());
    if (effects.of(function, instruction).pure()) continue;
    if (last_effect) order.push_back(*last_effect);
    last_effect = instruction.index();
  }
  return orders;
}

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
                                 const Target& target, uint32_t turn) {
  return Clustering(effects, function, target, turn).run();
}

}  // namespace plait::compile
