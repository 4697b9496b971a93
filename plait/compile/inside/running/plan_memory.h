// Memory of the steps of a running plan, besides the frames.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "plait/compile/arena_options.h"
#include "plait/compile/inside/running/guarded_memory.h"
#include "plait/compile/inside/running/work_memory.h"
#include "plait/tensor/inside/memory/buffer_source.h"

namespace plait::compile {

class PlanMemory final : public BufferSource {
 public:
  explicit PlanMemory(const ArenaOptions& options) : options_(options) {}

  const ArenaOptions& options() const { return options_; }
  bool is_guarded() const { return options_.is_guarded; }

  Buffer allocate(int64_t bytes) override;
  Buffer allocate_work(int64_t bytes) override;
  // Work memory comes from now on from `last`, the block of an earlier call, or from a new one with
  // the size that call needed.
  void use_work_memory(std::shared_ptr<WorkMemory>& last);
  // CheckError if the step has written outside of its arrays.
  void end_step();

 private:
  Buffer guarded(int64_t bytes);

  const ArenaOptions options_;
  std::shared_ptr<WorkMemory> work_;
  std::mutex mutex_;
  std::vector<GuardedBlock> blocks_;  // blocks of this step
};

}  // namespace plait::compile
