// Pullbacks and pushforwards at a point, used within recorded functions, and differentiated by
// the point: rules that read results must see their derivation, also at levels that the
// recording pauses.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/indexing/index.h"
#include "plait/transform/control/control.h"
#include "plait/transform/derivatives/custom.h"
#include "plait/transform/derivatives/jacobian.h"
#include "plait/transform/derivatives/remat.h"
#include "plait/transform/derivatives/tape.h"
#include "plait/transform/jit.h"
#include "plait/transform/vmap.h"

#include "tests/transform/traced_run.h"
#include "tests/transform/transform_support.h"

namespace plait {
namespace {

struct Named {
  std::string name;
  OfTensor function;
};

// Elementwise functions, so that each derivative is elementwise too; their rules read results.
std::vector<Named> functions() {
  const auto layer = [](Tensor x) { return tanh(exp(0.5 * x)) * x; };
  const auto by_rule =
      custom_vjp([](Tensor x) { return exp(x); },
                 [](Tensor x) {
                   const Tensor y = exp(x);
                   return std::pair(y, y);
                 },
                 [](Tensor y, Tensor cotangent) { return std::tuple(y * cotangent); });
  return {
      {"exp", [](Tensor x) { return exp(x); }},
      {"tanh", [](Tensor x) { return tanh(x); }},
      {"remat", remat(layer)},
      {"remat that keeps", remat(
                               [](Tensor x) {
                                 const Tensor one = ones({1, 1}, DType::f64);
                                 return tanh(matmul(expand_dims(exp(x), 1), one)[{ellipsis, 0}]) *
                                        x;
                               },
                               save_dots())},
      {"cond",
       [](Tensor x) {
         return cond(sum(x) > -100, [](Tensor z) { return exp(z); }, [](Tensor z) { return z; }, x);
       }},
      {"pull in remat",
       [](Tensor x) {
         const auto pull = vjp([](Tensor z) { return exp(z) * z; }, x).second;
         return remat([pull](Tensor u) { return std::get<0>(pull(u)); })(ones_like(x));
       }},
      {"custom_vjp", [by_rule](Tensor x) { return by_rule(x) * x; }}};
}

// f'(x) of an elementwise f, in many ways.
std::vector<Named> slopes_of(const OfTensor& given) {
  const OfTensor f = [given](Tensor x) { return reshape(given(x), x.shape()); };
  const auto ones_of = [](const Tensor& x) { return ones_like(x); };
  using Linear = std::function<Tensor(Tensor)>;
  const auto pull_at = [f](const Tensor& x) -> Linear {
    return [pull = vjp(f, x).second](Tensor u) { return std::get<0>(pull(u)); };
  };
  const auto push_at = [f](const Tensor& x) -> Linear { return linearize(f, x).second; };
  std::vector<Named> ways{
      {"jacrev", [f](Tensor x) { return sum(jacrev(f)(x), 0); }},
      {"jacfwd", [f](Tensor x) { return sum(jacfwd(f)(x), 1); }},
      {"jvp", [f](Tensor x) { return jvp(f, std::tuple(x), std::tuple(ones_like(x))).second; }}};
  const auto add = [&](const std::string& name, const auto& use) {
    ways.push_back({"pull in " + name, [=](Tensor x) { return use(pull_at(x), ones_of(x)); }});
    ways.push_back({"push in " + name, [=](Tensor x) { return use(push_at(x), ones_of(x)); }});
  };
  add("nothing", [](const Linear& linear, const Tensor& u) { return linear(u); });
  add("vmap", [](const Linear& linear, const Tensor& u) {
    return sum(vmap(linear)(stack(std::vector{0.25 * u, 0.75 * u})), 0);
  });
  add("scan", [](const Linear& linear, const Tensor& u) {
    const auto step = [&](Tensor total, Tensor each) {
      return std::pair(total + linear(each), std::tuple<>());
    };
    return scan(step, zeros_like(u), stack(std::vector{0.25 * u, 0.75 * u})).first;
  });
  add("map", [](const Linear& linear, const Tensor& u) {
    return sum(map(linear, stack(std::vector{0.25 * u, 0.75 * u})), 0);
  });
  add("cond", [](const Linear& linear, const Tensor& u) {
    return cond(sum(u) > -1, linear, [](Tensor z) { return z; }, u);
  });
  add("while", [](const Linear& linear, const Tensor& u) {
    const auto body = [&](const std::pair<Tensor, Tensor>& carry) {
      return std::pair(carry.first + 1, carry.second + linear(0.5 * u));
    };
    const auto test = [](const std::pair<Tensor, Tensor>& carry) { return carry.first < 2; };
    return while_loop(test, body, std::pair(full({}, 0, DType::i64), zeros_like(u))).second;
  });
  add("remat", [](const Linear& linear, const Tensor& u) { return remat(linear)(u); });
  return ways;
}

// f''(x), by differentiating each of these.
std::vector<Named> slopes_of_slope(const OfTensor& slope) {
  const OfTensor total = [slope](Tensor x) { return sum(slope(x)); };
  return {
      {"grad", [=](Tensor x) { return grad(total)(x); }},
      {"jvp", [=](Tensor x) { return jvp(slope, std::tuple(x), std::tuple(ones_like(x))).second; }},
      {"jacfwd", [=](Tensor x) { return sum(jacfwd(slope)(x), 1); }},
      {"jacrev", [=](Tensor x) { return sum(jacrev(slope)(x), 0); }},
      {"tape",
       [=](Tensor x) {
         Tape tape;
         const Tensor begun = tape.watch(x);
         return tape.gradient(total(begun) + 0 * sum(begun),
                              begun);  // depends on it even if constant
       }},
      {"backward", [=](Tensor x) {
         const Tensor begun = x.requires_grad();
         (total(begun) + 0 * sum(begun)).backward();
         return begun.grad();
       }}};
}

void expect_slopes(const OfTensor& slope, const Tensor& x, const Tensor& expected,
                   const std::string& what) {
  try {
    const Tensor found = slope(x);
    if (same(x.shape(0), 0)) {
      EXPECT_EQ(found.type(), expected.type()) << what;
    } else {
      expect_alike(found, expected, what);
    }
  } catch (const Error& error) {
    ADD_FAILURE() << what << ": " << error.what();
  }
}

TEST(Nested, LinearFunctionsAreDifferentiatedWhereverTheyAreUsed) {
  int count = 0;
  for (const int64_t size : {2, 1, 0}) {
    const Tensor x = numbers({size}, 0.3), ones = ones_like(x);
    for (const Named& f : functions()) {
      const auto slope = [&](Tensor z) {
        return jvp(f.function, std::tuple(z), std::tuple(ones)).second;
      };
      const Tensor expected =
          reshape(jvp(slope, std::tuple(x), std::tuple(ones)).second, x.shape());
      for (const Named& first : slopes_of(f.function)) {
        for (const Named& second : slopes_of_slope(first.function)) {
          const std::string what =
              fmt::format("{} of {} of {}, {} elements", second.name, first.name, f.name, size);
          expect_slopes(second.function, x, expected, what);
          if (size == 2 && ++count % 5 == 0) {
            const OfTensor traced = [&](Tensor z) {
              return run_traced(trace(second.function)(z), {z})[0];
            };
            expect_slopes(traced, x, expected, "traced " + what);
          }
          if (size == 2 && count % 50 == 0) {
            expect_slopes(jit(frozen(second.function)), x, expected, "jitted " + what);
          }
        }
      }
    }
  }
}

TEST(Nested, ThirdDerivatives) {
  const Tensor x = numbers({2}, 0.3);
  const auto total = [](Tensor z) { return sum(exp(z)); };
  const auto by_hessian = [&](Tensor z) { return sum(hessian(total)(z)); };
  expect_alike(grad(by_hessian)(x), exp(x));
  expect_alike(jit(frozen(grad(by_hessian)))(x), exp(x));
  const Tensor all = jacfwd(jacrev(jacfwd([](Tensor z) { return exp(z); })))(x);
  expect_alike(sum(all, {0, 1, 2}), exp(x));
}

TEST(Nested, LinearisedProgramsOfWhatIsComputedAgain) {
  const auto f = [](Tensor x) { return exp(x) * x; };
  const Tensor x = numbers({3}, 0.3), u = numbers({3}, 1);
  const auto along = [&](Tensor z) { return linearize(remat(f), z).second(u); };
  const Tensor expected = jvp(f, std::tuple(x), std::tuple(u)).second;
  expect_alike(along(x), expected);
  expect_alike(jit(frozen(along))(x), expected);
  expect_alike(jit(frozen(jacfwd(remat(f))))(x), jacfwd(f)(x));
  const auto total = [](Tensor z) { return sum(exp(z) * z); };
  expect_alike(jit(frozen(hessian(remat(total))))(x), hessian(total)(x));
}

// In a trace the number of steps is known only at run time: the pushforward has
// data-dependent sizes.
TEST(Nested, LinearisedProgramsOfLoopsThatChangeSizes) {
  const auto halved = [](Tensor x) {
    return while_loop([](Tensor z) { return z.shape(0) > 1; },
                      [](Tensor z) { return first_half(z) * second_half(z); }, x);
  };
  const Tensor x = numbers({4}, 0.3), u = numbers({4}, 1);
  const Tensor expected = jvp(halved, std::tuple(x), std::tuple(u)).second;
  expect_alike(jit(frozen([&](Tensor z) { return linearize(halved, z).second(u); }))(x), expected);
}

// A program that is recorded and run while another one is recorded.
TEST(Nested, ProgramsInPrograms) {
  const auto inner = [](Tensor x) {
    const TracedProgram traced = trace([&](Tensor z) { return exp(z) * x; })(x);
    return run_traced(traced, {x})[0];
  };
  const Tensor x = numbers({2}, 0.3);
  expect_alike(run_traced(trace(inner)(x), {x})[0], exp(x) * x);
}

TEST(Jacobian, OfTreesAndSeveralArguments) {
  const Tensor a = numbers({2}, 0.3), b = numbers({}, 1);
  const Layer layer{numbers({2, 3}, 0.1), numbers({3}, 0.2)};
  const auto f = [](Tensor p, Tensor q) { return p * p * q; };
  for (const bool forward : {true, false}) {
    const auto [by_a, by_b] = forward ? jacfwd<0, 1>(f)(a, b) : jacrev<0, 1>(f)(a, b);
    expect_alike(by_a, reshape(stack(std::vector{2 * a[0] * b, number(0), number(0), 2 * a[1] * b}),
                               {2, 2}));
    expect_alike(by_b, a * a);
    const auto run = [](const Layer& weights, Tensor x) { return weights(x); };
    const Layer rows = forward ? jacfwd(run)(layer, a) : jacrev(run)(layer, a);
    EXPECT_EQ(rows.weight.type().text(), "f64[3, 2, 3]");
    EXPECT_EQ(rows.bias.type().text(), "f64[3, 3]");
    const auto pair = [](Tensor x) { return Pair{exp(x), sum(x)}; };
    const Pair columns = forward ? jacfwd(pair)(a) : jacrev(pair)(a);
    EXPECT_EQ(columns.first.type().text(), "f64[2, 2]");
    expect_alike(columns.second, ones({2}, DType::f64));
  }
  const auto total = [](Tensor p, Tensor q) { return sum(p * p * q); };
  const auto [of_a, of_b] = hessian<0, 1>(total)(a, b);
  expect_alike(std::get<1>(of_a), 2 * a);
  expect_alike(std::get<0>(of_b), 2 * a);
  expect_alike(std::get<1>(of_b), number(0));
}

}  // namespace
}  // namespace plait
