#include "plait/optim/optimizers/lbfgs_optimizer.h"

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/optim/inside/optimizer_rule.h"
#include "plait/optim/inside/wolfe_search.h"
#include "plait/transform/control/control.h"

namespace plait::optim {
namespace {

Tensor dot(const Tensor& a, const Tensor& b) { return sum(a * b); }

// f64 if one of the parameters is, else f32.
DType flat_dtype(const Tensors& parameters) {
  for (const auto& [path, value] : parameters) {
    if (plait::real_dtype(value.dtype()) == DType::f64) return DType::f64;
  }
  return DType::f32;
}

// As one vector; `like` are the parameters.
Tensor packed(const Tensors& values, const Tensors& like) {
  std::vector<Tensor> parts;
  for (const auto& [path, parameter] : like) {
    const Tensor part = widened_for(values.at(path), parameter.dtype());
    parts.push_back(astype(flatten(part), flat_dtype(like)));
  }
  return concat(parts);
}

Tensors unpacked(const Tensor& flat, const Tensors& like) {
  Tensors made;
  Dim begin = 0;
  for (const auto& [path, parameter] : like) {
    const Shape own = parameter.shape();
    std::vector<Dim> sizes(own.dims().begin(), own.dims().end());
    if (is_complex(parameter.dtype())) sizes.push_back(2);
    const Shape shape{std::span<const Dim>(sizes)};
    const Dim size = shape.element_count();
    made.emplace(path,
                 narrowed_for(reshape(slice_axis(flat, 0, begin, size), shape), parameter.dtype()));
    begin = begin + size;
  }
  return made;
}

constexpr std::string_view kName = "optim::LBFGS";

void expect_count(const char* name, int64_t value) {
  if (value >= 1 && value < int64_t{1} << 31) return;
  throw ValueError("optim::LBFGS: {} is {}, expected a positive integer", name, value)
      .at(Location::of_caller());
}

void expect_limits(const Number& lr, const Number& tolerance_grad, const Number& tolerance_change) {
  expect_numbers(kName, {positive("lr", lr), positive("tolerance_grad", tolerance_grad),
                         positive("tolerance_change", tolerance_change)});
}

struct Backwards {
  Tensor i, q, factors;
};

// One update. The carry of its loop is the state, with what the iteration has: values `x`, the loss
// and its gradient there, and counts.
class Run {
 public:
  Run(const LBFGSState& optimizer, const Tensors& parameters, const LossOfParameters& evaluate)
      : optimizer_(optimizer),
        parameters_(parameters),
        evaluate_(evaluate),
        dtype_(flat_dtype(parameters)),
        lr_(astype(optimizer.lr, dtype_)),
        tolerance_grad_(astype(optimizer.tolerance_grad, dtype_)),
        tolerance_change_(astype(optimizer.tolerance_change, dtype_)) {}

  // From x, with the loss and the gradient there.
  Tensors from(const Tensor& x, const Tensor& loss, const Tensor& gradient) const {
    Tensors c = optimizer_.state;
    c["x"] = x;
    c["loss"] = loss;
    c["gradient"] = gradient;
    c["iterations"] = no_steps();
    c["evaluations"] = no_steps() + 1;
    c["is_done"] = is_flat(gradient);
    c["func_evals"] = c["func_evals"] + 1;
    return while_loop([](const Tensors& at) { return logical_not(at.at("is_done")); },
                      [this](const Tensors& at) { return iteration(at); }, c);
  }

  std::pair<Tensor, Tensor> evaluated(const Tensor& x) const {
    const auto [value, gradients] = evaluate_(unpacked(x, parameters_));
    const Tensor loss = astype(value, dtype_), gradient = packed(gradients, parameters_);
    if (optimizer_.maximize) return {-loss, -gradient};
    return {loss, gradient};
  }

 private:
  Tensor is_flat(const Tensor& gradient) const {
    return max(absolute(gradient)) <= tolerance_grad_;
  }

