#include "plait/ops/reductions/sets.h"

#include "plait/core/numbers/dtype_set.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/sort.h"

namespace plait {
namespace {

// All NaNs are distinct. Complex numbers are ordered by their real parts, then by their imaginary
// parts.
Unique unique_elements(const Tensor& x) {
  if (!is_complex(x.dtype())) return unique(x, {}, /*equal_nan=*/false);
  const Tensor flat = flatten(x), parts[] = {real(flat), imag(flat)};
  Unique found = unique(stack(parts, 1), 0, /*equal_nan=*/false);
  found.values = make_complex(squeeze(slice_axis(found.values, 1, 0, 1), 1),
                              squeeze(slice_axis(found.values, 1, 1, 1), 1));
  found.inverse = reshape(found.inverse, x.shape());
  return found;
}

}  // namespace

Tensor isin(const Operand& x, const Operand& test, bool invert) {
  const Call call("isin", x, test);
  const DType dtype = common_dtype(x, test);
  const Tensor wanted = x.as(dtype);
  const Tensor among = flatten(test.as(dtype));
  const auto answer = [&](const Tensor& found) { return invert ? ~found : found; };
  if (is_complex(dtype)) return answer(any(equal(expand_dims(wanted, -1), among), {-1}));
  const Tensor sorted = sort(among);
  const Tensor place = searchsorted(sorted, wanted);
  // Padded by one element, since the insertion index may be one past the end.
  const Tensor there = take(pad_zeros(sorted, 0, 0, 1), place);
  return answer(equal(there, wanted) & less(place, sorted.shape(0)));
}

UniqueAll unique_all(const Tensor& x) {
  const Call call("unique_all", x);
  const Unique found = unique_elements(x);
  return {found.values, found.indices, found.inverse, found.counts};
}

UniqueCounts unique_counts(const Tensor& x) {
  const Call call("unique_counts", x);
  const Unique found = unique_elements(x);
  return {found.values, found.counts};
}

UniqueInverse unique_inverse(const Tensor& x) {
  const Call call("unique_inverse", x);
  const Unique found = unique_elements(x);
  return {found.values, found.inverse};
}

Tensor unique_values(const Tensor& x) {
  const Call call("unique_values", x);
  if (x.is_traced() || !kOrdered.contains(x.dtype()) || x.array().element_count() < 2) {
    return unique_elements(x).values;
  }
  // Sorting without the permutation is cheaper.
  const Tensor sorted = sort(flatten(x));
  const Dim others = sorted.shape(0) - 1;
  const Tensor differs =
      not_equal(slice_axis(sorted, 0, 1, others), slice_axis(sorted, 0, 0, others));
  const Tensor is_first[] = {ones({1}, DType::boolean), differs};
  return masked_select(sorted, concat(is_first));
}

}  // namespace plait
