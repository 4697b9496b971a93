// Reductions as code: how reduce_kernels.cpp combines two numbers.
#include <limits>

#include "plait/core/error.h"
#include "plait/cpu/inside/codegen/llvm_nest.h"

namespace plait::cpu::code {
namespace {

using ir::Reduction;

// The greatest or the least number of an integer dtype.
uint64_t limit_of(DType dtype, bool greatest) {
  const IntegerLimits limits = integer_limits(dtype);
  return greatest ? limits.max : static_cast<uint64_t>(limits.min);
}

// For bool, the equivalent logical reduction.
Reduction of_dtype(Reduction reduction, DType dtype) {
  if (!is_boolean(dtype)) return reduction;
  switch (reduction) {
    case Reduction::sum:
    case Reduction::maximum: return Reduction::any;
    case Reduction::product:
    case Reduction::minimum: return Reduction::all;
    default: return reduction;
  }
}

}  // namespace

Code identity_of(Reduction reduction, DType dtype) {
  const Type type = computed_type(dtype);
  const bool real = is_floating(dtype);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (of_dtype(reduction, dtype)) {
    case Reduction::sum: return zero(type);
    case Reduction::product: return real ? number(type, 1) : integer(type, 1);
    case Reduction::maximum:
      return real ? number(type, -kInfinity) : integer(type, limit_of(dtype, false));
    case Reduction::minimum:
      return real ? number(type, kInfinity) : integer(type, limit_of(dtype, true));
    case Reduction::all: return truth(true);
    case Reduction::any: return truth(false);
    case Reduction::none: break;
  }
  throw CompileError("not a reduction");
}

Code joined(Reduction reduction, DType dtype, Code total, Code more) {
  const bool is_greatest = reduction == Reduction::maximum;
  switch (of_dtype(reduction, dtype)) {
    case Reduction::sum: return add(total, more);
    case Reduction::product: return multiply(total, more);
    case Reduction::maximum:
    case Reduction::minimum: {
      const Code is_further = is_greatest ? greater(more, total, is_signed(dtype))
                                          : less(more, total, is_signed(dtype));
      const Code further = select(is_further, more, total);
      return is_floating(dtype) ? select(is_number(more), further, more) : further;
    }
    case Reduction::all: return bit_and(total, more);
    case Reduction::any: return bit_or(total, more);
    case Reduction::none: break;
  }
  throw CompileError("not a reduction");
}

Code folded(Reduction reduction, DType dtype, Code lanes) {
  for (unsigned left = emission().lanes; left > 1; left /= 2) {
    lanes = joined(reduction, dtype, half_of(lanes, false), half_of(lanes, true));
  }
  return lane(lanes, 0);
}

}  // namespace plait::cpu::code
