// Each cluster becomes one instruction, whose callee is the function of the kernel.
#include <algorithm>
#include <map>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "plait/compile/inside/passes/cluster_graph.h"
#include "plait/compile/inside/passes/clusters.h"
#include "plait/compile/inside/passes/kernel_passes.h"
#include "plait/compile/inside/passes/loop_rewriter.h"
#include "plait/core/error.h"
#include "plait/ir/analysis/call_graph.h"
#include "plait/ir/analysis/identity.h"
#include "plait/ir/rewriting/copy_function.h"
#include "plait/ir/rewriting/prune.h"

namespace plait::compile {
namespace {

using ir::Instruction;
using ir::ValueId;

// Elements of an instruction that may come before all others.
constexpr int64_t kMostLight = 64;

// Names of the callees of one program: equal callees share a name.
class Kernels {
 public:
  explicit Kernels(const ir::Program& program) {
    for (const auto& function : program.functions()) taken_.insert(function->name());
  }

  std::string free_name() {
    std::string name;
    do {
      name = fmt::format("kernel{}", next_++);
    } while (taken_.contains(name));
    return name;
  }

  // Returns the name of the callee.
  std::string add(std::shared_ptr<const ir::Function> function) {
    const auto identities = ir::identities(ir::Program::of({function}));
    const auto [place, is_new] = by_identity_.emplace(identities[0], function->name());
    if (is_new) {
      functions_.push_back(std::move(function));
    } else {
      --next_;
    }
    return place->second;
  }

  const std::vector<std::shared_ptr<const ir::Function>>& functions() const { return functions_; }

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<ir::Identity, std::string> by_identity_;
  std::vector<std::shared_ptr<const ir::Function>> functions_;
  size_t next_ = 0;
};

// By function: true if a round of a loop runs it.
std::vector<bool> functions_in_loops(const ir::Program& program) {
  std::vector<bool> in_loops(program.functions().size());
  std::vector<uint32_t> waiting;
  const auto add = [&](uint32_t function) {
    if (!in_loops[function]) waiting.push_back(function);
    in_loops[function] = true;
  };
  for (size_t i = 0; i < in_loops.size(); ++i) {
    ir::for_each_callee(program, i, [&](const Instruction& caller, size_t, uint32_t callee) {
      if (is_loop(caller)) add(callee);
    });
  }
  while (!waiting.empty()) {
    const uint32_t next = waiting.back();
    waiting.pop_back();
    ir::for_each_callee(program, next,
                        [&](const Instruction&, size_t, uint32_t callee) { add(callee); });
  }
  return in_loops;
}

// Rewrites one function, with its clusters as calls.
class Fusing {
 public:
  Fusing(const ir::EffectAnalysis& effects, size_t index, const Target& target, uint32_t turn,
         bool is_in_loop, const ir::Declarations& declarations, Kernels& kernels)
      : effects_(effects),
        index_(index),
        target_(target),
        turn_(turn),
        is_in_loop_(is_in_loop),
        function_(effects.program().function(index)),
        roles_(function_),
        declarations_(declarations),
        kernels_(kernels) {}

  // Returns null if there is nothing to fuse.
  std::shared_ptr<const ir::Function> run() {
    clusters_ = clusters_of(effects_, index_, target_, turn_, is_in_loop_);
    if (clusters_.empty()) return nullptr;
    ir::FunctionBuilder builder(function_.name(), local_);
    add_declarations();
    ir::Copier copier(function_, builder);
    copier.begin();
    for (const uint32_t node : order()) {
      if (node < function_.size()) {
        if (is_needed_[node]) copier.copy(function_.instruction(node));
      } else {
        add_call(clusters_[node - function_.size()], copier, builder);
      }
    }
    return copier.finish();
  }

 private:
  void add_declarations() {
    for (const auto& function : effects_.program().functions()) {
      local_.add(function->name(), function->signature());
    }
    for (const ir::RecordType& record : effects_.program().records()) local_.add(record);
    for (const auto& function : kernels_.functions()) {
      local_.add(function->name(), function->signature());
    }
  }

