#include "plait/ops/inside/along.h"

#include "plait/core/error.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/tensor/inside/tracing/trace.h"

namespace plait {

void expect_axis(const ir::Inference& in, int64_t axis, size_t operand) {
  if (axis >= 0 && axis < in.operands[operand].rank()) return;
  throw IndexError("{}: axis {} is out of range for {}", in.primitive.name, axis,
                   in.operands[operand].text())
      .at(in.location);
}

bool sizes_hold(const SizeFact& fact) {
  Trace* const trace = Trace::current();
  if (trace == nullptr || (fact.left.is_number() && fact.right.is_number())) {
    return SizeFacts().prove(fact).value_or(true);
  }
  SizeContext& sizes = trace->sizes();
  if (sizes.actual(fact.left) && sizes.actual(fact.right)) return sizes.decide(fact);
  const auto proved = sizes.facts().prove(fact);
  if (!proved) sizes.assume(fact);
  return proved.value_or(true);
}

bool is_nonempty(Dim size) {
  return size.is_number() ? size.number() > 0 : sizes_hold(size >= Dim(1));
}

void expect_nonempty(std::string_view function, const Tensor& x, Dim size) {
  if (is_nonempty(size)) return;
  throw ShapeError("{}: {} has a size of 0", function, x.type().text()).at(Location::of_caller());
}

int64_t normal_axis(int64_t axis, size_t rank) { return static_cast<int64_t>(axis_of(axis, rank)); }

std::vector<Tensor> all_batched(std::span<const Tensor> operands,
                                const std::vector<bool>& batched) {
  const auto first = static_cast<size_t>(std::ranges::find(batched, true) - batched.begin());
  const Dim samples = operands[first].shape(0);
  std::vector<Tensor> all(operands.begin(), operands.end());
  for (size_t i = 0; i < all.size(); ++i) {
    if (batched[i]) continue;
    Shape shape{samples};
    for (const Dim size : all[i].shape()) shape.append(size);
    all[i] = broadcast_to(all[i], shape);
  }
  return all;
}

}  // namespace plait
