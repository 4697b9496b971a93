// Named axes in branches, loops, recursive functions and custom rules; and errors.
#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/collectives/collective.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/tracing/trace_function.h"
#include "plait/transform/control/control.h"
#include "plait/transform/control/recursive.h"
#include "plait/transform/derivatives/custom.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/derivatives/remat.h"
#include "plait/transform/derivatives/vjp.h"
#include "plait/transform/programs.h"
#include "plait/transform/vmap.h"

#include "tests/support/errors.h"
#include "tests/transform/named_axes.h"
#include "tests/transform/traced_run.h"

namespace plait {
namespace {

// Compares f of one sample, which returns a number, with g of all samples, which returns one each:
// values, and derivatives of the sum, taken outside and inside, in both modes, also of a program.
void expect_as_of_all(const OfTensor& f, const OfTensor& g) {
  expect_alike(along_batch(f)(kBatch), g(kBatch));
  const auto total = [&](Tensor a) { return sum(along_batch(f)(a)); };
  const auto whole = [&](Tensor a) { return sum(g(a)); };
  const Tensor slope = grad(whole)(kBatch);
  expect_alike(grad(total)(kBatch), slope);
  expect_alike(along_batch(grad(f))(kBatch), slope);
  const TracedProgram inside = trace(along_batch(grad(f)))(kBatch);
  expect_alike(run_traced(inside, {kBatch}).at(0), slope);
  const TracedProgram outside = trace(total)(kBatch);
  expect_alike(evaluate(grad(outside.program, {0}), with_hidden(outside, {kBatch})).at(0), slope);
  const auto push = [&](Tensor a) { return jvp(f, std::tuple(a), std::tuple(a)).second; };
  expect_alike(along_batch(push)(kBatch), jvp(g, std::tuple(kBatch), std::tuple(kBatch)).second);
}

TEST(NamedAxesControl, BranchesOnWhatAllShare) {
  // A reduction within a branch that all samples take.
  expect_as_of_all(
      [](Tensor a) {
        const Tensor total = all_reduce_sum(sum(a), "batch");
        return cond(
            total > 0, [&](Tensor b) { return sum(b * all_reduce_mean(b, "batch")); },
            [&](Tensor b) { return sum(b) + total; }, a);
      },
      [](Tensor a) { return sum(a * mean(a, 0), 1); });
  // A reduction before a branch; samples take different ones. One branch returns a shared value.
  expect_as_of_all(
      [](Tensor a) {
        const Tensor total = all_reduce_sum(sum(a), "batch");
        return cond(
            sum(a) > 0, [&](Tensor b) { return sum(b * b) * total; },
            [&](Tensor) { return square(total); }, a);
      },
      [](Tensor a) {
        const Tensor each = sum(a, 1);
        return where(each > 0, sum(a * a, 1) * sum(a), square(sum(a)));
      });
}

TEST(NamedAxesControl, Loops) {
  // Moves towards the mean until the greatest distance is small; all samples do the same number
  // of steps.
  const auto far = [](const Tensor& greatest) { return greatest > 0.2; };
  expect_as_of_all(
      [&](Tensor a) {
        const Tensor end =
            while_loop([&](Tensor h) { return far(all_reduce_max(max(absolute(h)), "batch")); },
                       [&](Tensor h) { return 0.5 * h + 0.1 * all_reduce_mean(h, "batch"); }, a);
        return sum(square(end));
      },
      [&](Tensor a) {
        Tensor h = a;
        while (far(max(absolute(h))).item<bool>()) h = 0.5 * h + 0.1 * mean(h, 0);
        return sum(square(h), 1);
      });
  // Each sample does its own number of steps, with a shared constant, and a count from 0.
  expect_as_of_all(
      [](Tensor a) {
        const Tensor scale = all_reduce_max(absolute(a), "batch");
        const auto [end, count] = while_loop(
            [](const std::pair<Tensor, Tensor>& carry) { return sum(square(carry.first)) > 0.1; },
            [&](const std::pair<Tensor, Tensor>& carry) {
              return std::pair(carry.first * 0.5 * scale, carry.second + 1.);
            },
            std::pair(a, zeros({}, DType::f64)));
        return sum(end * count);
      },
      [](Tensor a) {
        std::vector<Tensor> rows;
        const Tensor scale = max(absolute(a), 0);
        for (int64_t i = 0; i < 5; ++i) {
          Tensor h = a[i];
          double count = 0;
          for (; (sum(square(h)) > 0.1).item<bool>(); ++count) h = h * 0.5 * scale;
          rows.push_back(sum(h * count));
        }
        return stack(rows, 0);
      });
  // A reduction at each step of a scan; one carry begins as a constant.
  expect_as_of_all(
      [](Tensor a) {
        const auto step = [&](Tensor h, Tensor slice) {
          const Tensor next = h * 0.5 + all_reduce_sum(slice * h, "batch") + slice;
          return std::pair(next, all_reduce_mean(next, "batch"));
        };
        const auto [last, means] = scan(step, ones({}, DType::f64), a);
        return last * sum(means);
      },
      [](Tensor a) {
        Tensor h = ones({5}, DType::f64), means = zeros({}, DType::f64);
        for (int64_t i = 0; i < 3; ++i) {
          const Tensor slice = a[{ellipsis, i}];
          h = h * 0.5 + sum(slice * h) + slice;
          means = means + mean(h);
        }
        return h * means;
      });
}

TEST(NamedAxesControl, LoopsThatKeepCheckpoints) {
  const auto step = [](Tensor h, Tensor of_all) { return 0.5 * h + 0.1 * sin(of_all); };
  expect_as_of_all(
      [&](Tensor a) {
        return sum(while_loop([](Tensor h) { return all_reduce_max(max(h), "batch") > 0.1; },
                              [&](Tensor h) { return step(h, all_reduce_mean(h, "batch")); }, a,
                              {.checkpoints = Checkpoints{.every = 2}}));
      },
      [&](Tensor a) {
        Tensor h = a;
        while ((max(h) > 0.1).item<bool>()) h = step(h, mean(h, 0));
        return sum(h, 1);
      });
  expect_as_of_all(
      [&](Tensor a) {
        return sum(for_loop(
            0, 5, [&](Tensor i, Tensor h) { return step(h * i, all_reduce_sum(h, "batch")); }, a,
            {.checkpoints = Checkpoints{.every = 2}}));
      },
      [&](Tensor a) {
        Tensor h = a;
        for (int64_t i = 0; i < 5; ++i) h = step(h * i, sum(h, 0));
        return sum(h, 1);
      });
}

TEST(NamedAxesControl, LoopsWhoseCarriesChangeTheirSizes) {
  // Combines neighbours until one is left; all samples do the same number of steps.
  expect_as_of_all(
      [](Tensor a) {
        const Tensor end = while_loop([](Tensor h) { return h.shape(0) > 1; },
                                      [](Tensor h) {
                                        const Dim left = h.shape(0) - 1;
                                        const Tensor together =
                                            slice_axis(h, 0, 0, left) * slice_axis(h, 0, 1, left);
                                        return together + all_reduce_mean(together, "batch");
                                      },
                                      a);
        return sum(end);
      },
      [](Tensor a) {
        Tensor h = a;
        for (int64_t left = 2; left > 0; --left) {
          const Tensor together = h[{ellipsis, Slice{0, left}}] * h[{ellipsis, Slice{1, left + 1}}];
          h = together + mean(together, 0);
        }
        return sum(h, 1);
      });
}

TEST(NamedAxesControl, SwitchWithReductionsInBranches) {
  // A shared index selects one of several functions, some with reductions.
  const std::vector<std::function<Tensor(Tensor)>> ways = {
      [](Tensor a) { return a * 2.; }, [](Tensor a) { return a * all_reduce_sum(a, "batch"); },
      [](Tensor a) { return broadcast_to(all_reduce_mean(square(a), "batch"), a.shape()); }};
  const std::vector<std::function<Tensor(Tensor)>> whole = {
      [](Tensor a) { return a * 2.; }, [](Tensor a) { return a * sum(a, 0); },
      [](Tensor a) { return broadcast_to(mean(square(a), 0), a.shape()); }};
  for (int64_t i = 0; i < 3; ++i) {
    expect_as_of_all([&](Tensor a) { return sum(switch_(asarray(i, DType::i64), ways, a)); },
                     [&](Tensor a) { return sum(whole[static_cast<size_t>(i)](a), 1); });
  }
  expect_as_of_all(
      [](Tensor a) {
        return sum(map([](Tensor each) { return each * all_reduce_max(each, "batch"); }, a));
      },
      [](Tensor a) { return sum(a * max(a, 0), 1); });
  // An inner vmap without a name, with a second derivative.
  expect_as_of_all(
      [](Tensor a) {
        const auto cubed = [](Tensor each) { return each * all_reduce_sum(square(each), "batch"); };
        return sum(vmap(grad(cubed))(a));
      },
      [](Tensor a) {
        return sum(grad([&](Tensor b) { return sum(b * sum(square(b), 0)); })(a), 1);
      });
}

TEST(NamedAxesControl, Recursion) {
  const auto halved = recursive("halved", [](auto self, Tensor h, Tensor depth) {
    return cond(
        depth == 0, [](Tensor h, Tensor) { return h; },
        [&](Tensor h, Tensor depth) {
          return self(h * all_reduce_mean(h, "batch"), depth - 1) + h;
        },
        h, depth);
  });
  expect_as_of_all([&](Tensor a) { return sum(halved(a, asarray(3, DType::i64))); },
                   [](Tensor a) {
                     Tensor total = zeros({5, 3}, DType::f64), h = a;
                     for (int i = 0; i < 3; ++i) {
                       total = total + h;
                       h = h * mean(h, 0);
                     }
                     return sum(total + h, 1);
                   });
  // The depth differs between samples, the value is shared.
  const auto to_the = recursive("power", [](auto self, Tensor h, Tensor depth) {
    return cond(
        depth <= 0, [](Tensor h, Tensor) { return ones_like(h); },
        [&](Tensor h, Tensor depth) { return h * self(h, depth - 1.); }, h, depth);
  });
  expect_as_of_all(
      [&](Tensor a) {
        return sum(to_the(all_reduce_mean(a, "batch"), astype(axis_index("batch"), DType::f64)));
      },
      [](Tensor a) {
        return sum(power(mean(a, 0), reshape(astype(iota(5), DType::f64), {5, 1})), 1);
      });
}

TEST(NamedAxesControl, RulesOfOnesOwn) {
  const auto scaled = custom_vjp(
      [](Tensor a, Tensor b) { return a * all_reduce_sum(b, "batch"); },
      [](Tensor a, Tensor b) { return std::pair{a * all_reduce_sum(b, "batch"), std::pair{a, b}}; },
      [](const std::pair<Tensor, Tensor>& at, Tensor c) {
        const auto& [a, b] = at;
        return std::tuple(3 * c * all_reduce_sum(b, "batch"),
                          vary(all_reduce_sum(3 * c * a, "batch"), "batch"));
      });
  const auto f = [&](Tensor a) { return sum(scaled(a, square(a))); };
  const auto g = [](Tensor a) { return sum(a * sum(square(a), 0)); };
  expect_alike(along_batch(grad(f))(kBatch), 3 * grad(g)(kBatch));
  expect_alike(grad([&](Tensor a) { return sum(along_batch(f)(a)); })(kBatch), 3 * grad(g)(kBatch));
  const auto again = remat([](Tensor a) { return a * all_reduce_mean(square(a), "batch"); });
  expect_as_of_all([&](Tensor a) { return sum(again(a)); },
                   [](Tensor a) { return sum(a * mean(square(a), 0), 1); });
}

TEST(NamedAxesControl, OfSymbolicNumbersOfSamples) {
  const auto f = [](Tensor a) {
    return sum(along_batch(grad([](Tensor b) {
                 return sum(square(b - all_reduce_mean(b, "batch"))) * axis_size("batch");
               }))(a) *
               a);
  };
  const TracedProgram open =
      trace(f)(abstract_tensor(ir::Type::array(DType::f64, {Dim::symbol("n"), 3})));
  for (const int64_t n : {1, 2, 5}) {
    const Tensor a = numbers({n, 3}, 1);
    expect_alike(run_traced(open, {a}).at(0), 2 * n * sum(square(a - mean(a, 0))));
    expect_alike(f(a), 2 * n * sum(square(a - mean(a, 0))));
  }
}

TEST(NamedAxesControl, EachPlaceDrawsItsOwn) {
  const Tensor spread = along_batch([](Tensor a) {
    const Tensor drawn = random::uniform({}, 0., 1., DType::f64) + 0 * sum(a);
    return all_reduce_max(drawn, "batch") - all_reduce_min(drawn, "batch");
  })(kBatch);
  EXPECT_GT(min(spread).item<double>(), 1e-3);
}

template <class Call>
std::string refused(ErrorKind kind, const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "not refused";
  return {};
}

TEST(NamedAxesControl, RefusesWhatWouldWaitForOthers) {
  const auto f = [](Tensor a) {
    return cond(
        sum(a) > 0, [](Tensor b) { return all_reduce_sum(b, "batch"); }, [](Tensor b) { return b; },
        a);
  };
  expect_contains(refused(ErrorKind::type, [&] { along_batch(f)(kBatch); }),
                  {"all_reduce_sum", "{batch}", "condition that decides"});
  const auto g = [](Tensor a) {
    return while_loop([](Tensor h) { return sum(h) > 0.1; },
                      [](Tensor h) { return h - all_reduce_max(h, "batch"); }, a);
  };
  expect_contains(refused(ErrorKind::type, [&] { along_batch(g)(kBatch); }),
                  {"all_reduce_max", "condition that decides"});
  // A reduction along another axis is allowed.
  const auto h = [](Tensor a) {
    return cond(
        sum(all_reduce_sum(a, "inner")) > 0,
        [](Tensor b) { return b - all_reduce_sum(b, "inner"); }, [](Tensor b) { return b; }, a);
  };
  const Tensor y = numbers({2, 5, 3}, 0);
  const Tensor totals = sum(y, {1, 2}, true);
  expect_alike(vmap(vmap(h, {.name = "inner"}), {.name = "outer"})(y),
               where(broadcast_to(totals, y.shape()) > 0, y - sum(y, 1, true), y));
}

TEST(NamedAxesControl, RefusesAxesThatAreNotOpen) {
  expect_contains(refused(ErrorKind::key, [] { all_reduce_sum(kBatch, "batch"); }),
                  {"`batch`", "no axis is open"});
  expect_contains(
      refused(ErrorKind::key,
              [] { along_batch([](Tensor a) { return all_gather(a, "rows"); })(kBatch); }),
      {"all_gather", "`rows`", "the open axes are batch"});
  refused(ErrorKind::key, [] { axis_index("batch"); });
  refused(ErrorKind::key, [] { axis_size("batch"); });
  refused(ErrorKind::key, [] { vary(kBatch, "batch"); });
  refused(ErrorKind::value, [] { vmap([](Tensor a) { return a; }, {.name = "2nd axis"})(kBatch); });
  refused(ErrorKind::value, [] {
    along_batch([](Tensor a) { return all_reduce_sum(a, {"batch", "batch"}); })(kBatch);
  });
  refused(ErrorKind::index,
          [] { along_batch([](Tensor a) { return all_gather(a, "batch", 3); })(kBatch); });
  refused(ErrorKind::type, [] {
    along_batch([](Tensor a) { return all_reduce_max(astype(a, DType::c64), "batch"); })(kBatch);
  });
  // The axis is closed after the function was recorded, also after an error.
  expect_contains(refused(ErrorKind::key, [] { axis_index("batch"); }), {"no axis is open"});
}

}  // namespace
}  // namespace plait
