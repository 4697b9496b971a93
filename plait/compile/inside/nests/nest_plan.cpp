#include "plait/compile/inside/nests/nest_plan.h"

#include <algorithm>
#include <utility>

#include "plait/ir/primitive.h"
#include "plait/ops/inside/primitives.h"

namespace plait::compile {
namespace {

using Kind = NestValue::Kind;

constexpr uint32_t kNever = 0xffffffff;
constexpr int kMostComputedAgain = 6, kMostLoadedAgain = 3;

class Planner {
 public:
  explicit Planner(const Nest& nest) : nest_(nest) {}

  NestPlan plan(IsCostly is_costly) {
    find_costs(is_costly);
    find_needed();
    find_stages();
    find_results();
    plan_.home.assign(nest_.values.size(), kNever);
    plan_.buffers.resize(nest_.values.size());
    for (uint32_t s = 0; s < plan_.stages.size(); ++s) find_homes(s);
    for (auto s = static_cast<uint32_t>(plan_.stages.size()); s-- > 0;) collect(s);
    for (StagePlan& stage : plan_.stages) {
      if (stage.is_empty()) stage.values.clear();
    }
    return std::move(plan_);
  }

 private:
  const NestValue& value(uint32_t v) const { return nest_.values[v]; }

  void find_costs(IsCostly is_costly) {
    for (const NestValue& each : nest_.values) {
      const bool is_operation =
          each.kind == Kind::compute && each.primitive != &convert_primitive();
      plan_.is_costly.push_back(is_operation &&
                                is_costly(each.primitive->name, value(each.operands.back()).dtype));
    }
  }

  void find_needed() {
    plan_.is_needed.assign(nest_.values.size(), false);
    for (const NestResult& result : nest_.results) plan_.is_needed[result.value] = true;
    for (size_t v = nest_.values.size(); v-- > 0;) {
      if (!plan_.is_needed[v]) continue;
      for (const uint32_t operand : nest_.values[v].operands) plan_.is_needed[operand] = true;
    }
  }

  void find_stages() {
    const size_t count = nest_.values.size();
    plan_.stage.assign(count, 0);
    uint32_t last = 0;
    for (uint32_t v = 0; v < count; ++v) {
      uint32_t& stage = plan_.stage[v];
      for (const uint32_t operand : value(v).operands) {
        stage = std::max(stage, plan_.stage[operand]);
      }
      if (value(v).kind == Kind::reduce) ++stage;
      if (!plan_.is_needed[v]) continue;
      last = std::max(last, stage);
      if (!value(v).has_columns) plan_.row_values.push_back(v);
    }
    plan_.stages.resize(last + 1);
    for (uint32_t v = 0; v < count; ++v) {
      if (!plan_.is_needed[v] || value(v).kind != Kind::reduce) continue;
      plan_.stages[plan_.stage[v] - 1].reductions.push_back(v);
    }
  }

  ResultKind kind_of(const NestResult& result) const {
    const Dim along = result.place.strides.back();
    const bool moves = !along.is_number() || along.number() != 0;
    const bool has_columns = value(result.value).has_columns;
    if (result.reduction == ir::Reduction::none) {
      return moves || has_columns ? ResultKind::stored : ResultKind::stored_once;
    }
    if (moves) return ResultKind::accumulated;
    return has_columns ? ResultKind::accumulated_whole : ResultKind::accumulated_once;
  }

  void find_results() {
    for (uint32_t r = 0; r < nest_.results.size(); ++r) {
      const ResultKind kind = kind_of(nest_.results[r]);
      plan_.result_kinds.push_back(kind);
      if (kind == ResultKind::stored_once || kind == ResultKind::accumulated_once) continue;
      plan_.stages[plan_.stage[nest_.results[r].value]].results.push_back(r);
    }
  }

  // Values with columns that the loop of a stage stores, reduces or buffers.
  std::vector<uint32_t> roots(uint32_t s) const {
    std::vector<uint32_t> result = plan_.stages[s].kept;
    for (const uint32_t r : plan_.stages[s].results) result.push_back(nest_.results[r].value);
    for (const uint32_t v : plan_.stages[s].reductions) result.push_back(value(v).operands[0]);
    return result;
  }

  // The home of a value is the first loop that needs it.
  void find_homes(uint32_t s) {
    std::vector<uint32_t> open = roots(s);
    while (!open.empty()) {
      const uint32_t v = open.back();
      open.pop_back();
      if (!value(v).has_columns || plan_.home[v] != kNever) continue;
      plan_.home[v] = s;
      open.insert(open.end(), value(v).operands.begin(), value(v).operands.end());
    }
  }

  // A value that an earlier loop has computed is recomputed if that is cheap, else buffered. (Both
  // give the same bits.)
  bool is_cheap_again(uint32_t v) const {
    int computed = 0, loaded = 0;
    std::vector<uint32_t> open = {v};
    while (!open.empty()) {
      const uint32_t u = open.back();
      open.pop_back();
      if (!value(u).has_columns) continue;
      if (plan_.buffers[u] || value(u).kind == Kind::load) {
        if (++loaded > kMostLoadedAgain) return false;
        continue;
      }
      if (plan_.is_costly[u] || ++computed > kMostComputedAgain) return false;
      open.insert(open.end(), value(u).operands.begin(), value(u).operands.end());
    }
    return true;
  }

  void collect(uint32_t s) {
    StagePlan& stage = plan_.stages[s];
    std::vector<bool> seen(nest_.values.size(), false);
    std::vector<uint32_t> open = roots(s);
    while (!open.empty()) {
      const uint32_t v = open.back();
      open.pop_back();
      if (!value(v).has_columns || seen[v]) continue;
      seen[v] = true;
      stage.values.push_back(v);
      const uint32_t home = plan_.home[v];
      if (home < s && !plan_.buffers[v] && !is_cheap_again(v)) {
        plan_.buffers[v] = plan_.buffer_count++;
        plan_.stages[home].kept.push_back(v);
      }
      if (home < s && plan_.buffers[v]) continue;
      open.insert(open.end(), value(v).operands.begin(), value(v).operands.end());
    }
    std::ranges::sort(stage.values);
  }

  const Nest& nest_;
  NestPlan plan_;
};

}  // namespace

NestPlan nest_plan_of(const Nest& nest, IsCostly is_costly) {
  return Planner(nest).plan(is_costly);
}

}  // namespace plait::compile
