#include "plait/compile/inside/plans/storage.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <unordered_set>

#include "plait/ops/inside/primitives.h"

namespace plait::compile {
namespace {

constexpr uint32_t kNever = std::numeric_limits<uint32_t>::max();

// True if the results are, or may be, views of the operands at the same index.
bool is_alias(const Step& step) {
  return step.is<ViewStep>() || step.is<RefineStep>() || step.is<MoveStep>() ||
         step.is<NextSliceStep>();
}

// True if an operand may be kept by something that outlives the frame.
bool lets_escape(const Step& step) {
  if (const auto* primitive = step.as<PrimitiveStep>()) return primitive->keeps_operands;
  if (const auto* move = step.as<MoveStep>()) return move->is_loop_carry;
  return step.is<TupleStep>() || step.is<PackStep>() || step.is<PresentStep>() ||
         step.is<CallStep>();
}

// True if its results can be stored in the frame.
bool fills_memory(const Step& step) {
  return step.is<KernelStep>() || step.is<PrimitiveStep>() || step.is<BeginScanStep>();
}

// True for primitives whose result is their first operand, changed in place if nothing else holds
// it.
bool overwrites_first(const ir::Primitive& primitive) {
  static const std::unordered_set<const ir::Primitive*> kAll{
      &scatter_set_primitive(),     &scatter_add_primitive(),     &scatter_multiply_primitive(),
      &scatter_minimum_primitive(), &scatter_maximum_primitive(), &update_slice_primitive()};
  return kAll.contains(&primitive);
}

class StorageAssigner {
 public:
  StorageAssigner(PlannedFunction& function, bool shares_memory)
      : function_(function), shares_memory_(shares_memory) {}

  void run() {
    find_uses();
    extend_over_loops(last_use_);
    find_last_reads();
    find_escapes();
    choose_storage();
    last_look_ = last_use_;
    extend_to_what_looks();
    assign_cells();
    set_spans();
  }

 private:
  uint32_t size() const { return static_cast<uint32_t>(function_.steps.size()); }

  void find_uses() {
    first_.assign(function_.registers.size(), kNever);
    last_use_.assign(function_.registers.size(), 0);
    for (const Register parameter : function_.parameters) first_[parameter] = 0;
    for (uint32_t i = 0; i < size(); ++i) {
      for (const Register r : function_.steps[i].operands) last_use_[r] = i;
      for (const Register r : function_.steps[i].results) {
        first_[r] = std::min(first_[r], i);
        last_use_[r] = std::max(last_use_[r], i);
      }
    }
    for (const Register r : function_.results) last_use_[r] = size();
  }

  // A value from before a loop that is used within it lives until the loop ends.
  void extend_over_loops(std::vector<uint32_t>& last) const {
    for (const PlannedFunction::Loop& loop : function_.loops) {
      for (Register r = 0; r < last.size(); ++r) {
        if (first_[r] < loop.begin && last[r] >= loop.begin && last[r] < loop.end) {
          last[r] = loop.end;
        }
      }
    }
  }

  // ---- Last reads.

  void find_last_reads() {
    for (uint32_t i = 0; i < size(); ++i) {
      Step& step = function_.steps[i];
      step.is_last.assign(step.operands.size(), false);
      for (size_t k = 0; k < step.operands.size(); ++k) {
        const Register r = step.operands[k];
        step.is_last[k] = last_use_[r] == i && !stands_later(step, k);
      }
    }
    for (const PlannedFunction::Branches& each : function_.branches) read_last_in_branches(each);
    for (const PlannedFunction::Loop& loop : function_.loops) {
      for (const Register carry : loop.carries) read_last_in_body(loop, carry);
      drop_behind(loop);
    }
  }

  // A value from before the branches that is not read after them is read for the last time in each.
  void read_last_in_branches(const PlannedFunction::Branches& branches) {
    const std::vector<uint32_t>& begins = branches.begins;
    for (size_t i = 0; i + 1 < begins.size(); ++i) {
      std::unordered_set<Register> seen;
      for (uint32_t at = begins[i + 1]; at-- > begins[i];) {
        Step& step = function_.steps[at];
        for (size_t k = 0; k < step.operands.size(); ++k) {
          const Register r = step.operands[k];
          const bool ends_in_later = last_use_[r] >= begins[i + 1] && last_use_[r] < branches.end;
          if (!ends_in_later || first_[r] >= begins[0] || stands_later(step, k)) continue;
          if (!seen.insert(r).second) continue;
          step.is_last[k] = !is_in_loop_within(at, begins[i], begins[i + 1]);
        }
      }
    }
  }

  // True if the step is in a loop among the steps [begin, end).
  bool is_in_loop_within(uint32_t step, uint32_t begin, uint32_t end) const {
    return std::ranges::any_of(function_.loops, [&](const PlannedFunction::Loop& loop) {
      return loop.begin >= begin && loop.end < end && step >= loop.begin && step < loop.end;
    });
  }

  // True if the same operand occurs again later in the step.
  static bool stands_later(const Step& step, size_t k) {
    const auto behind = step.operands.begin() + static_cast<ptrdiff_t>(k) + 1;
    return std::find(behind, step.operands.end(), step.operands[k]) != step.operands.end();
  }

