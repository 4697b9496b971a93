#include "plait/ops/along.h"

#include "plait/core/error.h"
#include "plait/ops/shape.h"
#include "plait/tensor/trace.h"

namespace plait {

void expect_axis(const ir::Inference& in, int64_t axis, size_t operand) {
  if (axis >= 0 && axis < in.operands[operand].rank()) return;
  throw IndexError("{}: axis {} of {}", in.primitive.name, axis, in.operands[operand].text())
      .at(in.location);
}

void expect_some(std::string_view function, const Tensor& x, Dim size) {
  if (is_granted(size >= Dim(1))) return;
  throw ShapeError("{}: a size of 0 in {}", function, x.type().text()).at(Location::of_caller());
}

bool is_granted(const SizeFact& fact) {
  Trace* const trace = Trace::current();
  if (trace == nullptr) return fact.evaluate({});
  SizeContext& sizes = trace->sizes();
  const auto left = sizes.actual(fact.left), right = sizes.actual(fact.right);
  const bool is_known = left.has_value() && right.has_value();
  if (is_known && !SizeFact{*left, fact.relation, *right}.evaluate({})) return false;
  const std::optional<bool> proved = sizes.facts().prove(fact);
  if (!proved) sizes.assume(fact);
  return proved.value_or(true);
}

int64_t normal_axis(int64_t axis, size_t rank) { return static_cast<int64_t>(axis_of(axis, rank)); }

std::vector<Tensor> all_batched(std::span<const Tensor> operands,
                                const std::vector<bool>& batched) {
  const auto first = static_cast<size_t>(std::ranges::find(batched, true) - batched.begin());
  const Dim lanes = operands[first].shape(0);
  std::vector<Tensor> all(operands.begin(), operands.end());
  for (size_t i = 0; i < all.size(); ++i) {
    if (batched[i]) continue;
    Shape shape{lanes};
    for (const Dim size : all[i].shape()) shape.append(size);
    all[i] = broadcast_to(all[i], shape);
  }
  return all;
}

}  // namespace plait
