#include "plait/transform/inside/forms/loops/batched_loops.h"

#include "plait/transform/inside/forms/staged.h"

namespace plait {

std::vector<bool> batched_results(const BatchedRun& run, const ir::Function& function,
                                  const LoopParameters& parameters) {
  const auto& [types, flags] = parameters;
  std::vector<ir::Type> physical;
  for (size_t i = 0; i < types.size(); ++i) {
    physical.push_back(run.type_in_lanes(types[i], flags[i]));
  }
  std::vector<bool> which;
  stage("probe", physical, [&](std::span<const Tensor> given) {
    const std::vector<LaneValue> results =
        run_batched(run.program(), function, with_flags(given, flags), run.lanes());
    which = flags_of(results);
    return tensors_in(results);
  });
  return which;
}

void find_batched_carries(const BatchedRun& run, const ir::Function& body, size_t constants,
                          size_t carries, LoopParameters& parameters) {
  std::vector<bool>& flags = parameters.flags;
  while (true) {
    std::vector<bool> after = flags;
    const std::vector<bool> given = batched_results(run, body, parameters);
    for (size_t i = 0; i < carries && i < given.size(); ++i) {
      if (given[i]) after[constants + i] = true;
    }
    if (after == flags) return;
    flags = after;
  }
}

TensorFunction after_constants(const BatchedRun& run, const ir::Function& function,
                               std::span<const LaneValue> constants, const std::vector<bool>& flags,
                               const std::vector<bool>& results) {
  return [&run, &function, held = std::vector<LaneValue>(constants.begin(), constants.end()), flags,
          results](std::span<const Tensor> given) {
    std::vector<LaneValue> values = held;
    for (size_t i = 0; i < given.size(); ++i) values.push_back({given[i], flags[held.size() + i]});
    std::vector<Tensor> given_back;
    const Lanes& lanes = run.lanes();
    const std::vector<LaneValue> found = run_batched(run.program(), function, values, lanes);
    for (size_t i = 0; i < found.size(); ++i) {
      const bool is_batched =
          i < results.size() ? results[i] : lanes.may_differ(function.signature().results[i]);
      given_back.push_back(is_batched ? of_all_lanes(found[i], lanes.count) : found[i].tensor);
    }
    return given_back;
  };
}

}  // namespace plait
