// Loops: stored values of their derivatives, long loops, and errors.
// tests/transform/control_test.cpp has them under every transform.
#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/effects/print.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/scan.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/memory/memory.h"
#include "plait/tensor/tracing/trace_function.h"
#include "plait/transform/control/associative_scan.h"
#include "plait/transform/control/control.h"
#include "plait/transform/control/recursive.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/derivatives/remat.h"
#include "plait/transform/programs.h"
#include "plait/transform/vmap.h"

#include "tests/transform/traced_run.h"

namespace plait {
namespace {

constexpr int64_t kSteps = 400, kSize = 4096;

Tensor carry() { return full({kSize}, 0.5, DType::f64); }
Tensor step(const Tensor& h) { return sin(h) * 1.01; }

// The peak of allocated bytes, in units of one carry.
int64_t peak_of(const std::function<Tensor(Tensor)>& loop) {
  const Tensor x = carry();
  const auto loss = [&](Tensor h) { return sum(loop(h)); };
  reset_peak_memory();
  const int64_t before = memory_statistics().live_bytes;
  const Tensor slope = grad(loss)(x);
  EXPECT_EQ(slope.shape(0), Dim(kSize));
  return (memory_statistics().peak_bytes - before) / (kSize * 8);
}

TEST(Scan, RefusesLengthsAndStepsThatAreNone) {
  const TensorFunction same = [](std::span<const Tensor> carry) {
    return std::vector<Tensor>(carry.begin(), carry.end());
  };
  const std::vector<Tensor> start{carry()};
  for (const int64_t length : {int64_t{-1}, -(int64_t{1} << 61)}) {
    EXPECT_THROW(control::scan(same, start, {}, {.length = Dim(length)}), ValueError);
    EXPECT_THROW(trace([&](const Tensor& x) {
                   return control::scan(same, std::vector{x}, {}, {.length = Dim(length)})[0];
                 })(carry()),
                 ValueError);
  }
  int step = 0;
  const TensorFunction fewer = [&](std::span<const Tensor> carry) {
    return std::vector<Tensor>(step++ == 0 ? 2 : 1, carry[0]);
  };
  EXPECT_THROW(control::scan(fewer, start, {}, {.length = Dim(2)}), ValueError);
}

TEST(Checkpoints, KeepWhatTheyAreTold) {
  const auto loop = [](std::optional<Checkpoints> checkpoints) {
    return [=](Tensor h) {
      return for_loop(0, kSteps, [](Tensor, Tensor h) { return step(h); }, h,
                      {.checkpoints = checkpoints});
    };
  };
  const auto until = [](std::optional<Checkpoints> checkpoints) {
    return [=](Tensor h) {
      const auto [last, i] = while_loop(
          [](std::pair<Tensor, Tensor> s) { return s.second < kSteps; },
          [](std::pair<Tensor, Tensor> s) { return std::pair(step(s.first), s.second + 1); },
          std::pair(h, full({}, 0, DType::i64)), {.checkpoints = checkpoints});
      return last;
    };
  };
  EXPECT_GT(peak_of(loop(std::nullopt)), kSteps);
  EXPECT_LT(peak_of(loop(Checkpoints{})), 100);              // 20 and 20, and a few each
  EXPECT_LT(peak_of(loop(Checkpoints{.every = 100})), 330);  // 4 checkpoints, 100 steps
  EXPECT_LT(peak_of(loop(Checkpoints{.memory = 60 * kSize * 8})), 120);
  EXPECT_GT(peak_of(until(std::nullopt)), kSteps);
  EXPECT_LT(peak_of(until(Checkpoints{})), 130);  // 28 and 28
}

TEST(Checkpoints, ChangeNothing) {
  const Tensor rows = sin(reshape(astype(iota(33), DType::f64), {11, 3}));
  const auto body = [](Tensor h, Tensor each) { return std::pair(tanh(h * 0.9 + each), h * each); };
  const Tensor start = slice_axis(rows, 0, 4, 1);
  for (const bool reverse : {false, true}) {
    const auto [last, all] = scan(body, start, rows, {.reverse = reverse});
    for (const int64_t every : {1, 3, 4, 11, 20}) {
      const auto [other_last, others] =
          scan(body, start, rows, {.reverse = reverse, .checkpoints = Checkpoints{.every = every}});
      EXPECT_EQ(other_last.text(), last.text()) << every;
      EXPECT_EQ(others.text(), all.text()) << every;
    }
  }
}

TEST(Checkpoints, RefuseWhatCannotBe) {
  const auto body = [](Tensor, Tensor h) { return step(h); };
  EXPECT_THROW(for_loop(0, 9, body, carry(), {.checkpoints = Checkpoints{.every = 0}}), ValueError);
  EXPECT_THROW(for_loop(0, 900, body, carry(), {.checkpoints = Checkpoints{.memory = 1000}}),
               ValueError);
}

TEST(While, OfAMillionSteps) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr int64_t kMany = 5'000;
#else
  constexpr int64_t kMany = 1'000'000;
#endif
  const auto loop = [](Tensor x) {
    using State = std::pair<Tensor, Tensor>;
    return while_loop([](State s) { return s.second < kMany; },
                      [&](State s) { return State(s.first * 0.999999 + x * 1e-6, s.second + 1); },
                      State(x, full({}, 0, DType::i64)))
        .first;
  };
  const Tensor x = full({}, 2., DType::f64);
  const TracedProgram traced = trace(grad(loop))(x);
  // x is a fixed point of the loop, so each step returns it.
  EXPECT_NEAR(run_traced(traced, {x})[0].item<double>(), 1, 1e-9);
}

// ---- Random numbers and prints within control flow.

Tensor masked(const Tensor& x) { return x * astype(random::bernoulli(0.5, x.shape()), x.dtype()); }

// Draws another mask at each depth.
const auto masked_often = recursive("masked_often", [](auto self, Tensor x, Tensor n) {
  return cond(
      n <= 0, [](Tensor x, Tensor) { return x; },
      [&](Tensor x, Tensor n) {
        return masked(x) + self(masked(x) * 0.9, n - 1) + self(x * 0.5, n - 2);
      },
      x, n);
});
Tensor count_of(int64_t n) { return full({}, n, DType::i64); }

struct Drawing {
  const char* name;
  std::function<Tensor(Tensor)> f;  // linear
};
const Drawing kDrawings[] = {
    {"cond",
     [](Tensor x) {
       return cond(
           full({}, true, DType::boolean), [](Tensor y) { return masked(y) * 2.; },
           [](Tensor y) { return masked(y); }, x);
     }},
    {"scan",
     [](Tensor x) {
       const auto step = [&](Tensor h, Tensor) { return std::pair(masked(h) + x, masked(h)); };
       const auto [last, all] = scan(step, x, iota(5));
       return last + sum(all, 0);
     }},
    {"while",
     [](Tensor x) {
       using State = std::pair<Tensor, Tensor>;
       return while_loop([](State s) { return s.second < 6; },
                         [&](State s) { return State(masked(s.first) + x, s.second + 1); },
                         State(x, full({}, 0, DType::i64)))
           .first;
     }},
    {"scan in cond, with checkpoints",
     [](Tensor x) {
       const auto loop = [](Tensor y) {
         return for_loop(0, 7, [&](Tensor, Tensor h) { return masked(h) + y; }, y,
                         {.checkpoints = Checkpoints{}});
       };
       return cond(full({}, true, DType::boolean), loop, [](Tensor y) { return y; }, x);
     }},
    {"recursion", [](Tensor x) { return masked_often(x, count_of(5)); }},
    {"recursion in scan",
     [](Tensor x) {
       return for_loop(0, 3, [&](Tensor, Tensor h) { return masked_often(h, count_of(2)) + x; }, x);
     }},
    {"recursion in while, which it is in",
     [](Tensor x) {
       const auto f = recursive("looping", [](auto self, Tensor x, Tensor n) {
         using State = std::pair<Tensor, Tensor>;
         const auto loop = [&](Tensor x, Tensor n) {
           return while_loop([&](State s) { return s.second < n; },
                             [&](State s) {
                               return State(self(masked(s.first) + x, n - 1), s.second + 1);
                             },
                             State(x, count_of(0)))
               .first;
         };
         return cond(n <= 0, [](Tensor x, Tensor) { return masked(x) + x; }, loop, x, n);
       });
       return f(x, count_of(3));
     }},
    {"remat in scan",
     [](Tensor x) {
       const auto block = remat([](Tensor h) { return masked(h) * 0.5 + h; });
       return for_loop(0, 4, [&](Tensor, Tensor h) { return block(h); }, x);
     }},
};

TEST(Draws, AreTheSameInTheBackwardPass) {
  const Tensor x = sin(astype(iota(200), DType::f64)) + 1.5;
  for (const Drawing& each : kDrawings) {
    SCOPED_TRACE(each.name);
    const auto f = [&](Tensor y) { return sum(each.f(y)); };
    const auto both = [&](Tensor y) {
      const auto [value, slope] = value_and_grad(f)(y);
      return std::pair(value, slope);
    };
    const TracedProgram traced = trace(both)(x);
    const std::vector<Tensor> found = run_traced(traced, {x});
    // The function is linear: its value at x equals its derivative in the direction x. Another run
    // draws another mask.
    EXPECT_NEAR(found[0].item<double>(), sum(found[1] * x).item<double>(), 1e-9);
    EXPECT_NE(run_traced(traced, {x})[0].item<double>(), found[0].item<double>());
    const TracedProgram pushed =
        trace([&](Tensor y) { return jvp(f, std::tuple(y), std::tuple(y)); })(x);
    const std::vector<Tensor> forward = run_traced(pushed, {x});
    EXPECT_NEAR(forward[0].item<double>(), forward[1].item<double>(), 1e-9);
  }
}

// If each step of a loop drew the same numbers in a recursive function, the sum of squares would
// be larger.
TEST(Draws, DifferFromCallToCall) {
  const auto noise = recursive("noise", [](auto self, Tensor x, Tensor n) {
    return cond(
        n <= 0,
        [](Tensor x, Tensor) { return x * astype(random::normal(Shape{1000}), DType::f64); },
        [&](Tensor x, Tensor n) {
          return for_loop(
              0, 4, [&](Tensor, Tensor h) { return h + self(x, n - 1); },
              zeros({1000}, DType::f64));
        },
        x, n);
  });
  const auto f = [&](Tensor x) { return sum(square(noise(x, count_of(2)))); };
  const Tensor x = full({}, 1., DType::f64);
  // x² Σ (Σ of 16 normal numbers)²: for independent ones the mean is 16,000.
  const double slope = run_traced(trace(grad(f))(x), {x})[0].item<double>();
  EXPECT_NEAR(slope, 2 * 16'000, 2 * 16'000 * 0.2);
}

// Two recursive calls side by side.
TEST(Draws, DifferBesideEachOther) {
  const auto noise = recursive("noise", [](auto self, Tensor x, Tensor n) {
    return cond(
        n <= 0,
        [](Tensor x, Tensor) { return x * astype(random::normal(Shape{1000}), DType::f64); },
        [&](Tensor x, Tensor n) { return self(x, n - 1) + self(x, n - 1); }, x, n);
  });
  const auto f = [&](Tensor x) { return sum(square(noise(x, count_of(3)))); };
  const Tensor x = full({}, 1., DType::f64);
  // x² Σ (Σ of 8 normal numbers)².
  EXPECT_NEAR(run_traced(trace(grad(f))(x), {x})[0].item<double>(), 2 * 8'000, 2 * 8'000 * 0.2);
  const auto samples = vmap([&](Tensor x) { return noise(x, count_of(3)); });
  const Tensor many = run_traced(trace(samples)(ones({4}, DType::f64)), {ones({4}, DType::f64)})[0];
  EXPECT_NEAR(sum(square(many)).item<double>(), 4 * 8'000, 4 * 8'000 * 0.2);
}

TEST(Prints, AreMadeOnce) {
  std::vector<std::string> printed;
  set_print_sink([&](std::string_view text) { printed.emplace_back(text); });
  const auto f = [](Tensor x) {
    return for_loop(
        0, 3,
        [](Tensor i, Tensor h) {
          print(i, "step");
          return sin(h);
        },
        x);
  };
  const Tensor x = full({}, 0.5, DType::f64);
  const TracedProgram traced = trace(value_and_grad(f))(x);
  run_traced(traced, {x});
  set_print_sink({});
  EXPECT_EQ(printed.size(), 3u);
}

TEST(AssociativeScan, IsTheOrdinaryOne) {
  const Tensor x = sin(astype(iota(37), DType::f64));
  const auto add = [](Tensor a, Tensor b) { return a + b; };
  EXPECT_LT(max(absolute(associative_scan(add, x) - cumsum(x, 0))).item<double>(), 1e-13);
  const Tensor wide = reshape(slice_axis(x, 0, 0, 36), {4, 9});
  const auto greatest = [](Tensor a, Tensor b) { return maximum(a, b); };
  EXPECT_EQ(associative_scan(greatest, wide, {.axis = 1}).text(), cummax(wide, 1).text());
  EXPECT_EQ(associative_scan(greatest, wide, {.axis = 1, .reverse = true}).text(),
            flip(cummax(flip(wide, 1), 1), 1).text());
}

TEST(AssociativeScan, KeepsTheOrder) {
  using Line = std::pair<Tensor, Tensor>;  // h -> a h + b
  const auto compose = [](Line f, Line g) {
    return Line(f.first * g.first, g.first * f.second + g.second);
  };
  const Tensor a = sin(astype(iota(13), DType::f64)), b = cos(astype(iota(13), DType::f64));
  const auto step = [](Tensor h, Line line) {
    const Tensor next = line.first * h + line.second;
    return std::pair(next, next);
  };
  const auto by_steps = [&](bool reverse) {
    return scan(step, full({}, 0., DType::f64), Line(a, b), {.reverse = reverse}).second;
  };
  const Tensor found = associative_scan(compose, Line(a, b)).second;
  EXPECT_LT(max(absolute(found - by_steps(false))).item<double>(), 1e-14);
  const Tensor from_end = associative_scan(compose, Line(a, b), {.reverse = true}).second;
  EXPECT_LT(max(absolute(from_end - by_steps(true))).item<double>(), 1e-14);
}

TEST(AssociativeScan, OfSymbolicLength) {
  Trace trace("main", Trace::apart);
  const Tensor x = trace.parameter(ir::Type::array(DType::f64, Shape{Dim::symbol("n"), 2}));
  const auto multiply = [](Tensor a, Tensor b) { return a * b; };
  const RecordedFunction recorded = trace.finish(std::vector{associative_scan(multiply, x)});
  const ir::Program program = trace.program(recorded);
  for (const int64_t count : {1, 2, 3, 8, 13}) {
    const Tensor given = cos(reshape(astype(iota(2 * count), DType::f64), {count, 2}));
    const Tensor found = evaluate(program, std::vector{given})[0];
    EXPECT_LT(max(absolute(found - cumprod(given, 0))).item<double>(), 1e-15) << count;
  }
}

TEST(AssociativeScan, RefusesWhatCannotBe) {
  const Tensor x = carry();
  EXPECT_THROW(associative_scan([](Tensor a, Tensor) { return sum(a); }, x), TypeError);
  const auto both = [](std::pair<Tensor, Tensor> a, std::pair<Tensor, Tensor>) { return a; };
  EXPECT_THROW(associative_scan(both, std::pair(x, slice_axis(x, 0, 0, 3))), ShapeError);
}

}  // namespace
}  // namespace plait
