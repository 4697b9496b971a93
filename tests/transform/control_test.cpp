// Branches and loops: eagerly, in traces, differentiated, and batched.
#include "plait/transform/control/control.h"

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/tracing/trace_function.h"
#include "plait/transform/control/associative_scan.h"
#include "plait/transform/control/recursive.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/derivatives/remat.h"
#include "plait/transform/programs.h"
#include "plait/transform/vmap.h"

#include "tests/transform/traced_run.h"
#include "tests/transform/transform_support.h"

namespace plait {
namespace {

using Function = std::function<Tensor(Tensor)>;

const Tensor kWeights = tensor({0.9, -0.6, 0.4});

struct Case {
  const char* name;
  Function f;  // maps f64[3] to a number
  bool is_for_many = true;
};

// f64[12]
Tensor dozen(const Tensor& x) {
  return concat(std::vector{sin(x), x * kWeights, cos(x) * x, x - 0.3}, 0);
}

// Functions that are smooth around the samples below; the samples take different branches and
// numbers of steps.
const Case kCases[] = {
    {"cond",
     [](Tensor x) {
       return sum(cond(
           sum(x) > 0.2, [](Tensor y) { return sin(y) * kWeights; },
           [&](Tensor y) { return exp(y) * x; }, x));
     }},
    {"cond that fails for those that do not take it",
     [](Tensor x) {
       // For other samples it would index out of range, and have an infinite derivative.
       const auto then = [](Tensor y) {
         const Tensor place = where(sum(y) > 0.2, 1, 99);
         return log(maximum(sum(y), 0.)) + take(y, place, 0);
       };
       return cond(sum(x) > 0.2, then, [](Tensor y) { return sum(y * y); }, x);
     }},
    {"switch",
     [](Tensor x) {
       const Tensor which = astype(clip(floor(sum(x) * 1.3 + 0.1), 0., 2.), DType::i32);
       const std::vector<Function> branches = {[](Tensor y) { return sum(y * y); },
                                               [&](Tensor y) { return sum(sin(y) * x); },
                                               [](Tensor y) { return sum(y * kWeights); }};
       return switch_(which, branches, x);
     }},
    {"while",
     [](Tensor x) {
       return sum(while_loop([](Tensor h) { return sum(h * h) > 0.05; },
                             [&](Tensor h) { return h * 0.6 * cos(h * x) + 0.01 * kWeights; }, x));
     }},
    {"while with a counter",
     [](Tensor x) {
       using State = std::pair<Tensor, Tensor>;
       const auto [h, i] =
           while_loop([](State s) { return s.second < 4; },
                      [](State s) { return State(sin(s.first) * 1.3, s.second + 1); },
                      State(x, asarray(0, DType::i64)));
       return sum(h * kWeights) * astype(i, DType::f64);
     }},
    {"for",
     [](Tensor x) {
       return sum(for_loop(
           1, 5, [&](Tensor i, Tensor h) { return sin(h) * astype(i, DType::f64) + x; }, x));
     }},
    {"scan",
     [](Tensor x) {
       const auto [last, all] = scan(
           [&](Tensor h, Tensor each) {
             const Tensor next = tanh(h * each + x);
             return std::pair(next, next * kWeights);
           },
           x, stack(std::vector{x[0] * x, x[1] + x, kWeights}));
       return sum(last) + sum(square(all));
     }},
    {"scan backwards of what is whole too",
     [](Tensor x) {
       using State = std::pair<Tensor, Tensor>;
       const auto [last, all] = scan(
           [&](State s, Tensor each) {
             const Tensor next = s.first * each + astype(s.second, DType::f64) * x;
             return std::pair(State(next, s.second + 1), std::pair(s.second, next));
           },
           State(x, asarray(2, DType::i64)), x, {.reverse = true});
       return sum(last.first * all.second) + astype(sum(all.first), DType::f64);
     }},
    {"scan of two steps per iteration",
     [](Tensor x) {
       const auto [last, all] = scan(
           [&](Tensor h, Tensor each) {
             const Tensor next = tanh(h * each + x);
             return std::pair(next, sum(next * each));
           },
           kWeights, x, {.unroll = 2});
       return sum(last) + sum(square(all));
     }},
    {"scan backwards of two steps per iteration",
     [](Tensor x) {
       const auto [last, all] = scan(
           [&](Tensor h, Tensor each) {
             const Tensor next = sin(h * each + x);
             return std::pair(next, next);
           },
           x, stack(std::vector{x[0] * x, x[1] + x, kWeights}), {.reverse = true, .unroll = 2});
       return sum(last) + sum(square(all) * x);
     }},
    {"map", [](Tensor x) { return sum(map([&](Tensor each) { return sin(each * x); }, x)); }},
    {"cond in while in scan",
     [](Tensor x) {
       const auto body = [&](Tensor h, Tensor each) {
         const Tensor inner = while_loop([](Tensor v) { return sum(v * v) > 0.3; },
                                         [&](Tensor v) {
                                           return cond(
                                               sum(v) > each, [&](Tensor u) { return u * 0.5; },
                                               [&](Tensor u) { return 0.7 * sin(u) * cos(x); }, v);
                                         },
                                         h + each);
         return std::pair(inner, sum(inner * x));
       };
       const auto [last, all] = scan(body, x, x);
       return sum(last) + sum(all * kWeights);
     }},
    {"scan in cond",
     [](Tensor x) {
       return cond(
           sum(x) > 0.2,
           [](Tensor y) {
             return sum(
                 scan([](Tensor h, Tensor each) { return std::pair(h * each + sin(each), h); }, y,
                      y)
                     .second);
           },
           [](Tensor y) { return sum(exp(y)); }, x);
     }},
    {"while in remat",
     [](Tensor x) {
       const auto block = remat([&](Tensor y) {
         return while_loop([](Tensor h) { return sum(h * h) > 0.05; },
                           [&](Tensor h) { return h * 0.6 * cos(x); }, y);
       });
       return sum(block(sin(x)));
     }},
    {"while with checkpoints",
     [](Tensor x) {
       return sum(while_loop([](Tensor h) { return sum(h * h) > 0.001; },
                             [&](Tensor h) { return h * 0.8 * cos(h * x); }, x,
                             {.checkpoints = Checkpoints{}}));
     }},
    {"while with checkpoints at every third step",
     [](Tensor x) {
       return sum(while_loop([](Tensor h) { return sum(h * h) > 0.001; },
                             [&](Tensor h) { return h * 0.8 * cos(h * x); }, x,
                             {.checkpoints = Checkpoints{.every = 3}}) *
                  kWeights);
     }},
    {"scan with checkpoints",
     [](Tensor x) {
       const Tensor rows = expand_dims(sin(astype(iota(11), DType::f64)), 1) * x;
       const auto step = [&](Tensor h, Tensor each) {
         const Tensor next = tanh(h * 0.9 + each + x * 0.1);
         return std::pair(next, next * kWeights);
       };
       const auto [last, all] = scan(step, x, rows, {.checkpoints = Checkpoints{}});
       const auto [first, others] =
           scan(step, x, rows, {.reverse = true, .checkpoints = Checkpoints{.every = 4}});
       return sum(last) + sum(square(all)) + sum(first * others[2]);
     }},
    {"for with checkpoints",
     [](Tensor x) {
       return sum(for_loop(
           0, 10,
           [&](Tensor i, Tensor h) { return sin(h + x) * (astype(i, DType::f64) * 0.1 + 1.); }, x,
           {.checkpoints = Checkpoints{.memory = 400}}));
     }},
    {"associative scan",
     [](Tensor x) {
       using Line = std::pair<Tensor, Tensor>;  // h -> a h + b
       const auto compose = [](Line f, Line g) {
         return Line(f.first * g.first, g.first * f.second + g.second);
       };
       const Tensor slopes =
           stack(std::vector{x, sin(x), x * kWeights, x - 0.3, cos(x), kWeights, x});
       const auto [a, b] = associative_scan(compose, Line(slopes, slopes * 0.5 + 1.));
       const auto [c, d] =
           associative_scan(compose, Line(slopes, slopes), {.axis = 1, .reverse = true});
       return sum(b) + sum(a * kWeights) + sum(square(c)) + sum(d);
     }},
    {"while that halves",
     [](Tensor x) {
       return sum(while_loop(
           [](Tensor h) { return h.shape(0) > 1; },
           [&](Tensor h) { return sin(first_half(h)) * second_half(h) + sum(x) * 0.1; }, dozen(x)));
     }},
    {"while that halves until it is small",
     [](Tensor x) {
       const Tensor h = while_loop(
           [](Tensor h) { return sum(h * h) > 0.25; },
           [&](Tensor h) { return first_half(h) * cos(second_half(h)) * 0.8 + 0.1 * x[1]; },
           dozen(x));
       return sum(h * h) + sum(sin(h)) / (h.shape(0) + 1);
     },
     false},
    {"while that doubles",
     [](Tensor x) {
       using State = std::pair<Tensor, Tensor>;
       const auto [all, steps] =
           while_loop([](State s) { return s.first.shape(0) <= 20; },
                      [&](State s) {
                        const Tensor more = sin(s.first) * astype(s.second, DType::f64) + x[0];
                        return State(concat(std::vector{s.first, more}, 0), s.second + 1);
                      },
                      State(x, asarray(1, DType::i64)));
       return sum(all * cos(astype(iota(all.shape(0)), DType::f64))) * astype(steps, DType::f64);
     }},
    {"while of two sizes",
     [](Tensor x) {
       using State = std::pair<Tensor, Tensor>;
       const auto [a, b] = while_loop(
           [](State s) { return s.second.shape(1) < 9; },
           [&](State s) {
             const auto& [a, b] = s;
             return State(b, concat(std::vector{a * expand_dims(x, 1), tanh(b) + 0.2}, 1));
           },
           State(expand_dims(x, 1), expand_dims(kWeights * x, 1)));
       return sum(a) + sum(square(b) * expand_dims(kWeights, 1));
     }},
    {"while of what is there",
     [](Tensor x) {
       // Keeps the elements above the minimum: at least one less.
       const auto above = [](Tensor h) {
         const Tensor bar = stop_gradient(min(h));
         return take(h, nonzero(h > bar)[0], 0) * 1.5;
       };
       return sum(while_loop([](Tensor h) { return h.shape(0) > 4; }, above,
                             dozen(x) + dozen(sin(x * 3.))));
     },
     false},
    {"while that halves in while that halves in scan",
     [](Tensor x) {
       const auto inner = [](Tensor h) {
         return sum(while_loop([](Tensor v) { return v.shape(0) > 1; },
                               [](Tensor v) { return first_half(v) + sin(second_half(v)); }, h));
       };
       const auto step = [&](Tensor h, Tensor each) {
         const Tensor last = while_loop([](Tensor v) { return v.shape(0) > 2; },
                                        [&](Tensor v) { return first_half(v) * each + inner(v); },
                                        concat(std::vector{h, x, h}, 0));
         return std::pair(tanh(h + sum(last)), sum(last));
       };
       const auto [last, all] = scan(step, x, x);
       return sum(last) + sum(all * kWeights);
     }},
    {"while that halves in recursion",
     [](Tensor x) {
       const auto deep = recursive("deep", [&](auto self, Tensor h, Tensor n) {
         return cond(
             n > 0,
             [&](Tensor h, Tensor n) {
               const Tensor last = while_loop(
                   [](Tensor v) { return v.shape(0) > 1; },
                   [&](Tensor v) { return first_half(v) * cos(second_half(v)) + x[0]; }, dozen(h));
               return self(h * sum(last), n - 1) + h;
             },
             [](Tensor h, Tensor) { return tanh(h); }, h, n);
       });
       return sum(deep(x, astype(floor(clip(sum(x) + 1.33, 0., 2.)), DType::i32)));
     }},
    {"recursion",
     [](Tensor x) {
       const auto shrunk = recursive("shrunk", [&](auto self, Tensor h) {
         return cond(
             sum(h * h) > 0.05, [&](Tensor h) { return sin(self(h * 0.6 * cos(h * x))) + 0.1 * h; },
             [](Tensor h) { return h * kWeights; }, h);
       });
       return sum(shrunk(x));
     }},
    {"recursion that is not a tail call",
     [](Tensor x) {
       const auto power = recursive("power", [](auto self, Tensor base, Tensor n) {
         return cond(
             n == 0, [](Tensor base, Tensor) { return ones_like(base); },
             [&](Tensor base, Tensor n) {
               const Tensor half = self(base, floor_divide(n, 2));
               return cond(
                   remainder(n, 2) == 0, [](Tensor h, Tensor) { return h * h; },
                   [](Tensor h, Tensor base) { return h * h * base; }, half, base);
             },
             base, n);
       });
       return sum(power(x + 1., astype(floor(sum(x) * 2. + 5.37), DType::i64)) * kWeights);
     }},
    {"recursion in two directions",
     [](Tensor x) {
       using Sides = std::pair<Tensor, Tensor>;
       const auto tree = recursive<Sides>("tree", [&](auto self, Tensor h, Tensor depth) {
         return cond(
             depth > 0,
             [&](Tensor h, Tensor depth) {
               const auto [a, b] = self(h * x, depth - 1);
               const auto [c, d] = self(sin(h) + b, depth - 1);
               return Sides(a * c, b + d * 0.5);
             },
             [](Tensor h, Tensor) { return Sides(h, square(h)); }, h, depth);
       });
       const auto [a, b] = tree(x + 0.5, astype(floor(clip(sum(x) + 1.33, 0., 3.)), DType::i32));
       return sum(a) + sum(b * kWeights);
     }},
    {"mutual recursion",
     [](Tensor x) {
       std::function<Tensor(Tensor, Tensor)> other;
       const auto one = recursive("one", [&](auto, Tensor h, Tensor n) {
         return cond(
             n > 0, [&](Tensor h, Tensor n) { return sin(other(h * 1.1, n - 1)) * x; },
             [](Tensor h, Tensor) { return h; }, h, n);
       });
       other = recursive("other", [&](auto, Tensor h, Tensor n) {
         return cond(
             n > 0, [&](Tensor h, Tensor n) { return one(h * h, n - 1) + h; },
             [](Tensor h, Tensor) { return cos(h); }, h, n);
       });
       return sum(one(x, astype(floor(sum(x) * 2. + 3.27), DType::i64)) * kWeights);
     }},
    {"cond in while in scan in recursion",
     [](Tensor x) {
       const auto deep = recursive("deep", [&](auto self, Tensor h, Tensor n) {
         const auto step = [&](Tensor h, Tensor each) {
           const Tensor next = while_loop([](Tensor v) { return sum(v * v) > 0.3; },
                                          [&](Tensor v) {
                                            return cond(
                                                sum(v) > each, [](Tensor u) { return u * 0.5; },
                                                [&](Tensor u) { return 0.7 * sin(u) * cos(x); }, v);
                                          },
                                          h + each);
           return std::pair(next, sum(next));
         };
         return cond(
             n > 0,
             [&](Tensor h, Tensor n) {
               const auto [last, all] = scan(step, h, x);
               return self(last * 2., n - 1) + sum(all) * h;
             },
             [](Tensor h, Tensor) { return tanh(h); }, h, n);
       });
       return sum(deep(x, astype(floor(clip(sum(x) + 1.33, 0., 2.)), DType::i32)));
     }},
    {"recursion in scan",
     [](Tensor x) {
       const auto shrunk = recursive("shrunk", [](auto self, Tensor h) {
         return cond(
             sum(h * h) > 0.1, [&](Tensor h) { return self(h * 0.5) + h * h; },
             [](Tensor h) { return sin(h); }, h);
       });
       return sum(map([&](Tensor each) { return shrunk(each * x + kWeights); }, x));
     }},
    {"recursion in recursion",
     [](Tensor x) {
       const auto outer = recursive("outer", [&](auto self, Tensor h, Tensor n) {
         const auto inner = recursive("inner", [&](auto again, Tensor v) {
           return cond(
               sum(v * v) > 0.2, [&](Tensor v) { return again(v * 0.5 * cos(h)) + x; },
               [&](Tensor v) { return v * h; }, v);
         });
         return cond(
             n > 0, [&](Tensor h, Tensor n) { return self(inner(h), n - 1) * 0.5; },
             [](Tensor h, Tensor) { return h; }, h, n);
       });
       return sum(outer(x, astype(floor(clip(sum(x) + 2.23, 0., 3.)), DType::i32)));
     }},
};

const Tensor kSamples = reshape(
    tensor({0.5, -0.3, 0.8, -0.4, 0.2, -0.9, 0.3, 0.35, 0.4, -0.1, 0.05, 0.12, 1.1, 0.7, -0.2}),
    {5, 3});

Tensor by_differences(const Function& f, const Tensor& x) {
  std::vector<Tensor> slopes;
  for (int64_t i = 0; i < 3; ++i) {
    const Tensor step = astype(equal(iota(3), i), DType::f64) * 1e-6;
    slopes.push_back((f(x + step) - f(x - step)) / 2e-6);
  }
  return stack(slopes);
}

Tensor evaluated_at(const TracedProgram& traced, const Tensor& x, bool through_text) {
  const ir::Program program =
      through_text ? ir::Program::parse(traced.program.text()) : traced.program;
  return evaluate(program, with_hidden(traced, {x})).at(0);
}

Function slope_of(const Function& f) {
  return [f](Tensor x) { return jvp(f, std::tuple(x), std::tuple(kWeights * x)).second; };
}
Function second_of(const Function& f) {
  return grad(Function([f](Tensor x) { return sum(square(grad(f)(x))); }));
}

class Control : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Forms, Control, testing::ValuesIn(kCases), [](const auto& info) {
  std::string name = info.param.name;
  std::ranges::replace(name, ' ', '_');
  return name;
});

TEST_P(Control, HasItsDerivative) {
  const Function f = GetParam().f;
  for (int64_t i = 0; i < 5; ++i) {
    const Tensor x = kSamples[i];
    const Tensor slope = by_differences(f, x);
    EXPECT_LT(value_of(max(absolute(grad(f)(x) - slope))),
              1e-7 * (1 + value_of(max(absolute(slope)))));
    expect_alike(slope_of(f)(x), sum(grad(f)(x) * kWeights * x), "forward and reverse");
  }
}

TEST_P(Control, IsStagedWithItsDerivatives) {
  const Function f = GetParam().f;
  const std::pair<const char*, Function> ways[] = {
      {"value", f},
      {"gradient", grad(f)},
      {"tangent", slope_of(f)},
      {"second", second_of(f)},
      {"forward over reverse",
       [&](Tensor x) { return jvp(grad(f), std::tuple(x), std::tuple(x)).second; }},
      {"reverse over forward", grad(slope_of(f))},
  };
  for (const auto& [name, way] : ways) {
    SCOPED_TRACE(name);
    const TracedProgram traced = trace(way)(Tensor(kSamples[0]));
    for (int64_t i = 0; i < 5; ++i) {
      const Tensor x = kSamples[i], expected = way(x);
      expect_alike(evaluated_at(traced, x, i == 1), expected, "evaluated");
      const std::vector<Tensor> arguments = with_hidden(traced, {x});
      expect_alike(run(traced.program, arguments).at(0), expected, "run");
      const Function following = [&](Tensor x) {
        std::vector<Tensor> given = arguments;
        given[0] = x;
        return sum(run(traced.program, given).at(0));
      };
      const Function followed = [&](Tensor x) { return sum(way(x)); };
      expect_alike(grad(following)(x), grad(followed)(x), "run, differentiated");
    }
  }
  const TracedProgram traced = trace(f)(Tensor(kSamples[0]));
  for (int64_t i = 0; i < 5; ++i) {
    const std::vector<Tensor> arguments = with_hidden(traced, {Tensor(kSamples[i])});
    expect_alike(evaluate(grad(traced.program, {0}), arguments).at(0), grad(f)(kSamples[i]),
                 "of the program");
  }
}

TEST_P(Control, IsDoneForManySamples) {
  if (!GetParam().is_for_many) GTEST_SKIP() << "sizes would differ from sample to sample";
  const Function f = GetParam().f;
  const auto by_loop = [](const Function& g) {
    return [g](Tensor all) {
      std::vector<Tensor> rows;
      for (int64_t i = 0; i < 5; ++i) rows.push_back(g(all[i]));
      return stack(rows);
    };
  };
  const Tensor scale = tensor({1., -2., 0.5, 3., 1.5});
  const auto total = [&](const auto& g) {
    return [&, g](Tensor all) { return sum(g(all) * scale); };
  };
  const Function many = vmap(f), loop = by_loop(f);
  const Tensor x = kSamples;
  expect_alike(many(x), loop(x), "value");
  expect_alike(vmap(grad(f))(x), by_loop(grad(f))(x), "vmap of grad");
  expect_alike(grad(total(many))(x), grad(total(loop))(x), "grad of vmap");
  expect_alike(vmap(slope_of(f))(x), by_loop(slope_of(f))(x), "vmap of jvp");
  expect_alike(evaluated_at(trace(many)(x), x, false), loop(x), "traced");
  expect_alike(evaluated_at(trace(vmap(grad(f)))(x), x, true), by_loop(grad(f))(x),
               "traced vmap of grad");
  expect_alike(evaluated_at(trace(grad(total(many)))(x), x, false), grad(total(loop))(x),
               "traced grad of vmap");
  const Tensor twice = stack(std::vector{x, x});
  expect_alike(vmap(vmap(f))(twice), stack(std::vector{loop(x), loop(x)}), "vmap of vmap");
}

}  // namespace
}  // namespace plait
