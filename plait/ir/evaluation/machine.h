// The interface of the evaluator to an array library: the evaluator interprets the structure of a
// program, and calls a machine for everything on arrays. Array values are opaque to the evaluator.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/core/numbers/literal.h"
#include "plait/core/sizes/dim.h"
#include "plait/ir/function.h"
#include "plait/ir/value.h"

namespace plait::ir {

// One instruction to be executed.
struct PrimitiveCall {
  Instruction instruction;
  // The machine may move values out. A value that is not needed afterwards has no other owner, so
  // its memory may be reused for a result.
  std::span<Value> operands;
  const SymbolMap<int64_t>& sizes;  // sizes of the instruction's function
  std::span<Value> results;         // all to be filled
  std::span<int64_t> size_results;  // data-dependent sizes, to be filled

  int64_t size(Dim dim) const { return dim.is_number() ? dim.number() : dim.evaluate(sizes); }
};

struct ArraySizes {
  DType dtype;
  std::vector<int64_t> sizes;
  friend bool operator==(const ArraySizes&, const ArraySizes&) = default;
};

class Machine {
 public:
  virtual ~Machine() = default;

  // Runs an instruction whose primitive is `Structure::machine`. Errors are thrown; the evaluator
  // adds the location.
  virtual void run(PrimitiveCall& call) = 0;

  virtual Value literal(const Literal& literal) = 0;
  virtual Value from_size(int64_t size, DType dtype) = 0;  // a scalar
  virtual Value from_boolean(bool truth) = 0;              // a bool[]
  virtual int64_t to_integer(const Value& scalar) = 0;     // for any integer dtype
  virtual bool to_boolean(const Value& scalar) = 0;
  virtual ArraySizes sizes_of(const Value& array) = 0;

  // Along the first dimension: takes one slice without it; stacks slices (all of the sizes `each`;
  // may be none).
  virtual Value slice(const Value& stacked, int64_t index) = 0;
  virtual Value stack(std::span<const Value> slices, const ArraySizes& each) = 0;
};

}  // namespace plait::ir
