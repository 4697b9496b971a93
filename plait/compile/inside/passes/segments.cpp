#include "plait/compile/inside/passes/segments.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "plait/compile/inside/nests/region.h"
#include "plait/compile/inside/passes/usual_bytes.h"
#include "plait/ir/rewriting/copy_function.h"

namespace plait::compile {
namespace {

using ir::Instruction;
using ir::ValueId;

bool is_only_for_results(const ir::EffectAnalysis& effects, size_t function,
                         const Instruction& instruction) {
  return effects.of(function, instruction).pure() && instruction.size_results().empty() &&
         instruction.result_count() > 0;
}

class Segmenting {
 public:
  Segmenting(const ir::EffectAnalysis& effects, size_t index, uint32_t turn)
      : effects_(effects),
        index_(index),
        function_(effects.program().function(index)),
        roles_(function_),
        turn_(turn) {}

  // Places where about as many bytes are kept in each segment, and few bytes are passed on.
  SegmentEnds ends_of(uint32_t count) {
    find_uses();
    return ends(count);
  }

  TurnedFunction run(const SegmentEnds& ends, uint32_t again) {
    find_uses();
    segment_of_.assign(turn_, kNone);
    // From the last one on, so that what a later segment reads is known to be kept.
    for (size_t i = std::min<size_t>(again, ends.size()); i-- > 0;) {
      add_segment(i == 0 ? 0 : ends[i - 1], ends[i]);
    }
    return again_.empty() ? TurnedFunction{nullptr, turn_} : rewritten();
  }

 private:
  uint32_t size() const { return static_cast<uint32_t>(function_.size()); }

  int64_t bytes_of(uint32_t instruction) const {
    int64_t bytes = 0;
    for (const ir::Type& type : function_.instruction(instruction).result_types()) {
      bytes += usual_bytes(type);
    }
    return bytes;
  }

  // Calls visit(source, user) for what is used, behind all views.
  template <class Visit>
  void for_each_use(Visit&& visit) const {
    for (const Instruction user : function_.instructions()) {
      if (roles_.of(user) == Role::view) continue;
      for (const ValueId operand : user.operands()) {
        if (const auto source = roles_.source_of(operand)) visit(*source, user.index());
      }
    }
    for (const ValueId result : function_.results()) {
      if (const auto source = roles_.source_of(result)) visit(*source, size());
    }
  }

  void find_uses() {
    is_kept_.assign(size(), false);
    last_forward_use_.assign(size(), 0);
    std::vector<bool> is_result(size());
    for_each_use([&](uint32_t source, uint32_t user) {
      if (source >= turn_) return;
      if (user < turn_) last_forward_use_[source] = std::max(last_forward_use_[source], user);
      if (user >= turn_) is_kept_[source] = true;
      if (user == size()) is_result[source] = true;
    });
    // A result is in memory until the end.
    for (uint32_t i = 0; i < turn_; ++i) stays_.push_back(is_result[i] || !can_be_copied(i));
  }

  bool can_be_copied(uint32_t instruction) const {
    return is_only_for_results(effects_, index_, function_.instruction(instruction));
  }

  // ---- The segments.

  SegmentEnds ends(uint32_t count) const {
    std::vector<int64_t> kept(turn_ + 1), passed(turn_ + 1);
    for (uint32_t i = 0; i < turn_; ++i) {
      kept[i + 1] = kept[i] + (is_kept_[i] && !stays_[i] ? bytes_of(i) : 0);
      if (last_forward_use_[i] <= i || roles_.of(function_.instruction(i)) == Role::view) continue;
      passed[i + 1] += bytes_of(i);
      if (last_forward_use_[i] < turn_) passed[last_forward_use_[i] + 1] -= bytes_of(i);
    }
    for (uint32_t i = 0; i < turn_; ++i) passed[i + 1] += passed[i];
    SegmentEnds ends;
    const int64_t each = kept[turn_] / count;
    for (uint32_t k = 1; k < count && each > 0; ++k) {
      const int64_t goal = k * each;
      const auto from = std::ranges::lower_bound(kept, goal - each / 2);
      const auto to = std::ranges::upper_bound(kept, goal + each / 2 - 1);
      const auto first = static_cast<uint32_t>(from - kept.begin());
      const auto last = static_cast<uint32_t>(to - kept.begin());
      uint32_t best = first;
      for (uint32_t i = first; i < last; ++i) {
        if (passed[i] < passed[best]) best = i;
      }
      if (best < turn_ && best > (ends.empty() ? 0 : ends.back())) ends.push_back(best);
    }
    return ends;
  }

