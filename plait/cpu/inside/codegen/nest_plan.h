// How a row of a nest is worked through: in which loop over the columns each value is computed, and
// which are kept from one loop for a later one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plait/compile/inside/nests/nest.h"
#include "plait/core/settings.h"

namespace plait::cpu {

// What is done with a result.
enum class ResultKind : uint8_t {
  stored,             // in the loop over the columns
  stored_once,        // of a row
  accumulated,        // a number for each column, in memory
  accumulated_whole,  // one number, over the columns too
  accumulated_once,   // one number, to which each row adds one
};

struct StagePlan {
  std::vector<uint32_t> values;   // to be computed, in order; those that are kept are read instead
  std::vector<uint32_t> results;  // by their places among the nest's
  std::vector<uint32_t> reductions;  // values that are known when the loop has ended
  std::vector<uint32_t> kept;        // values that are written to their buffers

  bool is_empty() const { return results.empty() && reductions.empty() && kept.empty(); }
};

struct NestPlan {
  unsigned lanes = 1;
  std::vector<uint32_t> stage;  // of each value
  // Without columns, in order; each is computed before the loop of its stage.
  std::vector<uint32_t> row_values;
  std::vector<ResultKind> result_kinds;
  std::vector<StagePlan> stages;
  std::vector<uint32_t> home;                    // the stage in which each kept value is computed
  std::vector<std::optional<uint32_t>> buffers;  // of kept values, by number
  uint32_t buffer_count = 0;
};

NestPlan plan_of(const compile::Nest& nest, CpuLevel level);

}  // namespace plait::cpu
