// Steps along an axis, and steps that change shapes.
#include <array>

#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/matrix_parts.h"
#include "plait/ops/arrays/pad.h"
#include "plait/ops/arrays/rearrange.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/neural/activation.h"
#include "plait/ops/neural/softmax.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/scan.h"
#include "plait/ops/reductions/sort.h"
#include "plait/ops/reductions/statistics.h"

#include "tests/support/programs/step_kinds.h"

namespace plait {
namespace {

struct AxisKind {
  const char* name;
  OfAxis f;
};
const AxisKind kAlong[] = {
    {"sum", [](const Tensor& x, int64_t axis) { return sum(x, axis); }},
    {"sum_kept", [](const Tensor& x, int64_t axis) { return sum(x, axis, true); }},
    {"mean", [](const Tensor& x, int64_t axis) { return mean(x, axis); }},
    {"max", [](const Tensor& x, int64_t axis) { return max(x, axis); }},
    {"min", [](const Tensor& x, int64_t axis) { return min(x, axis, true); }},
    {"prod", [](const Tensor& x, int64_t axis) { return prod(x, axis); }},
    {"var", [](const Tensor& x, int64_t axis) { return var(x, axis); }},
    {"stddev", [](const Tensor& x, int64_t axis) { return sqrt(var(x, axis) + 0.1); }},
    {"logsumexp", [](const Tensor& x, int64_t axis) { return logsumexp(x, axis); }},
    {"norm", [](const Tensor& x, int64_t axis) { return norm(x * x + 0.3, 3, axis); }},
    {"median", [](const Tensor& x, int64_t axis) { return median(x, axis); }},
    {"quantile", [](const Tensor& x, int64_t axis) { return quantile(x, 0.3, axis); }},
    {"softmax", [](const Tensor& x, int64_t axis) { return softmax(x, axis); }},
    {"log_softmax", [](const Tensor& x, int64_t axis) { return log_softmax(x, axis); }},
    {"masked_softmax", [](const Tensor& x, int64_t axis) { return masked_softmax(x, axis); }},
    {"cumsum", [](const Tensor& x, int64_t axis) { return cumsum(x, axis); }},
    {"cumsum_back", [](const Tensor& x, int64_t axis) { return cumsum(x, axis, true); }},
    {"cumprod", [](const Tensor& x, int64_t axis) { return cumprod(x, axis); }},
    {"cummax", [](const Tensor& x, int64_t axis) { return cummax(x, axis); }},
    {"cummin", [](const Tensor& x, int64_t axis) { return cummin(x, axis, true); }},
    {"logcumsumexp", [](const Tensor& x, int64_t axis) { return logcumsumexp(x, axis); }},
    {"sort", [](const Tensor& x, int64_t axis) { return sort(x, axis); }},
    {"sort_down", [](const Tensor& x, int64_t axis) { return sort(x, axis, true); }},
    {"flip", [](const Tensor& x, int64_t axis) { return flip(x, axis); }},
    {"roll", [](const Tensor& x, int64_t axis) { return roll(x, 1, axis); }},
    {"shifted", [](const Tensor& x, int64_t axis) { return shifted(x, axis, false, 0.5); }},
    {"diff", [](const Tensor& x, int64_t axis) { return diff(x, 1, axis); }},
    {"without_first", [](const Tensor& x, int64_t axis) { return slice(x, axis, {.start = 1}); }},
    {"without_last", [](const Tensor& x, int64_t axis) { return slice(x, axis, {.stop = -1}); }},
    {"every_other", [](const Tensor& x, int64_t axis) { return slice(x, axis, {.step = 2}); }},
    {"backwards", [](const Tensor& x, int64_t axis) { return slice(x, axis, {.step = -2}); }},
    {"pad_zeros", [](const Tensor& x, int64_t axis) { return pad_zeros(x, axis, 1, 0, 2); }},
    {"repeat", [](const Tensor& x, int64_t axis) { return repeat(x, 2, axis); }},
    {"expand_dims", [](const Tensor& x, int64_t axis) { return expand_dims(x, axis); }},
    {"to_front", [](const Tensor& x, int64_t axis) { return moveaxis(x, axis, 0); }},
};

struct WholeKind {
  const char* name;
  size_t least_rank;
  OfOne f;
};
const WholeKind kWhole[] = {
    {"sum_of_all", 1, [](const Tensor& x) { return sum(x); }},
    {"mean_of_all", 1, [](const Tensor& x) { return mean(x); }},
    {"max_of_all", 1, [](const Tensor& x) { return max(x); }},
    {"logsumexp_of_all", 1, [](const Tensor& x) { return logsumexp(x); }},
    {"flatten", 2, [](const Tensor& x) { return flatten(x); }},
    {"transpose", 2, [](const Tensor& x) { return transpose(x); }},
    {"matrix_transpose", 2, [](const Tensor& x) { return matrix_transpose(x); }},
    {"tril", 2, [](const Tensor& x) { return tril(x); }},
    {"triu", 2, [](const Tensor& x) { return triu(x, 1); }},
    {"trace", 2, [](const Tensor& x) { return trace(x); }},
    {"diagonal", 2, [](const Tensor& x) { return diagonal(x); }},
    {"one_before", 1, [](const Tensor& x) { return x[{new_axis, ellipsis, -1}]; }},
    {"first", 1, [](const Tensor& x) { return x[0]; }},
    {"pad_edge", 1, [](const Tensor& x) { return pad(x, {{1, 1}}, PadMode::edge); }},
    {"pad_wrap", 1, [](const Tensor& x) { return pad(x, {{1, 0}}, PadMode::wrap); }},
    {"pad_one", 1, [](const Tensor& x) { return pad(x, {{0, 1}}, PadMode::constant, 1); }},
    {"standardize", 1, [](const Tensor& x) { return standardize(x, 0.1).values; }},
    {"tile", 1, [](const Tensor& x) { return tile(x, {2}); }},
};

bool has_same_sizes_but(const Shape& a, const Shape& b, int64_t axis) {
  if (a.rank() != b.rank()) return false;
  for (size_t i = 0; i < a.rank(); ++i) {
    if (static_cast<int64_t>(i) != axis && a[i] != b[i]) return false;
  }
  return true;
}

ChosenStep concatenating(Chooser& choose) {
  const size_t a = choose.real(1);
  const int64_t axis = choose.axis(a);
  const size_t b = choose.value([&](const ir::Type& type) {
    return type.dtype() == DType::f64 && has_same_sizes_but(choose.shape(a), type.shape(), axis);
  });
  return step_along(a, b, axis, [](const Tensor& x, const Tensor& y, int64_t along) {
    return concat({{x, y}}, along);
  });
}

ChosenStep stacking(Chooser& choose) {
  const size_t a = choose.real(), b = choose.like(a);
  Chooser::need(choose.shape(a).rank() < 3);
  return step_of(a, b, [](const Tensor& x, const Tensor& y) { return stack({{x, y, x}}, -1); });
}

ChosenStep squeezing(Chooser& choose) {
  const size_t x = choose.real(1);
  const int64_t axis = choose.axis(x);
  Chooser::need(choose.shape(x).at(axis) == Dim(1));
  return step_along(x, axis, [](const Tensor& y, int64_t along) { return squeeze(y, along); });
}

ChosenStep stretching(Chooser& choose) {
  const size_t x = choose.real(), like = choose.stretching(x, DType::f64);
  return step_of(x, like, [](const Tensor& y, const Tensor& other) {
    return broadcast_arrays({{y, other}})[0];
  });
}

// Reshapes to another shape with the same number of elements.
ChosenStep reshaping(Chooser& choose) {
  const size_t x = choose.real(1);
  Shape shape = choose.shape(x);
  if (choose.below(2) != 0) {
    shape.append(1);
  } else {
    Shape turned;
    for (size_t i = shape.rank(); i-- > 0;) turned.append(shape[i]);
    shape = turned;
  }
  Chooser::need(shape.rank() <= 3);
  // The sizes are those of the operand at run time.
  const bool is_longer = shape.rank() > choose.shape(x).rank();
  return {{x}, [is_longer](std::span<const Tensor> given) {
            Shape turned;
            const Shape here = given[0].shape();
            for (size_t i = 0; i < here.rank(); ++i) {
              turned.append(is_longer ? here[i] : here[here.rank() - 1 - i]);
            }
            if (is_longer) turned.append(1);
            return Tensors{reshape(given[0], turned)};
          }};
}

ChosenStep splitting(Chooser& choose) {
  const size_t x = choose.real(1);
  const int64_t axis = choose.axis(x);
  return {{x},
          [axis](std::span<const Tensor> given) { return split_at(given[0], {Dim(1)}, axis); }};
}

ChosenStep recurring(Chooser& choose) {
  const size_t a = choose.real(1), b = choose.like(a);
  return step_along(a, b, choose.axis(a), [](const Tensor& x, const Tensor& y, int64_t axis) {
    return linear_recurrence(tanh(x), y, axis, true);
  });
}

ChosenStep gating(Chooser& choose) {
  const size_t x = choose.real(1);
  const Dim last = choose.shape(x).at(-1);
  Chooser::need(last.is_number() && last.number() % 2 == 0);
  return step_of(x, [](const Tensor& y) { return glu(y); });
}

}  // namespace

void add_along_kinds(std::vector<StepKind>& kinds) {
  for (const AxisKind& kind : kAlong) {
    kinds.push_back({kind.name, [f = kind.f](Chooser& choose) {
                       const size_t x = choose.real(1);
                       return step_along(x, choose.axis(x), f);
                     }});
  }
  kinds.push_back({"linear_recurrence", recurring});
}

void add_arranging_kinds(std::vector<StepKind>& kinds) {
  for (const WholeKind& kind : kWhole) {
    kinds.push_back({kind.name, [kind](Chooser& choose) {
                       return step_of(choose.real(kind.least_rank), kind.f);
                     }});
  }
  kinds.push_back({"concat", concatenating});
  kinds.push_back({"stack", stacking});
  kinds.push_back({"squeeze", squeezing});
  kinds.push_back({"broadcast_to", stretching});
  kinds.push_back({"reshape", reshaping});
  kinds.push_back({"split", splitting});
  kinds.push_back({"glu", gating});
}

}  // namespace plait