  const Cluster* cluster_with(uint32_t instruction) const {
    const auto place = cluster_of_.find(instruction);
    return place == cluster_of_.end() ? nullptr : &clusters_[place->second];
  }

  // True if the kernel computes the value, or it is a view of what the kernel computes.
  bool is_within(ValueId value, const Cluster& cluster) const {
    const auto from = function_.definition(roles_.seen_through(value));
    return from && (std::ranges::binary_search(cluster.members, from->index()) ||
                    std::ranges::binary_search(cluster.recomputed, from->index()));
  }

  // Views and numbers that kernels contain stay in the function only for other readers.
  void find_needed() {
    is_needed_.assign(function_.size(), true);
    std::vector<bool> is_read(function_.value_count());
    for (const ValueId result : function_.results()) is_read[result] = true;
    for (size_t i = function_.size(); i-- > 0;) {
      const Instruction instruction = function_.instruction(i);
      const Cluster* const cluster = cluster_with(instruction.index());
      if (cluster != nullptr && roles_.is_computed(instruction)) continue;
      if (roles_.is_view_or_number(instruction)) is_needed_[i] = is_read[instruction.result()];
      for (const ValueId operand : instruction.operands()) {
        if (cluster != nullptr && is_within(operand, *cluster)) continue;
        if (is_needed_[i]) is_read[operand] = true;
      }
    }
  }

  // ---- The order: as before, but a cluster is at the place of its last product, or else of its
  // last member, and its users come after it. So the gradient of a weight, with the weight's
  // update, is computed when its factors are there, which are then released. Effects keep their
  // order.

  uint32_t node_of(uint32_t instruction) const {
    const auto place = cluster_of_.find(instruction);
    return place == cluster_of_.end() ? instruction
                                      : static_cast<uint32_t>(function_.size()) + place->second;
  }

  // Without products, of few elements, and computed from parameters by others like them.
  std::vector<bool> light_instructions() const {
    std::vector<bool> is_light(function_.size());
    for (const Instruction instruction : function_.instructions()) {
      bool light = roles_.of(instruction) != Role::product &&
                   effects_.of(index_, instruction).pure() && instruction.callees().empty() &&
                   instruction.size_results().empty();
      for (const ir::Type& type : instruction.result_types()) {
        const bool is_small = type.is_array() && type.shape().element_count().is_number() &&
                              type.shape().element_count().number() <= kMostLight;
        light = light && (is_small || roles_.is_view_or_number(instruction));
      }
      for (const ValueId operand : instruction.operands()) {
        const auto from = function_.definition(operand);
        light = light && (!from || is_light[from->index()]);
      }
      is_light[instruction.index()] = light;
    }
    return is_light;
  }

  bool is_at_place(const Instruction& instruction, uint32_t node) const {
    if (node < function_.size() || roles_.of(instruction) == Role::product) return true;
    const auto& members = clusters_[node - function_.size()].members;
    return std::ranges::none_of(members, [&](uint32_t member) {
      return roles_.of(function_.instruction(member)) == Role::product;
    });
  }

  std::vector<uint32_t> order() {
    for (uint32_t c = 0; c < clusters_.size(); ++c) {
      for (const uint32_t member : clusters_[c].members) cluster_of_.emplace(member, c);
    }
    find_needed();
    const std::vector<bool> is_light = light_instructions();
    const size_t nodes = function_.size() + clusters_.size();
    std::vector<std::vector<uint32_t>> successors(nodes);
    std::vector<uint32_t> missing(nodes), position(nodes);
    const auto orders = order_dependencies_of(effects_, index_, roles_);
    const auto add_edge = [&](uint32_t from, uint32_t to) {
      if (from == to) return;
      successors[from].push_back(to);
      ++missing[to];
    };
    for (const Instruction instruction : function_.instructions()) {
      const uint32_t node = node_of(instruction.index());
      const bool is_early = is_light[instruction.index()];
      if (!is_early && is_at_place(instruction, node)) position[node] = instruction.index();
      add_operands(instruction, cluster_with(instruction.index()),
                   [&](uint32_t from) { add_edge(node_of(from), node); });
      for (const uint32_t other : orders[instruction.index()]) add_edge(node_of(other), node);
    }
    for (const Cluster& cluster : clusters_) {
      for (const uint32_t member : cluster.recomputed) {
        add_operands(function_.instruction(member), &cluster, [&](uint32_t from) {
          add_edge(node_of(from), node_of(cluster.members.front()));
        });
      }
    }
    return sorted(successors, missing, position);
  }

