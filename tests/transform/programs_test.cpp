// Programs that are run, differentiated into programs, built from placeholders, and compiled ahead
// of time.
#include "plait/transform/programs.h"

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/matrix_parts.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/sort.h"
#include "plait/ops/register_all.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/derivatives/tape.h"

#include "tests/transform/transform_support.h"

namespace plait {
namespace {

ir::Program program_of(std::string_view text) {
  register_all();
  return ir::Program::parse(text);
}

const std::string_view kProduct = R"(
func @product(%a: f64[], %b: f64[]) -> (f64[]) {
  %y = multiply %a, %b
  %z = multiply %y, %y
  return %z
})";

TEST(Programs, GradientsArePrograms) {
  const ir::Program program = program_of(kProduct);
  const ir::Program gradient = grad(program, {0, 1}, {.with_value = true});
  const std::vector<Tensor> found = evaluate(gradient, {{number(2), number(3)}});
  EXPECT_EQ(value_of(found.at(0)), 36);
  EXPECT_EQ(value_of(found.at(1)), 36);  // 2 a b²
  EXPECT_EQ(value_of(found.at(2)), 24);
  const ir::Program second = grad(grad(program, {0}), {1});
  EXPECT_EQ(value_of(evaluate(second, {{number(2), number(3)}}).at(0)), 24);  // 4 a b
  const ir::Program read_back = ir::Program::parse(second.text());
  EXPECT_EQ(value_of(evaluate(read_back, {{number(2), number(3)}}).at(0)), 24);
  const ir::Program stopped = grad(program, {0}, {.stop_gradients = {"y"}});
  EXPECT_EQ(value_of(evaluate(stopped, {{number(2), number(3)}}).at(0)), 0);
  EXPECT_THROW(grad(program, {2}), ValueError);
}

TEST(Programs, OfSymbolicSizes) {
  const ir::Program program = program_of(R"(
func @norm<n>(%x: f64[n], %scale: f64[]) -> (f64[]) {
  %squares = call @square<n>(%x)
  %s = reduce_sum %squares {axes = [0]}
  %y = multiply %s, %scale
  return %y
}
func @square<n>(%x: f64[n]) -> (f64[n]) {
  %0 = multiply %x, %x
  return %0
})");
  const ir::Program gradient = grad(program, {0});
  for (const int64_t n : {0, 1, 4}) {
    const Tensor x = astype(arange(n), DType::f64);
    const Tensor found = evaluate(gradient, {{x, number(3)}}).at(0);
    EXPECT_EQ(found.text(), (6 * x).text());
  }
  const Tensor x = tensor({1., 2.});
  const auto outside = [&](Tensor x) { return run(program, {{x, number(3)}})[0]; };
  EXPECT_EQ(grad(outside)(x).text(), "[ 6. 12.] : f64[2]");
  EXPECT_THROW(run(program, {{x.requires_grad(), tensor({1., 2.})}}), TypeError);
}

TEST(Programs, ForwardAndBackward) {
  const ir::Program program = program_of(R"(
func @layer<n>(%x: f64[n, 2], %w: f64[2, 3], %i: i64[]) -> (f64[n, 3], i64[]) {
  %0 = matmul %x, %w
  %1 = tanh %0
  return %1, %i
})");
  const ForwardAndBackward both = vjp(program);
  EXPECT_EQ(both.results, 2u);
  const Tensor x = astype(reshape(arange(0., 8.), {4, 2}), DType::f64) * 0.1;
  const Tensor w = astype(reshape(arange(0., 6.), {2, 3}), DType::f64) * 0.1;
  std::vector<Tensor> given = evaluate(both.forward, {{x, w, full({}, 7)}});
  std::vector<Tensor> sent{ones({4, 3}, DType::f64)};
  sent.insert(sent.end(), given.begin() + 2, given.end());
  const std::vector<Tensor> found = evaluate(both.backward, sent);
  const auto loss = [](Tensor x, Tensor w) { return sum(tanh(matmul(x, w))); };
  const auto [dx, dw] = grad<0, 1>(loss)(x, w);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].text(), dx.text());
  EXPECT_EQ(found[1].text(), dw.text());
}