  // A carry is dead between its last use in the body and its next value.
  void read_last_in_body(const PlannedFunction::Loop& loop, Register carry) {
    uint32_t last = kNever;
    for (uint32_t i = loop.body; i < loop.end; ++i) {
      const auto& operands = function_.steps[i].operands;
      if (std::ranges::find(operands, carry) != operands.end()) last = i;
    }
    if (last == kNever || is_in_inner_loop(last, loop)) return;
    Step& step = function_.steps[last];
    for (size_t k = 0; k < step.operands.size(); ++k) {
      if (step.operands[k] == carry && !stands_later(step, k)) step.is_last[k] = true;
    }
  }

  bool is_in_inner_loop(uint32_t step, const PlannedFunction::Loop& outer) const {
    return std::ranges::any_of(function_.loops, [&](const PlannedFunction::Loop& loop) {
      return loop.begin > outer.begin && loop.end < outer.end && step >= loop.begin &&
             step < loop.end;
    });
  }

  void drop_behind(const PlannedFunction::Loop& loop) {
    Step& drop = function_.steps[loop.end];
    for (Register r = 0; r < last_use_.size(); ++r) {
      if (last_use_[r] != loop.end || first_[r] >= loop.begin) continue;
      drop.operands.push_back(r);
      drop.is_last.push_back(true);
    }
  }

  // ---- Storage.

  void find_escapes() {
    escapes_.assign(function_.registers.size(), false);
    for (const Register r : function_.results) escapes_[r] = true;
    for (const Step& step : function_.steps) {
      if (!lets_escape(step)) continue;
      for (const Register r : step.operands) escapes_[r] = true;
    }
    // If a view escapes, so does its source. In loops a source may come later, so this is repeated
    // up to a fixed point.
    for (bool is_changed = true; is_changed;) {
      is_changed = false;
      for (uint32_t i = size(); i-- > 0;) {
        for_each_alias(function_.steps[i], [&](Register from, Register to) {
          if (!escapes_[to] || escapes_[from]) return;
          escapes_[from] = true;
          is_changed = true;
        });
      }
    }
  }

  template <class Visit>
  static void for_each_alias(const Step& step, Visit&& visit) {
    if (!is_alias(step)) return;
    const size_t count = std::min(step.operands.size(), step.results.size());
    for (size_t i = 0; i < count; ++i) visit(step.operands[i], step.results[i]);
  }

  // True if its size is known when the function begins.
  bool is_known_on_entry(const ir::Type& type) const {
    bool known = true;
    type.for_each_dim([&](Dim dim) {
      dim.for_each_symbol([&](Dim symbol) {
        known = known && std::ranges::find_if(function_.size_parameters, is_same_as(symbol)) !=
                             function_.size_parameters.end();
      });
    });
    return known;
  }

  void choose_storage() {
    for (RegisterInfo& info : function_.registers) info.storage = Storage::own;
    for (const Step& step : function_.steps) {
      for (const Register r : step.results) {
        RegisterInfo& info = function_.registers[r];
        if (is_alias(step)) info.storage = Storage::through_view;
        const bool fits =
            fills_memory(step) && info.type.is_array() && is_known_on_entry(info.type);
        if (fits && !escapes_[r]) info.storage = Storage::frame;
      }
    }
    for (const Step& step : function_.steps) let_overwrite(step);
  }

  // An operand in the frame would be copied.
  void let_overwrite(const Step& step) {
    const auto* primitive = step.as<PrimitiveStep>();
    if (primitive == nullptr || !overwrites_first(*primitive->operation.primitive)) return;
    RegisterInfo& operand = function_.registers[step.operands[0]];
    if (!step.is_last[0] || operand.storage == Storage::through_view) return;
    operand.storage = function_.registers[step.results[0]].storage = Storage::own;
    operand.is_overwritten = true;
  }

  void extend_to_what_looks() {
    for (bool is_changed = true; is_changed;) {
      is_changed = false;
      for (uint32_t i = size(); i-- > 0;) {
        for_each_alias(function_.steps[i], [&](Register from, Register to) {
          if (last_look_[from] >= last_look_[to]) return;
          last_look_[from] = last_look_[to];
          is_changed = true;
        });
      }
      extend_over_loops(last_look_);
    }
  }

  // ---- Cells.

  void assign_cells() {
    std::vector<Register> order;
    for (Register r = 0; r < function_.registers.size(); ++r) {
      if (first_[r] != kNever) order.push_back(r);
    }
    std::ranges::stable_sort(order, {}, [&](Register r) { return first_[r]; });
    using Busy = std::pair<uint32_t, uint32_t>;  // end of the lifetime, cell
    std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy;
    std::vector<uint32_t> free;
    for (const Register r : order) {
      while (!busy.empty() && busy.top().first < first_[r]) {
        free.push_back(busy.top().second);
        busy.pop();
      }
      uint32_t cell = function_.cells;
      if (!free.empty()) {
        cell = free.back();
        free.pop_back();
      } else {
        ++function_.cells;
      }
      function_.registers[r].cell = cell;
      busy.emplace(last_use_[r], cell);
    }
  }

  void set_spans() {
    function_.spans.resize(function_.registers.size());
    for (Register r = 0; r < function_.registers.size(); ++r) {
      function_.spans[r] = shares_memory_ ? PlannedFunction::Span{first_[r], last_look_[r]}
                                          : PlannedFunction::Span{0, size()};
    }
  }

  PlannedFunction& function_;
  const bool shares_memory_;
  std::vector<uint32_t> first_, last_use_, last_look_;
  std::vector<bool> escapes_;
};

}  // namespace

void assign_storage(PlannedFunction& function, bool shares_memory) {
  StorageAssigner(function, shares_memory).run();
}

}  // namespace plait::compile