  // Calls `add` with the instructions whose results it needs; those that are part of its cluster
  // are left out.
  template <class Add>
  void add_operands(const Instruction& instruction, const Cluster* cluster, Add&& add) const {
    // A kernel contains its views.
    const bool is_member = cluster != nullptr && roles_.is_computed(instruction);
    for (const ValueId operand : instruction.operands()) {
      if (cluster != nullptr && is_within(operand, *cluster)) continue;
      const ValueId needed = is_member ? roles_.seen_through(operand) : operand;
      if (is_member && roles_.is_number(needed)) continue;
      if (const auto from = function_.definition(needed)) add(from->index());
    }
  }

  std::vector<uint32_t> sorted(const std::vector<std::vector<uint32_t>>& successors,
                               std::vector<uint32_t>& missing,
                               const std::vector<uint32_t>& position) const {
    using Item = std::pair<uint32_t, uint32_t>;  // position, node
    std::priority_queue<Item, std::vector<Item>, std::greater<>> ready;
    const auto is_there = [&](uint32_t node) {
      return node >= function_.size() || !cluster_of_.contains(node);
    };
    for (uint32_t node = 0; node < missing.size(); ++node) {
      if (missing[node] == 0 && is_there(node)) ready.emplace(position[node], node);
    }
    std::vector<uint32_t> order;
    while (!ready.empty()) {
      const uint32_t node = ready.top().second;
      ready.pop();
      order.push_back(node);
      for (const uint32_t next : successors[node]) {
        if (--missing[next] == 0) ready.emplace(position[next], next);
      }
    }
    for (uint32_t node = 0; node < missing.size(); ++node) {
      if (missing[node] == 0 || !is_there(node)) continue;
      throw CompileError("fuse: @{}: kernels wait for each other, one of them at {}",
                         function_.name(), position[node]);
    }
    return order;
  }

  // ---- The callee.

  // The members, with the views and numbers that they read, in order.
  std::vector<uint32_t> body_of(const Cluster& cluster) const {
    std::vector<uint32_t> body(cluster.members);
    body.insert(body.end(), cluster.recomputed.begin(), cluster.recomputed.end());
    const std::vector<uint32_t> computed(body);
    std::vector<uint32_t> waiting(body);
    std::unordered_set<uint32_t> seen(body.begin(), body.end());
    while (!waiting.empty()) {
      const Instruction next = function_.instruction(waiting.back());
      waiting.pop_back();
      for (const ValueId operand : next.operands()) {
        // Other operands of a product, and keys, come from outside.
        const bool is_block = roles_.of(next) == Role::product || roles_.of(next) == Role::draw;
        if (is_block && !is_within(operand, cluster)) continue;
        const auto from = function_.definition(operand);
        if (!from) continue;
        if (!roles_.is_view_or_number(*from)) continue;
        if (!seen.insert(from->index()).second) continue;
        body.push_back(from->index());
        waiting.push_back(from->index());
      }
    }
    for (const uint32_t index : computed) {
      if (const auto rounding = rounding_within(index, cluster, body)) body.push_back(*rounding);
    }
    std::ranges::sort(body);
    return body;
  }

  // The conversion that the product can do while it packs its right-hand side, if nothing else in
  // the body reads it, and it is in no other kernel.
  std::optional<uint32_t> rounding_within(uint32_t member, const Cluster& cluster,
                                          std::span<const uint32_t> body) const {
    const Instruction product = function_.instruction(member);
    if (roles_.of(product) != Role::product) return std::nullopt;
    const auto is_own = [&](ValueId operand) { return is_within(operand, cluster); };
    if (std::ranges::any_of(product.operands(), is_own)) return std::nullopt;
    const auto rounding = rounding_of(function_, product);
    if (!rounding || cluster_of_.contains(rounding->index())) return std::nullopt;
    for (const uint32_t index : body) {
      const auto operands = function_.instruction(index).operands();
      const auto reads = std::ranges::count(operands, rounding->result());
      if (reads > (index == member ? 1 : 0)) return std::nullopt;
    }
    return rounding->index();
  }

