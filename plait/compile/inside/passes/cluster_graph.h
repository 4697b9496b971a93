// The graph of a function in which some instructions are grouped: each group, and each instruction
// outside of groups, is a node.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "plait/compile/inside/nests/region.h"
#include "plait/ir/analysis/effect_analysis.h"

namespace plait::compile {

class ClusterGraph {
 public:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  using Members = std::vector<uint32_t>;  // ascending

  struct Group {
    Members members;
    // The product whose rows the loops read, among the members.
    std::optional<uint32_t> product = {};
    // Members of an earlier group that this one computes again, ascending.
    Members recomputed = {};
  };

  ClusterGraph(const ir::EffectAnalysis& effects, size_t index);

  const ir::Function& function() const { return function_; }
  const Roles& roles() const { return roles_; }
  std::span<const Group> groups() const { return groups_; }
  const Group& group(uint32_t number) const { return groups_[number]; }
  // kNone for an instruction outside of groups.
  uint32_t group_of(uint32_t instruction) const { return group_of_[instruction]; }
  std::span<const uint32_t> users(ir::ValueId value) const { return users_[value]; }
  bool is_result(ir::ValueId value) const { return is_result_[value]; }

  // True if the members depend on the others through a third node.
  bool needs_through_others(std::span<const uint32_t> members,
                            std::span<const uint32_t> others) const;
  // True if an instruction outside of the group reads the value, one of its results.
  bool is_used_outside(ir::ValueId value, std::span<const uint32_t> members) const;
  // The results that are used outside: those of the loops, of the product, and of products that
  // follow the loops.
  std::vector<ir::ValueId> results_of(std::span<const uint32_t> members) const;

  uint32_t add_group();
  void clear(uint32_t number) { groups_[number] = {}; }
  void set_members(uint32_t number, Members members);
  void set_product(uint32_t number, uint32_t product) { groups_[number].product = product; }
  void set_recomputed(uint32_t number, Members members) {
    groups_[number].recomputed = std::move(members);
  }

 private:
  std::vector<uint32_t> producers(std::span<const uint32_t> members) const;
  std::span<const uint32_t> node_of(const uint32_t& instruction) const;
  uint32_t latest_needed(uint32_t instruction) const;
  bool recomputes(uint32_t user, uint32_t instruction) const;

  const ir::Function& function_;
  const Roles roles_;
  const std::vector<std::vector<uint32_t>> orders_;
  std::vector<Group> groups_;
  std::vector<uint32_t> group_of_;
  std::vector<uint32_t> reach_;               // the last member of groups that began by then
  std::vector<std::vector<uint32_t>> users_;  // users of each value
  std::vector<bool> is_result_;
  mutable std::vector<bool> seen_;
};

// True if one loop nest computes the members, and is not too large for a kernel.
bool has_kernel_size(const ClusterGraph& graph, std::span<const uint32_t> members,
                     std::span<const ir::ValueId> results);
// True if a kernel with these members can get the operands of the product from outside: views and
// numbers that its loops read are part of the kernel.
bool reads_from_outside(const ClusterGraph& graph, std::span<const uint32_t> members,
                        const ir::Instruction& product);

// Dependencies besides operands: effects depend on earlier effects, and uses of a data-dependent
// size on the instruction that defines it. Views and numbers pass theirs on, as the kernels that
// read them contain them. One list an instruction.
std::vector<std::vector<uint32_t>> order_dependencies_of(const ir::EffectAnalysis& effects,
                                                         size_t function, const Roles& roles);

}  // namespace plait::compile
