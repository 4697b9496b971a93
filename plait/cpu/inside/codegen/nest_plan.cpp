#include "plait/cpu/inside/codegen/nest_plan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>

#include "plait/core/error.h"
#include "plait/cpu/inside/codegen/llvm_operations.h"
#include "plait/ir/primitive.h"
#include "plait/ops/inside/primitives.h"

namespace plait::cpu {
namespace {

using compile::Nest;
using compile::NestResult;
using compile::NestValue;
using Kind = NestValue::Kind;

constexpr uint32_t kNever = 0xffffffff;
constexpr int kMostComputedAgain = 6, kMostLoadedAgain = 3;
constexpr int64_t kFewOperations = 12;  // kernels of at most so many are bound by memory or latency
constexpr unsigned kMostLanes = 64;

bool is_costly(const NestValue& value, DType operand) {
  return value.primitive != &convert_primitive() && code::is_costly(value.primitive->name, operand);
}

class Planner {
 public:
  Planner(const Nest& nest, CpuLevel level) : nest_(nest), level_(level) {}

  NestPlan plan() {
    find_stages();
    find_results();
    plan_.home.assign(nest_.values.size(), kNever);
    plan_.buffers.resize(nest_.values.size());
    for (uint32_t s = 0; s < plan_.stages.size(); ++s) find_homes(s);
    for (auto s = static_cast<uint32_t>(plan_.stages.size()); s-- > 0;) collect(s);
    for (StagePlan& stage : plan_.stages) {
      if (stage.is_empty()) stage.values.clear();
    }
    plan_.lanes = lanes();
    return std::move(plan_);
  }

 private:
  const NestValue& value(uint32_t v) const { return nest_.values[v]; }
  bool costs(uint32_t v) const {
    return value(v).kind == Kind::compute &&
           is_costly(value(v), value(value(v).operands.back()).dtype);
  }

  // Finds the values that are needed, and their stages.
  void find_stages() {
    const size_t count = nest_.values.size();
    plan_.stage.assign(count, 0);
    is_needed_.assign(count, false);
    for (const NestResult& result : nest_.results) is_needed_[result.value] = true;
    for (size_t v = count; v-- > 0;) {
      if (!is_needed_[v]) continue;
      for (const uint32_t operand : nest_.values[v].operands) is_needed_[operand] = true;
    }
    uint32_t last = 0;
    for (uint32_t v = 0; v < count; ++v) {
      uint32_t& stage = plan_.stage[v];
      for (const uint32_t operand : value(v).operands) {
        stage = std::max(stage, plan_.stage[operand]);
      }
      if (value(v).kind == Kind::reduce) ++stage;
      if (!is_needed_[v]) continue;
      last = std::max(last, stage);
      if (!value(v).has_columns) plan_.row_values.push_back(v);
    }
    plan_.stages.resize(last + 1);
    for (uint32_t v = 0; v < count; ++v) {
      if (!is_needed_[v] || value(v).kind != Kind::reduce) continue;
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
      if (costs(u) || ++computed > kMostComputedAgain) return false;
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

  // The element size in which most of the work is done.
  int64_t dominant_size(int64_t& operations) const {
    std::array<int64_t, 9> work = {};
    for (uint32_t v = 0; v < nest_.values.size(); ++v) {
      if (!is_needed_[v] || !value(v).has_columns || value(v).kind == Kind::number) continue;
      const DType dtype = value(v).dtype;
      const bool is_test = is_boolean(dtype) && value(v).kind == Kind::compute;
      const DType counted = is_test ? value(value(v).operands.back()).dtype : dtype;
      const int64_t weight = costs(v) ? 16 : value(v).kind == Kind::load ? 1 : 2;
      if (value(v).kind == Kind::compute) operations += costs(v) ? 16 : 1;
      work[static_cast<size_t>(size_of(code::computed_dtype(counted)))] += weight;
    }
    int64_t size = 8;
    for (const int64_t other : {4, 2, 1}) {
      if (work[static_cast<size_t>(other)] > work[static_cast<size_t>(size)]) size = other;
    }
    return size;
  }

  // Two registers, or four for cheap kernels, so that steps overlap.
  unsigned lanes() const {
    int64_t operations = 0;
    const int64_t size = dominant_size(operations);
    const int64_t bytes = level_ == CpuLevel::avx512 ? 64 : level_ == CpuLevel::avx2 ? 32 : 16;
    const int64_t registers = operations <= kFewOperations ? 4 : 2;
    auto result = static_cast<unsigned>(registers * bytes / size);
    result = std::min(result, kMostLanes);
    if (nest_.columns.is_number() && nest_.columns.number() < result) {
      const auto columns = static_cast<unsigned>(std::max<int64_t>(nest_.columns.number(), 1));
      result = std::min(result, std::bit_ceil(columns));
    }
    return result;
  }

  const Nest& nest_;
  CpuLevel level_;
  NestPlan plan_;
  std::vector<bool> is_needed_;
};

}  // namespace

NestPlan plan_of(const Nest& nest, CpuLevel level) { return Planner(nest, level).plan(); }

}  // namespace plait::cpu
