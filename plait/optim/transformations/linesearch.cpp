#include "plait/optim/transformations/linesearch.h"

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/optim/inside/transformation_rule.h"
#include "plait/optim/transformations/combining.h"
#include "plait/optim/transformations/scaling.h"
#include "plait/transform/control/control.h"
#include "plait/transform/derivatives/grad.h"

namespace plait::optim {
namespace {

// The real inner product of two trees, f64[].
Tensor dot(const Tensors& a, const Tensors& b) {
  Tensor total = f64_of(0);
  for (const auto& [path, value] : a) {
    const Tensor& other = at_path("optim", "another tree", b, path);
    const Tensor product = is_complex(value.dtype()) ? real(conj(value) * other) : value * other;
    total = total + as_f64(sum(product));
  }
  return total;
}

// tree + factor · step.
Tensors added(const Tensors& tree, const Tensor& factor, const Tensors& step) {
  return map_tensors("optim", tree, step, [&](const Tensor& a, const Tensor& b) {
    return a + astype(factor, plait::real_dtype(b.dtype())) * b;
  });
}

Tensors scaled(const Tensor& rate, const Tensors& updates) {
  return map_tensors(updates, [&](const Tensor& each) {
    return astype(rate, plait::real_dtype(each.dtype())) * each;
  });
}

// The positive part; infinite for NaN.
Tensor error_of(const Tensor& value) {
  return maximum(where(isnan(value), full_like(value, kInfinity), value), 0.);
}

struct LbfgsRule final : TransformationRule {
  LbfgsRule(int64_t memory, bool scales)
      : TransformationRule("optim::scale_by_lbfgs"),
        size(whole(name + ": memory_size", memory)),
        scale_init_precond(scales) {}

  State init(const Tensors& parameters) const override {
    State made;
    made.values["count"] = no_steps();
    made.values["weights_memory"] = zeros({size}, DType::f64);
    made.kept["params"] = zeros_of(parameters);
    made.kept["updates"] = zeros_of(parameters);
    for (const char* const each : {"diff_params_memory", "diff_updates_memory"}) {
      for (const auto& [path, value] : parameters) {
        const Tensor row = expand_dims(zeros_like(value), 0);
        made.kept[each][path] = concat(std::vector<Tensor>(static_cast<size_t>(size), row));
      }
    }
    return made;
  }

  Tensors update(const Tensors& updates, State& state, const Tensors& parameters,
                 const UpdateOptions&) const override {
    expect_parameters(parameters);
    const Tensor count = state.values.at("count"), is_later = count > 0;
    const auto change = [&](const Tensor& now, const Tensor& old) {
      return where(is_later, now - old, zeros_like(now));
    };
    const Tensors moved = map_tensors(name, parameters, state.kept.at("params"), change);
    const Tensors changed = map_tensors(name, updates, state.kept.at("updates"), change);
    const Tensor product = dot(changed, moved);
    const Tensor is_place = iota(size) == remainder(count - 1 + size, size);
    const Tensor weight = where(product == 0., f64_of(0), 1. / product);
    Tensor& weights = state.values.at("weights_memory");
    weights = where(is_place, weight, weights);
    Tensors &moves = state.kept.at("diff_params_memory"),
            &changes = state.kept.at("diff_updates_memory");
    moves = stored(moves, moved, is_place);
    changes = stored(changes, changed, is_place);
    const Tensor first_scale = scale_of_first(count, updates, changed, product);
    const Tensors made = preconditioned(updates, moves, changes, weights, first_scale, count);
    state.kept["params"] = cast_like(parameters, state.kept.at("params"));
    state.kept["updates"] = cast_like(updates, state.kept.at("updates"));
    state.values["count"] = count + 1;
    return made;
  }

  Tensors stored(const Tensors& memory, const Tensors& now, const Tensor& is_place) const {
    return cast_like(map_tensors(name, memory, now,
                                 [&](const Tensor& old, const Tensor& each) {
                                   std::vector<Dim> sizes{size};
                                   sizes.resize(each.rank() + 1, Dim(1));
                                   const Tensor here =
                                       reshape(is_place, Shape(std::span<const Dim>(sizes)));
                                   return where(here, expand_dims(each, 0), old);
                                 }),
                     memory);
  }

  Tensor scale_of_first(const Tensor& count, const Tensors& updates, const Tensors& changed,
                        const Tensor& product) const {
    if (!scale_init_precond) return f64_of(1);
    const Tensor squares = dot(changed, changed), norm = sqrt(dot(updates, updates));
    return where(count > 0, where(squares > 0., product / squares, f64_of(1)),
                 minimum(1. / norm, 1.));
  }

