#include "plait/optim/optimizers/adaptive_optimizers.h"

#include <cmath>

#include "plait/core/error.h"
#include "plait/core/numbers/dtype.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/optim/inside/optimizer_rule.h"

namespace plait::optim {
namespace {

using Names = OptimizerRule::Names;

// ---- Adagrad

Names adagrad_states(const WeightNumbers&, const Tensor&) { return {"sum"}; }
Tensor adagrad_first(const std::string&, const WeightNumbers& n, const Tensor& parameter) {
  const Tensor begun = zeros(parameter.shape(), DType::f64) + n.exact("initial_accumulator_value");
  return is_complex(parameter.dtype()) ? astype(make_complex(begun, begun), parameter.dtype())
                                       : astype(begun, parameter.dtype());
}
void adagrad_at_step(Tensors& n, const Tensor& steps) {
  n["step_size"] = n["lr"] / (1. + (steps - 1.) * n["lr_decay"]);
}
Tensor adagrad_formula(const WeightNumbers& n, const Tensor& value, const Tensor& given,
                       std::span<Tensor> states) {
  const Tensor gradient = decayed(n, value, given);
  states[0] = states[0] + square(gradient);
  return value - n["step_size"] * gradient / (sqrt(states[0]) + n["eps"]);
}
const OptimizerRule kAdagrad{.name = "optim::Adagrad",
                             .states = adagrad_states,
                             .first = adagrad_first,
                             .at_step = adagrad_at_step,
                             .formula = adagrad_formula};

// ---- Adadelta

Names adadelta_states(const WeightNumbers&, const Tensor&) { return {"square_avg", "acc_delta"}; }
Tensor adadelta_formula(const WeightNumbers& n, const Tensor& value, const Tensor& given,
                        std::span<Tensor> states) {
  const Tensor gradient = decayed(n, value, given);
  states[0] = n.mix("rho", states[0], square(gradient));
  const Tensor delta = sqrt(states[1] + n["eps"]) / sqrt(states[0] + n["eps"]) * gradient;
  states[1] = n.mix("rho", states[1], square(delta));
  return value - n["lr"] * delta;
}
const OptimizerRule kAdadelta{
    .name = "optim::Adadelta", .states = adadelta_states, .formula = adadelta_formula};

// ---- RMSprop

Names rmsprop_states(const WeightNumbers& n, const Tensor&) {
  Names names{"square_avg"};
  if (n.is("centered")) names.push_back("grad_avg");
  if (n.has("momentum")) names.push_back("momentum_buffer");
  return names;
}
Tensor rmsprop_formula(const WeightNumbers& n, const Tensor& value, const Tensor& given,
                       std::span<Tensor> states) {
  const Tensor gradient = decayed(n, value, given);
  states[0] = n.mix("alpha", states[0], square(gradient));
  Tensor variance = states[0];
  if (n.is("centered")) {
    states[1] = states[1] + n.rest("alpha") * (gradient - states[1]);
    variance = variance - square(states[1]);
  }
  Tensor update = gradient / (sqrt(variance) + n["eps"]);
  if (n.has("momentum")) states.back() = update = n["momentum"] * states.back() + update;
  return value - n["lr"] * update;
}
const OptimizerRule kRmsprop{.name = "optim::RMSprop",
                             .optional = {"momentum"},
                             .states = rmsprop_states,
                             .formula = rmsprop_formula};

// ---- Adafactor

Names adafactor_states(const WeightNumbers&, const Tensor& parameter) {
  return parameter.rank() > 1 ? Names{"row_var", "col_var"} : Names{"variance"};
}
Tensor adafactor_first(const std::string& state, const WeightNumbers&, const Tensor& parameter) {
  if (state == "variance") return zeros_like(parameter);
  return zeros_like(mean(parameter, state == "row_var" ? -1 : -2, true));
}
void adafactor_at_step(Tensors& n, const Tensor& steps) {
  n["new"] = power(steps, n["beta2_decay"]);
  n["rate"] = minimum(n["lr"], 1. / sqrt(steps));
  add_left(n);
}
Tensor root_mean_square(const Tensor& x) { return sqrt(mean(square(x))); }
Tensor adafactor_formula(const WeightNumbers& n, const Tensor& value, const Tensor& gradient,
                         std::span<Tensor> states) {
  const Tensor least =
      n.has("eps1") ? n["eps1"] : full({}, float_limits(n.dtype).epsilon, value.dtype());
  const Tensor step_size = n["rate"] * maximum(root_mean_square(value), n["eps2"]);
  const Tensor squares = square(gradient);
  const auto follow = [&](Tensor& state, const Tensor& seen) {
    state = state + n["new"] * (seen - state);
  };
  Tensor variance;
  if (states.size() == 1) {
    follow(states[0], squares);
    variance = states[0];
  } else {
    follow(states[0], mean(squares, -1, true));
    follow(states[1], mean(squares, -2, true));
    variance = states[0] * states[1] / maximum(mean(states[0], -2, true), least);
  }
  const Tensor update = gradient * rsqrt(maximum(variance, least * least));
  return shrunk(n, value) - step_size / maximum(root_mean_square(update) / n["d"], 1.) * update;
}
const OptimizerRule kAdafactor{.name = "optim::Adafactor",
                               .is_real = true,
                               .states = adafactor_states,
                               .first = adafactor_first,
                               .at_step = adafactor_at_step,
                               .formula = adafactor_formula};

// ---- Muon

Names muon_states(const WeightNumbers&, const Tensor&) { return {"momentum_buffer"}; }
void muon_at_step(Tensors& n, const Tensor&) { add_left(n); }
void expect_matrix(const std::string& path, const Tensor& parameter) {
  if (parameter.rank() == 2) return;
  throw ShapeError("optim::Muon: {} is {}, expected a matrix", path, parameter.type().text())
      .at(Location::of_caller())
      .hint("train other parameters with another optimizer");
}

// Singular values moved towards 1 by an odd polynomial. Each product is summed as f32 or wider, and
// rounded once.
Tensor orthogonalised(const Tensor& matrix, const WeightNumbers& n) {
  const auto narrow = static_cast<DType>(n.option("ns_dtype"));
  const DType own = wide(narrow);
  const auto rounded = [&](const Tensor& x) { return astype(astype(x, narrow), own); };
  const auto number = [&](std::string_view name) { return astype(n.exact(name), own); };
  const bool is_tall = matrix.shape(0).number() > matrix.shape(1).number();
  Tensor x = rounded(is_tall ? matrix_transpose(matrix) : matrix);
  x = rounded(x / maximum(rounded(sqrt(sum_of_squares(x))), number("eps")));
  const Tensor a = number("a"), b = number("b"), c = number("c");
  for (int64_t i = 0; i < n.option("ns_steps"); ++i) {
    const Tensor gram = rounded(matmul(x, matrix_transpose(x)));
    x = rounded(a * x + matmul(rounded(b * gram + c * matmul(gram, gram)), x));
  }
  return is_tall ? matrix_transpose(x) : x;
}

double rate_factor(MuonRate rate, double rows, double columns) {
  switch (rate) {
    case MuonRate::original: return std::sqrt(std::max(1., rows / columns));
    case MuonRate::match_rms_adamw: return 0.2 * std::sqrt(std::max(rows, columns));
    case MuonRate::spectral_unclamped: return std::sqrt(rows / columns);
  }
  return 1;
}

Tensor muon_formula(const WeightNumbers& n, const Tensor& value, const Tensor& gradient,
                    std::span<Tensor> states) {
  Tensor& buffer = states[0];
  buffer = buffer + n.rest("momentum") * (gradient - buffer);
  const Tensor direction =
      n.is("nesterov") ? gradient + n["momentum"] * (buffer - gradient) : buffer;
  const Tensor update = astype(orthogonalised(direction, n), value.dtype());
  const double factor = rate_factor(static_cast<MuonRate>(n.option("adjust_lr_fn")),
                                    static_cast<double>(value.shape(0).number()),
                                    static_cast<double>(value.shape(1).number()));
  return shrunk(n, value) - n["lr"] * factor * update;
}
const OptimizerRule kMuon{.name = "optim::Muon",
                          .is_real = true,
                          .states = muon_states,
                          .at_step = muon_at_step,
                          .formula = muon_formula,
                          .expect = expect_matrix};

}  // namespace

OptimizerSettings settings_of(const AdagradOptions& options) {
  return {.rule = {&kAdagrad},
          .numbers = {positive("lr", options.lr), positive("lr_decay", options.lr_decay),
                      positive("weight_decay", options.weight_decay),
                      positive("initial_accumulator_value", options.initial_accumulator_value),
                      positive("eps", options.eps)},
          .options = {{"maximize", options.maximize}},
          .groups = options.groups};
}

OptimizerSettings settings_of(const AdadeltaOptions& options) {
  return {.rule = {&kAdadelta},
          .numbers = {positive("lr", options.lr),
                      {"rho", options.rho, 0, kAboveOne},
                      positive("eps", options.eps),
                      positive("weight_decay", options.weight_decay)},
          .options = {{"maximize", options.maximize}},
          .groups = options.groups};
}

OptimizerSettings settings_of(const RMSpropOptions& options) {
  return {.rule = {&kRmsprop},
          .numbers = {positive("lr", options.lr), any_number("alpha", options.alpha),
                      positive("eps", options.eps), positive("weight_decay", options.weight_decay),
                      positive("momentum", options.momentum)},
          .options = {{"centered", options.centered}, {"maximize", options.maximize}},
          .groups = options.groups};
}

OptimizerSettings settings_of(const AdafactorOptions& options) {
  std::vector<NamedNumber> numbers{positive("lr", options.lr),
                                   {"beta2_decay", options.beta2_decay, -kInfinity, kAboveZero},
                                   positive("eps2", options.eps2),
                                   {"d", options.d, 1},
                                   positive("weight_decay", options.weight_decay)};
  if (options.eps1) numbers.push_back(positive("eps1", *options.eps1));
  return {.rule = {&kAdafactor},
          .numbers = std::move(numbers),
          .options = {{"maximize", options.maximize}},
          .groups = options.groups};
}

OptimizerSettings settings_of(const MuonOptions& options) {
  if (options.ns_steps < 0 || options.ns_steps >= 100) {
    throw ValueError("optim::Muon: ns_steps is {}, expected 0 to 99", options.ns_steps)
        .at(Location::of_caller());
  }
  if (!is_floating(options.ns_dtype)) {
    throw ValueError("optim::Muon: ns_dtype is {}, expected a floating dtype",
                     name_of(options.ns_dtype))
        .at(Location::of_caller());
  }
  return {.rule = {&kMuon},
          .numbers = {positive("lr", options.lr), positive("weight_decay", options.weight_decay),
                      positive("momentum", options.momentum), any_number("a", options.a),
                      any_number("b", options.b), any_number("c", options.c),
                      positive("eps", options.eps)},
          .options = {{"nesterov", options.nesterov},
                      {"ns_steps", options.ns_steps},
                      {"adjust_lr_fn", static_cast<int64_t>(options.adjust_lr_fn)},
                      {"ns_dtype", static_cast<int64_t>(options.ns_dtype)},
                      {"maximize", options.maximize}},
          .groups = options.groups};
}

}  // namespace plait::optim
