#include "plait/ops/indexing/index.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/ops/call.h"
#include "plait/ops/inside/indexing/index_plan.h"

namespace plait {
namespace {

// Far beyond any size, but far from the limits of Dim.
std::optional<Dim> cut_off(const std::optional<int64_t>& bound) {
  constexpr int64_t kFar = int64_t{1} << 60;
  if (!bound) return std::nullopt;
  return Dim(std::clamp(*bound, -kFar, kFar));
}

}  // namespace

Index::Index(const Slice& slice)
    : choice_(SymbolicSlice{cut_off(slice.start), cut_off(slice.stop), slice.step}) {}

void Index::refuse_number() {
  throw IndexError("an index of more than 63 bits is out of range for any axis")
      .at(Location::of_caller());
}

Tensor index(const Tensor& x, std::span<const Index> indices) {
  const Call call("index", x);
  const IndexPlan plan = plan_index(x, indices);
  const Tensor view = view_of(x, plan);
  return plan.has_tensors() ? gather_rows(view, plan.indices, plan.places) : view;
}

Tensor Tensor::operator[](const Index& given) const { return index(*this, {&given, 1}); }
Tensor Tensor::operator[](std::initializer_list<Index> given) const {
  return index(*this, {given.begin(), given.size()});
}

}  // namespace plait
