// Observable effects under transforms: once, in order, sample by sample.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/plait.h"

#include "tests/support/errors.h"
#include "tests/transform/transform_support.h"

namespace plait {
namespace {

std::vector<std::string>& seen() {
  static std::vector<std::string> all;
  return all;
}

// Records the effects of `work`.
template <class Work>
std::vector<std::string> seen_during(const Work& work) {
  seen().clear();
  PrintSink former = set_print_sink([](std::string_view text) { seen().emplace_back(text); });
  work();
  set_print_sink(std::move(former));
  return seen();
}

std::vector<Tensor> note(std::span<const Tensor> given) {
  seen().push_back("called " + given[0].text());
  return {};
}

// Prints, checks and calls back.
Tensor watched(const Tensor& x) {
  print(x, "x");
  check(x > -100, "x is large");
  callback(note, {{x}});
  return x * x;
}

TEST(Effects, HappenOnceWhereAFunctionIsDifferentiated) {
  const std::vector<std::string> once = {"x: 3. : f64[]", "called 3. : f64[]"};
  EXPECT_EQ(seen_during([] { EXPECT_EQ(value_of(grad(watched)(number(3))), 6); }), once);
  EXPECT_EQ(seen_during([] { EXPECT_EQ(value_of(tangent_at(watched, number(3))), 6); }), once);
  EXPECT_EQ(seen_during([] { EXPECT_EQ(value_of(grad(grad(watched))(number(3))), 2); }), once);
  const auto jitted = jit(grad(watched));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(seen_during([&] { jitted(number(3)); }), once);
}

TEST(Effects, HappenOnceInLoopsThatAreDifferentiated) {
  const auto f = [](const Tensor& x) {
    return while_loop([](const Tensor& y) { return y < 20; },
                      [](const Tensor& y) { return watched(y); }, x);
  };
  const std::vector<std::string> expected = {"x: 2. : f64[]",  "called 2. : f64[]",
                                             "x: 4. : f64[]",  "called 4. : f64[]",
                                             "x: 16. : f64[]", "called 16. : f64[]"};
  EXPECT_EQ(seen_during([&] { grad(f)(number(2)); }), expected);
  const TracedProgram traced = trace(grad(f))(number(2));
  EXPECT_EQ(seen_during([&] { evaluate(traced.program, std::vector{number(2)}); }), expected);
}

TEST(Effects, HappenForEachSample) {
  const std::vector<std::string> expected = {"x: 1. : f64[]", "x: 2. : f64[]", "called 1. : f64[]",
                                             "called 2. : f64[]"};
  EXPECT_EQ(seen_during([] { vmap(watched)(tensor({1., 2.})); }), expected);
  const auto sizes = [](const Tensor& x) {
    return callback([](auto given) { return std::vector<Tensor>{sum(given[0] * given[1])}; },
                    {{x, tensor({1., 10.})}}, {{ir::Type::scalar(DType::f64)}})
        .at(0);
  };
  const Tensor rows = reshape(astype(arange(6), DType::f64), {3, 2});
  EXPECT_EQ(vmap(sizes)(rows).text(), "[10. 32. 54.] : f64[3]");
  EXPECT_EQ(vmap(vmap(sizes))(reshape(rows, {1, 3, 2})).text(), "[[10. 32. 54.]] : f64[1, 3]");
}

TEST(Effects, ConcernNoSampleThatIsNotThere) {
  const auto f = [](const Tensor& x) {
    return cond(
        x > 0,
        [](const Tensor& y) {
          check(y > 0, "positive");
          return print(y, "positive");
        },
        [](const Tensor& y) {
          check(y <= 0, "not positive");
          return -print(y, "other");
        },
        x);
  };
  EXPECT_EQ(seen_during([&] { vmap(f)(tensor({1., -2., 3.})); }),
            (std::vector<std::string>{"positive: 1. : f64[]", "positive: 3. : f64[]",
                                      "other: -2. : f64[]"}));
}

TEST(Effects, AFailedCheckNamesTheSample) {
  const auto f = [](const Tensor& x) {
    check(sum(x) < 5, "small");
    return x;
  };
  const std::string text =
      message_of<CheckError>([&] { vmap(f)(reshape(astype(arange(6), DType::f64), {3, 2})); });
  expect_contains(text, {"small (sample 1)"});
}

TEST(Effects, EmptySamplesAreCheckedTogetherHoweverMany) {
  const auto f = [](const Tensor& x) {
    check(x > 0);
    check_finite(x);
    return x;
  };
  EXPECT_EQ(vmap(f)(zeros({int64_t{1} << 40, 0})).shape(), Shape({int64_t{1} << 40, 0}));
}

TEST(Effects, HostCodeHasNoDerivativeOfItsOwn) {
  const auto squared = [](const Tensor& x) {
    return callback([](auto given) { return std::vector<Tensor>{given[0] * given[0]}; }, {{x}},
                    {{x.type()}})
        .at(0);
  };
  EXPECT_THROW(grad(squared)(number(3)), TypeError);
  EXPECT_EQ(
      value_of(grad([&](const Tensor& x) { return squared(stop_gradient(x)) * x; })(number(3))), 9);
  const auto told = custom_vjp(
      squared, [&](const Tensor& x) { return std::pair(squared(x), x); },
      [](const Tensor& x, const Tensor& cotangent) { return std::tuple(cotangent * x * 2); });
  EXPECT_EQ(value_of(grad(told)(number(3))), 6);
}

TEST(Effects, AJittedFunctionChecksAtEachCall) {
  const auto f = jit([](const Tensor& x) {
    check(x > 0, "positive");
    return x + 1;
  });
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(value_of(f(number(1))), 2);
    expect_contains(message_of<CheckError>([&] { f(number(-1)); }), {"positive"});
  }
}

}  // namespace
}  // namespace plait