  Tensors preconditioned(const Tensors& updates, const Tensors& moves, const Tensors& changes,
                         const Tensor& weights, const Tensor& first_scale,
                         const Tensor& count) const {
    const auto row = [](const Tensors& memory, const Tensor& at) {
      return map_tensors(memory, [&](const Tensor& each) { return take(each, at, 0); });
    };
    const auto right = [&](const Tensors& vector, const Tensor& at) {
      const Tensor alpha = take(weights, at, 0) * dot(row(moves, at), vector);
      return std::pair(added(vector, -alpha, row(changes, at)), alpha);
    };
    using Slice = std::pair<Tensor, Tensor>;
    const auto left = [&](const Tensors& vector, const Slice& slice) {
      const auto& [at, alpha] = slice;
      const Tensor factor = alpha - take(weights, at, 0) * dot(row(changes, at), vector);
      return std::pair(added(vector, factor, row(moves, at)), std::tuple<>());
    };
    const Tensor order = remainder(remainder(count, size) + iota(size), size);
    const Tensors wide_updates = map_tensors(updates, [](const Tensor& each) { return each; });
    const auto [vector, alphas] = scan(right, wide_updates, order, {.reverse = true});
    return scan(left, scaled(first_scale, vector), Slice(order, alphas)).first;
  }

  int64_t size;
  bool scale_init_precond;
};

// Gradients that point uphill, and back: complex ones are conjugated.
Tensors uphill(const Tensors& gradients) {
  return map_leaves(
      gradients, [](const Tensor& each) { return is_complex(each.dtype()) ? conj(each) : each; });
}

const State* find_search(const State& state) {
  if (state.kept.contains("grad") && state.values.contains("value")) return &state;
  for (const auto& [name, part] : state.parts) {
    if (const State* const found = find_search(part)) return found;
  }
  return nullptr;
}

struct SearchRule : TransformationRule {
  using TransformationRule::TransformationRule;
  void expect(const Tensors& parameters, const UpdateOptions& options) const {
    expect_parameters(parameters);
    expect_value(name, options);
    if (options.value_fn && !options.grad.empty()) return;
    throw TypeError("{}: {} is missing", name, options.value_fn ? "grad" : "value_fn")
        .at(Location::of_caller())
        .hint("optimizer.update_by_loss(model, gradients, loss, loss_of) passes them");
  }
  State begun() const {
    State made;
    begin(made);
    made.values["learning_rate"] = f64_of(1);
    for (const char* const each : {"value", "decrease_error"}) {
      made.values[each] = f64_of(kInfinity);
    }
    made.values["num_linesearch_steps"] = no_steps();
    return made;
  }
};

struct BacktrackingRule final : SearchRule {
  BacktrackingRule(Number most, const BacktrackingOptions& options)
      : SearchRule("optim::scale_by_backtracking_linesearch",
                   {{"max_backtracking_steps", std::move(most), 1},
                    positive("slope_rtol", options.slope_rtol),
                    decay_number("decrease_factor", options.decrease_factor),
                    positive("increase_factor", options.increase_factor),
                    positive("max_learning_rate", options.max_learning_rate),
                    positive("atol", options.atol),
                    positive("rtol", options.rtol)}),
        store_grad(options.store_grad) {}
  State init(const Tensors& parameters) const override {
    State made = begun();
    if (store_grad) made.kept["grad"] = zeros_of(parameters);
    return made;
  }

