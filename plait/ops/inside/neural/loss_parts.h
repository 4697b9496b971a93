// What losses share.
#pragma once

#include <initializer_list>
#include <string_view>

#include "plait/ops/neural/loss.h"

namespace plait {

// The dtype of a loss out of what it is given, where tensors that were not count for nothing:
// TypeError for one that has no real numbers.
class LossNumbers {
 public:
  LossNumbers(std::initializer_list<const Tensor*> given);

  DType dtype() const;                                              // in which it is computed
  Tensor of(const Tensor& x) const;                                 // in that
  Tensor rounded(const Tensor& x) const;                            // in the dtype of the loss
  Tensor reduced(const Tensor& losses, Reduction reduction) const;  // rounded too

 private:
  DType dtype_;
};

// ShapeError where broadcasting would repeat both of them, as [4, 1] and [4] to [4, 4]: a slip that
// gives a loss, but not the one that was meant.
void expect_pairs(std::string_view function, const Tensor& x, const Tensor& target);

// factor · x, and 0 where the factor is, also of infinities; the derivative by those is 0 then.
Tensor zero_or_product(const Tensor& factor, const Tensor& x);

}  // namespace plait
