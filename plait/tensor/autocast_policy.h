// Automatic mixed precision: operations in a narrower dtype where that is safe, and in a wider one
// where it is not. `apply_all` consults the scope; the policy is in `transform`.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "plait/core/ambient.h"
#include "plait/ir/primitive.h"
#include "plait/tensor/tensor.h"

namespace plait {

// While an AutocastScope exists on a thread, it casts the operands of the operations there.
class AutocastScope {
 public:
  using Cast = std::vector<Tensor> (*)(const AutocastScope& scope, const ir::Primitive& primitive,
                                       std::span<const Tensor> operands);

  explicit AutocastScope(Cast cast) : cast_(cast), outer_(std::exchange(ambient.autocast, this)) {}
  ~AutocastScope() { ambient.autocast = outer_; }
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

  static const AutocastScope* current() { return ambient.autocast; }
  std::vector<Tensor> operands_for(const ir::Primitive& primitive,
                                   std::span<const Tensor> operands) const {
    return cast_(*this, primitive, operands);
  }

 private:
  Cast cast_;
  const AutocastScope* outer_;
};

}  // namespace plait
