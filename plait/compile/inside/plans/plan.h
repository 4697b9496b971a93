// A compiled program: for each function a flat list of steps over registers. Branches and loops are
// jumps; functions that call themselves are called, each with a frame of its own.
//
// A register holds a value: an array, or a record, tuple or optional value. What it holds lies
//   in the frame      at a place that is found when the function's sizes are known (bound_plan.h);
//   in its own memory if it may outlive the frame or the step of a loop, or its size is not known
//                     when the function begins;
//   where another's does, if it only looks at that one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plait/compile/inside/nests/kernel_compiler.h"
#include "plait/compile/inside/nests/region.h"
#include "plait/ir/program.h"

namespace plait::compile {

using Register = uint32_t;

enum class Storage : uint8_t { frame, own, looked_at };

struct RegisterInfo {
  ir::Type type;  // in terms of the plan's sizes
  Storage storage = Storage::frame;
  uint32_t cell = 0;  // registers that do not live at the same time share one
};

// A fused function, its loops and its machine code.
struct PlannedKernel {
  std::shared_ptr<const ir::Function> function;
  Nest nest;
  std::vector<uint32_t> parameters;  // which operand each of the nest's is
  // The product whose rows the loops go along with.
  struct Product {
    uint32_t a, b;           // operands, of which b may have to be rounded
    uint32_t parameter;      // which of the nest's it is
    bool is_result = false;  // the last one
    DType dtype;
  };
  std::optional<Product> product = {};
  CompiledKernel code = {};
  // Results whose memory may be that of an operand: they are written where that is read last.
  struct Overwrite {
    uint32_t result, operand;
  };
  std::vector<Overwrite> overwrites = {};
  std::vector<Dim> sizes = {};  // nest.sizes()
};

struct Step {
  enum class Kind : uint8_t {
    kernel,     // `kernel`
    primitive,  // `primitive`
    look,       // a primitive that looks at its operand otherwise
    constant,   // `constants[target]`
    size,       // `dims[0]` as a number
    as_size,    // symbols[0] = operand
    refine,     // checks that `types[0]` and `types[1]` are the same sizes; the operand
    guard,
    size_guard,
    tuple,
    element,
    pack,
    unpack,
    absent,
    present,
    is_present,
    unwrap,
    move,        // results[i] = operands[i], all at once
    set_sizes,   // symbols[i] = dims[i], all at once
    begin_scan,  // results: stacked, empty; the counter `counter` is 0
    next_slice,  // to `target` after dims[0] rounds; results: slices of the operands
    put_slice,   // operands into the stacked results; one more round
    next_node,   // to `target` where the list, operands[0], is at its end; results: the node's
                 // fields, the rest of the list last
    jump,        // to `target`
    branch,      // to `target` unless the operand is true
    choose,      // to targets[operand]
    call,        // the function `target`
    drop,        // the operands are not needed any more
  };
  Kind kind;
  std::vector<Register> operands = {}, results = {};
  std::vector<bool> is_last = {};  // of operands: nothing reads them afterwards
  Location location = {};
  uint32_t function = 0;  // whose instruction it was, among the plan's names
  uint32_t target = 0;
  uint32_t counter = 0;
  uint32_t kernel = 0;
  bool expected = true;     // of a guard
  bool reverse = false;     // of a scan
  bool hands_out = false;   // others see the operands, and may keep them
  bool goes_round = false;  // of a move: what the next step of a loop begins with
  const ir::Primitive* primitive = nullptr;
  ir::Attributes attributes = {};
  std::vector<Dim> dims = {}, symbols = {};
  std::vector<Dim> callee_sizes = {};  // of a kernel's function
  std::vector<uint32_t> targets = {};
  std::vector<ir::Type> types = {};
  SizeFact fact = {};
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
  // From its definition to its last use, in steps: of registers that lie in the frame, with what
  // looks at them.
  struct Span {
    uint32_t first = 0, last = 0;
  };
  std::vector<Span> spans;
  // [begin, end) in steps; from `body` on it is the loop's body, whose `carries` are moved on in
  // its last steps, from `moves` on. Inner ones come first.
  struct Loop {
    uint32_t begin = 0, body = 0, moves = 0, end = 0;
    std::vector<Register> carries;
  };
  std::vector<Loop> loops;
};

struct Plan {
  ir::Program program;  // behind the passes
  std::vector<PlannedFunction> functions;
  std::vector<PlannedKernel> kernels;
  std::vector<Literal> constants;
  std::vector<std::string> names;

  std::string text() const;
  std::string text_of(const PlannedFunction& function, const Step& step) const;
};

// With kernels in machine code where there is a compiler for them.
Plan plan_of(const ir::Program& program);

}  // namespace plait::compile
