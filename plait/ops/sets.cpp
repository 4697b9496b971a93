#include "plait/ops/sets.h"

#include "plait/ops/call.h"
#include "plait/ops/create.h"
#include "plait/ops/elementwise.h"
#include "plait/ops/reduce.h"
#include "plait/ops/shape.h"
#include "plait/ops/sort.h"
#include "plait/ops/take.h"

namespace plait {
namespace {

// Where each value is first, which all that are alike tell its place.
Tensor first_places(const Unique& found) {
  const Tensor places = iota(found.inverse.shape().element_count());
  const Tensor behind =
      full(found.values.shape(), found.inverse.shape().element_count(), DType::i64);
  return scatter_reduce(behind, 0, flatten(found.inverse), places, ScatterReduction::minimum);
}

}  // namespace

Tensor isin(const Operand& x, const Operand& test, bool invert) {
  const Call call("isin", x, test);
  const DType dtype = common_dtype(x, test);
  const Tensor wanted = x.as(dtype), among = flatten(test.as(dtype));
  const auto answer = [&](const Tensor& found) { return invert ? ~found : found; };
  if (is_complex(dtype)) return answer(any(equal(expand_dims(wanted, -1), among), {-1}));
  const Tensor sorted = sort(among);
  const Tensor place = searchsorted(sorted, wanted);
  // One element more, so that what would go behind the last has something to be compared with.
  const Tensor there = take(pad_zeros(sorted, 0, 0, 1), place);
  return answer(equal(there, wanted) & less(place, sorted.shape(0)));
}

UniqueAll unique_all(const Tensor& x) {
  const Call call("unique_all", x);
  const Unique found = unique(x, /*equal_nan=*/false);
  return {found.values, first_places(found), found.inverse, found.counts};
}

UniqueCounts unique_counts(const Tensor& x) {
  const Call call("unique_counts", x);
  const Unique found = unique(x, /*equal_nan=*/false);
  return {found.values, found.counts};
}

UniqueInverse unique_inverse(const Tensor& x) {
  const Call call("unique_inverse", x);
  const Unique found = unique(x, /*equal_nan=*/false);
  return {found.values, found.inverse};
}

Tensor unique_values(const Tensor& x) {
  const Call call("unique_values", x);
  return unique(x, /*equal_nan=*/false).values;
}

}  // namespace plait
