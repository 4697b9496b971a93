// Execution plan for one row of a nest: several loops over the columns (stages). Says in which one
// each value is computed, and which values are buffered for later stages. Targets emit their loops
// from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "plait/compile/inside/nests/nest.h"

namespace plait::compile {

// Handling of a result.
enum class ResultKind : uint8_t {
  stored,             // once per column
  stored_once,        // once per row
  accumulated,        // one number per column, in memory
  accumulated_whole,  // one number, over all rows and columns
  accumulated_once,   // one number; each row adds one value
};

struct StagePlan {
  std::vector<uint32_t> values;      // computed here, in order; kept values are read from their
                                     // buffers instead
  std::vector<uint32_t> results;     // indices among the nest's results
  std::vector<uint32_t> reductions;  // values that are complete after the loop
  std::vector<uint32_t> kept;        // values that are written to buffers

  bool is_empty() const { return results.empty() && reductions.empty() && kept.empty(); }
};

struct NestPlan {
  // By value: a result depends on it; it takes much longer than an addition; its stage.
  std::vector<bool> is_needed, is_costly;
  std::vector<uint32_t> stage;
  // Values without columns, in order; each is computed before the loop of its stage.
  std::vector<uint32_t> row_values;
  std::vector<ResultKind> result_kinds;
  std::vector<StagePlan> stages;
  std::vector<uint32_t> home;                    // by value: the stage that computes a kept value
  std::vector<std::optional<uint32_t>> buffers;  // by value: the buffer of a kept value
  uint32_t buffer_count = 0;
};

// True if a target's code for the operation, with this dtype of its last operand, takes much longer
// than an addition. Not asked of conversions.
using IsCostly = bool (*)(std::string_view operation, DType dtype);

NestPlan nest_plan_of(const Nest& nest, IsCostly is_costly);

}  // namespace plait::compile
