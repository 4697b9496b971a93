// The tape habit: tensors that want gradients, and results that send them back.
//
//   Tensor w = ones({3}).requires_grad();
//   Tensor loss = sum(square(w * x));
//   loss.backward();
//   w = (w - 0.1 * w.grad()).detach().requires_grad();
//
// `Tape` is the same with a beginning and an end, and may lie within another:
//
//   Tape outer, inner;
//   x = inner.watch(outer.watch(x));
//   Tensor first = inner.gradient(x * x * x, x);
//   Tensor second = outer.gradient(first, x);
//
// While a function is traced, its own tape is used: what was asked for outside is constant there. A
// function that is jitted and asks such for its gradient is run by its host code at each call.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "plait/tensor/tracing/derivation.h"
#include "plait/tensor/tracing/trace.h"

namespace plait {

struct GradientOptions {
  bool create_graph = false;  // the gradients may be differentiated themselves
  bool keep = false;          // so that it may be called again (retain_graph)
  bool allow_unused = false;  // an empty tensor for what the result does not depend on
  // Where cotangents are not gone further, besides the inputs.
  std::vector<Tensor> stop_at = {};
};

// The gradients of a result by tensors that it was made of, whether asked for by requires_grad or
// made of such. The result is one real number, or has a cotangent. ValueError where it does not
// depend on one of them.
std::vector<Tensor> gradient(const Tensor& result, std::span<const Tensor> inputs,
                             const Tensor& cotangent = {}, const GradientOptions& options = {});
Tensor gradient(const Tensor& result, const Tensor& input, const Tensor& cotangent = {},
                const GradientOptions& options = {});

// `hook` is called with the cotangent of the tensor, in place of which it may give another, or an
// empty one to leave it. The number is for remove_hook.
uint64_t register_hook(const Tensor& tensor, Listeners::Hook hook);
void remove_hook(const Tensor& tensor, uint64_t number);

// Unwinds what jit records where its host code uses the tape that is outside: what arrives there is
// no result of the function, so it cannot be recorded.
struct UsesOuterTape : Unwinding {
  explicit UsesOuterTape(Location used) : place(used) {}
  Location place;
};

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

  // The same tensor, as one whose gradient this tape can tell.
  Tensor watch(const Tensor& tensor) const;
  std::vector<Tensor> gradient(const Tensor& result, std::span<const Tensor> inputs,
                               const Tensor& cotangent = {});
  Tensor gradient(const Tensor& result, const Tensor& input, const Tensor& cotangent = {});

 private:
  LevelPtr level_;
  Options options_;
};

// While one is there, this thread follows nothing for derivatives that were begun before.
template <class F>
auto no_grad(F f) {
  const NoGrad pause;
  return f();
}

}  // namespace plait
