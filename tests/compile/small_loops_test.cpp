// Loops over small arrays keep their registers where they are: the bits are those of the same plan
// run step by step.
#include "plait/compile/inside/running/small_loops.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "plait/compile/inside/running/compiled_access.h"
#include "plait/core/error.h"
#include "plait/core/inside/source_line.h"
#include "plait/ops/arrays/rearrange.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/sort.h"
#include "plait/tensor/tracing/trace_function.h"
#include "plait/transform/control/control.h"

#include "tests/compile/as_evaluated.h"

namespace plait::compile {
namespace {

// An observer has each step run by itself.
class EachStep final : public StepObserver {
 public:
  void before(const PlannedFunction&, const compile::Step&, const Frame&) override { ++steps; }
  void after(const PlannedFunction&, const compile::Step&, const Frame&) override {}
  size_t steps = 0;
};

// By loop of the entry, inner ones first.
std::vector<bool> are_small(const Compiled& compiled, std::span<const int64_t> sizes = {}) {
  const Plan& plan = CompiledAccess::plan(compiled);
  return small_loops_of(bound_function(plan.functions[0], plan.kernels, sizes));
}

void expect_as_step_by_step(const Compiled& compiled, const Tensors& arguments) {
  EachStep observer;
  const Tensors wanted = CompiledAccess::run(compiled, arguments, {.observer = &observer});
  for (const uint32_t first : {0U, 1U}) {
    expect_same_bits("from an early round on",
                     CompiledAccess::run(compiled, arguments, {.first_rounds = first}), wanted);
  }
  const Tensors once = compiled(arguments);
  std::vector<Tensor> kept;
  for (const Tensor& result : once) kept.push_back(result + 0);
  expect_same_bits("small", once, wanted);
  expect_same_bits("again", compiled(arguments), wanted);
  expect_same_bits("results of the first call", kept, once);
}

template <class F>
void expect_small(const F& f, const Tensors& arguments, const std::vector<bool>& small = {true},
                  double tolerance = 1e-5) {
  const auto on_all = [&](const Tensors& given) { return f(given); };
  const ir::Program program = trace(on_all)(arguments).program;
  const Compiled compiled(program);
  EXPECT_EQ(are_small(compiled), small) << CompiledAccess::plan(compiled).text();
  expect_as_step_by_step(compiled, arguments);
  expect_as_evaluated(program, arguments, tolerance);
}

Tensor whole(int64_t number) { return Tensor(Array::of(number)); }

// `rounds` is an argument, so that one program runs any number of them.
template <class Body>
Tensors counted(const Tensor& rounds, std::vector<Tensor> initial, const Body& body) {
  initial.push_back(rounds * 0);
  return while_loop([&](const std::vector<Tensor>& c) { return less(c.back(), rounds); },
                    [&](const std::vector<Tensor>& c) {
                      std::vector<Tensor> next = body(c);
                      next.push_back(c.back() + 1);
                      return next;
                    },
                    initial);
}

TEST(SmallLoops, RunAnyNumberOfRounds) {
  for (const int64_t rounds : {0, 1, 2, 3, 4, 5, 50}) {
    const auto f = [](const Tensors& x) {
      return counted(x[0], {x[1], x[2]}, [](const std::vector<Tensor>& c) {
        return std::vector<Tensor>{tanh(c[0] * 1.5 + c[1]), c[1] * c[0] - 0.25};
      });
    };
    for (const int64_t size : {0, 1, 3, 64}) {
      expect_small(f, {whole(rounds), numbers({size}, 1), numbers({size}, 2)});
    }
  }
}

TEST(SmallLoops, CarriesMayBeExchanged) {
  const auto f = [](const Tensors& x) {
    return counted(x[0], {x[1], x[2], x[3]}, [](const std::vector<Tensor>& c) {
      return std::vector<Tensor>{c[1], c[2], c[0] + 1.};
    });
  };
  for (const int64_t rounds : {3, 4, 5, 6}) {
    expect_small(f, {whole(rounds), numbers({2}, 1), numbers({2}, 2), numbers({2}, 3)});
  }
}

TEST(SmallLoops, CarriesMayBeViewsOfEachOther) {
  const auto f = [](const Tensors& x) {
    return counted(x[0], {x[1], x[2], x[3]}, [](const std::vector<Tensor>& c) {
      return std::vector<Tensor>{matrix_transpose(c[1]), matrix_transpose(c[0]) + c[1],
                                 reshape(matrix_transpose(c[1]), {9})};
    });
  };
  for (const int64_t rounds : {3, 6}) {
    expect_small(f, {whole(rounds), numbers({3, 3}, 1), numbers({3, 3}, 2), numbers({9}, 3)});
  }
}

// Products, sorts, and sums over rows, also of a dtype that is accumulated in a wider one.
TEST(SmallLoops, RunOperationsOfAllKinds) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) {
    const auto f = [&](const Tensors& x) {
      return counted(x[0], {x[1], x[2]}, [&](const std::vector<Tensor>& c) {
        const Tensor product = matmul(c[0], x[1]);
        const Tensor rows = sum(product * product, 0) * 0.125 + c[1];
        return std::vector<Tensor>{tanh(product + expand_dims(c[1], 0)), sort(rows, 0)};
      });
    };
    expect_small(f, {whole(5), numbers({4, 4}, 1, dtype), numbers({4}, 2, dtype)}, {true}, 1e-1);
  }
}

