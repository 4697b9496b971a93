// Loops whose carries change their sizes: inferred sizes, long loops, and errors.
// tests/transform/control_test.cpp has them under every transform.
#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/effects/print.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/at.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/scan.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/trace_function.h"
#include "plait/transform/control/control.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/programs.h"
#include "plait/transform/vmap.h"

#include "tests/support/errors.h"
#include "tests/transform/traced_run.h"
#include "tests/transform/transform_support.h"

namespace plait {
namespace {

using Both = std::pair<Tensor, Tensor>;

Tensor positive_numbers(int64_t count) { return sin(astype(iota(count), DType::f64) * 0.7) + 1.2; }
Tensor folded(const Tensor& x) {
  return while_loop([](Tensor h) { return h.shape(0) > 1; },
                    [](Tensor h) { return first_half(h) + second_half(h); }, x);
}

double difference(const Tensor& a, const Tensor& b) { return max(absolute(a - b)).item<double>(); }

TEST(ChangingLoop, FoldsAList) {
  const Tensor x = positive_numbers(13);  // halves of 6, 3 and 1
  const auto at = [&](int64_t i) { return x[i].item<double>(); };
  double total = 0;
  for (const int64_t i : {0, 1, 3, 4, 6, 7, 9, 10}) total += at(i);
  EXPECT_NEAR(folded(x)[0].item<double>(), total, 1e-13);
  const TracedProgram traced = trace(folded)(x);
  EXPECT_NEAR(run_traced(traced, {x})[0][0].item<double>(), total, 1e-13);
  const Tensor slope = grad([](Tensor x) { return sum(folded(x)); })(x);
  const TracedProgram pulled = trace(grad([](Tensor x) { return sum(folded(x)); }))(x);
  EXPECT_EQ(slope.text(), tensor({1., 1., 0., 1., 1., 0., 1., 1., 0., 1., 1., 0., 0.}).text());
  EXPECT_EQ(run_traced(pulled, {x})[0].text(), slope.text());
}

TEST(ChangingLoop, OfSymbolicSizes) {
  Trace trace("main", Trace::apart);
  const Tensor x = trace.parameter(ir::Type::array(DType::f64, Shape{Dim::symbol("n")}));
  const auto loss = [](Tensor x) { return sum(square(folded(x))); };
  const RecordedFunction recorded = trace.finish(std::vector{folded(x), grad(loss)(x)});
  const ir::Program program = trace.program(recorded);
  const ir::Program parsed = ir::Program::parse(program.text());
  EXPECT_EQ(parsed.text(), program.text());
  for (const int64_t count : {1, 2, 3, 8, 13}) {
    const Tensor given = positive_numbers(count);
    for (const ir::Program& each : {program, parsed}) {
      const std::vector<Tensor> found = evaluate(each, std::vector{given});
      EXPECT_LT(difference(found[0], folded(given)), 1e-13) << count;
      EXPECT_LT(difference(found[1], grad(loss)(given)), 1e-13) << count;
    }
  }
}

// Number of sizes that the loop in the program carries.
size_t sizes_of(const TracedProgram& traced) {
  for (const ir::Instruction instruction : traced.program.entry().instructions()) {
    if (instruction.primitive().name == "while") return instruction.size_results().size();
  }
  return SIZE_MAX;
}

TEST(ChangingLoop, SharesSizesThatStayEqual) {
  const Tensor x = positive_numbers(8), y = reshape(positive_numbers(16), {8, 2});
  const auto is_long = [](Both s) { return s.first.shape(0) > 1; };
  const auto together = [&](Tensor x, Tensor y) {
    return while_loop(
        is_long, [](Both s) { return Both(first_half(s.first), first_half(s.second)); },
        Both(x, y));
  };
  const auto apart = [&](Tensor x, Tensor y) {
    return while_loop(
        is_long,
        [](Both s) {
          return Both(first_half(s.first), slice_axis(s.second, 0, 0, s.second.shape(0) - 1));
        },
        Both(x, y));
  };
  const auto one = [&](Tensor x, Tensor y) {
    return while_loop(
        is_long, [](Both s) { return Both(first_half(s.first), s.second * sum(s.first)); },
        Both(x, y));
  };
  const auto behind = [&](Tensor x, Tensor y) {  // the second has the previous size of the first
    return while_loop(
        is_long,
        [](Both s) {
          return Both(first_half(s.first), expand_dims(s.first, 1) * ones({1, 2}, DType::f64));
        },
        Both(x, y));
  };
  const auto none = [&](Tensor x, Tensor y) {
    return while_loop([](Both s) { return sum(s.first) < 1e3; },
                      [](Both s) { return Both(s.first * 2., s.second); }, Both(x, y));
  };
  EXPECT_EQ(sizes_of(trace(together)(x, y)), 1u);
  EXPECT_EQ(sizes_of(trace(apart)(x, y)), 2u);
  EXPECT_EQ(sizes_of(trace(one)(x, y)), 1u);
  EXPECT_EQ(sizes_of(trace(behind)(x, y)), 2u);
  EXPECT_EQ(sizes_of(trace(none)(x, y)), 0u);
  const auto check = [&](const auto& f) {
    const Both expected = f(x, y);
    const std::vector<Tensor> found = run_traced(trace(f)(x, y), {x, y});
    EXPECT_EQ(found[0].text(), expected.first.text());
    EXPECT_EQ(found[1].text(), expected.second.text());
  };
  check(together);
  check(apart);
  check(one);
  check(behind);
  check(none);
}

// The result has a size that is known after the loop.
TEST(ChangingLoop, ItsResultsAreUsable) {
  const auto f = [](Tensor x) {
    const Tensor all = while_loop([](Tensor h) { return h.shape(0) < 20; },
                                  [](Tensor h) { return concat(std::vector{h, h * 0.5}, 0); }, x);
    const Dim rows = floor_div(all.shape(0), 3);
    const Tensor table = reshape(slice_axis(all, 0, 0, rows * 3), {rows, 3});
    return sum(table * expand_dims(astype(iota(rows), DType::f64), 1), 0) +
           slice_axis(all, 0, all.shape(0) - 3, 3);
  };
  const Tensor x = positive_numbers(3);
  EXPECT_LT(difference(run_traced(trace(f)(x), {x})[0], f(x)), 1e-12);
}

TEST(ChangingLoop, OfManySteps) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr int64_t kSteps = 300;
#else
  constexpr int64_t kSteps = 20'000;
#endif
  // Drops the last element repeatedly, until one is left.
  const auto loop = [](Tensor x) {
    const auto step = [](Tensor h) { return slice_axis(h, 0, 0, h.shape(0) - 1) * 0.9999; };
    const auto [h, all] =
        while_loop([](Both s) { return s.second.shape(0) > 1; },
                   [&](Both s) {
                     return Both(s.first * 0.9999 + sum(step(slice_axis(s.second, 0, 0, 2))) * 0.,
                                 step(s.second) * 0. + 1.);
                   },
                   Both(x, ones({64}, DType::f64)));
    return h;
  };
  const auto walk = [](Tensor x) {  // alternates between two sizes
    using State = std::tuple<Tensor, Tensor>;
    const auto [h, i] = while_loop(
        [](State s) { return std::get<1>(s) < kSteps; },
        [](State s) {
          const auto& [h, i] = s;
          const Tensor longer = concat(std::vector{h * 0.9999, slice_axis(h, 0, 0, 1)}, 0);
          const Tensor some = nonzero(iota(longer.shape(0)) < 2 + remainder(i, 3))[0];
          return State(take(longer, some, 0), i + 1);
        },
        State(x, full({}, 0, DType::i64)));
    return h[0];
  };
  const Tensor x = positive_numbers(1);
  EXPECT_NEAR(
      run_traced(trace(grad([&](Tensor x) { return sum(loop(x)); }))(x), {x})[0][0].item<double>(),
      std::pow(0.9999, 63), 1e-12);
  const Tensor y = positive_numbers(3);
  const Tensor slope = run_traced(trace(grad(walk))(y), {y})[0];
  EXPECT_NEAR(slope[0].item<double>(), std::pow(0.9999, kSteps), 1e-12);
  EXPECT_EQ(slope[1].item<double>(), 0);
}

TEST(ChangingLoop, DrawsAndPrintsOnce) {
  const auto masked = [](Tensor h) {
    return h * astype(random::bernoulli(0.5, h.shape()), DType::f64);
  };
  const auto f = [&](Tensor x) {
    return sum(while_loop([](Tensor h) { return h.shape(0) > 20; },
                          [&](Tensor h) {
                            print(sum(h), "step");
                            return masked(first_half(h)) + second_half(h);
                          },
                          x));
  };
  std::vector<std::string> printed;
  set_print_sink([&](std::string_view text) { printed.emplace_back(text); });
  const Tensor x = positive_numbers(200);
  const TracedProgram traced = trace(value_and_grad(f))(x);
  const std::vector<Tensor> found = run_traced(traced, {x});
  set_print_sink({});
  EXPECT_EQ(printed.size(), 4u);
  // The function is linear: its value at x equals its derivative in the direction x.
  EXPECT_NEAR(found[0].item<double>(), sum(found[1] * x).item<double>(), 1e-10);
}

TEST(ChangingLoop, OfProgramsAndTheirDerivatives) {
  const auto f = [](Tensor x) {
    return while_loop([](Tensor h) { return h.shape(0) > 2; },
                      [](Tensor h) { return sin(first_half(h)) * second_half(h); }, x);
  };
  const Tensor x = positive_numbers(9);
  const TracedProgram traced = trace(f)(x);
  const std::vector<Tensor> moved = run(jvp(traced.program), std::vector{x, x});
  const auto [value, tangent] = jvp(f, std::tuple(x), std::tuple(x));
  EXPECT_LT(difference(moved[0], value), 1e-13);
  EXPECT_LT(difference(moved[1], tangent), 1e-13);
  const ForwardAndBackward both = vjp(traced.program);
  std::vector<Tensor> kept = run(both.forward, std::vector{x});
  kept[0] = ones_like(kept[0]);
  const Tensor slope = grad([&](Tensor x) { return sum(f(x)); })(x);
  EXPECT_LT(difference(run(both.backward, kept)[0], slope), 1e-13);
}

TEST(ChangingLoop, WithCheckpoints) {
  const auto f = [](std::optional<Checkpoints> checkpoints) {
    return [=](Tensor x) {
      return sum(while_loop([](Tensor h) { return h.shape(0) > 1; },
                            [](Tensor h) { return sin(first_half(h)) + second_half(h); }, x,
                            {.checkpoints = checkpoints}));
    };
  };
  const Tensor x = positive_numbers(300), expected = grad(f(std::nullopt))(x);
  for (const Checkpoints& each : {Checkpoints{}, Checkpoints{.every = 3}}) {
    EXPECT_LT(difference(grad(f(each))(x), expected), 1e-13);
    EXPECT_LT(difference(run_traced(trace(grad(f(each)))(x), {x})[0], expected), 1e-13);
  }
}

TEST(ChangingLoop, ForManySamples) {
  const Tensor samples = reshape(positive_numbers(26), {2, 13});
  const Tensor found = vmap(folded)(samples);
  EXPECT_LT(difference(found[1], folded(samples[1])), 1e-13);
  // Decides by values, as long as all samples agree.
  const auto by_sum = [](Tensor x) {
    return while_loop([](Tensor h) { return sum(h) > 3.; },
                      [](Tensor h) { return first_half(h) * 0.9; }, x);
  };
  const Tensor alike = stack(std::vector{positive_numbers(12), positive_numbers(12) * 1.01});
  EXPECT_LT(difference(vmap(by_sum)(alike)[1], by_sum(alike[1])), 1e-13);
  const Tensor unlike = stack(std::vector{positive_numbers(12), positive_numbers(12) * 9.});
  expect_contains(what_of([&] { vmap(by_sum)(unlike); }),
                  {"differ from sample to sample", "padded"});
  expect_contains(what_of([&] { trace(vmap(by_sum))(alike); }),
                  {"differ from sample to sample", "padded"});
}

TEST(ChangingLoop, RefusesWhatCannotBe) {
  const Tensor x = positive_numbers(4);
  const auto goes_on = [](Tensor h) { return h.shape(0) < 9; };
  const auto with = [&](auto body) {
    return [=](Tensor x) { return while_loop(goes_on, body, x); };
  };
  const auto narrowed = with([](Tensor h) { return astype(h, DType::f32); });
  const auto lower = with([](Tensor h) { return sum(h); });
  for (const auto& refused :
       {what_of([&] { narrowed(x); }), what_of([&] { trace(narrowed)(x); })}) {
    expect_contains(refused, {"f64[4]", "f32[4]", "after a step"});
  }
  for (const auto& refused : {what_of([&] { lower(x); }), what_of([&] { trace(lower)(x); })}) {
    expect_contains(refused, {"f64[4]", "f64[]", "after a step"});
  }
  const auto halves = [](Tensor h, Tensor) { return std::pair(first_half(h), h); };
  expect_contains(what_of([&] { scan(halves, x, iota(3)); }), {"while_loop"});
  expect_contains(what_of([&] { trace([&](Tensor x) { return scan(halves, x, iota(3)); })(x); }),
                  {"f64[4]", "f64[2]", "while_loop"});
  const auto forever = [](Tensor x) {
    return while_loop([](Tensor h) { return full({}, h.shape(0) != Dim(1), DType::boolean); },
                      first_half, x);
  };
  expect_contains(what_of([&] { trace(forever)(x); }), {"always true", "compare sizes"});
}

}  // namespace
}  // namespace plait
