#include "tests/transform/properties/derivative_checks.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>

#include <fmt/core.h>

#include "plait/core/anomaly.h"
#include "plait/core/error.h"
#include "plait/ir/analysis/verify.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/array_machine.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/derivatives/tape.h"
#include "plait/transform/inside/derivatives/linear_map.h"
#include "plait/transform/programs.h"

namespace plait {
namespace {

// Irregular numbers, the same for equal element counts.
Tensor spread_over(const Tensor& like) {
  const Tensor numbers = cos(astype(iota(like.shape().element_count()), DType::f64) * 2 + 0.5);
  return reshape(numbers, like.shape());
}

// A scalar function of all results with non-zero second derivatives.
Tensor loss_of(const Tensors& results) {
  Tensor loss;
  const auto add_up = [&](const Tensor& x) {
    const Tensor part = sum(x * spread_over(x) + square(x) * 0.5);
    loss = loss ? loss + part : part;
  };
  for (const Tensor& result : results) {
    if (!is_inexact(result.dtype())) continue;
    add_up(real(result));
    if (is_complex(result.dtype())) add_up(imag(result));
  }
  return loss;
}

Tensors present(const Tensors& tensors) {
  Tensors all;
  std::ranges::copy_if(tensors, std::back_inserter(all),
                       [](const Tensor& tensor) { return static_cast<bool>(tensor); });
  return all;
}
Tensors joined(Tensors first, const Tensors& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

using ManyToMany = std::function<Tensors(const Tensors&)>;

Tensors tangents_of(const ManyToMany& f, const Tensors& x, const Tensors& t) {
  return jvp(f, std::tuple(x), std::tuple(t)).second;
}

// A directional derivative by finite differences, with an error bound.
struct Slope {
  Numbers slope, tolerance;
  bool is_known = true;
};
Slope slope_by_differences(const ManyToMany& f, const Tensors& x, const Tensors& t) {
  constexpr double kStep = 1e-5;
  const auto at = [&](double distance) {
    Tensors moved = x;
    for (size_t i = 0; i < x.size(); ++i) moved[i] = x[i] + t[i] * (distance * kStep);
    return numbers_of(f(moved));
  };
  const Numbers below = at(-1), above = at(1), further_below = at(-2), further_above = at(2);
  const Numbers here = at(0);
  Slope found;
  double greatest = 0;
  for (size_t i = 0; i < here.size(); ++i) {
    const double near = (above[i] - below[i]) / (2 * kStep);
    const double far = (further_above[i] - further_below[i]) / (4 * kStep);
    // The difference of the one-sided slopes: for a smooth function it doubles with the distance,
    // at a corner it stays.
    const double bend = (above[i] - 2 * here[i] + below[i]) / kStep;
    const double far_bend = (further_above[i] - 2 * here[i] + further_below[i]) / (2 * kStep);
    found.slope.push_back((4 * near - far) / 3);
    found.tolerance.push_back(4 * std::abs(near - far) + 4 * std::abs(far_bend - 2 * bend));
    greatest = std::max(greatest, std::abs(near));
  }
  for (double& tolerance : found.tolerance) {
    tolerance += 1e-6 * (1 + greatest);
    found.is_known = found.is_known && tolerance < 1e-4 * (1 + greatest);
  }
  return found;
}

void expect_slope(const char* what, const Slope& slope, const Numbers& given) {
  if (given.size() != slope.slope.size()) {
    throw Disagreement(
        fmt::format("{}: {} numbers and {}", what, given.size(), slope.slope.size()));
  }
  if (!is_finite(given)) throw Disagreement(fmt::format("{}: a number is not finite", what));
  for (size_t i = 0; i < given.size() && slope.is_known; ++i) {
    if (std::abs(given[i] - slope.slope[i]) <= slope.tolerance[i]) continue;
    throw Disagreement(fmt::format("{}: number {} is {}, by differences {} ± {:.1e}", what, i,
                                   given[i], slope.slope[i], slope.tolerance[i]));
  }
}

// For deeply nested forms, higher derivatives are programs of megabytes.
constexpr size_t kLarge = 5000;
size_t instruction_count(const ir::Program& program) {
  size_t instructions = 0;
  for (const auto& function : program.functions()) instructions += function->size();
  return instructions;
}

class Checks {
 public:
  Checks(const RandomProgram& program, Tensors arguments)
      : program_(program),
        arguments_(std::move(arguments)),
        is_narrow_(program.block().uses(kNarrow)),
        tolerance_(is_narrow_ ? 1e-3 : 1e-8) {
    for (size_t i = 0; i < arguments_.size(); ++i) {
      if (!is_inexact(arguments_[i].dtype())) continue;
      reals_.push_back(i);
      x_.push_back(arguments_[i]);
      direction_.push_back(cos(5 * arguments_[i] + 1));
    }
    f_ = [this](const Tensors& x) { return program_(with(x)); };
    loss_ = [this](const Tensors& x) { return Tensors{loss_of(f_(x))}; };
    gradient_ = [this](const Tensors& x) {
      return grad([this](const Tensors& at) { return loss_(at)[0]; })(x);
    };
  }

  bool run() {
    check_values();
    check_other_sizes();
    const bool is_known = check_tangents();
    check_cotangents();
    check_second_order();
    check_programs();
    return is_known;
  }

  // Sizes 0 or 1. Programs that raise an error for them are skipped: a body of zero steps, for
  // example, or symbols that were assumed equal.
  void run_small() {
    try {
      results_ = program_(arguments_);
      gradient_(x_);
      traced_ = program_.traced([&](std::span<const Tensor> given) { return program_(given); });
      evaluate(vjp(traced_).forward, arguments_);
    } catch (const Error&) {
      return;
    }
    check_values();
    tangents_ = tangents_of(f_, x_, direction_);
    // The mean of no elements is NaN.
    if (!is_finite(numbers_of(results_)) || !is_finite(numbers_of(tangents_))) return;
    check_cotangents();
    check_gradient();
  }

 private:
  // The arguments with these real numbers in place of theirs.
  Tensors with(const Tensors& x) const {
    Tensors all = arguments_;
    for (size_t i = 0; i < x.size(); ++i) all[reals_[i]] = x[i];
    return all;
  }

  void check_values() {
    results_ = program_(arguments_);
    traced_ = program_.traced([&](std::span<const Tensor> given) { return program_(given); });
    ir::verify(traced_);
    expect_as_good_as_same("evaluated, and eager", evaluate(traced_, arguments_), results_);
    const ir::Program again = ir::Program::parse(traced_.text());
    expect_as_good_as_same("parsed again, and eager", evaluate(again, arguments_), results_);
    expect_as_good_as_same("of bytes, and eager",
                           evaluate(ir::Program::from_bytes(traced_.bytes()), arguments_),
                           results_);
    const TracedProgram fixed = trace([&](const Tensors& x) { return program_(x); })(arguments_);
    expect_same_bits("of fixed sizes, and eager",
                     evaluate(fixed.program, joined(arguments_, fixed.hidden_inputs)), results_);
  }

  void check_other_sizes() {
    const Tensors others = program_.arguments(1);
    expect_as_good_as_same("of other sizes, and eager", evaluate(traced_, others),
                           program_(others));
  }

  bool check_tangents() {
    tangents_ = tangents_of(f_, x_, direction_);
    Slope slope = slope_by_differences(f_, x_, direction_);
    slope.is_known = slope.is_known && !is_narrow_;
    expect_slope("the tangents", slope, numbers_of(tangents_));
    const auto [values, linear] = linearize(f_, x_);
    expect_same_bits("the values of linearize", values, results_);
    expect_same_bits("linearize, and jvp", linear(direction_), tangents_);
    const TracedProgram recorded =
        trace([&](const Tensors& t) { return present(linear(t)); })(direction_);
    // An update in place keeps the layout of its operand, which sums follow.
    expect_as_good_as_same("linearize recorded, and jvp",
                           evaluate(recorded.program, joined(direction_, recorded.hidden_inputs)),
                           present(tangents_));
    const Tensors by_program = evaluate(jvp(traced_), joined(arguments_, direction_));
    expect_as_good_as_same("the program's jvp, and jvp", by_program,
                           joined(results_, present(tangents_)));
    return slope.is_known;
  }

  void check_cotangents() {
    Tensors cotangents(results_.size());
    for (size_t i = 0; i < results_.size(); ++i) {
      if (!is_inexact(results_[i].dtype())) continue;
      cotangents[i] = astype(spread_over(results_[i]), results_[i].dtype());
    }
    const auto [values, pull] = vjp(f_, x_);
    expect_same_bits("the values of vjp", values, results_);
    const Tensors pulled = std::get<0>(pull(cotangents));
    expect_dual(cotangents, pulled);

    std::vector<OperandType> types(x_.begin(), x_.end());
    const auto [unused, linear] = linearize(f_, x_);
    const auto map = [&](std::span<const Tensor> t) { return linear(Tensors(t.begin(), t.end())); };
    expect_close("the transpose of linearize, and vjp",
                 numbers_of(with_zeros(transpose_map(types, map, cotangents))), numbers_of(pulled),
                 tolerance_);

    const ForwardAndBackward both = vjp(traced_);
    Tensors given = evaluate(both.forward, arguments_);
    const Tensors kept(given.begin() + static_cast<std::ptrdiff_t>(both.results), given.end());
    given.resize(both.results);
    expect_as_good_as_same("the program's forward, and eager", given, results_);
    expect_as_good_as_same("the program's backward, and vjp",
                           evaluate(both.backward, joined(present(cotangents), kept)), pulled);
  }

  // ⟨c, J t⟩ = ⟨Jᵀ c, t⟩, up to rounding of the terms.
  void expect_dual(const Tensors& cotangents, const Tensors& pulled) const {
    double left = 0, right = 0, size = 1;
    const auto add_products = [&](const Tensors& a, const Tensors& b, double& total) {
      for (size_t i = 0; i < a.size(); ++i) {
        if (!a[i] || !b[i]) continue;
        for (const double number : numbers_of({real(a[i] * b[i])})) {
          total += number;
          size += std::abs(number);
        }
      }
    };
    add_products(cotangents, tangents_, left);
    add_products(pulled, direction_, right);
    if (std::abs(left - right) <= tolerance_ * size) return;
    throw Disagreement(fmt::format("vjp and jvp: ⟨c, J t⟩ is {}, ⟨Jᵀ c, t⟩ {}", left, right));
  }

  Tensors with_zeros(Tensors cotangents) const {
    for (size_t i = 0; i < cotangents.size(); ++i) {
      if (!cotangents[i]) cotangents[i] = zeros_like(x_[i]);
    }
    return cotangents;
  }

  void check_second_order() {
    const Tensors forward_over_reverse = tangents_of(gradient_, x_, direction_);
    const auto slope_of_loss = [&](const Tensors& x) {
      return tangents_of(loss_, x, direction_)[0];
    };
    const Tensors reverse_over_forward = grad(slope_of_loss)(x_);
    const auto along = [&](const Tensors& x) {
      const Tensors g = gradient_(x);
      Tensor total;
      for (size_t i = 0; i < g.size(); ++i) {
        const Tensor part = sum(real(g[i] * direction_[i]));
        total = total ? total + part : part;
      }
      return total;
    };
    const Tensors reverse_over_reverse = grad(along)(x_);
    second_ = numbers_of(forward_over_reverse);
    Slope slope = slope_by_differences(gradient_, x_, direction_);
    slope.is_known = slope.is_known && !is_narrow_;
    expect_slope("forward over reverse", slope, second_);
    const double tolerance = tolerance_ * 10;
    expect_close("reverse over forward, and forward over reverse", numbers_of(reverse_over_forward),
                 second_, tolerance);
    expect_close("reverse over reverse, and forward over reverse", numbers_of(reverse_over_reverse),
                 second_, tolerance);
  }

  Tensors loss_of_program(std::span<const Tensor> given) const {
    return {loss_of(program_(given))};
  }

  ir::Program check_gradient() {
    const Tensors wanted = joined(loss_(x_), gradient_(x_));
    const auto loss = [&](std::span<const Tensor> given) { return loss_of_program(given); };
    ir::Program gradient = grad(program_.traced(loss), reals_, {.with_value = true});
    ir::verify(gradient);
    expect_as_good_as_same("the program's grad, and grad", evaluate(gradient, arguments_), wanted);
    return gradient;
  }

  void check_programs() {
    const ir::Program gradient = check_gradient();
    const Tensors wanted = joined(loss_(x_), gradient_(x_));
    const ir::Program again = ir::Program::parse(gradient.text());
    expect_as_good_as_same("the program's grad parsed again, and grad", evaluate(again, arguments_),
                           wanted);
    const ir::Program recorded = program_.traced([&](std::span<const Tensor> given) {
      Tensors x;
      for (const size_t real : reals_) x.push_back(given[real]);
      const auto loss_at = [&](const Tensors& at) {
        Tensors all(given.begin(), given.end());
        for (size_t i = 0; i < at.size(); ++i) all[reals_[i]] = at[i];
        return loss_of_program(all)[0];
      };
      auto [value, found] = value_and_grad(loss_at)(x);
      return joined({value}, found);
    });
    expect_as_good_as_same("grad recorded, and grad", evaluate(recorded, arguments_), wanted);
    if (instruction_count(gradient) < kLarge) {
      const Tensors second = evaluate(jvp(gradient), joined(arguments_, direction_));
      const Tensors tangents(second.begin() + static_cast<std::ptrdiff_t>(wanted.size()) + 1,
                             second.end());
      expect_close("the program's jvp of its grad, and that of grad", numbers_of(tangents), second_,
                   tolerance_);
    }
    Tensors followed;
    for (const Tensor& x : x_) followed.push_back(x.requires_grad());
    const Tensor total = loss_(followed)[0];
    if (total.derivation()) total.backward();
    for (Tensor& x : followed) x = x.grad() ? x.grad() : zeros_like(x.detach());
    followed.insert(followed.begin(), wanted[0]);
    expect_same_bits("backward, and grad", followed, wanted);
  }

  const RandomProgram& program_;
  const Tensors arguments_;
  const bool is_narrow_;
  const double tolerance_;
  std::vector<size_t> reals_;
  Tensors x_, direction_, results_, tangents_;
  Numbers second_;
  ManyToMany f_, loss_, gradient_;
  ir::Program traced_;
};

}  // namespace

namespace {

// True if an intermediate value is NaN or infinite, as the mean of no elements: then values that
// depend on it without effect on a result differ between transforms.
bool has_anomaly(const RandomProgram& program, const Tensors& arguments) {
  try {
    const DetectAnomaly detect;
    program(arguments);
    return false;
  } catch (const CheckError&) {
    return true;
  }
}

}  // namespace

bool check_derivatives(const RandomProgram& program) {
  for (const RandomProgram::SmallSizes sizes : program.small_sizes()) {
    const Tensors arguments = program.arguments(sizes);
    try {
      Checks(program, arguments).run_small();
    } catch (const Disagreement&) {
      if (!has_anomaly(program, arguments)) throw;
    }
  }
  return Checks(program, program.arguments()).run();
}

}  // namespace plait