TEST(SmallLoops, Draw) {
  const auto f = [](const Tensors& x) {
    const Tensors last = counted(x[0], {x[1], x[2]}, [](const std::vector<Tensor>& c) {
      const std::vector<Tensor> keys = unstack(random::split_key(c[1], 2), -1);
      return std::vector<Tensor>{c[0] + random::normal(keys[0], {5}), keys[1]};
    });
    return Tensors{last[0]};
  };
  expect_small(f, {whole(7), numbers({5}, 1), random::key(3)});
}

TEST(SmallLoops, Branch) {
  const auto f = [](const Tensors& x) {
    return counted(x[0], {x[1], x[2]}, [](const std::vector<Tensor>& c) {
      const auto swaps = [](const Tensor& a, const Tensor& b) { return std::vector<Tensor>{b, a}; };
      const auto adds = [](const Tensor& a, const Tensor& b) {
        return std::vector<Tensor>{a + b, a};
      };
      return cond(less(sum(c[0]), 0.5), swaps, adds, c[0], c[1]);
    });
  };
  expect_small(f, {whole(9), numbers({3}, 1), numbers({3}, 2)});
}

TEST(SmallLoops, SelectFunctions) {
  const ir::Program program = parsed(R"(
    func @main(%n: i64[], %x: f32[3]) -> (i64[], f32[3]) {
      %0 = literal {value = i64[](0)}
      %i, %y, %m = while @more, @next(%0, %x, %n)
      return %i, %y
    }
    func @more(%i: i64[], %x: f32[3], %n: i64[]) -> (bool[]) {
      %0 = less %i, %n
      return %0
    }
    func @next(%i: i64[], %x: f32[3], %n: i64[]) -> (i64[], f32[3], i64[]) {
      %one = literal {value = i64[](1)}
      %j = add %i, %one
      %y = switch @a, @b, @c, @b, @a(%i, %x)
      return %j, %y, %n
    }
    func @a(%x: f32[3]) -> (f32[3]) {
      %0 = sin %x
      return %0
    }
    func @b(%x: f32[3]) -> (f32[3]) {
      %0 = add %x, %x
      return %0
    }
    func @c(%x: f32[3]) -> (f32[3]) {
      return %x
    })");
  const Compiled compiled(program);
  EXPECT_EQ(are_small(compiled), std::vector<bool>{true});
  expect_as_step_by_step(compiled, {whole(5), numbers({3}, 1)});
  EXPECT_THROW(compiled(Tensors{whole(6), numbers({3}, 1)}), IndexError);
}

