#include "plait/ops/inside/communication.h"

#include "plait/ops/arrays/create.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/reductions/reduce.h"

namespace plait {

void expect_varying(const ir::Inference& in, const ir::AxisSet& axes) {
  in.expect_array(0, in.primitive.takes);
  for (const std::string& axis : axes) {
    if (in.axes.find(axis) == nullptr) in.fail("the function has no axis `{}`", axis);
  }
  if (axes.empty()) in.fail("no axis is named");
  if (in.operands[0].varying().contains(axes)) return;
  in.fail("{} does not vary along {}", in.operands[0].text(), axes.text());
}

ir::Type without_axes(const ir::Type& type, const ir::AxisSet& axes) {
  ir::AxisSet rest = type.varying();
  for (const std::string& axis : axes) rest.erase(axis);
  return type.without_sharding().with_varying(rest);
}

namespace {

constexpr int64_t kMostInOrder = 8;

Tensor combined_in_order(const Tensor& rows, Tensor (*combine)(const Operand&, const Operand&),
                         Tensor (*otherwise)(const Tensor&)) {
  const Dim places = rows.shape(0);
  if (!places.is_number() || places.number() < 2 || places.number() > kMostInOrder) {
    return otherwise(rows);
  }
  const auto row = [&](int64_t i) {
    return astype(take(rows, scalar_tensor(i, DType::i64), 0),
                  is_floating(rows.dtype()) && size_of(rows.dtype()) < size_of(DType::f32)
                      ? DType::f32
                      : rows.dtype());
  };
  Tensor result = row(0);
  for (int64_t i = 1; i < places.number(); ++i) result = combine(result, row(i));
  return astype(result, rows.dtype());
}

}  // namespace

Tensor sum_of_places(const Tensor& rows) {
  return combined_in_order(rows, add, [](const Tensor& x) { return sum(x, 0); });
}

Tensor product_of_places(const Tensor& rows) {
  return combined_in_order(rows, multiply, [](const Tensor& x) { return prod(x, 0); });
}

void run_on_ranks(KernelCall& call, const void* data) {
  const auto on_ranks = reinterpret_cast<OnRanks>(const_cast<void*>(data));
  call.results[0] = on_ranks(call.attributes, Tensor(call.operands[0])).array();
}

}  // namespace plait
