// vmap compared with a loop over the samples.
#include "plait/transform/vmap.h"

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/tracing/trace_function.h"
#include "plait/transform/derivatives/custom.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/derivatives/jacobian.h"
#include "plait/transform/derivatives/remat.h"
#include "plait/transform/programs.h"

#include "tests/transform/transform_support.h"

namespace plait {
namespace {

// Applies f to each row of x, one after the other.
template <class F>
Tensor by_loop(const F& f, const Tensor& x) {
  std::vector<Tensor> rows;
  for (int64_t i = 0; i < x.shape(0).number(); ++i) rows.push_back(f(x[i]));
  return stack(rows, 0);
}

const Tensor kNetworkWeights = numbers({3, 4}, 1);
Tensor network(const Tensor& x) { return sum(tanh(matmul(x, kNetworkWeights)) * exp(-max(x))); }

TEST(Vmap, IsALoopOverTheSamples) {
  const Tensor x = numbers({5, 3}, 0);
  expect_alike(vmap(network)(x), by_loop(network, x));
  expect_alike(vmap(grad(network))(x), by_loop(grad(network), x));
  const auto total = [](const Tensor& y) { return sum(vmap(network)(y) * numbers({5}, 2)); };
  const auto total_by_loop = [](const Tensor& y) {
    return sum(by_loop(network, y) * numbers({5}, 2));
  };
  expect_alike(grad(total)(x), grad(total_by_loop)(x));
  const auto second = [](const auto& f) {
    return grad([f](const Tensor& y) { return sum(square(grad(f)(y))); });
  };
  expect_alike(vmap(second(network))(x), by_loop(second(network), x));
  expect_alike(second(total)(x), second(total_by_loop)(x));
  expect_alike(jvp(total, std::tuple(x), std::tuple(x)).second,
               jvp(total_by_loop, std::tuple(x), std::tuple(x)).second);
  const auto slope = [](const Tensor& y) {
    return jvp(network, std::tuple(y), std::tuple(y)).second;
  };
  expect_alike(vmap(slope)(x), by_loop(slope, x));
}

TEST(Vmap, Nests) {
  const Tensor x = numbers({2, 5, 3}, 0);
  const auto inner = [](const Tensor& y) { return by_loop(network, y); };
  expect_alike(vmap(vmap(network))(x), by_loop(inner, x));
  expect_alike(vmap(vmap(grad(network)))(x),
               by_loop([](const Tensor& y) { return by_loop(grad(network), y); }, x));
  const auto total = [](const Tensor& y) { return sum(square(vmap(network)(y))); };
  const auto total_by_loop = [](const Tensor& y) { return sum(square(by_loop(network, y))); };
  expect_alike(vmap(grad(total))(x), by_loop(grad(total_by_loop), x));
  // All pairs.
  const Tensor a = numbers({4, 3}, 0), b = numbers({5, 3}, 2);
  const auto distance = [](Tensor p, Tensor q) { return sum(square(p - q)); };
  const auto to_all = vmap(distance, {.in = {none, 0}});
  const Tensor table = vmap(to_all, {.in = {0, none}})(a, b);
  expect_alike(table, sum(square(expand_dims(a, 1) - expand_dims(b, 0)), 2));
}

TEST(Vmap, TakesAndGivesSamplesAlongAnyAxis) {
  const Tensor x = numbers({3, 5}, 0), y = numbers({5, 2}, 1);
  const auto f = [](Tensor a, Tensor b, Tensor c) { return std::pair{outer(a, b) + c, sum(a)}; };
  const auto [products, sums] =
      vmap(f, {.in = {1, 0, none}, .out = {-1, 0}})(x, y, Tensor(x[0][0]));
  ASSERT_EQ(products.type().text(), "f64[3, 2, 5]");
  for (int64_t i = 0; i < 5; ++i) {
    const Tensor row = x[{ellipsis, i}];
    expect_alike(products[{ellipsis, i}], outer(row, y[i]) + x[0][0]);
    expect_alike(sums[i], sum(row));
  }
  const auto same = [](Tensor a) { return std::pair{a, ones({2}, DType::f64)}; };
  const auto [batched, single] = vmap(same, {.out = {1, none}})(x);
  EXPECT_EQ(batched.type().text(), "f64[5, 3]");
  EXPECT_EQ(single.type().text(), "f64[2]");
  EXPECT_EQ(vmap([](Tensor a) { return a; }, {.in = {none}, .size = Dim(4)})(x).type().text(),
            "f64[4, 3, 5]");
}

TEST(Vmap, GradientsOfEachSample) {
  const Layer layer{numbers({3, 2}, 0), numbers({2}, 1)};
  const Tensor x = numbers({6, 3}, 2), y = numbers({6, 2}, 3);
  const auto loss = [](const Layer& l, Tensor a, Tensor b) { return sum(square(tanh(l(a)) - b)); };
  const Layer each = vmap(grad(loss), {.in = {none, 0, 0}})(layer, x, y);
  ASSERT_EQ(each.weight.type().text(), "f64[6, 3, 2]");
  for (int64_t i = 0; i < 6; ++i) {
    const Layer one = grad(loss)(layer, Tensor(x[i]), Tensor(y[i]));
    expect_alike(each.weight[i], one.weight);
    expect_alike(each.bias[i], one.bias);
  }
  const Layer stacked{numbers({6, 3, 2}, 0), numbers({6, 2}, 1)};
  const Tensor losses = vmap(loss, {.in = {0, 0, 0, 0}})(stacked, x, y);
  expect_alike(losses[2], loss({stacked.weight[2], stacked.bias[2]}, x[2], y[2]));
}

TEST(Vmap, InTracesAndOfSymbolicNumbersOfSamples) {
  const Tensor x = numbers({5, 3}, 0);
  const auto f = [](const Tensor& y) { return sum(vmap(grad(network))(y)); };
  const TracedProgram fixed = trace(f)(x);
  std::vector<Tensor> arguments{x};
  arguments.insert(arguments.end(), fixed.hidden_inputs.begin(), fixed.hidden_inputs.end());
  expect_alike(evaluate(fixed.program, arguments).at(0), f(x));
  const TracedProgram open =
      trace(f)(abstract_tensor(ir::Type::array(DType::f64, {Dim::symbol("n"), 3})));
  expect_alike(evaluate(open.program, arguments).at(0), f(x));
  expect_alike(grad([&](const Tensor& y) {
                 std::vector<Tensor> given = arguments;
                 given[0] = y;
                 return run(open.program, given).at(0);
               })(x),
               grad(f)(x));
}

TEST(Vmap, BatchesCustomRules) {
  const Tensor x = numbers({5, 3}, 0), shared = numbers({3}, 2);
  const auto by_vjp =
      custom_vjp([](Tensor a, Tensor b) { return a * a * b; },
                 [](Tensor a, Tensor b) { return std::pair{a * a * b, std::pair{a, b}}; },
                 [](const std::pair<Tensor, Tensor>& at, Tensor c) {
                   return std::tuple(7 * at.first * at.second * c, 11 * at.first * c);
                 });
  const auto by_jvp = custom_jvp([](Tensor a) { return a * a; },
                                 [](std::tuple<Tensor> at, std::tuple<Tensor> along) {
                                   const Tensor a = std::get<0>(at);
                                   return std::pair{a * a, 5 * a * std::get<0>(along)};
                                 });
  const auto one = [&](Tensor a, Tensor b) { return sum(by_vjp(a, b) + by_jvp(a)); };
  const auto all = [&](Tensor a, Tensor b) {
    return sum(vmap(one, {.in = {0, none}})(a, b) * numbers({5}, 1));
  };
  const Tensor scale = expand_dims(numbers({5}, 1), 1);
  const auto [by_x, by_shared] = grad<0, 1>(all)(x, shared);
  expect_alike(by_x, (7 * x * shared + 5 * x) * scale);
  expect_alike(by_shared, sum(11 * x * scale, 0));
  const TracedProgram traced = trace(all)(x, shared);
  const std::vector<Tensor> found = evaluate(grad(traced.program, {0, 1}), {{x, shared}});
  expect_alike(found.at(0), by_x);
  expect_alike(found.at(1), by_shared);
  expect_alike(vmap([&](Tensor a) { return grad([&](Tensor b) { return one(b, shared); })(a); })(x),
               7 * x * shared + 5 * x);
  const auto again = remat([](Tensor a, Tensor b) { return sin(a * b); });
  const auto total = [&](Tensor a, Tensor b) { return sum(vmap(again, {.in = {0, none}})(a, b)); };
  const auto plain = [&](Tensor a, Tensor b) { return sum(sin(a * b)); };
  expect_alike(grad<1>(total)(x, shared), grad<1>(plain)(x, shared));
}

TEST(Vmap, EachSampleDrawsItsOwn) {
  const Tensor x = numbers({4, 3}, 0);
  const auto noisy = [](Tensor a) { return a * 0 + random::normal({3}, 0., 1., DType::f64); };
  const Tensor drawn = vmap(noisy)(x);
  for (int64_t i = 1; i < 4; ++i) {
    EXPECT_GT(value_of(max(absolute(drawn[i] - drawn[0]))), 1e-3);
  }
  const Tensor keys = random::split_key(random::key(3), 4);
  const auto by_key = [](Tensor key) { return random::uniform(key, {2}); };
  EXPECT_EQ(vmap(by_key)(keys).text(), by_loop(by_key, keys).text());
}

TEST(Vmap, RefusesInvalidAxes) {
  const Tensor x = numbers({5, 3}, 0);
  const auto same = [](Tensor a) { return a; };
  const auto add_both = [](Tensor a, Tensor b) { return a + b; };
  EXPECT_THROW(vmap(add_both)(x, numbers({4, 3}, 0)), ShapeError);
  EXPECT_THROW(vmap(same)(x[0][0]), IndexError);
  EXPECT_THROW(vmap(same, {.in = {2}})(x), IndexError);
  EXPECT_THROW(vmap(same, {.out = {3}})(x), IndexError);
  EXPECT_THROW(vmap(same, {.out = {none}})(x), ValueError);
  EXPECT_THROW(vmap(same, {.in = {none}})(x), ValueError);
  EXPECT_THROW(vmap(same, {.in = {0, 1, 0}})(x), ValueError);
  EXPECT_THROW(vmap([](Tensor a) { return a * a[0].item<double>(); })(x), ValueError);
  EXPECT_THROW(vmap([](Tensor a) { return nonzero(a)[0]; })(x), Error);
}

}  // namespace
}  // namespace plait
