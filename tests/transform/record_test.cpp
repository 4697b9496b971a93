// Trees and lists as data: eagerly, in traces, differentiated to every order, and deep.
#include "plait/transform/control/record.h"

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/tracing/trace_function.h"
#include "plait/transform/control/recursive.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/derivatives/vjp.h"
#include "plait/transform/programs.h"
#include "plait/transform/vmap.h"

#include "tests/support/errors.h"
#include "tests/transform/traced_run.h"
#include "tests/transform/transform_support.h"

namespace plait {
namespace {

struct Tree {
  Tensor value;
  Maybe<Tree> left = {}, right = {};

  static Record record() { return {"tree", {"f64[2]", "@tree?", "@tree?"}}; }
};

// f(t, w) = Σ tanh(w · value) · (1 + f(left)) + f(right)²; 0 for an absent tree.
const auto energy = recursive("energy", [](auto self, Maybe<Tree> tree, Tensor w) {
  return cond(
      tree.has_value(),
      [&](Maybe<Tree> tree, Tensor w) {
        const Tree node = tree.value();
        const Tensor right = self(node.right, w);
        return sum(tanh(w * node.value)) * (1. + self(node.left, w)) + right * right;
      },
      [](Maybe<Tree>, Tensor) { return zeros({}, DType::f64); }, tree, w);
});

// The same for one shape, written out: a with the children b and c, and d left of c.
Tensor written_out(const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d,
                   const Tensor& w) {
  const auto own = [&](const Tensor& x) { return sum(tanh(w * x)); };
  const Tensor right = own(c) * (1. + own(d));
  return own(a) * (1. + own(b)) + right * right;
}
Maybe<Tree> tree_of(const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d) {
  return Tree{a, Tree{b}, Tree{c, Tree{d}, {}}};
}

const Tensor a = tensor({0.3, -0.7}), b = tensor({1.1, 0.2}), c = tensor({-0.4, 0.9}),
             d = tensor({0.5, 0.6}), w = tensor({0.8, 1.3});

Tensor stacked(const std::vector<Tensor>& parts) { return stack(parts); }
std::vector<Tensor> values_of(const Maybe<Tree>& tree) {
  const Tree root = tree.value(), left = root.left.value(), right = root.right.value();
  return {root.value, left.value, right.value, right.left.value().value};
}
std::vector<Tensor> expected_gradient() {
  const auto [ga, gb, gc, gd] = grad<0, 1, 2, 3>(written_out)(a, b, c, d, w);
  return {ga, gb, gc, gd};
}
void expect_equal(const Tensor& found, const Tensor& expected) {
  EXPECT_LT(value_of(max(absolute(found - expected))), 1e-12) << found.text() << expected.text();
}
void expect_gradient(const Maybe<Tree>& found) {
  const auto values = values_of(found), expected = expected_gradient();
  for (size_t i = 0; i < values.size(); ++i) expect_equal(values[i], expected[i]);
}

TEST(Record, HoldsWhatItWasMadeOf) {
  const Maybe<Tree> tree = tree_of(a, b, c, d);
  EXPECT_TRUE(tree.has_value().item<bool>());
  EXPECT_FALSE(tree.value().left.value().right.has_value().item<bool>());
  expect_equal(values_of(tree)[3], d);
  EXPECT_NEAR(value_of(energy(tree, w)), value_of(written_out(a, b, c, d, w)), 1e-14);
}

TEST(Record, IsDifferentiatedEagerly) {
  const Maybe<Tree> tree = tree_of(a, b, c, d);
  expect_gradient(grad(energy)(tree, w));
  expect_equal(grad<1>(energy)(tree, w), grad<4>(written_out)(a, b, c, d, w));
  // Through the construction of the tree.
  const auto made = [](Tensor d) { return energy(tree_of(a, b, c, d), w); };
  expect_equal(grad(made)(d), expected_gradient()[3]);
}

TEST(Record, IsOneParameterOfAProgram) {
  const Maybe<Tree> tree = tree_of(a, b, c, d), other = Tree{b, {}, Tree{a}};
  const TracedProgram traced = trace(energy)(tree, w);
  EXPECT_NE(traced.program.text().find("(%p0: @tree?"), std::string::npos) << traced.program.text();
  for (const Maybe<Tree>& each : {tree, other, Maybe<Tree>()}) {
    const std::vector<Tensor> arguments = tensors_of(std::tuple(each, w));
    const double expected = value_of(energy(each, w));
    EXPECT_NEAR(value_of(run_traced(traced, arguments).at(0)), expected, 1e-14);
    EXPECT_NEAR(value_of(evaluate(traced.program, with_hidden(traced, arguments)).at(0)), expected,
                1e-14);
    const ir::Program parsed = ir::Program::parse(traced.program.text());
    EXPECT_NEAR(value_of(evaluate(parsed, with_hidden(traced, arguments)).at(0)), expected, 1e-14);
  }
}

TEST(Record, IsDifferentiatedInTraces) {
  const Maybe<Tree> tree = tree_of(a, b, c, d);
  const std::vector<Tensor> arguments = tensors_of(std::tuple(tree, w));
  const auto as_tree = [](const Tensor& record) {
    return with_tensors(Maybe<Tree>(), std::vector{record});
  };
  const TracedProgram staged = trace(grad(energy))(tree, w);
  expect_gradient(as_tree(run_traced(staged, arguments).at(0)));
  expect_gradient(as_tree(evaluate(staged.program, with_hidden(staged, arguments)).at(0)));
  const TracedProgram traced = trace(energy)(tree, w);
  const ir::Program program = grad(traced.program, {0, 1});
  const std::vector<Tensor> found = run(program, arguments);
  expect_gradient(as_tree(found.at(0)));
  expect_equal(found.at(1), grad<4>(written_out)(a, b, c, d, w));
}

// The derivative by w of the directional derivative by the tree, compared with plain tensors.
TEST(Record, HasSecondDerivatives) {
  const Maybe<Tree> tree = tree_of(a, b, c, d), direction = tree_of(d, c, b, a);
  const auto slope = [](Maybe<Tree> tree, Maybe<Tree> direction, Tensor w) {
    const auto of_tree = [&](Maybe<Tree> tree) { return energy(tree, w); };
    return jvp(of_tree, std::tuple(tree), std::tuple(direction)).second;
  };
  const auto slope_written_out = [](Tensor a, Tensor b, Tensor c, Tensor d, Tensor w) {
    const auto f = [&](Tensor a, Tensor b, Tensor c, Tensor d) {
      return written_out(a, b, c, d, w);
    };
    return jvp(f, std::tuple(a, b, c, d), std::tuple(d, c, b, a)).second;
  };
  const Tensor expected = grad<4>(slope_written_out)(a, b, c, d, w);
  EXPECT_NEAR(value_of(slope(tree, direction, w)), value_of(slope_written_out(a, b, c, d, w)),
              1e-12);
  expect_equal(grad<2>(slope)(tree, direction, w), expected);
  const TracedProgram traced = trace(grad<2>(slope))(tree, direction, w);
  expect_equal(run_traced(traced, tensors_of(std::tuple(tree, direction, w))).at(0), expected);
  // Reverse over reverse, by w and then by the tree.
  const auto pulled = [](Maybe<Tree> tree, Tensor w) { return sum(grad<1>(energy)(tree, w)); };
  const auto pulled_written_out = [](Tensor a, Tensor b, Tensor c, Tensor d, Tensor w) {
    return sum(grad<4>(written_out)(a, b, c, d, w));
  };
  const auto [ga, gb, gc, gd] = grad<0, 1, 2, 3>(pulled_written_out)(a, b, c, d, w);
  for (const bool staged : {false, true}) {
    const Maybe<Tree> found =
        staged ? with_tensors(Maybe<Tree>(), run_traced(trace(grad(pulled))(tree, w),
                                                        tensors_of(std::tuple(tree, w))))
               : grad(pulled)(tree, w);
    const std::vector<Tensor> values = values_of(found);
    expect_equal(values[0], ga);
    expect_equal(values[1], gb);
    expect_equal(values[2], gc);
    expect_equal(values[3], gd);
  }
}

// A tree computed from a tree, and a number from that.
const auto doubled = recursive<Maybe<Tree>>("doubled", [](auto self, Maybe<Tree> tree) {
  return cond(
      tree.has_value(),
      [&](Maybe<Tree> tree) {
        const Tree node = tree.value();
        return Maybe<Tree>(Tree{2. * node.value, self(node.right), self(node.left)});
      },
      [](Maybe<Tree> tree) { return tree; }, tree);
});

TEST(Record, IsMadeByFunctionsThatCallThemselves) {
  const Maybe<Tree> tree = tree_of(a, b, c, d);
  const auto f = [](Maybe<Tree> tree, Tensor w) { return energy(doubled(tree), w); };
  const auto written = [](Tensor a, Tensor b, Tensor c, Tensor d, Tensor w) {
    const auto own = [&](const Tensor& x) { return sum(tanh(2. * w * x)); };
    const Tensor left = own(c) * 1. + own(d) * own(d);
    const Tensor right = own(b);
    return own(a) * (1. + left) + right * right;
  };
  const double expected = value_of(written(a, b, c, d, w));
  EXPECT_NEAR(value_of(f(tree, w)), expected, 1e-12);
  const TracedProgram traced = trace(f)(tree, w);
  EXPECT_NEAR(value_of(run_traced(traced, tensors_of(std::tuple(tree, w))).at(0)), expected, 1e-12);
  const auto [ga, gb, gc, gd] = grad<0, 1, 2, 3>(written)(a, b, c, d, w);
  const TracedProgram staged = trace(grad(f))(tree, w);
  const std::vector<Tensor> found = run_traced(staged, tensors_of(std::tuple(tree, w)));
  for (const Maybe<Tree>& gradient : {grad(f)(tree, w), with_tensors(Maybe<Tree>(), found)}) {
    const std::vector<Tensor> values = values_of(gradient);
    expect_equal(values[0], ga);
    expect_equal(values[1], gb);
    expect_equal(values[2], gc);
    expect_equal(values[3], gd);
  }
}

// Cotangents of one record from two uses are added, in all its fields.
TEST(Record, UsedTwiceAddsItsCotangents) {
  const Maybe<Tree> tree = tree_of(a, b, c, d);
  const auto twice = [](Maybe<Tree> tree, Tensor w) {
    return energy(tree, w) * 2. + energy(tree, w);
  };
  const std::vector<Tensor> expected = expected_gradient();
  const TracedProgram staged = trace(grad(twice))(tree, w);
  const std::vector<Tensor> found = run_traced(staged, tensors_of(std::tuple(tree, w)));
  for (const Maybe<Tree>& gradient : {grad(twice)(tree, w), with_tensors(Maybe<Tree>(), found)}) {
    const std::vector<Tensor> values = values_of(gradient);
    for (size_t i = 0; i < values.size(); ++i) expect_equal(values[i], 3. * expected[i]);
  }
}

// The gradient of `twice` is a sum of two trees, of which a function is differentiated in turn.
TEST(Record, SumsOfCotangentsAreDifferentiated) {
  const Maybe<Tree> tree = tree_of(a, b, c, d), direction = tree_of(d, c, b, a);
  const auto twice = [](Maybe<Tree> tree, Tensor w) {
    return energy(tree, w) * 2. + energy(tree, w);
  };
  const auto f = [&](Maybe<Tree> tree, Tensor w) { return energy(grad(twice)(tree, w), w); };
  const auto f_written_out = [](Tensor a, Tensor b, Tensor c, Tensor d, Tensor w) {
    const auto [ga, gb, gc, gd] = grad<0, 1, 2, 3>(written_out)(a, b, c, d, w);
    return written_out(3. * ga, 3. * gb, 3. * gc, 3. * gd, w);
  };
  const std::vector<Tensor> arguments = tensors_of(std::tuple(tree, w));
  const auto [ga, gb, gc, gd] = grad<0, 1, 2, 3>(f_written_out)(a, b, c, d, w);
  const std::vector<Tensor> staged = run_traced(trace(grad(f))(tree, w), arguments);
  for (const Maybe<Tree>& found : {grad(f)(tree, w), with_tensors(Maybe<Tree>(), staged)}) {
    const std::vector<Tensor> values = values_of(found);
    expect_equal(values[0], ga);
    expect_equal(values[1], gb);
    expect_equal(values[2], gc);
    expect_equal(values[3], gd);
  }
  const Tensor gw = grad<4>(f_written_out)(a, b, c, d, w);
  expect_equal(grad<1>(f)(tree, w), gw);
  expect_equal(run_traced(trace(grad<1>(f))(tree, w), arguments).at(0), gw);
  const auto slope = [&](Maybe<Tree> tree, Maybe<Tree> direction, Tensor w) {
    const auto of_tree = [&](Maybe<Tree> tree) { return f(tree, w); };
    return jvp(of_tree, std::tuple(tree), std::tuple(direction)).second;
  };
  const Tensor expected = sum(ga * d + gb * c + gc * b + gd * a);
  const TracedProgram traced = trace(slope)(tree, direction, w);
  const std::vector<Tensor> found = run_traced(traced, tensors_of(std::tuple(tree, direction, w)));
  EXPECT_NEAR(value_of(slope(tree, direction, w)), value_of(expected), 1e-10);
  EXPECT_NEAR(value_of(found.at(0)), value_of(expected), 1e-10);
}

TEST(Record, IsSharedByManySamples) {
  const Maybe<Tree> tree = tree_of(a, b, c, d);
  const Tensor many = stacked({w, 2. * w, -w});
  const auto of_w = [&](Tensor w) { return energy(tree, w); };
  const Tensor expected = stacked({of_w(w), of_w(2. * w), of_w(-w)});
  expect_equal(vmap(of_w)(many), expected);
  expect_equal(run_traced(trace(vmap(of_w))(many), {many}).at(0), expected);
  const Tensor gradients = stacked({grad(of_w)(w), grad(of_w)(2. * w), grad(of_w)(-w)});
  expect_equal(vmap(grad(of_w))(many), gradients);
  expect_equal(run_traced(trace(vmap(grad(of_w)))(many), {many}).at(0), gradients);
}

// ---- Lists with two alternating kinds of nodes.

struct Odd;
struct Even {
  Tensor value;
  Maybe<Odd> next = {};