  Tensors update(const Tensors& updates, State& state, const Tensors& parameters,
                 const UpdateOptions& options) const override {
    expect(parameters, options);
    const Tensors n = numbers_at(state);
    const Tensor slope = dot(options.grad, updates), value = as_f64(options.value);
    const auto goes_on = [&](const Tensors& search) {
      return logical_and(logical_not(search.at("error") <= n.at("atol")),
                         as_f64(search.at("steps")) <= n.at("max_backtracking_steps"));
    };
    const auto step = [&](const Tensors& search) {
      const Tensor &old = search.at("rate"), &steps = search.at("steps");
      const Tensor rate = where(steps > 0, n.at("decrease_factor") * old, old);
      const Tensor now =
          as_f64(options.value_fn(cast_like(added(parameters, rate, updates), parameters)));
      const Tensor bound = (1. + n.at("rtol")) * value + rate * n.at("slope_rtol") * slope;
      return Tensors{
          {"rate", rate}, {"value", now}, {"error", error_of(now - bound)}, {"steps", steps + 1}};
    };
    const Tensor guess = minimum(n.at("increase_factor") * state.values.at("learning_rate"),
                                 n.at("max_learning_rate"));
    const Tensors found = while_loop(goes_on, step,
                                     Tensors{{"rate", guess},
                                             {"value", value},
                                             {"error", f64_of(kInfinity)},
                                             {"steps", no_steps()}});
    const Tensor rate = where(isinf(found.at("error")), f64_of(0), found.at("rate"));
    state.values["learning_rate"] = rate;
    state.values["value"] = found.at("value");
    state.values["decrease_error"] = found.at("error");
    state.values["num_linesearch_steps"] = found.at("steps");
    state.values["count"] = state.values["count"] + 1;
    if (store_grad) {
      const auto loss = [&](const Tensors& at) -> Tensor { return options.value_fn(at); };
      const Tensors there = cast_like(added(parameters, found.at("rate"), updates), parameters);
      state.kept["grad"] = cast_like(uphill(grad(loss)(there)), parameters);
    }
    return scaled(rate, updates);
  }
  bool store_grad;
};

// ---- Zoom

// A place on the line.
struct OnLine {
  Tensor stepsize, value, slope;
};
OnLine chosen(const Tensor& condition, const OnLine& a, const OnLine& b) {
  return {where(condition, a.stepsize, b.stepsize), where(condition, a.value, b.value),
          where(condition, a.slope, b.slope)};
}
struct Evaluated {
  OnLine at;
  Tensors grad;
  Tensor decrease_error, curvature_error;
};
Tensor greater_error(const Evaluated& place) {
  return maximum(place.decrease_error, place.curvature_error);
}

struct Zooming {
  Evaluated place;
  OnLine low, high;
  Tensor safe_stepsize, safe_value;
  Tensors safe_grad;
  Tensor cubic_stepsize, cubic_value;
  Tensor steps, interval_found, done, failed;
};

// The loss along the direction of a step.
struct Line {
  const Tensors& n;
  const Tensors &parameters, &updates;
  const UpdateOptions& options;
  Tensor value, slope;