  void add_call(const Cluster& cluster, ir::Copier& outer, ir::FunctionBuilder& builder) {
    const std::vector<uint32_t> body = body_of(cluster);
    std::vector<ValueId> operands;
    std::vector<Dim> sizes;
    auto kernel = callee(cluster, body, operands, sizes);
    const ir::Signature signature = kernel->signature();
    const std::string name = kernels_.add(std::move(kernel));
    if (local_.find_function(name) == nullptr) local_.add(name, signature);
    const std::vector<ValueId> given = outer.values(operands);
    const ir::Callee named{name, outer.sizes(sizes)};
    const Instruction last = function_.instruction(cluster.members.back());
    const ir::Added added = builder.add({.primitive = ir::primitive(ir::Structure::fused),
                                         .operands = given,
                                         .callees = {&named, 1},
                                         .location = last.location()});
    for (size_t i = 0; i < cluster.results.size(); ++i) outer.set(cluster.results[i], added[i]);
  }

  std::shared_ptr<const ir::Function> callee(const Cluster& cluster, std::span<const uint32_t> body,
                                             std::vector<ValueId>& operands,
                                             std::vector<Dim>& sizes) {
    std::unordered_set<ValueId> defined;
    std::unordered_set<Dim> named;
    const auto name_sizes = [&](Dim symbol) {
      if (named.insert(symbol).second) sizes.push_back(symbol);
    };
    const auto add_operand = [&](ValueId value) {
      if (std::ranges::find(operands, value) == operands.end()) operands.push_back(value);
    };
    for (const uint32_t index : body) {
      const Instruction instruction = function_.instruction(index);
      for (const ValueId operand : instruction.operands()) {
        if (!defined.contains(operand)) add_operand(operand);
      }
      defined.insert(instruction.result());
      for_each_size(instruction, name_sizes);
    }
    for (const ValueId operand : operands) {
      function_.type_of(operand).for_each_dim([&](Dim dim) { dim.for_each_symbol(name_sizes); });
    }
    ir::FunctionBuilder builder(kernels_.free_name(), declarations_);
    for (const Dim size : sizes) builder.size_parameter(size.name());
    ir::Copier copier(function_, builder);
    for (const ValueId operand : operands) {
      copier.set(operand, builder.parameter(function_.type_of(operand).without_sharding()));
    }
    for (const uint32_t index : body) copier.copy(function_.instruction(index));
    return builder.finish(copier.values(cluster.results));
  }

  const ir::EffectAnalysis& effects_;
  const size_t index_;
  const Target& target_;
  const uint32_t turn_;
  const bool is_in_loop_;
  const ir::Function& function_;
  const Roles roles_;
  const ir::Declarations& declarations_;
  ir::Declarations local_;
  Kernels& kernels_;
  std::vector<Cluster> clusters_;
  std::unordered_map<uint32_t, uint32_t> cluster_of_;
  std::vector<bool> is_needed_;  // one an instruction outside of clusters
};

}  // namespace

ir::Program fused(const ir::Program& program, const Target* target, const Turns& turns) {
  if (target == nullptr) return program;
  const ir::EffectAnalysis effects(program);
  const ir::Declarations declarations = ir::declarations_of(program);
  const std::vector<bool> in_loops = functions_in_loops(program);
  Kernels kernels(program);
  std::vector<std::shared_ptr<const ir::Function>> functions(program.functions().begin(),
                                                             program.functions().end());
  for (size_t i = 0; i < functions.size(); ++i) {
    const uint32_t turn = turns.empty() ? 0 : turns[i];
    Fusing fusing(effects, i, *target, turn, in_loops[i], declarations, kernels);
    if (auto whole = fusing.run()) functions[i] = whole;
  }
  functions.insert(functions.end(), kernels.functions().begin(), kernels.functions().end());
  return ir::prune(
      ir::Program::of(std::move(functions), {program.records().begin(), program.records().end()}));
}

}  // namespace plait::compile
