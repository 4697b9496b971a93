// Gradients by a tape, as in PyTorch: leaves require gradients, and a result sends them back.
//
//   Tensor w = ones({3}).requires_grad();
//   Tensor loss = sum(square(w * x));
//   loss.backward();
//   w = (w - 0.1 * w.grad()).detach().requires_grad();
//
// A `Tape` object records while it exists, and tapes may be nested:
//
//   Tape outer, inner;
//   x = inner.watch(outer.watch(x));
//   Tensor first = inner.gradient(x * x * x, x);
//   Tensor second = outer.gradient(first, x);
//
// A function that is traced has a tape of its own: tensors that require gradients outside are
// constants there. If a jitted function requests the gradient of such a tensor, its host code runs
// at each call.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "plait/tensor/tracing/derivation.h"

namespace plait {

struct GradientOptions {
  bool create_graph = false;  // the gradients can be differentiated again
  bool keep = false;          // gradients can be taken again (retain_graph)
  bool allow_unused = false;  // an empty tensor for inputs that the result does not depend on
  // Cotangents are not propagated beyond these, nor beyond the inputs.
  std::vector<Tensor> stop_at = {};
};

// Returns the gradients of a result with respect to tensors that it depends on: leaves or
// intermediate values. The result is one real number, or has a cotangent. ValueError if the result
// does not depend on one of the inputs.
std::vector<Tensor> gradient(const Tensor& result, std::span<const Tensor> inputs,
                             const Tensor& cotangent = {}, const GradientOptions& options = {});
Tensor gradient(const Tensor& result, const Tensor& input, const Tensor& cotangent = {},
                const GradientOptions& options = {});

// Calls `hook` with the cotangent of the tensor. The hook may return a replacement, or an empty
// tensor to leave it. Returns a number for remove_hook.
uint64_t register_hook(const Tensor& tensor, Listeners::Hook hook);
void remove_hook(const Tensor& tensor, uint64_t number);

class Tape {
 public:
  struct Options {
    bool persistent = false;  // gradients may be taken more than once
  };
  Tape();
  explicit Tape(Options options);
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  // Returns the tensor as a leaf of this tape.
  Tensor watch(const Tensor& tensor) const;
  std::vector<Tensor> gradient(const Tensor& result, std::span<const Tensor> inputs,
                               const Tensor& cotangent = {});
  Tensor gradient(const Tensor& result, const Tensor& input, const Tensor& cotangent = {});

 private:
  LevelPtr level_;
  Options options_;
};

// Runs f with reverse and forward mode that began outside paused on this thread.
template <class F>
auto no_grad(F f) {
  const NoGrad pause;
  return f();
}

}  // namespace plait
