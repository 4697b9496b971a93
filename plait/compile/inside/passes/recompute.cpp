// Decides which values of the forward pass the backward pass keeps, and which it computes again in
// its kernels: keeping costs their bytes, computing them again costs arithmetic.
//
// The turn of a function, where its backward pass begins, is the place where most bytes are alive
// that are used again behind a product or another long step. A minimum cut of the graph of values
// then says which of them are kept. In the network each value has two nodes, `needed` and `kept`,
// with an edge between them that costs its bytes:
//
//   source -> needed: the cost of computing it again; unlimited if that is impossible
//   needed -> kept: its bytes
//   kept -> sink: unlimited if the backward pass uses it
//   kept of an operand -> needed: unlimited, since computing a value again takes its operands
//
// A value is kept if the cut goes between its nodes, and computed again if both are on the side of
// the sink.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "plait/compile/inside/nests/region.h"
#include "plait/compile/inside/passes/clusters.h"
#include "plait/compile/inside/passes/kernel_passes.h"
#include "plait/compile/inside/passes/min_cut.h"
#include "plait/compile/inside/passes/segments.h"
#include "plait/compile/inside/passes/usual_bytes.h"
#include "plait/ir/rewriting/copy_function.h"

namespace plait::compile {
namespace {

using ir::Instruction;
using ir::ValueId;

// Computing a value again costs its bytes divided by this.
constexpr int64_t kCheapDivisor = 16, kCostlyDivisor = 2;
// Less is not worth another kernel.
constexpr int64_t kLeastGain = 64 * 1024;

class Recomputing {
 public:
  Recomputing(const ir::EffectAnalysis& effects, size_t index, const Target* target)
      : effects_(effects),
        index_(index),
        target_(target),
        function_(effects.program().function(index)),
        roles_(function_) {}

  // Nothing if no backward pass is found. What is passed from one of `segments` to another is kept.
  // Without a target there are no kernels that could compute values again.
  std::optional<TurnedFunction> run(uint32_t segments) {
    count_long_steps();
    find_last_uses();
    if (!find_turn()) return std::nullopt;
    if (segments > 1) find_passed(segments);
    if (target_ != nullptr) cut();
    if (gain_ < kLeastGain) return TurnedFunction{nullptr, turn_, ends_};
    return rewritten();
  }

 private:
  uint32_t size() const { return static_cast<uint32_t>(function_.size()); }

  bool is_long(const Instruction& instruction) const {
    const Role role = roles_.of(instruction);
    return role == Role::product || role == Role::draw || role == Role::other;
  }

  void count_long_steps() {
    long_before_.assign(size() + 1, 0);
    for (const Instruction instruction : function_.instructions()) {
      const uint32_t i = instruction.index();
      long_before_[i + 1] = long_before_[i] + (is_long(instruction) ? 1 : 0);
    }
  }
  // Between the instructions.
  bool has_long_step(uint32_t from, uint32_t to) const {
    return long_before_[to] > long_before_[from + 1];
  }

  void find_last_uses() {
    last_use_.assign(size(), 0);
    for (const Instruction instruction : function_.instructions()) {
      if (roles_.of(instruction) == Role::view) continue;
      for (const ValueId operand : instruction.operands()) {
        if (const auto source = roles_.source_of(operand)) last_use_[*source] = instruction.index();
      }
    }
    for (const ValueId result : function_.results()) {
      if (const auto source = roles_.source_of(result)) last_use_[*source] = size();
    }
  }

  int64_t bytes_of(uint32_t instruction) const {
    int64_t bytes = 0;
    for (const ir::Type& type : function_.instruction(instruction).result_types()) {
      bytes += usual_bytes(type);
    }
    return bytes;
  }

  // The last place where most bytes are alive that long steps are to come before.
  bool find_turn() {
    std::vector<int64_t> change(size() + 2, 0);
    for (uint32_t i = 0; i < size(); ++i) {
      // Results are kept in any case.
      if (last_use_[i] == size() || !has_long_step(i, last_use_[i]) || is_free(i)) continue;
      change[i + 1] += bytes_of(i);
      change[last_use_[i] + 1] -= bytes_of(i);
    }
    int64_t alive = 0, most = 0;
    for (uint32_t i = 0; i <= size(); ++i) {
      alive += change[i];
      if (alive < most || alive == 0) continue;
      most = alive;
      turn_ = i;
    }
    return most >= kLeastGain && turn_ < size();
  }

  bool is_free(uint32_t instruction) const {
    return roles_.is_view_or_number(function_.instruction(instruction));
  }

