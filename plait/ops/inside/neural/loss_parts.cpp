#include "plait/ops/inside/neural/loss_parts.h"

#include <vector>

#include "plait/core/error.h"
#include "plait/core/numbers/promotion.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/operand.h"
#include "plait/ops/reductions/reduce.h"

namespace plait {

LossNumbers::LossNumbers(std::initializer_list<const Tensor*> given) {
  std::vector<DType> dtypes;
  for (const Tensor* x : given) {
    if (!*x && x != *given.begin()) continue;
    if (!kOrdered.contains(x->dtype())) {
      throw TypeError("an operand is {}; expected real numbers", x->type().text())
          .at(Location::of_caller());
    }
    dtypes.push_back(x->dtype());
  }
  dtype_ = inexact(promote(dtypes));
}

DType LossNumbers::dtype() const { return computed(dtype_); }

Tensor LossNumbers::of(const Tensor& x) const { return astype(x, dtype()); }

Tensor LossNumbers::rounded(const Tensor& x) const { return astype(x, dtype_); }

Tensor LossNumbers::reduced(const Tensor& losses, Reduction reduction) const {
  switch (reduction) {
    case Reduction::none: return rounded(losses);
    case Reduction::mean: return rounded(mean(losses));
    case Reduction::sum: return rounded(sum(losses));
    case Reduction::batchmean: break;
  }
  if (losses.rank() == 0) {
    throw ShapeError("batchmean needs a batch, but there is one loss only")
        .at(Location::of_caller());
  }
  return rounded(sum(losses) / losses.shape(0));
}

void expect_pairs(std::string_view function, const Tensor& x, const Tensor& target) {
  const Shape common = common_shape(function, x.shape(), target.shape());
  if (common == x.shape() || common == target.shape()) return;
  throw ShapeError("{}: {} and the target {} would both be broadcast, to {}", function,
                   x.type().text(), target.type().text(), common.text())
      .at(Location::of_caller())
      .hint("give both the same shape, for example by reshape or squeeze");
}

Tensor zero_or_product(const Tensor& factor, const Tensor& x) {
  return factor * where((factor == 0) & isinf(x), 0, x);
}

}  // namespace plait
