// Functions with custom derivatives, in both modes and to every order; Jacobians.
#include "plait/transform/derivatives/custom.h"

#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/matrix_parts.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/tracing/trace_function.h"
#include "plait/transform/control/control.h"
#include "plait/transform/derivatives/jacobian.h"
#include "plait/transform/programs.h"
#include "plait/transform/vmap.h"

#include "tests/transform/transform_support.h"

namespace plait {
namespace {

// x³ with a rule that returns 5 times the derivative, so that tests see which one was used.
const auto cube_by_vjp = custom_vjp(
    [](Tensor x) { return x * x * x; }, [](Tensor x) { return std::pair{x * x * x, 3 * x * x}; },
    [](const Tensor& slope, const Tensor& cotangent) { return std::tuple(5 * slope * cotangent); });
const auto cube_by_jvp = custom_jvp([](Tensor x) { return x * x * x; },
                                    [](std::tuple<Tensor> at, std::tuple<Tensor> along) {
                                      const auto [x] = at;
                                      const auto [dx] = along;
                                      return std::pair{x * x * x, 15 * x * x * dx};
                                    });

template <class F>
void check_cube(const F& f) {
  const Tensor x = number(2);
  EXPECT_EQ(value_of(f(x)), 8);
  EXPECT_EQ(value_of(grad(f)(x)), 60);
  EXPECT_EQ(value_of(tangent_at(f, x)), 60);
  EXPECT_EQ(value_of(tangent_at(grad(f), x)), 60);  // derivative of 15 x²
  EXPECT_EQ(value_of(grad([&](Tensor y) { return tangent_at(f, y); })(x)), 60);
  EXPECT_EQ(value_of(grad(grad(f))(x)), 60);
  EXPECT_EQ(value_of(grad(grad(grad(f)))(x)), 30);
  const auto nested = [&](Tensor y) { return f(y * y); };  // 15 x⁴ · 2x
  EXPECT_EQ(value_of(grad(nested)(x)), 960);
  EXPECT_EQ(value_of(tangent_at(nested, x)), 960);
  const TracedProgram traced = trace(grad(f))(x);
  EXPECT_EQ(value_of(evaluate(traced.program, {{x}}).at(0)), 60);
}

// The rule is kept in a program that was traced before a derivative was requested.
template <class F>
void check_cube_in_programs(const F& f) {
  const Tensor x = number(2), scale = number(3);
  const ir::Program program =
      trace([&](Tensor y, Tensor by) { return f(y * by) * by; })(x, scale).program;
  const ir::Program read_back = ir::Program::parse(program.text());
  EXPECT_NE(program.text().find("custom_"), std::string::npos);
  for (const ir::Program& each : {program, read_back}) {
    EXPECT_EQ(value_of(evaluate(each, {{x, scale}}).at(0)), 648);
    EXPECT_EQ(value_of(evaluate(grad(each, {0}), {{x, scale}}).at(0)), 15 * 36 * 9);
    EXPECT_EQ(value_of(evaluate(grad(grad(each, {0}), {0}), {{x, scale}}).at(0)), 30 * 6 * 27);
    EXPECT_EQ(value_of(evaluate(jvp(each), {{x, scale, number(1), number(0)}}).at(1)), 15 * 36 * 9);
    EXPECT_EQ(value_of(grad([&](Tensor y) { return run(each, {{y, scale}}).at(0); })(x)),
              15 * 36 * 9);
  }
}

TEST(Custom, ProgramsKeepTheRules) {
  check_cube_in_programs(cube_by_vjp);
  check_cube_in_programs(cube_by_jvp);
}

TEST(Custom, RulesInProgramsMayCapture) {
  const Tensor w = tensor({2., 3.});
  const auto scaled = [&](Tensor v) {  // v² w, with a rule that has a factor 7 w
    return custom_vjp(
        [=](Tensor x) { return x * x * v; },
        [=](Tensor x) { return std::pair{x * x * v, std::tuple()}; },
        [=](std::tuple<>, Tensor cotangent) { return std::tuple(cotangent * v * w * 7); });
  };
  const auto by_rule = [&](auto rule) {
    return custom_jvp([=](Tensor x) { return x * x * rule; },
                      [=](std::tuple<Tensor> at, std::tuple<Tensor> along) {
                        const Tensor x = std::get<0>(at);
                        return std::pair{x * x * rule, std::get<0>(along) * rule * w * 7};
                      });
  };
  const auto f = [&](Tensor x, Tensor v) { return sum(scaled(v)(x) + by_rule(v)(x)); };
  const Tensor x = tensor({1., 5.}), v = tensor({10., 1.});
  const TracedProgram traced = trace(f)(x, v);
  std::vector<Tensor> all{x, v};
  all.insert(all.end(), traced.hidden_inputs.begin(), traced.hidden_inputs.end());
  EXPECT_EQ(value_of(evaluate(traced.program, all).at(0)), 2 * (10 + 25));
  const std::vector<Tensor> found = evaluate(grad(traced.program, {0, 1}), all);
  EXPECT_EQ(found.at(0).text(), "[280.  42.] : f64[2]");
  EXPECT_EQ(found.at(1).text(), "[ 2. 50.] : f64[2]");  // 2 x², the true derivative
}

// x² w, with rules that return seven times the derivative by x, and do not cover w.
Tensor by_vjp_of(const Tensor& x, const Tensor& w) {
  return custom_vjp(
      [=](Tensor x) { return x * x * w; }, [=](Tensor x) { return std::pair{x * x * w, x}; },
      [=](Tensor x, Tensor cotangent) { return std::tuple(cotangent * 14 * x * w); })(x);
}
Tensor by_jvp_of(const Tensor& x, const Tensor& w) {
  return custom_jvp([=](Tensor x) { return x * x * w; },
                    [=](std::tuple<Tensor> at, std::tuple<Tensor> along) {
                      const Tensor x = std::get<0>(at);
                      return std::pair{x * x * w, 14 * x * w * std::get<0>(along)};
                    })(x);
}

// The gradient by one argument, or by both, in each mode and nested.
void check_captured(Tensor (*f)(const Tensor&, const Tensor&)) {
  const Tensor x = number(3), w = number(2), one = number(1), none = number(0);
  EXPECT_EQ(value_of(grad<0>(f)(x, w)), 84);
  EXPECT_EQ(value_of(grad<1>(f)(x, w)), 9);
  EXPECT_EQ(value_of(std::get<1>(grad<0, 1>(f)(x, w))), 9);
  EXPECT_EQ(value_of(jvp(f, std::tuple(x, w), std::tuple(one, none)).second), 84);
  EXPECT_EQ(value_of(jvp(f, std::tuple(x, w), std::tuple(none, one)).second), 9);
  EXPECT_EQ(value_of(jvp(f, std::tuple(x, w), std::tuple(one, one)).second), 93);
  const auto by_x = [&](Tensor x, Tensor w) { return grad<0>(f)(x, w); };
  const auto by_w = [&](Tensor x, Tensor w) { return grad<1>(f)(x, w); };
  EXPECT_EQ(value_of(grad<0>(by_x)(x, w)), 28);
  EXPECT_EQ(value_of(grad<1>(by_x)(x, w)), 42);
  EXPECT_EQ(value_of(grad<0>(by_w)(x, w)), 6);
  EXPECT_EQ(value_of(grad<1>(by_w)(x, w)), 0);
  EXPECT_EQ(value_of(jvp(by_x, std::tuple(x, w), std::tuple(none, one)).second), 42);
  EXPECT_EQ(value_of(jvp(by_w, std::tuple(x, w), std::tuple(one, none)).second), 6);
  const TracedProgram traced = trace(f)(x, w);
  EXPECT_NE(traced.program.text().find("custom_"), std::string::npos);
  const ir::Program both = grad(traced.program, {0, 1});
  EXPECT_EQ(value_of(evaluate(both, {{x, w}}).at(0)), 84);
  EXPECT_EQ(value_of(evaluate(both, {{x, w}}).at(1)), 9);
  EXPECT_EQ(value_of(evaluate(grad(traced.program, {1}), {{x, w}}).at(0)), 9);
  EXPECT_EQ(value_of(evaluate(grad(grad(traced.program, {0}), {1}), {{x, w}}).at(0)), 42);
  EXPECT_EQ(value_of(evaluate(jvp(traced.program), {{x, w, none, one}}).at(1)), 9);
  const auto many = [&](Tensor x, Tensor w) { return sum(vmap(f)(x, w)); };
  EXPECT_EQ(grad<1>(many)(tensor({3., 1.}), tensor({2., 5.})).text(), "[9. 1.] : f64[2]");
}

TEST(Custom, ByWhatIsCapturedTheFunctionItselfIsDifferentiated) {
  check_captured(by_vjp_of);
  check_captured(by_jvp_of);
}

TEST(Custom, ARuleMayCallItsFunction) {
  // sin(x) x, with twice itself as its derivative.
  std::function<Tensor(Tensor)> by_jvp, by_vjp;
  by_jvp = custom_jvp([](Tensor x) { return sin(x) * x; },
                      [&](std::tuple<Tensor> at, std::tuple<Tensor> along) {
                        const Tensor y = by_jvp(std::get<0>(at));
                        return std::pair{y, 2 * y * std::get<0>(along)};
                      });
  by_vjp = custom_vjp([](Tensor x) { return sin(x) * x; },
                      [&](Tensor x) { return std::pair{by_vjp(x), x}; },
                      [&](Tensor x, Tensor c) { return std::tuple(2 * by_vjp(x) * c); });
  const Tensor x = number(0.5);
  const double value = std::sin(0.5) * 0.5;
  for (const auto& f : {by_jvp, by_vjp}) {
    EXPECT_EQ(value_of(grad(f)(x)), 2 * value);
    EXPECT_EQ(value_of(grad(grad(grad(f)))(x)), 8 * value);
    EXPECT_EQ(value_of(jvp(grad(f), std::tuple(x), std::tuple(number(1))).second), 4 * value);
    ir::Program program = trace(f)(x).program;
    for (int order = 1; order <= 4; ++order) {
      program = grad(program, {0});
      EXPECT_EQ(value_of(evaluate(program, {{x}}).at(0)), std::pow(2, order) * value);
    }
    EXPECT_THROW(evaluate(grad(program, {0}), {{x}}), CheckError);
    const Tensor found = vmap(grad(grad(f)))(tensor({0.5, 0.5}));
    EXPECT_EQ(value_of(found[1]), 4 * value);
  }
}

TEST(Custom, RulesMayBranchAndLoop) {
  const auto doubled = [](Tensor x, Tensor c) {
    return cond(x > 1, [](Tensor c) { return 2 * c; }, [](Tensor c) { return 3 * c; }, c);
  };
  const auto by_jvp = custom_jvp([](Tensor x) { return x * x; },
                                 [&](std::tuple<Tensor> at, std::tuple<Tensor> along) {
                                   const Tensor x = std::get<0>(at);
                                   return std::pair{x * x, doubled(x, std::get<0>(along)) * x};
                                 });
  const auto by_vjp =
      custom_vjp([](Tensor x) { return x * x; }, [](Tensor x) { return std::pair{x * x, x}; },
                 [&](Tensor x, Tensor c) { return std::tuple(doubled(x, c) * x); });
  const auto check = [&](const auto& f) {
    for (const auto& [at, slope] : {std::pair(2., 2.), std::pair(0.5, 3.)}) {
      const Tensor x = number(at);
      const auto along = [&](Tensor x) {
        return jvp(f, std::tuple(x), std::tuple(ones_like(x))).second;
      };
      for (const Tensor& first : {grad(f)(x), along(x), linearize(f, x).second(number(1)),
                                  run(trace(along)(x).program, {{x}}).at(0),
                                  run(grad(trace(f)(x).program, {0}), {{x}}).at(0)}) {
        EXPECT_EQ(value_of(first), slope * at);
      }
      EXPECT_EQ(value_of(grad(grad(f))(x)), slope);
      EXPECT_EQ(value_of(grad(along)(x)), slope);
    }
  };
  check(by_jvp);
  check(by_vjp);
}

TEST(Custom, ChecksTypesOfTheRulesResults) {
  const Tensor x = tensor({1., 2., 3.});
  const auto of_another_shape =
      custom_vjp([](Tensor x) { return x * 2; }, [](Tensor x) { return std::pair{x * 2, x}; },
                 [](Tensor, Tensor c) { return std::tuple(sum(c)); });
  const auto total = [&](Tensor x) { return sum(of_another_shape(x)); };
  EXPECT_THROW(grad(total)(x), ShapeError);
  EXPECT_THROW(trace(total)(x), ShapeError);
}

TEST(Custom, VjpServesBothModes) { check_cube(cube_by_vjp); }
TEST(Custom, JvpServesBothModes) { check_cube(cube_by_jvp); }

// A tape within a function that is differentiated is the innermost level, unless another one opens
// later: that one uses the rule, and the others differentiate what the rule computes.
template <class F>
void check_tapes(const F& f) {
  const auto of_a_leaf = [&](Tensor x) {  // 15 (y x)² x at y = 2
    const Tensor y = number(2).requires_grad();
    f(y * x).backward();
    return y.grad();
  };
  const auto of_the_argument = [&](Tensor x) {  // 15 x²
    const Tensor y = (x * 1.0).requires_grad();
    f(y).backward();
    return y.grad();
  };
  const auto of_a_tangent = [&](Tensor x) {  // d/dy 15 (y x)² y = 45 y² x²
    const Tensor y = number(2).requires_grad();
    tangent_at([&](Tensor t) { return f(y * t); }, x).backward();
    return y.grad();
  };
  const auto of_a_gradient = [&](Tensor x) {  // d/dy 15 (y x)² y = 45 y² x²
    const Tensor y = number(2).requires_grad();
    grad([&](Tensor t) { return f(y * t); })(x).backward();
    return y.grad();
  };
  const auto of_samples = [&](Tensor x) {
    const Tensor y = number(2).requires_grad();
    sum(vmap([&](Tensor t) { return f(y * t); })(stack(std::vector{x, x}))).backward();
    return y.grad();
  };
  const Tensor x = number(3);
  const auto check = [&](const OfTensor& g, double value, double slope, double curvature) {
    EXPECT_EQ(value_of(g(x)), value);
    EXPECT_EQ(value_of(tangent_at(g, x)), slope);
    EXPECT_EQ(value_of(grad(g)(x)), slope);
    EXPECT_EQ(value_of(grad([&](Tensor t) { return tangent_at(g, t); })(x)), curvature);
    EXPECT_EQ(value_of(tangent_at(grad(g), x)), curvature);
    EXPECT_EQ(value_of(grad(grad(g))(x)), curvature);
  };
  check(of_a_leaf, 60 * 27, 180 * 9, 360 * 3);
  check(of_the_argument, 15 * 9, 30 * 3, 30);
  check(of_a_tangent, 180 * 9, 360 * 3, 360);
  check(of_a_gradient, 180 * 9, 360 * 3, 360);
  check(of_samples, 120 * 27, 360 * 9, 720 * 3);
}
TEST(Custom, VjpServesTapesWithin) { check_tapes(cube_by_vjp); }
TEST(Custom, JvpServesTapesWithin) { check_tapes(cube_by_jvp); }

// In recorded code too, where the loop and the branch are instructions.
TEST(Custom, OnlyTheInnermostLevelUsesRulesInLoopsAndBranches) {
  const auto once = [](Tensor x) { return cube_by_vjp(cube_by_vjp(x) * 0.25); };
  const OfTensor forms[] = {
      [](Tensor x) {
        return for_loop(
            0, 2, [](Tensor i, Tensor c) { return cube_by_vjp(c) * where(i < 1, 0.25, 1.); }, x);
      },
      [](Tensor x) {
        const auto yes = [](Tensor t) { return cube_by_vjp(t); };
        const auto no = [](Tensor t) { return t; };
        return cond(x > 0., yes, no, cond(x > 0., yes, no, x) * 0.25);
      }};
  const Tensor x = number(2);
  for (const OfTensor& form : forms) {
    const auto check = [&](const auto& derivative) {
      const Tensor expected = derivative(once)(x);
      expect_alike(evaluate(trace(derivative(form))(x).program, {{x}}).at(0), expected);
      expect_alike(derivative(form)(x), expected);
    };
    check([](const auto& f) {
      return OfTensor([f](Tensor t) { return grad(grad(OfTensor(f)))(t); });
    });
    check([](const auto& f) {
      return OfTensor([f](Tensor t) { return tangent_at(grad(OfTensor(f)), t); });
    });
  }
}

TEST(Custom, TreesGoInAndOut) {
  const auto swap =
      custom_vjp([](Pair p, Tensor scale) { return Pair{p.second * scale, p.first * scale}; },
                 [](Pair p, Tensor scale) {
                   return std::pair{Pair{p.second * scale, p.first * scale}, std::pair{p, scale}};
                 },
                 [](const std::pair<Pair, Tensor>& kept, const Pair& cotangent) {
                   const auto& [p, scale] = kept;
                   return std::tuple(Pair{cotangent.second * scale, cotangent.first * scale},
                                     sum(cotangent.first * p.second + cotangent.second * p.first));
                 });
  const Pair p{tensor({1., 2.}), tensor({3., 4.})};
  const auto loss = [&](Pair p, Tensor scale) {
    const Pair swapped = swap(p, scale);
    return sum(swapped.first * swapped.first + swapped.second);
  };
  const auto [by_pair, by_scale] = grad<0, 1>(loss)(p, number(2));
  EXPECT_EQ(by_pair.first.text(), "[2. 2.] : f64[2]");
  EXPECT_EQ(by_pair.second.text(), "[24. 32.] : f64[2]");
  EXPECT_EQ(value_of(by_scale), 2 * 2 * (9 + 16) + 3);
}

TEST(Custom, AResultThatNothingIsSentBackToCountsAsZero) {
  const auto both = custom_vjp([](Tensor x) { return std::pair{x * 2, x * 3}; },
                               [](Tensor x) { return std::pair{std::pair{x * 2, x * 3}, x}; },
                               [](const Tensor&, const std::pair<Tensor, Tensor>& cotangent) {
                                 return std::tuple(cotangent.first * 2 + cotangent.second * 3);
                               });
  EXPECT_EQ(value_of(grad([&](Tensor x) { return both(x).second; })(number(7))), 3);
}

TEST(Custom, ARuleThatIsNotLinearIsRefused) {
  const auto square = custom_jvp([](Tensor x) { return x * x; },
                                 [](std::tuple<Tensor> at, std::tuple<Tensor> along) {
                                   const auto [x] = at;
                                   const auto [dx] = along;
                                   return std::pair{x * x, dx * dx};
                                 });
  EXPECT_THROW(grad(square)(number(3)), ValueError);
}

TEST(Jacobian, OfAnArrayByAnArray) {
  const auto f = [](Tensor x) { return stack(std::vector{x[0] * x[1], exp(x[1]), 2 * x[0]}); };
  const Tensor x = tensor({3., 0.});
  for (const Tensor& found : {jacfwd(f)(x), jacrev(f)(x)}) {
    EXPECT_EQ(found.text(), "[[0. 3.]\n [0. 1.]\n [2. 0.]] : f64[3, 2]");
  }
  const Tensor of_matrix = jacrev([](Tensor m) { return sum(m * m, 1); })(ones({2, 3}, DType::f64));
  EXPECT_EQ(of_matrix.type().text(), "f64[2, 2, 3]");
  EXPECT_EQ(value_of(of_matrix[{1, 1, 2}]), 2);
  EXPECT_EQ(value_of(of_matrix[{1, 0, 2}]), 0);
  EXPECT_THROW(jacfwd(f)(tensor({1, 2})), TypeError);

  const Tensor z = astype(x, DType::c128) * std::complex<double>(1, 2);
  const auto power = [](const Tensor& z) { return z * z; };
  for (const Tensor& found :
       {jacfwd(power, {.holomorphic = true})(z), jacrev(power, {.holomorphic = true})(z)}) {
    EXPECT_EQ(found.text(), diag_embed(z * 2).text());
  }
  EXPECT_THROW(jacfwd(power)(z), TypeError);
  EXPECT_THROW(jacrev(power)(z), TypeError);
  EXPECT_THROW(jacrev(power, {.holomorphic = true})(x), TypeError);
}

TEST(Jacobian, SecondDerivatives) {
  const auto f = [](Tensor x) { return x[0] * x[0] * x[1] + sin(x[1]); };
  const Tensor x = tensor({2., 5.});
  const Tensor matrix = hessian(f)(x);
  EXPECT_EQ(value_of(matrix[{0, 0}]), 10);
  EXPECT_EQ(value_of(matrix[{0, 1}]), 4);
  EXPECT_EQ(value_of(matrix[{1, 0}]), 4);
  EXPECT_NEAR(value_of(matrix[{1, 1}]), -std::sin(5), 1e-12);
  const Tensor along = hvp(f, x, tensor({1., 2.}));
  EXPECT_EQ(value_of(along[0]), 18);
}

}  // namespace
}  // namespace plait