  Tensors iteration(Tensors c) const {
    c["iterations"] = c["iterations"] + 1;
    c["n_iter"] = c["n_iter"] + 1;
    const Tensor is_first = c["n_iter"] == 1;
    remember(c, is_first);
    c["d"] = where(is_first, -c["gradient"], direction(c));
    c["t"] = where(is_first, minimum(1. / sum(absolute(c["gradient"])), 1.) * lr_, lr_);
    c["prev_flat_grad"] = c["gradient"];
    c["prev_loss"] = c["loss"];
    const Tensor slope = dot(c["gradient"], c["d"]);
    const auto stop = [&] {
      Tensors made = c;
      made["is_done"] = full({}, true);
      return made;
    };
    return cond(slope > -tolerance_change_, stop, [&] { return moved(c, slope); });
  }

  // Adds the last step and the change of the gradient to the history, unless the curvature is not
  // positive.
  void remember(Tensors& c, const Tensor& is_first) const {
    const Tensor change = c["gradient"] - c["prev_flat_grad"], step = c["d"] * c["t"];
    const Tensor curvature = dot(change, step);
    const Tensor keeps = logical_and(curvature > 1e-10, logical_not(is_first));
    const Tensor one = ones_like(curvature), safe = where(keeps, curvature, one);
    const auto push = [&](const char* name, const Tensor& row) {
      const std::vector<Tensor> rows{c[name][Slice{1, {}}], expand_dims(row, 0)};
      c[name] = where(keeps, concat(rows), c[name]);
    };
    push("old_dirs", change);
    push("old_stps", step);
    push("ro", 1. / safe);
    c["num_old"] = where(keeps, minimum(c["num_old"] + 1, optimizer_.history_size), c["num_old"]);
    const Tensor scale = safe / where(keeps, dot(change, change), one);
    c["H_diag"] = where(is_first, one, where(keeps, scale, c["H_diag"]));
  }

  // The inverse Hessian times the negative gradient. The newest pair of the history is its last
  // row.
  Tensor direction(const Tensors& c) const {
    const int64_t size = optimizer_.history_size;
    const Tensor &changes = c.at("old_dirs"), &steps = c.at("old_stps"), &ro = c.at("ro");
    const Tensor oldest = size - c.at("num_old"), places = iota(size);
    const auto row = [](const Tensor& x, const Tensor& i) { return take(x, i, 0); };
    const auto backwards = [&](const Backwards& at) {
      const Tensor factor = dot(row(steps, at.i), at.q) * row(ro, at.i);
      return Backwards{at.i - 1, at.q - factor * row(changes, at.i),
                       where(places == at.i, factor, at.factors)};
    };
    const Backwards last =
        while_loop([&](const Backwards& at) { return greater_equal(at.i, oldest); }, backwards,
                   Backwards{full_like(oldest, size - 1), -c.at("gradient"), zeros_like(ro)});
    const auto forwards = [&](const std::pair<Tensor, Tensor>& at) {
      const auto& [i, r] = at;
      const Tensor part = row(last.factors, i) - dot(row(changes, i), r) * row(ro, i);
      return std::pair<Tensor, Tensor>(i + 1, r + row(steps, i) * part);
    };
    return while_loop([&](const std::pair<Tensor, Tensor>& at) { return less(at.first, size); },
                      forwards, std::pair<Tensor, Tensor>(oldest, last.q * c.at("H_diag")))
        .second;
  }

  Tensors moved(Tensors c, const Tensor& slope) const {
    const bool searches = optimizer_.line_search_fn == LineSearch::strong_wolfe;
    const auto [is_at_bottom, evaluations] = searches ? searched_step(c, slope) : step_of_length(c);
    c["evaluations"] = c["evaluations"] + evaluations;
    c["func_evals"] = c["func_evals"] + evaluations;
    const Tensor ends[] = {c["iterations"] >= optimizer_.max_iter,
                           c["evaluations"] >= optimizer_.max_eval, is_at_bottom,
                           max(absolute(c["d"] * c["t"])) <= tolerance_change_,
                           absolute(c["loss"] - c["prev_loss"]) < tolerance_change_};
    for (const Tensor& each : ends) c["is_done"] = logical_or(c["is_done"], each);
    return c;
  }

  // A step of length t. After the last one the loss is not evaluated.
  std::pair<Tensor, Tensor> step_of_length(Tensors& c) const {
    c["x"] = c["x"] + c["t"] * c["d"];
    const Tensor is_last = c["iterations"] >= optimizer_.max_iter;
    using Both = std::pair<Tensor, Tensor>;
    const auto [loss, gradient] = cond(
        is_last, [&] { return Both(c["loss"], c["gradient"]); }, [&] { return evaluated(c["x"]); });
    c["loss"] = loss;
    c["gradient"] = gradient;
    const Tensor goes_on = logical_not(is_last);
    return {logical_and(goes_on, is_flat(gradient)), astype(goes_on, DType::i64)};
  }

