// A compiled program: for each function a flat list of steps over registers. Branches and loops are
// jumps; recursive functions are called, each with a frame of its own.
//
// A register holds a value: an array, or a record, tuple or optional value. It is stored
//   in the frame      at an offset that is computed when the function's sizes are known
//                     (bound_plan.h);
//   in its own memory if it may outlive the frame or the step of a loop, or its size is not known
//                     when the function begins;
//   in the memory of another register, if it is a view of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plait/compile/inside/plans/planned_kernel.h"
#include "plait/compile/inside/plans/step.h"
#include "plait/compile/inside/targets/target.h"
#include "plait/ir/program.h"

namespace plait::compile {

enum class Storage : uint8_t { frame, own, through_view };

struct RegisterInfo {
  ir::Type type;  // with the plan's sizes
  Storage storage = Storage::frame;
  uint32_t cell = 0;            // registers with disjoint lifetimes share one
  bool is_overwritten = false;  // the result of its last reader has its memory
};

struct PlannedFunction {
  std::string name;
  std::vector<Dim> size_parameters;
  std::vector<SizeFact> facts;
  std::vector<Register> parameters, results;
  std::vector<Dim> result_sizes;
  std::vector<RegisterInfo> registers;
  std::vector<Step> steps;
  uint32_t cells = 0, counters = 0;
  // Lifetimes of the registers in the frame, in steps: from the definition to the last use of the
  // register or of a view of it.
  struct Span {
    uint32_t first = 0, last = 0;
  };
  std::vector<Span> spans;
  // Steps [begin, end). The body begins at `body`; from `moves` on, its last steps move the new
  // values into the `carries`. Inner loops come first.
  struct Loop {
    uint32_t begin = 0, body = 0, moves = 0, end = 0;
    std::vector<Register> carries;
  };
  std::vector<Loop> loops;
  // The steps of each branch, [begins[i], begins[i + 1]); those of the last one end at `end`.
  struct Branches {
    std::vector<uint32_t> begins;
    uint32_t end = 0;
  };
  std::vector<Branches> branches;  // inner ones come first
};

struct Plan {
  ir::Program program;  // after all passes
  std::vector<PlannedFunction> functions;
  std::vector<PlannedKernel> kernels;
  std::vector<Literal> constants;
  std::vector<std::string> names;

  std::string text() const;
  std::string text_of(const PlannedFunction& function, const Step& step) const;
};

// Plans the program. The target compiles its kernels; without one, the instructions of fused
// functions become steps. With `only_planned` nothing is compiled: the plan cannot run.
Plan plan_of(const ir::Program& program, const Target* target, bool only_planned = false);

}  // namespace plait::compile