  Evaluated at(const Tensor& stepsize) const {
    const Tensors there = cast_like(added(parameters, stepsize, updates), parameters);
    const auto function = [this](const Tensors& point) -> Tensor {
      return options.value_fn(point);
    };
    const auto [loss, raw] = value_and_grad(function)(there);
    const Tensors grad = uphill(raw);
    const OnLine place{stepsize, as_f64(loss), dot(grad, updates)};
    Tensor error = place.value - value - n.at("slope_rtol") * stepsize * slope;
    if (n.contains("approx_dec_rtol")) {
      const Tensor flat = place.slope - (2. * n.at("slope_rtol") - 1.) * slope;
      const Tensor change = place.value - value - n.at("approx_dec_rtol") * absolute(value);
      error = minimum(maximum(flat, change), error);
    }
    const Tensor curvature = absolute(place.slope) - n.at("curv_rtol") * absolute(slope);
    return {place, cast_like(grad, parameters), error_of(error), error_of(curvature)};
  }
  Tensor is_last(const Zooming& z) const {
    return as_f64(z.steps + 1) >= n.at("max_linesearch_steps");
  }
};

void set_safe(Zooming& z, const Evaluated& place, const Tensor& condition) {
  z.safe_stepsize = where(condition, place.at.stepsize, z.safe_stepsize);
  z.safe_value = where(condition, place.at.value, z.safe_value);
  z.safe_grad = choose(condition, place.grad, z.safe_grad);
}

// Lengthens the step until an interval has what is searched.
Zooming bracket(const Line& line, const Tensor& guess, const Zooming& z) {
  const Tensors& n = line.n;
  const Tensor is_first = z.steps == 0, no = full({}, false);
  const OnLine before = z.place.at;
  Tensor stepsize = where(is_first, guess, n.at("increase_factor") * before.stepsize);
  Tensor is_longest = no;
  if (n.contains("max_learning_rate")) {
    is_longest = stepsize >= n.at("max_learning_rate");
    stepsize = minimum(stepsize, n.at("max_learning_rate"));
  }
  const Evaluated place = line.at(stepsize);
  const Tensor ends = greater_error(place) <= n.at("tol");
  const Tensor rises = logical_and(place.at.value >= before.value, logical_not(is_first));
  const Tensor sets_high = logical_or(place.decrease_error > 0., rises);
  const Tensor sets_low = logical_and(place.at.slope >= 0., logical_not(sets_high));
  Zooming next = z;
  next.place = place;
  set_safe(next, place, place.decrease_error <= n.at("tol"));
  next.low = chosen(sets_low, place.at, before);
  next.high = chosen(sets_low, before, place.at);
  next.interval_found = logical_or(logical_or(sets_high, sets_low), ends);
  next.done = logical_or(ends, logical_and(is_longest, logical_not(next.interval_found)));
  next.cubic_stepsize = next.low.stepsize;
  next.cubic_value = next.low.value;
  next.failed = logical_and(line.is_last(z), logical_not(next.done));
  next.steps = z.steps + 1;
  return next;
}

// Where the cubic through three places, with the slope at the first, is least.
Tensor cubic(const Zooming& z) {
  const OnLine &low = z.low, &high = z.high;
  const Tensor b = high.stepsize - low.stepsize, c = z.cubic_stepsize - low.stepsize;
  const Tensor at_b = high.value - low.value - low.slope * b;
  const Tensor at_c = z.cubic_value - low.value - low.slope * c;
  const Tensor scale = square(b * c) * (b - c);
  const Tensor third = (c * c * at_b - b * b * at_c) / scale;
  const Tensor second = (-(c * c * c) * at_b + b * b * b * at_c) / scale;
  const Tensor root = sqrt(second * second - 3. * third * low.slope);
  return low.stepsize + (root - second) / (3. * third);
}

Tensor parabola(const OnLine& low, const OnLine& high) {
  const Tensor width = high.stepsize - low.stepsize;
  const Tensor second = (high.value - low.value - low.slope * width) / (width * width);
  return low.stepsize - low.slope / (2. * second);
}

// The minimum of a cubic in the interval, or of a parabola, or its middle.
Tensor middle(const Zooming& z, const Tensor& width) {
  const Tensor left = minimum(z.low.stepsize, z.high.stepsize);
  const Tensor right = maximum(z.low.stepsize, z.high.stepsize);
  const auto is_inside = [&](const Tensor& x, double margin) {
    return logical_and(x > left + margin * width, x < right - margin * width);
  };
  const Tensor by_cubic = cubic(z), by_parabola = parabola(z.low, z.high);
  const Tensor center = (z.low.stepsize + z.high.stepsize) / 2.;
  return where(is_inside(by_cubic, 0.2), by_cubic,
               where(is_inside(by_parabola, 0.1), by_parabola, center));
}

// Shrinks the interval.
Zooming zoom(const Line& line, const Zooming& z) {
  const Tensors& n = line.n;
  const Tensor width = absolute(z.high.stepsize - z.low.stepsize);
  const Evaluated place = line.at(middle(z, width));
  Zooming next = z;
  next.place = place;
  set_safe(next, place,
           logical_and(place.decrease_error <= n.at("tol"), place.at.value < z.safe_value));
  next.done = greater_error(place) <= n.at("tol");
  const Tensor sets_high = logical_or(place.decrease_error > 0., place.at.value >= z.low.value);
  const Tensor turns = place.at.slope * (z.high.stepsize - z.low.stepsize) >= 0.;
  const Tensor crosses = logical_and(turns, logical_not(sets_high));
  next.high = chosen(crosses, z.low, chosen(sets_high, place.at, z.high));
  next.low = chosen(sets_high, z.low, place.at);
  const OnLine third = chosen(logical_or(sets_high, crosses), z.high, z.low);
  next.cubic_stepsize = third.stepsize;
  next.cubic_value = third.value;
  const Tensor stuck = logical_and(width <= n.at("stepsize_precision"), next.safe_stepsize > 0.);
  next.failed = logical_and(logical_or(line.is_last(z), stuck), logical_not(next.done));
  next.steps = z.steps + 1;
  return next;
}

Zooming zoom_step(const Line& line, const Tensor& guess, const Zooming& z) {
  Zooming next = cond(
      z.interval_found, [&] { return zoom(line, z); }, [&] { return bracket(line, guess, z); });
  const Tensor is_safe = logical_or(next.safe_stepsize > 0., isinf(next.place.decrease_error));
  const Tensor takes = logical_and(next.failed, is_safe);
  next.place.at.stepsize = where(takes, next.safe_stepsize, next.place.at.stepsize);
  next.place.at.value = where(takes, next.safe_value, next.place.at.value);
  next.place.grad = choose(takes, next.safe_grad, next.place.grad);
  return next;
}

struct ZoomRule final : SearchRule {
  ZoomRule(Number most, const ZoomOptions& options)
      : SearchRule("optim::scale_by_zoom_linesearch",
                   {{"max_linesearch_steps", std::move(most), 1},
                    positive("tol", options.tol),
                    positive("increase_factor", options.increase_factor),
                    positive("slope_rtol", options.slope_rtol),
                    positive("curv_rtol", options.curv_rtol),
                    positive("stepsize_precision", options.stepsize_precision)}),
        strategy(options.initial_guess_strategy) {
    const auto add = [this](const char* which, const std::optional<Number>& given) {
      if (given) numbers.push_back(any_number(which, *given));
    };
    add("max_learning_rate", options.max_learning_rate);
    add("approx_dec_rtol", options.approx_dec_rtol);
  }
  State init(const Tensors& parameters) const override {
    State made = begun();
    made.values["curvature_error"] = f64_of(kInfinity);
    made.kept["grad"] = zeros_of(parameters);
    return made;
  }
  Tensors update(const Tensors& updates, State& state, const Tensors& parameters,
                 const UpdateOptions& options) const override {
    expect(parameters, options);
    const Tensors n = numbers_at(state);
    const Line line{
        n, parameters, updates, options, as_f64(options.value), dot(options.grad, updates)};
    const Tensor guess =
        strategy == InitialGuess::one ? f64_of(1) : state.values.at("learning_rate");
    const Zooming found =
        while_loop([](const Zooming& z) { return logical_not(logical_or(z.done, z.failed)); },
                   [&](const Zooming& z) { return zoom_step(line, guess, z); }, start(line));
    Tensors& values = state.values;
    values["learning_rate"] = found.place.at.stepsize;
    values["value"] = found.place.at.value;
    values["decrease_error"] = found.place.decrease_error;
    values["curvature_error"] = found.place.curvature_error;
    values["num_linesearch_steps"] = found.steps;
    values["count"] = values["count"] + 1;
    state.kept["grad"] = cast_like(found.place.grad, state.kept.at("grad"));
    return scaled(found.place.at.stepsize, updates);
  }
  static Zooming start(const Line& line) {
    const Tensors grad = cast_like(line.options.grad, line.parameters);
    const OnLine begun{f64_of(0), line.value, line.slope};
    const Tensor no = full({}, false), most = f64_of(kInfinity);
    return {.place = {begun, grad, most, most},
            .low = begun,
            .high = begun,
            .safe_stepsize = f64_of(0),
            .safe_value = line.value,
            .safe_grad = grad,
            .cubic_stepsize = f64_of(0),
            .cubic_value = line.value,
            .steps = no_steps(),
            .interval_found = no,
            .done = no,
            .failed = no};
  }
  InitialGuess strategy;
};

}  // namespace

Transformation scale_by_lbfgs(int64_t memory_size, bool scale_init_precond) {
  return transformation_of<LbfgsRule>(memory_size, scale_init_precond);
}
Transformation scale_by_backtracking_linesearch(Number max_backtracking_steps,
                                                const BacktrackingOptions& options) {
  return transformation_of<BacktrackingRule>(std::move(max_backtracking_steps), options);
}
Transformation scale_by_zoom_linesearch(Number max_linesearch_steps, const ZoomOptions& options) {
  return transformation_of<ZoomRule>(std::move(max_linesearch_steps), options);
}

const State& search_state(const State& state) {
  if (const State* const found = find_search(state)) return *found;
  throw ValueError("optim::value_and_grad_from_state: the state has no value and gradient")
      .at(Location::of_caller())
      .hint(
          "use a line search that stores them: scale_by_zoom_linesearch, or "
          "scale_by_backtracking_linesearch(n, {.store_grad = true})");
}
Tensors stored_gradient(const State& search) { return uphill(search.kept.at("grad")); }

Transformation lbfgs(const std::optional<Number>& learning_rate, const LbfgsOptions& options) {
  const Transformation search = options.linesearch.value_or(
      scale_by_zoom_linesearch(20, {.initial_guess_strategy = InitialGuess::one}));
  return chain(scale_by_lbfgs(options.memory_size, options.scale_init_precond),
               scale_by_learning_rate(learning_rate.value_or(1)), search);
}

}  // namespace plait::optim