  void find_passed(uint32_t segments) {
    ends_ = segment_ends(effects_, index_, turn_, segments);
    is_passed_.assign(size(), false);
    for (uint32_t user = 0; user < turn_; ++user) {
      const auto end = std::ranges::upper_bound(ends_, user);
      if (end == ends_.begin()) continue;
      for (const ValueId operand : function_.instruction(user).operands()) {
        const auto source = roles_.source_of(operand);
        if (source && *source < *std::prev(end)) is_passed_[*source] = true;
      }
    }
  }

  // ---- Which values are kept.

  bool can_be_recomputed(const Instruction& instruction) const {
    if (!is_passed_.empty() && is_passed_[instruction.index()]) return false;
    return roles_.of(instruction) == Role::pointwise &&
           is_computed_by(*target_, roles_, instruction) && effects_.of(index_, instruction).pure();
  }

  int64_t cost_of(const Instruction& instruction) const {
    const ir::Type& type = instruction.result_types()[0];
    const int64_t width = size_of(type.dtype());
    const int64_t computed = std::max<int64_t>(width, 4);  // narrow floats are computed as f32
    const bool is_costly =
        target_->is_costly(instruction.primitive(),
                           instruction.operand_type(instruction.operands().size() - 1).dtype());
    return usual_bytes(type) / width * computed / (is_costly ? kCostlyDivisor : kCheapDivisor);
  }

  struct Nodes {
    FlowNetwork::Node needed, kept;
  };

  Nodes nodes_of(uint32_t instruction, FlowNetwork& network) {
    if (const auto known = nodes_.find(instruction); known != nodes_.end()) return known->second;
    const Nodes nodes{network.add_node(), network.add_node()};
    nodes_.emplace(instruction, nodes);
    const Instruction definition = function_.instruction(instruction);
    network.add_edge(nodes.needed, nodes.kept, bytes_of(instruction));
    if (!can_be_recomputed(definition)) {
      network.add_edge(FlowNetwork::kSource, nodes.needed, FlowNetwork::kUnlimited);
      return nodes;
    }
    network.add_edge(FlowNetwork::kSource, nodes.needed, cost_of(definition));
    waiting_.push_back(instruction);
    return nodes;
  }

  // Also adds what they are computed from.
  void add_operands(FlowNetwork& network) {
    while (!waiting_.empty()) {
      const uint32_t instruction = waiting_.back();
      waiting_.pop_back();
      for (const ValueId operand : function_.instruction(instruction).operands()) {
        const auto source = roles_.source_of(operand);
        if (!source) continue;
        const Nodes from = nodes_of(*source, network);
        network.add_edge(from.kept, nodes_.at(instruction).needed, FlowNetwork::kUnlimited);
      }
    }
  }

  // A use that is not in a kernel reads the value from memory.
  bool is_in_kernel(const Instruction& user) const {
    return is_computed_by(*target_, roles_, user);
  }

  template <class Visit>  // (defining instruction, whether a kernel uses it)
  void for_each_late_use(Visit&& visit) const {
    for (uint32_t i = turn_; i < size(); ++i) {
      const Instruction user = function_.instruction(i);
      if (roles_.of(user) == Role::view) continue;
      for (const ValueId operand : user.operands()) {
        const auto source = roles_.source_of(operand);
        if (source && *source < turn_) visit(*source, is_in_kernel(user));
      }
    }
    for (const ValueId result : function_.results()) {
      const auto source = roles_.source_of(result);
      if (source && *source < turn_) visit(*source, false);
    }
  }

  void cut() {
    FlowNetwork network;
    int64_t before = 0, after = 0;
    for_each_late_use([&](uint32_t source, bool is_in_kernel) {
      if (!nodes_.contains(source)) before += bytes_of(source);
      const Nodes nodes = nodes_of(source, network);
      network.add_edge(nodes.kept, FlowNetwork::kSink, FlowNetwork::kUnlimited);
      if (!is_in_kernel || !has_long_step(source, turn_)) {
        network.add_edge(FlowNetwork::kSource, nodes.needed, FlowNetwork::kUnlimited);
      }
    });
    add_operands(network);
    const std::vector<bool> is_late = network.sink_side();
    for (const auto& [instruction, nodes] : nodes_) {
      if (is_late[nodes.needed]) {
        recomputed_.insert(instruction);
        after += cost_of(function_.instruction(instruction));
      } else if (is_late[nodes.kept]) {
        after += bytes_of(instruction);
      }
    }
    gain_ = before - after;
  }

  // ---- The function.

