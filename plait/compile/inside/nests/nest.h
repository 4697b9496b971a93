// The loop nest of a fused kernel: what is computed at each point of a space of rows and columns,
// and where the elements are in memory. nest_of (region.h) makes it from the kernel's function, a
// target compiles it (targets/target.h).
//
// A row is traversed from its first column to its last, once for each stage: a reduction along the
// row is known at the end of a stage and can be used in the next. Rows are independent, except for
// results that are accumulated over them.
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

// An affine index: offset + the sum of index * stride over the dimensions, the columns last. For
// memory it counts elements; strides may be negative, and 0 for broadcasting.
struct Affine {
  Dim offset = 0;
  std::vector<Dim> strides;
};

// The element exists only if low <= index < high; otherwise the load returns its fill value.
struct Domain {
  uint32_t dimension = 0;
  Dim low = 0, high = 0;
};

struct NestValue {
  enum class Kind : uint8_t {
    load,     // the parameter's element at `place`
    number,   // `number` at every point
    size,     // `size`, converted to dtype
    index,    // `place` itself, converted to dtype
    compute,  // `primitive` of the operands: an elementwise one, or `cast`
    reduce,   // `reduction` of the operand over the columns of its row
  };
  Kind kind = Kind::number;
  DType dtype = DType::f32;
  uint32_t parameter = 0;
  Affine place = {};
  std::vector<Domain> domains = {};
  Element number = {};  // also the fill value outside of the domains
  Dim size = 0;
  const ir::Primitive* primitive = nullptr;
  std::vector<uint32_t> operands = {};  // earlier values
  ir::Reduction reduction = ir::Reduction::none;

  // True if it depends on the column; else it is computed once a row.
  bool has_columns = false;
};

// With a reduction it is accumulated over the rows of a group. If its place does not depend on the
// columns, it is accumulated over them too; then a value without columns counts once a row.
struct NestResult {
  uint32_t value = 0;
  Affine place = {};
  ir::Reduction reduction = ir::Reduction::none;
};

struct Nest {
  std::vector<DType> parameters;  // dtypes of the arrays that are read
  // The loops around the columns, outermost first. Those from `grouped` on are within a group, over
  // which results are accumulated; without accumulation there are none.
  std::vector<Dim> outer;
  uint32_t grouped = 0;
  Dim columns = 1;
  // A call may compute a range of the columns, also with reductions along them.
  bool takes_column_range = false;
  std::vector<NestValue> values;
  std::vector<NestResult> results;

  // True if column ranges of a row can be computed independently: no reduction along the row is
  // used by the kernel itself.
  bool may_cut_columns() const;
  // Returns the symbolic sizes, each once, in order of appearance.
  std::vector<Dim> sizes() const;
  std::string text() const;
};

}  // namespace plait::compile
