#include "plait/ops/inside/neural/simplex.h"

#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/scan.h"
#include "plait/ops/reductions/sort.h"

namespace plait {

// The largest numbers are moved by one shift, and the others are 0. How many are left is known from
// the sums of the sorted numbers.
Tensor onto_simplex(const Tensor& x) {
  const Tensor known = stop_gradient(x);
  const Tensor falling = sort(known, -1, true), sums = cumsum(falling, -1);
  const Tensor counts = iota(x.shape(-1), x.dtype()) + 1;
  const Tensor count = sum(astype((1 - sums) / counts + falling > 0, DType::i64), -1, true);
  const Tensor last = take_along_axis(sums, maximum(count - 1, 0), -1);
  const Tensor is_left = known + (1 - last) / astype(count, x.dtype()) > 0;
  const Tensor kept = where(is_left, x, 0);  // only these have a derivative
  const Tensor size = sum(astype(is_left, x.dtype()), -1, true);
  return where(is_left, kept + (1 - sum(kept, -1, true)) / size, 0);
}

}  // namespace plait