// The size of a parameter occurs neither in the cotangents nor in the residuals.
TEST(Programs, BackwardKnowsTheSizesOfTheParameters) {
  const auto expect_back = [](std::string_view text, const Tensor& cotangent,
                              std::string_view wanted) {
    const ForwardAndBackward both = vjp(program_of(text));
    const Tensor x = tensor({1., 2., 3.});
    std::vector<Tensor> sent = evaluate(both.forward, {{x, x}});
    sent.at(0) = cotangent;
    const std::vector<Tensor> found = evaluate(both.backward, sent);
    EXPECT_EQ(found.at(0).text(), wanted);
    EXPECT_EQ(found.at(1).text(), "[0. 0. 0.] : f64[3]");
  };
  expect_back(R"(
func @total<n>(%x: f64[n], %unused: f64[n]) -> (f64[]) {
  %y = reduce_sum %x {axes = [0]}
  return %y
})",
              number(2), "[2. 2. 2.] : f64[3]");
  expect_back(R"(
func @rest<n>(%x: f64[n], %unused: f64[n]) -> (f64[n - 1]) {
  %y = slice %x {axis = 0, start = 1, count = n - 1}
  return %y
})",
              tensor({10., 20.}), "[ 0. 10. 20.] : f64[3]");
}

// Derivative rules for sizes that are not known to be non-negative, except as sizes of operands.
TEST(Programs, OfSizesThatAreDifferences) {
  const auto expect_recorded = [](std::string_view what, auto f) {
    Trace trace("main");
    const Dim n = Dim::symbol("n");
    const Tensor parameter = trace.parameter(ir::Type::array(DType::f64, {n}));
    const Tensor recorded =
        grad([&](Tensor x) { return f(slice_axis(x, 0, 1, x.shape(0) - 1)); })(parameter);
    const ir::Program program = trace.program(trace.finish({{recorded}}));
    const Tensor x = tensor({0.5, -1., 2., 0.25});
    const auto eager = [&](Tensor y) { return f(slice_axis(y, 0, 1, 3)); };
    EXPECT_EQ(evaluate(program, {{x}}).at(0).text(), grad(eager)(x).text()) << what;
  };
  expect_recorded("put_along_axis",
                  [](Tensor x) { return sum(square(put_along_axis(x, argsort(x), x))); });
  expect_recorded("flip", [](Tensor x) { return sum(flip(x, 0) * x * x); });
  expect_recorded("every other", [](Tensor x) { return sum(square(x[{Slice{.step = 2}}])); });
  expect_recorded("diagonal", [](Tensor x) { return sum(square(diagonal(outer(x, x)) + x)); });
}

TEST(Programs, Tangents) {
  const std::vector<Tensor> found =
      evaluate(jvp(program_of(kProduct)), {{number(2), number(3), number(1), number(0)}});
  EXPECT_EQ(value_of(found.at(0)), 36);
  EXPECT_EQ(value_of(found.at(1)), 36);
}

TEST(Aot, HandsOverEachProgramOnce) {
  int forwards = 0, backwards = 0;
  const auto compiler = [](int& count) {
    return [&count](const ir::Program& program) -> Executable {
      ++count;
      return [program](std::span<const Tensor> arguments) { return evaluate(program, arguments); };
    };
  };
  const auto f = aot([](Tensor x, Tensor w) { return sum(exp(x) * w); }, compiler(forwards),
                     compiler(backwards));
  const Tensor x = tensor({0., 1.}), w = tensor({2., 3.});
  const auto plain = [](Tensor x, Tensor w) { return sum(exp(x) * w); };
  for (int repeat = 0; repeat < 3; ++repeat) {
    EXPECT_EQ(f(x, w).text(), plain(x, w).text());
    EXPECT_EQ(grad(f)(x, w).text(), grad(plain)(x, w).text());
  }
  EXPECT_EQ(forwards, 1);
  EXPECT_EQ(backwards, 1);
  f(tensor({0.}), tensor({1.}));
  EXPECT_EQ(forwards, 2);
}

TEST(Session, RunsWhatIsFetchedFromWhatIsFed) {
  Builder build;
  const Tensor x = build.placeholder("f64[n]", "x"), w = build.placeholder("f64[n]", "w");
  const Tensor product = x * w, total = sum(product);
  const Tensor slope = gradient(total, x, {}, {.create_graph = true});
  const Session session(build, {total, slope});
  const Tensor one = tensor({1., 2.}), two = tensor({3., 5.});
  EXPECT_EQ(value_of(session.run({{x, one}, {w, two}}, {total})[0]), 13);
  EXPECT_EQ(session.run({{w, two}}, {slope})[0].text(), two.text());
  EXPECT_EQ(value_of(session.run({{product, two}}, {total})[0]), 8);
  EXPECT_THROW(session.run({{x, one}}, {total}), ValueError);
  EXPECT_THROW(session.run({{x, one}, {w, tensor({1.})}}, {total}), ShapeError);
  EXPECT_THROW(session.run({{x, number(1)}}, {total}), TypeError);
  EXPECT_THROW(session.run({}, {number(1)}), ValueError);
  EXPECT_THROW(build.placeholder("f64[]", "y"), ValueError);
}

