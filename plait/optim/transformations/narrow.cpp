#include "plait/optim/transformations/narrow.h"

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/optim/inside/transformation_rule.h"

namespace plait::optim {
namespace {

constexpr int64_t kBlock = 256;
struct Code {
  double most, power;  // the largest code, and the power
};
constexpr Code kMu{127, 2}, kNu{255, 4};

// The number of blocks of an array, the last of which is filled with zeros.
Dim blocks_of(const Tensor& x) {
  return floor_div(x.shape().element_count() + (kBlock - 1), kBlock);
}

}  // namespace

Codes encoded(const Tensor& x, double most, double power_of) {
  const Dim count = x.shape().element_count(), blocks = blocks_of(x);
  const Tensor padded = pad_zeros(plait::flatten(x), 0, 0, blocks * kBlock - count);
  const Tensor rows = reshape(padded, {blocks, kBlock});
  const Tensor largest = max(absolute(rows), 1, true);
  const Tensor part = absolute(rows) / where(largest > 0., largest, ones_like(largest));
  return {round(sign(rows) * most * power(part, 1 / power_of)), largest};
}

Tensor decoded(const Codes& codes, double most, double power_of, const Shape& shape) {
  const Tensor rows =
      sign(codes.codes) * power(absolute(codes.codes) / most, power_of) * codes.largest;
  return reshape(slice_axis(plait::flatten(rows), 0, 0, shape.element_count()), shape);
}

Transformation scale_by_adam_8bit(const Adam8BitOptions& options) {
  const auto begin = [](const Tensor& parameter, const StepNumbers&) {
    if (is_complex(parameter.dtype())) {
      throw TypeError("optim::scale_by_adam_8bit: a parameter is complex, expected real numbers")
          .at(Location::of_caller());
    }
    const Dim blocks = blocks_of(parameter);
    return std::vector{zeros({blocks, kBlock}, DType::i8), zeros({blocks, 1}, DType::f32),
                       zeros({blocks, kBlock}, DType::u8), zeros({blocks, 1}, DType::f32)};
  };
  const auto one = [](const StepNumbers& n, const Tensor& update, const Tensor&,
                      std::span<Tensor> kept) {
    const Shape shape = update.shape();
    const auto decode = [&](size_t i, const Code& code) {
      const Codes found{astype(kept[i], update.dtype()), astype(kept[i + 1], update.dtype())};
      return decoded(found, code.most, code.power, shape);
    };
    const auto encode = [&](size_t i, const Tensor& x, const Code& code) {
      const Codes made = encoded(x, code.most, code.power);
      kept[i] = made.codes;
      kept[i + 1] = made.largest;
    };
    const Tensor mu = n.mix("b1", decode(0, kMu), update);
    const Tensor nu = n.mix("b2", decode(2, kNu), squared(update));
    encode(0, mu, kMu);
    encode(2, nu, kNu);
    return mu / n["b1 bias"] / (sqrt(nu / n["b2 bias"] + n["eps_root"]) + n["eps"]);
  };
  return per_parameter(
      {.name = "optim::scale_by_adam_8bit",
       .numbers = {decay_number("b1", options.b1), decay_number("b2", options.b2),
                   positive("eps", options.eps), positive("eps_root", options.eps_root)},
       .kept = {"mu", "mu_scale", "nu", "nu_scale"},
       .begin = begin,
       .at =
           [](Tensors& n, const Tensor& t, const Tensors&) {
             n["b1 bias"] = 1. - power(n["b1"], t);
             n["b2 bias"] = 1. - power(n["b2"], t);
           },
       .one = one});
}

Transformation adamw_8bit(Number learning_rate, const Adam8BitOptions& options,
                          const DecayOptions& decay) {
  return chain(scale_by_adam_8bit(options), add_decayed_weights(decay.weight_decay, decay.mask),
               scale_by_learning_rate(std::move(learning_rate)));
}

}  // namespace plait::optim
