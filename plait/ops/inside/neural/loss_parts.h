// Helpers of loss functions.
#pragma once

#include <initializer_list>
#include <string_view>

#include "plait/ops/neural/loss.h"

namespace plait {

// The dtype of a loss, from its operands; omitted (empty) tensors are ignored. Throws TypeError for
// operands that are not real.
class LossNumbers {
 public:
  LossNumbers(std::initializer_list<const Tensor*> given);

  DType dtype() const;                                              // dtype of the computation
  Tensor of(const Tensor& x) const;                                 // converted to dtype()
  Tensor rounded(const Tensor& x) const;                            // converted to the dtype of the
                                                                    // loss
  Tensor reduced(const Tensor& losses, Reduction reduction) const;  // also rounded

 private:
  DType dtype_;
};

// ShapeError if broadcasting would repeat both operands, as [4, 1] and [4] to [4, 4]: almost always
// a mistake.
void expect_pairs(std::string_view function, const Tensor& x, const Tensor& target);

// factor · x, but 0 for a factor of 0 even if x is infinite; the derivative by x is 0 then.
Tensor zero_or_product(const Tensor& factor, const Tensor& x);

}  // namespace plait
