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
#include <optional>
#include <string>
#include <vector>

#include "plait/compile/inside/nests/kernel_compiler.h"
#include "plait/compile/inside/nests/region.h"
#include "plait/ir/program.h"

namespace plait::compile {

using Register = uint32_t;

enum class Storage : uint8_t { frame, own, through_view };

struct RegisterInfo {
  ir::Type type;  // with the plan's sizes
  Storage storage = Storage::frame;
  uint32_t cell = 0;  // registers with disjoint lifetimes share one
};

// A fused function, its loop nest and its machine code.
struct PlannedKernel {
  std::shared_ptr<const ir::Function> function;
  Nest nest;
  std::vector<uint32_t> parameters;  // the operand of each nest parameter
  // The product with which the loops are fused, as its epilogue.
  struct Product {
    uint32_t a, b;           // operands; b may have to be rounded
    uint32_t parameter;      // of the nest: the product
    bool is_result = false;  // it is also the last result
    DType dtype;
  };
  std::optional<Product> product = {};
  CompiledKernel code = {};
  // Results that may overwrite an operand: each element is written after its last read.
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
    view,       // a primitive whose result is a view of its operand
    constant,   // `constants[target]`
    size,       // `dims[0]` as a number
    as_size,    // symbols[0] = operand
    refine,     // checks that `types[0]` and `types[1]` have equal sizes; returns the operand
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
    move,        // results[i] = operands[i], simultaneously
    set_sizes,   // symbols[i] = dims[i], simultaneously
    begin_scan,  // results: stacked, not filled; sets `counter` to 0
    next_slice,  // to `target` after dims[0] rounds; results: slices of the operands
    put_slice,   // stores the operands in the stacked results; increments the counter
    next_node,   // to `target` if the list, operands[0], is empty; results: fields, rest last
    jump,        // to `target`
    branch,      // to `target` unless the operand is true
    choose,      // to targets[operand]
    call,        // the function `target`
    drop,        // releases the operands
  };
  Kind kind;
  std::vector<Register> operands = {}, results = {};
  std::vector<bool> is_last = {};  // one an operand: true if it is not read afterwards
  Location location = {};
  uint32_t function = 0;  // index in the plan's names, of the function that had the instruction
  uint32_t target = 0;
  uint32_t counter = 0;
  uint32_t kernel = 0;
  bool expected = true;        // of a guard
  bool reverse = false;        // of a scan
  bool escapes = false;        // operands escape: others may keep them
  bool is_loop_carry = false;  // of a move: sets the carries of the next step of a loop
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

// Plans the program. Kernels are compiled to machine code if there is a compiler.
Plan plan_of(const ir::Program& program);

}  // namespace plait::compile
