#include "plait/compile/inside/running/plan_memory.h"

namespace plait {

namespace setting {
constinit Setting<Arena> kArena(
    {.name = "arena",
     .standard = "plain",
     .description = "memory of compiled programs; guarded detects accesses outside of a buffer",
     .choices = {"plain", "guarded"}});
}

namespace {
const ListedSettings arena_settings{&setting::kArena};
}

}  // namespace plait

namespace plait::compile {
namespace {

constexpr int64_t kLargestElement = 16;  // bytes

}  // namespace

Buffer PlanMemory::allocate(int64_t bytes) {
  return is_guarded() ? guarded(bytes) : Buffer::from_cache(bytes);
}

Buffer PlanMemory::allocate_work(int64_t bytes) {
  return is_guarded() ? guarded(bytes) : work_->take(bytes);
}

void PlanMemory::use_work_memory(std::shared_ptr<WorkMemory>& last) {
  if (is_guarded()) return;
  const int64_t wanted = last ? last->wanted_bytes() : 0;
  if (!last || wanted > last->bytes()) {
    last.reset();  // release it before the next one is allocated
    last = std::make_shared<WorkMemory>(wanted);
  }
  work_ = last;
}

void PlanMemory::end_step() {
  for (const GuardedBlock& block : blocks_) block.expect_untouched();
  blocks_.clear();
}

Buffer PlanMemory::guarded(int64_t bytes) {
  const GuardedBlock block(bytes, options_.shift, kLargestElement);
  const std::lock_guard lock(mutex_);
  return blocks_.emplace_back(block).buffer();
}

}  // namespace plait::compile