  std::pair<Tensor, Tensor> searched_step(Tensors& c, const Tensor& slope) const {
    const Tensor x = c["x"], d = c["d"];
    const auto evaluate = [&](const Tensor& t) {
      const auto [loss, gradient] = evaluated(x + t * d);
      return LinePoint{t, loss, gradient, dot(gradient, d)};
    };
    const WolfeSearch search{.evaluate = evaluate,
                             .start = {zeros_like(c["t"]), c["loss"], c["gradient"], slope},
                             .reach = max(absolute(d)),
                             .tolerance_change = tolerance_change_,
                             .most = optimizer_.max_eval - c["evaluations"]};
    const auto [point, evaluations] = search.from(c["t"]);
    c["x"] = x + point.t * d;
    c["t"] = point.t;
    c["loss"] = point.loss;
    c["gradient"] = point.gradient;
    return {is_flat(point.gradient), evaluations};
  }

  const LBFGSState& optimizer_;
  const Tensors& parameters_;
  const LossOfParameters& evaluate_;
  DType dtype_;
  Tensor lr_, tolerance_grad_, tolerance_change_;
};

}  // namespace

LBFGSState LBFGSState::init(const Tensors& parameters, const LBFGSOptions& options) {
  const int64_t max_eval = options.max_eval == 0 ? options.max_iter * 5 / 4 : options.max_eval;
  expect_count("max_iter", options.max_iter);
  expect_count("max_eval", max_eval);
  expect_count("history_size", options.history_size);
  expect_limits(options.lr, options.tolerance_grad, options.tolerance_change);
  if (parameters.empty()) {
    throw ValueError("optim::LBFGS: the model has no parameters").at(Location::of_caller());
  }
  const Tensor flat = zeros_like(packed(parameters, parameters));
  const DType dtype = flat.dtype();
  const Dim size = flat.shape(0), history = options.history_size;
  return {.lr = TreeNumber(options.lr),
          .tolerance_grad = TreeNumber(options.tolerance_grad),
          .tolerance_change = TreeNumber(options.tolerance_change),
          .steps = no_steps(),
          .loss = zeros({}, dtype),
          .state = {{"d", zeros({size}, dtype)},
                    {"t", zeros({}, dtype)},
                    {"old_dirs", zeros({history, size}, dtype)},
                    {"old_stps", zeros({history, size}, dtype)},
                    {"ro", zeros({history}, dtype)},
                    {"H_diag", zeros({}, dtype)},
                    {"prev_flat_grad", zeros({size}, dtype)},
                    {"prev_loss", zeros({}, dtype)},
                    {"num_old", no_steps()},
                    {"n_iter", no_steps()},
                    {"func_evals", no_steps()}},
          .max_iter = options.max_iter,
          .max_eval = max_eval,
          .history_size = options.history_size,
          .line_search_fn = options.line_search_fn,
          .maximize = options.maximize};
}

void LBFGSState::follow(Tensors& parameters, const LossOfParameters& evaluate) {
  expect_limits(lr, tolerance_grad, tolerance_change);
  const Tensor x = packed(parameters, parameters);
  if (x.shape() != state.at("d").shape()) {
    throw ShapeError("optim::LBFGS: the model has {} numbers, the state {}", x.shape(0).text(),
                     state.at("d").shape(0).text())
        .at(Location::of_caller())
        .hint("the optimizer was made for another model: make one for this model");
  }
  lr.follow(kName, "lr", steps);
  tolerance_grad.follow(kName, "tolerance_grad", steps);
  tolerance_change.follow(kName, "tolerance_change", steps);
  const Run run(*this, parameters, evaluate);
  const auto [before, gradient] = run.evaluated(x);
  const Tensors after = run.from(x, before, gradient);
  parameters = unpacked(after.at("x"), parameters);
  for (auto& [name, value] : state) value = after.at(name);
  loss = maximize ? -before : before;
  steps = steps + 1;
}

}  // namespace plait::optim