  // Computed again are the values that the backward pass uses, and what they are computed from,
  // back to what is kept.
  void add_segment(uint32_t begin, uint32_t end) {
    std::set<uint32_t> copied;
    std::vector<uint32_t> waiting;
    const auto add = [&](uint32_t source) {
      if (source < begin || stays_[source]) {
        stays_[source] = true;
      } else if (copied.insert(source).second) {
        waiting.push_back(source);
      }
    };
    for (uint32_t i = begin; i < end; ++i) {
      if (is_kept_[i] && !stays_[i]) add(i);
    }
    while (!waiting.empty()) {
      const uint32_t next = waiting.back();
      waiting.pop_back();
      for (const ValueId operand : function_.instruction(next).operands()) {
        if (const auto source = roles_.source_of(operand)) add(*source);
      }
    }
    const auto segment = static_cast<uint32_t>(again_.size());
    for (const uint32_t each : copied) segment_of_[each] = segment;
    again_.emplace_back(copied.begin(), copied.end());
  }

  // ---- The function.

  bool is_again(ValueId value) const {
    const auto source = roles_.source_of(value);
    return source && *source < turn_ && segment_of_[*source] != kNone;
  }

  // By instruction of the forward pass: false if only the backward pass used it, which now uses
  // what is computed again.
  std::vector<bool> needed() const {
    std::vector<bool> is_read(function_.value_count());
    const auto read_by = [&](const Instruction& user) {
      for (const ValueId operand : user.operands()) {
        if (!is_again(operand)) is_read[operand] = true;
      }
    };
    for (uint32_t i = turn_; i < size(); ++i) read_by(function_.instruction(i));
    for (const auto& segment : again_) {
      for (const uint32_t each : segment) read_by(function_.instruction(each));
    }
    return needed_before(effects_, index_, turn_, std::move(is_read));
  }

  TurnedFunction rewritten() {
    const std::vector<bool> is_needed = needed();
    const ir::Declarations declarations = ir::declarations_of(effects_.program());
    ir::FunctionBuilder builder(function_.name(), declarations);
    ir::Copier copier(function_, builder);
    copier.begin();
    for (uint32_t i = 0; i < turn_; ++i) {
      if (is_needed[i]) copier.copy(function_.instruction(i));
    }
    TurnedFunction made;
    made.turn = static_cast<uint32_t>(builder.so_far().size());
    is_done_.assign(again_.size(), false);
    for (uint32_t i = turn_; i < size(); ++i) {
      const Instruction instruction = function_.instruction(i);
      for (const ValueId operand : instruction.operands()) compute_again(operand, copier);
      copier.copy(instruction);
    }
    made.function = copier.finish();
    return made;
  }

  // Computes the segment of a value again, when the first of its values is read.
  void compute_again(ValueId value, ir::Copier& copier) {
    if (!is_again(value)) return;
    const uint32_t segment = segment_of_[*roles_.source_of(value)];
    if (is_done_[segment]) return;
    is_done_[segment] = true;
    // Views of what is copied are, too.
    std::vector<uint32_t> copied = again_[segment];
    for (uint32_t i = copied.front(); i < turn_; ++i) {
      const Instruction view = function_.instruction(i);
      if (roles_.of(view) != Role::view) continue;
      const auto from = roles_.source_of(view.result());
      if (from && *from < turn_ && segment_of_[*from] == segment) copied.push_back(i);
    }
    std::ranges::sort(copied);
    for (const uint32_t each : copied) copier.copy(function_.instruction(each));
  }

  static constexpr uint32_t kNone = ~uint32_t{0};

  const ir::EffectAnalysis& effects_;
  const size_t index_;
  const ir::Function& function_;
  const Roles roles_;
  const uint32_t turn_;
  // By instruction of the forward pass.
  std::vector<bool> is_kept_;  // the backward pass uses it
  std::vector<bool> stays_;    // it is in memory anyway, or cannot be computed again
  std::vector<uint32_t> last_forward_use_;
  std::vector<uint32_t> segment_of_;          // that is computed again; else kNone
  std::vector<std::vector<uint32_t>> again_;  // by segment, ascending
  std::vector<bool> is_done_;
};

}  // namespace

std::vector<bool> needed_before(const ir::EffectAnalysis& effects, size_t index, uint32_t turn,
                                std::vector<bool> is_read) {
  const ir::Function& function = effects.program().function(index);
  for (const ValueId result : function.results()) is_read[result] = true;
  std::vector<bool> is_needed(turn);
  for (uint32_t i = turn; i-- > 0;) {
    const Instruction instruction = function.instruction(i);
    bool is_used = !is_only_for_results(effects, index, instruction);
    for (size_t k = 0; k < instruction.result_count(); ++k) {
      is_used = is_used || is_read[instruction.result(k)];
    }
    is_needed[i] = is_used;
    if (!is_used) continue;
    for (const ValueId operand : instruction.operands()) is_read[operand] = true;
  }
  return is_needed;
}

SegmentEnds segment_ends(const ir::EffectAnalysis& effects, size_t function, uint32_t turn,
                         uint32_t count) {
  return Segmenting(effects, function, turn).ends_of(count);
}

TurnedFunction with_segments(const ir::EffectAnalysis& effects, size_t function, uint32_t turn,
                             const SegmentEnds& ends, uint32_t again) {
  return Segmenting(effects, function, turn).run(ends, again);
}

}  // namespace plait::compile
