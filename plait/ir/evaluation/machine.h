// What computes: the evaluator follows a program's structure, and asks a machine for everything
// that arrays are about. Values of arrays are the machine's own; the evaluator only hands them on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/core/numbers/literal.h"
#include "plait/core/sizes/dim.h"
#include "plait/ir/function.h"
#include "plait/ir/value.h"

namespace plait::ir {

// One instruction to be computed.
struct PrimitiveCall {
  Instruction instruction;
  // The machine may move a value out of here. One that nothing needs afterwards has no owner but
  // this, so its memory may be used for a result.
  std::span<Value> operands;
  const SymbolMap<int64_t>& sizes;  // of the function that the instruction is in
  std::span<Value> results;         // to be filled, all of them
  std::span<int64_t> size_results;  // of the sizes that are born here

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

  // An instruction whose primitive is `Structure::machine`. Errors are thrown; the evaluator adds
  // where.
  virtual void run(PrimitiveCall& call) = 0;

  virtual Value literal(const Literal& literal) = 0;
  virtual Value from_size(int64_t size, DType dtype) = 0;  // a scalar
  virtual Value from_boolean(bool truth) = 0;              // a bool[]
  virtual int64_t to_integer(const Value& scalar) = 0;     // of any integer dtype
  virtual bool to_boolean(const Value& scalar) = 0;
  virtual ArraySizes sizes_of(const Value& array) = 0;

  // Along the first dimension: one slice without it, and slices (all of `each`, perhaps none) put
  // together.
  virtual Value slice(const Value& stacked, int64_t index) = 0;
  virtual Value stack(std::span<const Value> slices, const ArraySizes& each) = 0;
};

}  // namespace plait::ir
