#include "plait/nn/inside/layer_changes.h"

#include "plait/core/error.h"

namespace plait::nn {
namespace {

const TraceScope* scope_of(const Tensor& tensor) {
  return tensor.is_traced() ? tensor.traced().scope.get() : nullptr;
}

}  // namespace

void refuse_const_layer(std::string_view what) {
  throw ValueError("in training a call changes {}, but the layer is const", what)
      .at(Location::of_caller())
      .hint("let the function take the model by value and return it, or call nn::eval(model)");
}

void expect_same_record(std::string_view what, const Tensor& before, const Tensor& after) {
  const TraceScope* const scope = scope_of(after);
  if (scope == nullptr || scope == scope_of(before)) return;
  throw ValueError("{} would change in a layer outside of {}, and be lost", what, scope->name)
      .at(Location::of_caller())
      .hint("pass the model as an argument, and return it");
}

}  // namespace plait::nn
