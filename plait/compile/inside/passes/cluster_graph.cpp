#include "plait/compile/inside/passes/cluster_graph.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace plait::compile {
namespace {

using ir::Instruction;
using ir::ValueId;

// Nodes visited before a path is assumed to exist.
constexpr size_t kMostVisited = 400;
// Larger kernels run out of registers and take long to compile.
constexpr size_t kMostMembers = 96;
constexpr size_t kMostParameters = 40;

bool is_looked_through(const ClusterGraph& graph, ValueId look, std::span<const uint32_t> members) {
  const ir::Function& function = graph.function();
  for (const uint32_t member : members) {
    if (!graph.roles().is_computed(function.instruction(member))) continue;
    for (ValueId value : function.instruction(member).operands()) {
      auto from = function.definition(value);
      while (from && graph.roles().of(*from) == Role::view) {
        if (value == look) return true;
        value = from->operands()[0];
        from = function.definition(value);
      }
    }
  }
  return false;
}

}  // namespace

ClusterGraph::ClusterGraph(const ir::EffectAnalysis& effects, size_t index)
    : function_(effects.program().function(index)),
      roles_(function_),
      orders_(order_dependencies_of(effects, index, roles_)),
      group_of_(function_.size(), kNone),
      reach_(function_.size()),
      users_(function_.value_count()),
      is_result_(function_.value_count()) {
  std::iota(reach_.begin(), reach_.end(), 0U);
  for (const Instruction instruction : function_.instructions()) {
    for (const ValueId operand : instruction.operands()) {
      users_[operand].push_back(instruction.index());
    }
  }
  for (const ValueId result : function_.results()) is_result_[result] = true;
}

std::vector<uint32_t> ClusterGraph::producers(std::span<const uint32_t> members) const {
  std::vector<uint32_t> all;
  for (const uint32_t member : members) {
    for (const ValueId operand : function_.instruction(member).operands()) {
      if (const auto from = roles_.source_of(operand)) all.push_back(*from);
    }
    all.insert(all.end(), orders_[member].begin(), orders_[member].end());
  }
  return all;
}

std::span<const uint32_t> ClusterGraph::node_of(const uint32_t& instruction) const {
  const uint32_t group = group_of_[instruction];
  return group == kNone ? std::span(&instruction, 1) : std::span(groups_[group].members);
}

// The latest instruction needed by this one: a group needs everything up to its last member.
uint32_t ClusterGraph::latest_needed(uint32_t instruction) const {
  uint32_t latest = instruction;
  while (reach_[latest] > latest) latest = reach_[latest];
  return latest;
}

bool ClusterGraph::needs_through_others(std::span<const uint32_t> members,
                                        std::span<const uint32_t> others) const {
  std::vector<bool>& seen = seen_;
  seen.assign(function_.size(), false);
  for (const uint32_t member : members) seen[member] = true;
  std::vector<uint32_t> waiting;
  const auto add_producers = [&](std::span<const uint32_t> node) {
    bool has_other = false;
    for (const uint32_t from : producers(node)) {
      const bool is_other = std::ranges::binary_search(others, from);
      has_other = has_other || is_other;
      if (is_other || seen[from] || latest_needed(from) < others.front()) continue;
      for (const uint32_t member : node_of(from)) seen[member] = true;
      waiting.push_back(from);
    }
    return has_other;
  };
  add_producers(members);  // direct dependencies are allowed
  for (size_t visited = 0; !waiting.empty(); ++visited) {
    if (visited == kMostVisited) return true;
    const uint32_t next = waiting.back();
    waiting.pop_back();
    if (add_producers(node_of(next))) return true;
    const uint32_t group = group_of_[next];
    if (group != kNone && add_producers(groups_[group].recomputed)) return true;
  }
  return false;
}

bool ClusterGraph::recomputes(uint32_t user, uint32_t instruction) const {
  const uint32_t group = group_of_[user];
  return group != kNone && std::ranges::binary_search(groups_[group].recomputed, instruction);
}

bool ClusterGraph::is_used_outside(ValueId value, std::span<const uint32_t> members) const {
  if (is_result_[value]) return true;
  const uint32_t from = function_.definition(value)->index();
  // A view is used where its users are.
  std::vector<ValueId> values{value};
  while (!values.empty()) {
    const ValueId next = values.back();
    values.pop_back();
    for (const uint32_t user : users_[next]) {
      const Instruction instruction = function_.instruction(user);
      if (std::ranges::binary_search(members, user) || recomputes(user, from)) continue;
      if (roles_.of(instruction) != Role::view) return true;
      if (is_result_[instruction.result()]) return true;
      values.push_back(instruction.result());
    }
  }
  return false;
}

std::vector<ValueId> ClusterGraph::results_of(std::span<const uint32_t> members) const {
  std::vector<ValueId> results, of_products;
  for (const uint32_t member : members) {
    const Instruction instruction = function_.instruction(member);
    if (!is_used_outside(instruction.result(), members)) continue;
    const bool is_product = roles_.of(instruction) == Role::product;
    (is_product ? of_products : results).push_back(instruction.result());
  }
  results.insert(results.end(), of_products.begin(), of_products.end());
  return results;
}

uint32_t ClusterGraph::add_group() {
  groups_.emplace_back();
  return static_cast<uint32_t>(groups_.size() - 1);
}

void ClusterGraph::set_members(uint32_t number, Members members) {
  for (const uint32_t member : members) group_of_[member] = number;
  for (uint32_t i = members.front(); i < members.back(); ++i) {
    reach_[i] = std::max(reach_[i], members.back());
  }
  groups_[number].members = std::move(members);
}

bool has_kernel_size(const ClusterGraph& graph, std::span<const uint32_t> members,
                     std::span<const ValueId> results) {
  if (members.size() > kMostMembers) return false;
  const auto nest = nest_of(Region{graph.roles(), members, results});
  return nest && nest->parameters.size() + results.size() <= kMostParameters;
}

bool reads_from_outside(const ClusterGraph& graph, std::span<const uint32_t> members,
                        const Instruction& product) {
  const ir::Function& function = graph.function();
  std::vector<ValueId> operands(product.operands().begin(), product.operands().end());
  if (const auto rounding = rounding_of(function, product)) {
    operands.push_back(rounding->operands()[0]);
  }
  return std::ranges::none_of(operands, [&](ValueId operand) {
    const auto from = function.definition(operand);
    return from &&
           (graph.roles().of(*from) == Role::number || is_looked_through(graph, operand, members));
  });
}

std::vector<std::vector<uint32_t>> order_dependencies_of(const ir::EffectAnalysis& effects,
                                                         size_t function, const Roles& roles) {
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
    for (const ValueId operand : instruction.operands()) {
      const auto from = body.definition(operand);
      if (!from || !roles.is_view_or_number(*from)) continue;
      const auto& inherited = orders[from->index()];
      order.insert(order.end(), inherited.begin(), inherited.end());
    }
    std::ranges::sort(order);
    order.erase(std::ranges::unique(order).begin(), order.end());
    for (const Dim size : instruction.size_results()) births.emplace(size, instruction.index());
    if (effects.of(function, instruction).pure()) continue;
    if (last_effect) order.push_back(*last_effect);
    last_effect = instruction.index();
  }
  return orders;
}

}  // namespace plait::compile