// ---- a·b and its derivatives, in six styles: by a, by a and b, and by a, b and a (which is 0).

struct Derivatives {
  double value, by_a, by_a_b, by_a_b_a;
};
void expect_right(const Derivatives& found) {
  EXPECT_EQ(found.value, 6);
  EXPECT_EQ(found.by_a, 3);
  EXPECT_EQ(found.by_a_b, 1);
  EXPECT_EQ(found.by_a_b_a, 0);
}
const Tensor kA = number(2), kB = number(3);

TEST(SixHabits, PlaceholderProgram) {
  const ir::Program product = program_of(
      "func @product(%a: f64[], %b: f64[]) -> (f64[]) {\n  %y = multiply %a, %b\n  return %y\n}");
  const ir::Program first = grad(product, {0}), second = grad(first, {1}),
                    third = grad(second, {0});
  const auto at = [](const ir::Program& program) {
    return value_of(evaluate(program, {{kA, kB}}).at(0));
  };
  expect_right({at(product), at(first), at(second), at(third)});
}

TEST(SixHabits, SessionWithFeeds) {
  Builder build;
  const Tensor a = build.placeholder("f64[]", "a"), b = build.placeholder("f64[]", "b");
  const GradientOptions again{.create_graph = true, .allow_unused = true};
  const Tensor y = a * b, by_a = gradient(y, a, {}, again), by_a_b = gradient(by_a, b, {}, again);
  const Session session(build, {y, by_a, by_a_b});
  const std::vector<Tensor> found = session.run({{a, kA}, {b, kB}}, {y, by_a, by_a_b});
  expect_right({value_of(found[0]), value_of(found[1]), value_of(found[2]), 0});
}

TEST(SixHabits, EagerTape) {
  const Tensor a = kA.requires_grad(), b = kB.requires_grad();
  const GradientOptions again{.create_graph = true, .allow_unused = true};
  const Tensor y = a * b, by_a = gradient(y, a, {}, again), by_a_b = gradient(by_a, b, {}, again);
  const bool depends_on_a = by_a_b.derivation() && gradient(by_a_b, a, {}, again);
  expect_right({value_of(y), value_of(by_a), value_of(by_a_b), depends_on_a ? 1. : 0.});
}

TEST(SixHabits, NestedTapes) {
  Tape first, second;
  const Tensor a = second.watch(first.watch(kA)), b = second.watch(first.watch(kB));
  const Tensor y = a * b, by_a = first.gradient(y, a), by_a_b = second.gradient(by_a, b);
  expect_right({value_of(y), value_of(by_a), value_of(by_a_b), by_a_b.derivation() ? 1. : 0.});
}

TEST(SixHabits, FunctionTransforms) {
  const auto product = [](Tensor a, Tensor b) { return a * b; };
  const auto first = grad<0>(product);
  const auto second = grad<1>(first);
  const auto third = grad<0>(second);
  expect_right({value_of(product(kA, kB)), value_of(first(kA, kB)), value_of(second(kA, kB)),
                value_of(third(kA, kB))});
}

TEST(SixHabits, MadePrograms) {
  const auto product = [](Tensor a, Tensor b) { return a * b; };
  const auto value = make_program(product)(kA, kB);
  const auto first = make_program(grad<0>(product))(kA, kB);
  const auto second = make_program(grad<1>(grad<0>(product)))(kA, kB);
  const auto third = make_program(grad<0>(grad<1>(grad<0>(product))))(kA, kB);
  expect_right({value_of(value(kA, kB)), value_of(first(kA, kB)), value_of(second(kA, kB)),
                value_of(third(kA, kB))});
  EXPECT_NE(first.text().find("func @main(%arg0: f64[], %arg1: f64[]) -> (f64[])"),
            std::string::npos)
      << first.text();
  EXPECT_EQ(value_of(first(number(5), number(7))), 7);
}

}  // namespace
}  // namespace plait
