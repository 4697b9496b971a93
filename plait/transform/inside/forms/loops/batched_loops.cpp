#include "plait/transform/inside/forms/loops/batched_loops.h"

#include "plait/transform/inside/forms/staged.h"

namespace plait {

std::vector<bool> batched_results(const BatchedRun& run, const ir::Function& function,
                                  const LoopParameters& parameters) {
  const auto& [types, flags] = parameters;
  std::vector<ir::Type> physical;
  for (size_t i = 0; i < types.size(); ++i) {
    physical.push_back(run.type_of_samples(types[i], flags[i]));
  }
  std::vector<bool> which;
  stage("probe", physical, [&](std::span<const Tensor> given) {
    const std::vector<BatchedValue> results =
        run_batched(run.program(), function, with_flags(given, flags), run.samples());
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
                               std::span<const BatchedValue> constants,
                               const std::vector<bool>& flags, const std::vector<bool>& results) {
  return [&run, &function, held = std::vector<BatchedValue>(constants.begin(), constants.end()),
          flags, results](std::span<const Tensor> given) {
    std::vector<BatchedValue> values = held;
    for (size_t i = 0; i < given.size(); ++i) values.push_back({given[i], flags[held.size() + i]});
    std::vector<Tensor> returned;
    const Samples& samples = run.samples();
    const std::vector<BatchedValue> found = run_batched(run.program(), function, values, samples);
    for (size_t i = 0; i < found.size(); ++i) {
      const bool is_batched =
          i < results.size() ? results[i] : samples.may_differ(function.signature().results[i]);
      returned.push_back(is_batched ? of_all_samples(found[i], samples.count) : found[i].tensor);
    }
    return returned;
  };
}

}  // namespace plait