  TurnedFunction rewritten() {
    find_needed();
    const ir::Declarations declarations = ir::declarations_of(effects_.program());
    ir::FunctionBuilder builder(function_.name(), declarations);
    ir::Copier copier(function_, builder);
    copier.begin();
    TurnedFunction made;
    for (uint32_t i = 0; i < turn_; ++i) {
      if (std::ranges::binary_search(ends_, i)) {
        made.ends.push_back(static_cast<uint32_t>(builder.so_far().size()));
      }
      if (is_needed_[i]) copier.copy(function_.instruction(i));
    }
    made.turn = static_cast<uint32_t>(builder.so_far().size());
    for (uint32_t i = turn_; i < size(); ++i) {
      const Instruction instruction = function_.instruction(i);
      // Recomputed values are not kept over a long step either.
      if (is_long(instruction)) again_.clear();
      if (is_again(instruction)) continue;
      if (roles_.of(instruction) != Role::view) compute_operands_again(instruction, copier);
      copier.copy(instruction);
    }
    made.function = copier.finish();
    return made;
  }

  // True for what is computed again and for views of it, also those of the backward pass.
  bool is_again(const Instruction& instruction) const {
    if (instruction.result_count() != 1) return false;
    const auto source = roles_.source_of(instruction.result());
    return source && recomputed_.contains(*source);
  }
  bool is_again(ValueId value) const {
    const auto definition = function_.definition(value);
    return definition && is_again(*definition);
  }

  // Copies what the instruction reads of recomputed values, and views of them, before it.
  void compute_operands_again(const Instruction& instruction, ir::Copier& copier) {
    std::vector<ValueId> waiting(instruction.operands().begin(), instruction.operands().end());
    std::vector<uint32_t> copied;
    while (!waiting.empty()) {
      const ValueId value = waiting.back();
      waiting.pop_back();
      if (!is_again(value)) continue;
      const Instruction from = *function_.definition(value);
      if (!again_.insert(from.index()).second) continue;
      copied.push_back(from.index());
      for (const ValueId operand : from.operands()) waiting.push_back(operand);
    }
    std::ranges::sort(copied);
    for (const uint32_t index : copied) copier.copy(function_.instruction(index));
  }

  // The instructions before the turn that are still used.
  void find_needed() {
    std::vector<bool> is_read(function_.value_count());
    const auto read_late = [&](const Instruction& instruction) {
      for (const ValueId operand : instruction.operands()) {
        if (!is_again(operand)) is_read[operand] = true;
      }
    };
    for (uint32_t i = turn_; i < size(); ++i) read_late(function_.instruction(i));
    for (const uint32_t each : recomputed_) read_late(function_.instruction(each));
    is_needed_ = needed_before(effects_, index_, turn_, std::move(is_read));
  }

  const ir::EffectAnalysis& effects_;
  const size_t index_;
  const Target* target_;
  const ir::Function& function_;
  const Roles roles_;
  std::vector<uint32_t> long_before_;  // the number of long steps before each instruction
  std::vector<uint32_t> last_use_;     // by instruction, of its results, also through views
  uint32_t turn_ = 0;
  SegmentEnds ends_;
  std::vector<bool> is_passed_;  // from a segment to another; empty without segments
  int64_t gain_ = 0;
  std::unordered_map<uint32_t, Nodes> nodes_;
  std::vector<uint32_t> waiting_;  // their operands are not in the network yet
  std::unordered_set<uint32_t> recomputed_;
  std::unordered_set<uint32_t> again_;  // recomputed since the last long step
  std::vector<bool> is_needed_;
};

}  // namespace

ir::Program recomputed(const ir::Program& program, const Target* target, Turns& turns,
                       const Segments& segments) {
  if (target == nullptr && segments.again == 0) return program;
  std::vector<std::shared_ptr<const ir::Function>> functions(program.functions().begin(),
                                                             program.functions().end());
  turns.assign(functions.size(), 0);
  const auto with_functions = [&] {
    return ir::Program::of(functions, {program.records().begin(), program.records().end()});
  };
  std::vector<std::optional<TurnedFunction>> found(functions.size());
  const auto replace = [&](size_t i, const TurnedFunction& by) {
    if (!by.function) return;
    functions[i] = by.function;
    turns[i] = by.turn;
  };
  const ir::EffectAnalysis effects(program);
  for (size_t i = 0; i < functions.size(); ++i) {
    found[i] = Recomputing(effects, i, target).run(segments.again == 0 ? 1 : segments.count);
    if (found[i]) replace(i, *found[i]);
  }
  ir::Program made = with_functions();
  if (segments.again == 0) return made;
  const ir::EffectAnalysis effects_of_made(made);
  for (size_t i = 0; i < functions.size(); ++i) {
    if (!found[i]) continue;
    replace(i, with_segments(effects_of_made, i, found[i]->turn, found[i]->ends, segments.again));
  }
  return with_functions();
}

}  // namespace plait::compile
