#include "plait/compile/inside/memory_budget.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "plait/compile/inside/passes/kernel_passes.h"
#include "plait/compile/inside/passes/usual_bytes.h"
#include "plait/core/log.h"

namespace plait::compile {
namespace {

// How often the forward pass is divided; finer pieces keep more of what is passed between them.
constexpr uint32_t kCounts[] = {2, 4, 8, 16, 32, 64};

struct Trial {
  Segments segments;
  PlannedMemory memory;
  int64_t work = 0;  // bytes of all values, which stand for the time
};

class Search {
 public:
  Search(const Target* target, const ir::Program& prepared)
      : target_(target),
        prepared_(prepared),
        sizes_(prepared.entry().signature().size_parameters.size(), kUsualSize),
        least_(with({})) {}

  // Those that need least memory, of all so far.
  const Trial& least() const { return least_; }

  // Those with least work that are enough, if any are.
  std::optional<Trial> within(int64_t goal) {
    std::optional<Trial> best;
    for (const uint32_t count : kCounts) {
      const std::optional<Trial> fewest = fewest_within(goal, count);
      if (!fewest && best) break;
      if (fewest && (!best || fewest->work < best->work)) best = fewest;
    }
    return best;
  }

 private:
  Trial with(const Segments& segments) const {
    Trial trial{.segments = segments, .memory = {}};
    const auto observe = [&](const Pass& pass, const ir::Program& program) {
      if (pass.name == "recompute") trial.work = work_of(program);
    };
    const ir::Program finished = finished_for(target_, prepared_, true, observe, segments, true);
    trial.memory = planned_memory(plan_of(finished, target_, true), sizes_);
    return trial;
  }

  Trial tried(const Segments& segments) {
    Trial trial = with(segments);
    if (trial.memory.temporaries < least_.memory.temporaries) least_ = trial;
    return trial;
  }

  static int64_t work_of(const ir::Program& program) {
    int64_t bytes = 0;
    for (const auto& function : program.functions()) {
      for (const ir::Instruction instruction : function->instructions()) {
        for (const ir::Type& type : instruction.result_types()) bytes += usual_bytes(type);
      }
    }
    return bytes;
  }

  // The fewest segments of this count that are enough; nothing if all are not.
  std::optional<Trial> fewest_within(int64_t goal, uint32_t count) {
    Trial enough = tried({count, count - 1});
    if (enough.memory.temporaries > goal) return std::nullopt;
    uint32_t too_few = 0;
    while (too_few + 1 < enough.segments.again) {
      const uint32_t middle = (too_few + enough.segments.again) / 2;
      Trial trial = tried({count, middle});
      if (trial.memory.temporaries <= goal) {
        enough = trial;
      } else {
        too_few = middle;
      }
    }
    return enough;
  }

  const Target* target_;
  const ir::Program& prepared_;
  const std::vector<int64_t> sizes_;
  Trial least_;
};

// Bytes of temporaries.
int64_t goal_of(double budget, const PlannedMemory& whole) {
  const auto temporaries = static_cast<double>(whole.temporaries);
  const auto others = static_cast<double>(whole.arguments + whole.results);
  const double goal = budget <= 1 ? budget * temporaries : budget - others;
  return static_cast<int64_t>(std::min(goal, temporaries));
}

}  // namespace

Segments segments_within(double budget, const Target* target, const ir::Program& prepared) {
  Search search(target, prepared);
  const PlannedMemory whole = search.least().memory;
  const int64_t goal = goal_of(budget, whole);
  if (whole.temporaries <= goal) return {};
  if (const auto found = search.within(goal)) return found->segments;
  const int64_t least = search.least().memory.temporaries;
  log(LogArea::compile, LogLevel::warning,
      "memory_budget: @{} needs {} bytes beside its arguments and results ({}), {} are left",
      prepared.entry().name(), least, whole.arguments + whole.results, goal);
  return search.least().segments;
}

}  // namespace plait::compile