TEST(SmallLoops, Scan) {
  for (const bool reverse : {false, true}) {
    for (const int64_t length : {0, 1, 3, 4, 20}) {
      const auto f = [&](const Tensors& x) {
        const auto body = [](const Tensor& carry, const Tensor& slice) {
          const Tensor next = tanh(carry + slice) * 2.;
          return std::pair(next, matmul(expand_dims(next, 1), expand_dims(slice, 0)));
        };
        const auto [last, all] = scan(body, x[0], matrix_transpose(x[1]), {.reverse = reverse});
        return std::vector<Tensor>{last, all, sum(all, 0)};
      };
      expect_small(f, {numbers({3}, 1), numbers({3, length}, 2)});
    }
  }
}

// Outputs of a scan that are views: of carries, slices, and of an array from before the loop.
TEST(SmallLoops, StackViews) {
  const auto f = [](const Tensors& x) {
    const Tensor wide = broadcast_to(x[2], {2, 3});
    const auto body = [&](const Tensor& carry, const Tensor& each) {
      const Tensor next = tanh(carry + each);
      return std::pair(next,
                       std::vector<Tensor>{flip(each, 0), matrix_transpose(next), wide,
                                           squeeze(slice(next, 1, {.start = 1, .stop = 2}), 1),
                                           broadcast_to(x[3], {4})});
    };
    const auto [last, all] = scan(body, x[0], x[1]);
    std::vector<Tensor> results(all.begin(), all.end());
    results.push_back(last);
    return results;
  };
  for (const int64_t length : {1, 3, 4, 9}) {
    expect_small(f,
                 {numbers({2, 3}, 1), numbers({length, 2, 3}, 2), numbers({3}, 3), numbers({}, 4)});
  }
}

TEST(SmallLoops, HoldOthers) {
  const auto f = [](const Tensors& x) {
    return counted(x[0], {x[1]}, [&](const std::vector<Tensor>& c) {
      const auto body = [&](const Tensor& carry, const Tensor& slice) {
        return std::pair(tanh(carry * slice + c[0]), carry + slice);
      };
      const auto [last, all] = scan(body, c[0], x[2]);
      const std::vector<Tensor> halved =
          while_loop([](const std::vector<Tensor>& h) { return less(0.25, sum(h[0] * h[0])); },
                     [](const std::vector<Tensor>& h) { return std::vector<Tensor>{h[0] * 0.5}; },
                     std::vector<Tensor>{last + mean(all, 0)});
      return std::vector<Tensor>{halved[0]};
    });
  };
  expect_small(f, {whole(6), numbers({3}, 1), numbers({4, 3}, 2)}, {true, true, true});
}

TEST(SmallLoops, AreNotThoseOfLargeArrays) {
  const auto f = [](const Tensors& x) {
    return counted(x[0], {x[1]}, [](const std::vector<Tensor>& c) {
      return std::vector<Tensor>{tanh(c[0]) * 1.5};
    });
  };
  expect_small(f, {whole(4), numbers({100'000}, 1)}, {false});
}

// A round that fails names the line of its step, and leaves the arguments alone.
TEST(SmallLoops, FailAtTheirStep) {
  int line = 0;
  const auto f = [&](const Tensors& x) {
    return counted(x[0], {x[2]}, [&](const std::vector<Tensor>& c) {
      line = __LINE__ + 1;
      return std::vector<Tensor>{c[0] + take(x[1], c[1], 0)};
    });
  };
  const Tensors arguments{whole(6), numbers({6}, 1), numbers({}, 2)};
  expect_small(f, arguments);
  const Compiled compiled(trace([&](const Tensors& given) { return f(given); })(arguments).program);
  try {
    compiled(Tensors{whole(7), arguments[1], arguments[2]});
    ADD_FAILURE() << "expected an IndexError";
  } catch (const IndexError& error) {
    if (can_read_source_lines()) {
      EXPECT_TRUE(error.location().text().ends_with(fmt::format(":{}", line))) << error.what();
    }
  }
  expect_as_step_by_step(compiled, arguments);
}

}  // namespace
}  // namespace plait::compile