  static Record record();
};
struct Odd {
  Tensor weight;
  Maybe<Even> next = {};

  static Record record() { return {"odd", {"f64[]", "@even?"}}; }
};
Record Even::record() { return {"even", {"f64[]", "@odd?"}}; }

struct List {
  Tensor value;
  Maybe<List> next = {};

  static Record record() { return {"list", {"f64[]", "@list?"}}; }
};
const auto total = recursive("total", [](auto self, Maybe<List> list, Tensor w) {
  return cond(
      list.has_value(),
      [&](Maybe<List> list, Tensor w) {
        const List node = list.value();
        return sin(w) * node.value + self(node.next, w);
      },
      [](Maybe<List>, Tensor) { return zeros({}, DType::f64); }, list, w);
});

TEST(Record, AsDeepAsCanBe) {
#if defined(__SANITIZE_THREAD__)
  constexpr int64_t kDeep = 1'000;  // ThreadSanitizer supports 65,536 frames
#elif defined(__SANITIZE_ADDRESS__)
  constexpr int64_t kDeep = 5'000;
#else
  constexpr int64_t kDeep = 100'000;
#endif
  const Tensor one = ones({}, DType::f64), x = asarray(0.7, DType::f64);
  Maybe<List> list;
  for (int64_t i = 0; i < kDeep; ++i) list = List{one, list};
  const double slope = std::cos(0.7) * kDeep;
  EXPECT_NEAR(value_of(grad<1>(total)(list, x)), slope, 1e-6);
  const TracedProgram staged = trace(grad<0, 1>(total))(list, x);
  const std::vector<Tensor> found = run_traced(staged, tensors_of(std::tuple(list, x)));
  EXPECT_NEAR(value_of(found.at(1)), slope, 1e-6);
  Maybe<List> gradient = with_tensors(Maybe<List>(), std::vector{found.at(0)});
  for (int64_t i = 0; i < kDeep; ++i) {
    const List node = gradient.value();
    ASSERT_EQ(value_of(node.value), std::sin(0.7));
    gradient = node.next;
  }
}

TEST(Record, OfTwoKinds) {
  struct Walk {
    static Tensor even(const Maybe<Even>& list) {
      return cond(
          list.has_value(),
          [](Maybe<Even> list) {
            const Even node = list.value();
            return node.value + odd(node.next);
          },
          [](Maybe<Even>) { return zeros({}, DType::f64); }, list);
    }
    static Tensor odd(const Maybe<Odd>& list) {
      return cond(
          list.has_value(),
          [](Maybe<Odd> list) {
            const Odd node = list.value();
            return square(node.weight) * of_even(node.next);
          },
          [](Maybe<Odd>) { return ones({}, DType::f64); }, list);
    }
    static Tensor of_even(const Maybe<Even>& list) {
      static const auto function =
          recursive("even", [](auto, Maybe<Even> list) { return even(list); });
      return function(list);
    }
  };
  const auto f = [](Tensor x) {
    return Walk::of_even(Even{x, Odd{x, Even{x, Odd{2. * x, Even{x}}}}});
  };
  // x + x² (x + 4 x² (x + 1))
  const Tensor x = asarray(0.9, DType::f64);
  const double slope = 1 + 3 * 0.81 + 16 * 0.729 + 20 * 0.6561;
  EXPECT_NEAR(value_of(grad(f)(x)), slope, 1e-12);
  EXPECT_NEAR(value_of(run_traced(trace(grad(f))(x), {x}).at(0)), slope, 1e-12);
  const auto of_list = [](Maybe<Even> list) { return Walk::of_even(list) + Walk::of_even(list); };
  const Maybe<Even> list = Even{x, Odd{x, Even{x, {}}}};
  const TracedProgram staged = trace(grad(of_list))(list);
  const Maybe<Even> found = with_tensors(Maybe<Even>(), run_traced(staged, tensors_of(list)));
  const Maybe<Even> eager = grad(of_list)(list);
  for (const auto& each : {found, eager}) {
    const Odd odd = each.value().next.value();
    EXPECT_NEAR(value_of(odd.weight), 2 * 2 * 0.9 * (0.9 + 1), 1e-12);
    EXPECT_NEAR(value_of(odd.next.value().value), 2 * 0.81, 1e-12);
  }
}

TEST(Record, RefusesWhatItIsNot) {
  EXPECT_NE(what_of([] { Maybe<Tree>().value(); }).find("a @tree is absent"), std::string::npos);
  EXPECT_NE(what_of([] { Maybe<Tree>(Tree{tensor({1., 2., 3.})}); }).find("field 0 is f64[3]"),
            std::string::npos);
  EXPECT_NE(what_of([] { Record("tree", {"f64[3]", "@tree?"}); }).find("declared already"),
            std::string::npos);
  EXPECT_NE(what_of([] { Record("bad", {"f64[n]"}); }).find("field 0 is f64[n]"),
            std::string::npos);
  EXPECT_NE(what_of([] { Record("ba.d", {"f64[2]"}); }).find("not a valid name"),
            std::string::npos);
  EXPECT_NE(what_of([] { sin(tensors_of(tree_of(a, b, c, d))[0]); }).find("is a record"),
            std::string::npos);
  EXPECT_NE(what_of([] {
              const auto made = [](Tensor x) { return energy(tree_of(x, x, x, x), w); };
              vmap(made)(stacked({a, b}));
            }).find("pack"),
            std::string::npos);
}

}  // namespace
}  // namespace plait
