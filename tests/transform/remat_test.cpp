// Rematerialisation: functions that are recomputed for their derivative.
#include "plait/transform/derivatives/remat.h"

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/effects/checkpoint_name.h"
#include "plait/ops/effects/print.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/memory/memory.h"
#include "plait/tensor/tracing/trace_function.h"
#include "plait/transform/derivatives/custom.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/derivatives/jacobian.h"
#include "plait/transform/derivatives/tape.h"
#include "plait/transform/programs.h"

#include "tests/transform/transform_support.h"

namespace plait {
namespace {

Tensor weights(double scale) {
  return reshape(astype(arange(9), DType::f64), {3, 3}) * scale - 0.25;
}

const RematPolicy kPolicies[] = {save_nothing(), save_dots(), save_names({"inner"}),
                                 save_everything()};

Tensor layer(const Tensor& x, const Tensor& w) {
  return tanh(checkpoint_name(matmul(sin(x), w), "inner")) * x;
}

TEST(Remat, GivesTheSameDerivativesOfEveryOrder) {
  const Tensor x = weights(0.1), w = weights(-0.07);
  for (const RematPolicy& policy : kPolicies) {
    const auto block = remat(layer, policy);
    const auto plain = [](Tensor a, Tensor b) { return sum(layer(layer(a, b), b)); };
    const auto again = [&](Tensor a, Tensor b) { return sum(block(block(a, b), b)); };
    expect_alike(again(x, w), plain(x, w));
    const auto [by_x, by_w] = grad<0, 1>(again)(x, w);
    const auto [x_expected, w_expected] = grad<0, 1>(plain)(x, w);
    expect_alike(by_x, x_expected);
    expect_alike(by_w, w_expected);
    const auto second = [&](const auto& f) {
      return [&](Tensor a) { return sum(square(grad<1>(f)(a, w))); };
    };
    expect_alike(grad(second(again))(x), grad(second(plain))(x));
    const auto slope = [&](const auto& f) {
      return [&](Tensor a) { return jvp(f, std::tuple(a, w), std::tuple(w, a)).second; };
    };
    expect_alike(slope(again)(x), slope(plain)(x));
    expect_alike(grad(slope(again))(x), grad(slope(plain))(x));  // reverse over forward
    const auto along = [&](const auto& f) {                      // forward over reverse
      const auto by_first = [&](Tensor a) { return grad(f)(a, w); };
      return jvp(by_first, std::tuple(x), std::tuple(w)).second;
    };
    expect_alike(along(again), along(plain));
    const auto third = [&](const auto& f) {
      return grad([&](Tensor a) { return sum(grad(second(f))(a) * a); })(x);
    };
    expect_alike(third(again), third(plain));
    const auto [value, linear] = linearize(again, x, w);
    expect_alike(linear(w, x), jvp(plain, std::tuple(x, w), std::tuple(w, x)).second);
  }
}

TEST(Remat, InATraceIsAnInstructionAndSoIsItsDerivative) {
  const Tensor x = weights(0.1), w = weights(-0.07);
  const auto plain = [](Tensor a, Tensor b) { return sum(layer(layer(a, b), b)); };
  for (const RematPolicy& policy : kPolicies) {
    const auto block = remat(layer, policy);
    const auto again = [&](Tensor a, Tensor b) { return sum(block(block(a, b), b)); };
    const auto check = [&](const auto& f, const auto& expected) {
      const TracedProgram traced = trace(f)(x, w);
      ASSERT_TRUE(traced.hidden_inputs.empty());
      const ir::Program read_back = ir::Program::parse(traced.program.text());
      for (const ir::Program& program : {traced.program, read_back}) {
        expect_alike(evaluate(program, {{x, w}}).at(0), expected(x, w));
        expect_alike(run(program, {{x, w}}).at(0), expected(x, w));
      }
      if (policy.policy != "everything") {
        EXPECT_NE(traced.program.text().find("remat @"), std::string::npos);
      }
    };
    check(again, plain);
    check(grad<1>(again), grad<1>(plain));
    const auto second = [](const auto& f) {
      return grad([=](Tensor a, Tensor b) { return sum(square(grad<1>(f)(a, b))); });
    };
    check(second(again), second(plain));
    const auto slope = [](const auto& f) {
      return [=](Tensor a, Tensor b) { return jvp(f, std::tuple(a, b), std::tuple(b, a)).second; };
    };
    check(slope(again), slope(plain));
    check(grad<1>(slope(again)), grad<1>(slope(plain)));
    check(slope(grad<1>(again)), slope(grad<1>(plain)));

    // A program that is differentiated afterwards, twice.
    const ir::Program program = trace(again)(x, w).program;
    const ir::Program gradient = grad(program, {0, 1});
    const auto [by_x, by_w] = grad<0, 1>(plain)(x, w);
    const std::vector<Tensor> found = evaluate(gradient, {{x, w}});
    expect_alike(found.at(0), by_x);
    expect_alike(found.at(1), by_w);
    const ir::Program summed =
        trace([&](Tensor a, Tensor b) { return sum(square(run(gradient, {{a, b}}).at(1))); })(x, w)
            .program;
    expect_alike(evaluate(grad(summed, {0}), {{x, w}}).at(0), second(plain)(x, w));
    expect_alike(grad([&](Tensor a) { return run(program, {{a, w}}).at(0); })(x), by_x);
  }
}

TEST(Remat, KeepsOnlyWhatItsPolicySays) {
  const auto chain = [](Tensor x) {
    for (int i = 0; i < 50; ++i) x = sin(x);
    return x;
  };
  const Tensor x = ones({1 << 16}, DType::f32);
  const auto held = [&](const auto& f) {
    const int64_t before = memory_statistics().live_bytes;
    Tensor value = x;
    auto [result, pull] = vjp([&](Tensor y) { return f(f(y)); }, x);
    return memory_statistics().live_bytes - before;
  };
  const int64_t one = int64_t{4} << 16;
  EXPECT_GE(held(chain), 99 * one);
  EXPECT_LE(held(remat(chain)), 3 * one);
  const auto named = [](Tensor x) {
    for (int i = 0; i < 50; ++i) {
      x = sin(x);
      if (i % 10 == 0) x = checkpoint_name(x, "tenth");
    }
    return x;
  };
  EXPECT_LE(held(remat(named)), 3 * one);
  EXPECT_GE(held(remat(named, save_names({"tenth"}))), 10 * one);
  EXPECT_LE(held(remat(named, save_names({"tenth"}))), 13 * one);
}

TEST(Remat, AProductThatIsKeptIsNotComputedAgain) {
  const Tensor x = weights(0.1), w = weights(-0.07);
  const auto count_of = [&](const RematPolicy& policy) {
    const auto block = remat([](Tensor a, Tensor b) { return exp(sin(matmul(a, b))); }, policy);
    const auto f = [&](Tensor a, Tensor b) { return sum(block(a, b)); };
    const std::string text = trace(grad<0, 1>(f))(x, w).program.text();
    size_t count = 0;
    for (size_t at = text.find(" matmul "); at != std::string::npos;
         at = text.find(" matmul ", at + 1)) {
      ++count;
    }
    return count;
  };
  EXPECT_EQ(count_of(save_dots()), 3U);
  EXPECT_EQ(count_of(save_nothing()), 4U);
}

TEST(Remat, FunctionsMayCaptureWhatIsGoneByThen) {
  const Tensor x = weights(0.1), w = weights(-0.07);
  const auto loss = [](Tensor a, Tensor b) {
    Tensor h = a;
    for (int i = 1; i <= 3; ++i) {
      const Tensor scaled = b * i;
      h = remat([&](const Tensor& y) { return layer(y, scaled) + b; })(h);
    }
    return sum(h);
  };
  const auto plain = [](Tensor a, Tensor b) {
    Tensor h = a;
    for (int i = 1; i <= 3; ++i) h = layer(h, b * i) + b;
    return sum(h);
  };
  const auto [by_x, by_w] = grad<0, 1>(loss)(x, w);
  const auto [x_expected, w_expected] = grad<0, 1>(plain)(x, w);
  expect_alike(by_x, x_expected);
  expect_alike(by_w, w_expected);
  const TracedProgram traced = trace(grad<1>(loss))(x, w);
  expect_alike(evaluate(traced.program, {{x, w}}).at(0), w_expected);
}

TEST(Remat, HostCodeRunsOnce) {
  int runs = 0;
  std::vector<std::string> printed;
  const PrintSink earlier =
      set_print_sink([&](std::string_view text) { printed.emplace_back(text); });
  const auto f = remat([&](Tensor x) {
    ++runs;
    print(x);
    Tensor y = x;
    while (y.item<double>() < 100) y = y * x;
    return y;
  });
  EXPECT_EQ(value_of(grad(f)(number(3))), 405);  // derivative of x⁵
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(printed.size(), 1U);
  set_print_sink(earlier);
}

TEST(Remat, DrawsTheSameNumbersAgain) {
  const auto noisy = [](Tensor x) {
    const Tensor noise = random::normal({4}, 0., 1., DType::f64);
    return sum(exp(x * noise) * noise);
  };
  const Tensor x = full({4}, 0.3, DType::f64);
  random::seed(7);
  const Tensor expected = grad(noisy)(x), next_expected = random::normal({2}, 0., 1., DType::f64);
  random::seed(7);
  expect_alike(grad(remat(noisy))(x), expected);
  expect_alike(random::normal({2}, 0., 1., DType::f64), next_expected);
  const TracedProgram traced = trace(grad(remat(noisy)))(x);
  random::seed(7);
  expect_alike(evaluate(traced.program, {{x}}).at(0), expected);
  const TracedProgram forward = trace(remat(noisy))(x);
  random::seed(7);
  expect_alike(evaluate(grad(forward.program, {0}), {{x}}).at(0), expected);
}

TEST(Remat, KeepsConstantsConstant) {
  const auto f = [](Tensor x) {
    const Tensor held = stop_gradient(exp(x));
    Tensor scale;
    {
      const NoGrad constant;
      scale = x * x;
    }
    return sum(held * sin(x) * scale);
  };
  const Tensor x = full({3}, 0.7, DType::f64);
  expect_alike(grad(remat(f))(x), grad(f)(x));
  expect_alike(grad([&](Tensor y) { return sum(grad(remat(f))(y)); })(x),
               grad([&](Tensor y) { return sum(grad(f)(y)); })(x));
}

TEST(Remat, DerivativesCustomRulesAndRematInside) {
  const auto cube = custom_vjp([](Tensor x) { return x * x * x; },
                               [](Tensor x) { return std::pair{x * x * x, x * x}; },
                               [](const Tensor& slope, const Tensor& cotangent) {
                                 return std::tuple(5 * slope * cotangent);
                               });
  const auto inside = [&](Tensor x) {
    const Tensor slope = grad([&](Tensor y) { return sum(sin(y * x)); })(x);
    return sum(slope * cube(x) + remat([](Tensor y) { return exp(sin(y)); })(x * slope));
  };
  const Tensor x = tensor({0.3, 0.9});
  expect_alike(grad(remat(inside))(x), grad(inside)(x));
  const auto second = [&](const auto& f) {
    return grad([&](Tensor y) { return sum(square(grad(f)(y))); });
  };
  expect_alike(second(remat(inside))(x), second(inside)(x));
  const auto along = [&](const auto& f) {
    return jvp(grad(f), std::tuple(x), std::tuple(x)).second;
  };
  expect_alike(along(remat(inside)), along(inside));
  const auto across = [&](const auto& f) {
    return grad([&](Tensor y) { return jvp(f, std::tuple(y), std::tuple(x)).second; })(x);
  };
  expect_alike(across(remat(inside)), across(inside));
}

TEST(Remat, ServesTheTape) {
  const Tensor x = tensor({0.3, 0.9}).requires_grad(), w = tensor({2., 3.}).requires_grad();
  int hooked = 0;
  const Tensor y = remat([&](Tensor v) {
    const Tensor inner = sin(v) * w;
    register_hook(inner, [&](const Tensor&) {
      ++hooked;
      return Tensor();
    });
    return sum(inner * inner);
  })(x);
  y.backward({.keep = true});
  expect_alike(x.grad(), 2 * w * w * sin(x) * cos(x));
  expect_alike(w.grad(), 2 * w * sin(x) * sin(x));
  EXPECT_EQ(hooked, 1);
  y.backward();
  expect_alike(w.grad(), 4 * w * sin(x) * sin(x));
  EXPECT_THROW(y.backward(), ValueError);
  const Tensor again = remat([](Tensor v) { return sum(v * v * v); })(x);
  const Tensor first = gradient(again, x, {}, {.create_graph = true});
  expect_alike(gradient(sum(first), x), 6 * x);
}

TEST(Remat, TakesAndGivesTrees) {
  const auto swap = remat([](Pair p, int64_t times) { return Pair{p.second * times, p.first}; });
  const Pair p{tensor({1., 2.}), tensor({3., 4.})};
  const auto loss = [&](Pair q) {
    const Pair swapped = swap(q, 3);
    return sum(swapped.first * swapped.first + swapped.second);
  };
  const Pair gradient = grad(loss)(p);
  EXPECT_EQ(gradient.first.text(), "[1. 1.] : f64[2]");
  EXPECT_EQ(gradient.second.text(), "[54. 72.] : f64[2]");
}

TEST(Remat, OfSymbolicSizes) {
  const ir::Type type = ir::Type::array(DType::f64, {Dim::symbol("n"), 3});
  const auto f = [](Tensor x) { return sum(remat(layer)(x, weights(0.3)), 0); };
  const TracedProgram traced =
      trace(grad([&](Tensor x) { return sum(f(x)); }))(abstract_tensor(type));
  const Tensor x = weights(0.1);
  std::vector<Tensor> arguments{x};
  arguments.insert(arguments.end(), traced.hidden_inputs.begin(), traced.hidden_inputs.end());
  expect_alike(evaluate(traced.program, arguments).at(0),
               grad([](Tensor y) { return sum(layer(y, weights(0.3))); })(x));
}

TEST(Remat, RefusesWhatItCannotDo) {
  const auto same = [](Tensor x) { return x * x; };
  EXPECT_THROW(remat(same, {.policy = "some"})(number(1)), ValueError);
  EXPECT_THROW(checkpoint_name(number(1), ""), ValueError);
  EXPECT_THROW(checkpoint_name(Tensor(), "x"), ValueError);
  Tensor leaked;
  const auto leaking = [&](Tensor x) {
    const Tensor y = remat([&](Tensor v) {
      leaked = exp(v);
      return leaked * v;
    })(x);
    return y + leaked;
  };
  try {
    grad(leaking)(number(1));
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_NE(std::string(error.what()).find("inside of remat"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace plait
