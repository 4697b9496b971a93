// Execution plan for one row of a nest: several loops over the columns (stages). Says in which one
// each value is computed, and which values are buffered for later stages.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plait/compile/inside/nests/nest.h"
#include "plait/cpu/cpu_level.h"

namespace plait::cpu {

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
  unsigned lanes = 1;
  std::vector<uint32_t> stage;  // by value
  // Values without columns, in order; each is computed before the loop of its stage.
  std::vector<uint32_t> row_values;
  std::vector<ResultKind> result_kinds;
  std::vector<StagePlan> stages;
  std::vector<uint32_t> home;                    // by value: the stage that computes a kept value
  std::vector<std::optional<uint32_t>> buffers;  // by value: the buffer of a kept value
  uint32_t buffer_count = 0;
};

NestPlan plan_of(const compile::Nest& nest, CpuLevel level);

}  // namespace plait::cpu
