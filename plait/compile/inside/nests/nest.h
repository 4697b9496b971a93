// The loops of a fused kernel: what is computed at each point of a space of rows and columns, and
// where the numbers lie. Made from the function that the kernel computes (nest_of, below), compiled
// by a backend (kernel_compiler.h).
//
// A row is worked through from its first column to its last, as often as it has stages: what is
// reduced along the row is known when a stage ends, and serves the next. Rows do not know of each
// other, but for results that are accumulated over them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plait/core/numbers/dtype.h"
#include "plait/core/numbers/element.h"
#include "plait/core/sizes/dim.h"
#include "plait/ir/index_signature.h"
#include "plait/ir/program.h"

namespace plait::compile {

// A number for each point: offset + the sum of index * stride over the dimensions, the columns
// last. As the place of an element it counts elements; strides may be negative, and 0 where it
// repeats.
struct Affine {
  Dim offset = 0;
  std::vector<Dim> strides;
};

// An element is only there where low <= index < high; elsewhere the load gives its fill.
struct Domain {
  uint32_t dimension = 0;
  Dim low = 0, high = 0;
};

struct NestValue {
  enum class Kind : uint8_t {
    load,     // the parameter's element at `place`
    number,   // `number` at every point
    size,     // `size`, as a number of dtype
    index,    // `place` itself, as a number of dtype
    compute,  // `primitive` of the operands: an elementwise one, or `cast`
    reduce,   // `reduction` of the operand over the columns of its row
  };
  Kind kind = Kind::number;
  DType dtype = DType::f32;
  uint32_t parameter = 0;
  Affine place = {};
  std::vector<Domain> domains = {};
  Element number = {};  // also what is loaded outside of the domains
  Dim size = 0;
  const ir::Primitive* primitive = nullptr;
  std::vector<uint32_t> operands = {};  // earlier values
  ir::Reduction reduction = ir::Reduction::none;

  // Whether it differs from column to column; else it is computed once a row.
  bool has_columns = false;
};

// With a reduction it is accumulated over the rows of a group, and if its place does not move with
// the columns, over these too: a value without columns counts once a row.
struct NestResult {
  uint32_t value = 0;
  Affine place = {};
  ir::Reduction reduction = ir::Reduction::none;
};

struct Nest {
  std::vector<DType> parameters;  // of the arrays that are read
  // The loops around the columns, outermost first. Those from `grouped` on go round within a group,
  // over which results are accumulated; there are none of them where nothing is.
  std::vector<Dim> outer;
  uint32_t grouped = 0;
  Dim columns = 1;
  std::vector<NestValue> values;
  std::vector<NestResult> results;

  // Whether a row may be done in parts, column ranges by themselves: nothing is reduced along it
  // for the use of the kernel itself.
  bool may_cut_columns() const;
  // Every size in it that is no number, each once, in the order in which they come up.
  std::vector<Dim> sizes() const;
  std::string text() const;
};

}  // namespace plait::compile
