// A memory budget has parts of the forward pass computed again, and changes no result.
#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

#include "plait/compile/inside/passes/kernel_passes.h"
#include "plait/compile/inside/running/compiled_access.h"
#include "plait/compile/planned_memory.h"
#include "plait/core/error.h"
#include "plait/core/log.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/effects/print.h"
#include "plait/ops/neural/dropout.h"
#include "plait/ops/neural/softmax.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/tracing/trace_function.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/jit.h"

#include "tests/compile/as_evaluated.h"

namespace plait::compile {
namespace {

constexpr size_t kLayers = 16;

// The gradients of a residual network by its weights; each layer keeps two arrays of 64 x 96 and
// passes one of 64 x 32 on. The first argument is a key of dropout.
ir::Program gradients(bool prints = false) {
  const auto loss = [=](const Tensors& x) {
    Tensor h = x[1];
    for (size_t i = 0; i < kLayers; ++i) {
      const Tensor wide = tanh(matmul(h, x[2 + 2 * i]));
      const Tensor kept =
          dropout(sin(wide) * wide, 0.1, random::fold_in(x[0], static_cast<int64_t>(i)));
      if (prints) print(sum(kept), "layer");
      h = h + matmul(kept, x[3 + 2 * i]);
    }
    return mean(h * h);
  };
  std::vector<Tensor> arguments{random::key(1), numbers({64, 32}, 1)};
  for (size_t i = 0; i < kLayers; ++i) {
    arguments.push_back(numbers({32, 96}, 2 * i + 3) * 0.2);
    arguments.push_back(numbers({96, 32}, 2 * i + 4) * 0.2);
  }
  std::vector<size_t> weights;
  for (size_t i = 2; i < arguments.size(); ++i) weights.push_back(i);
  const auto of_weights = [&](const Tensors& x) {
    const auto of_some = [&](const Tensors& w) {
      Tensors all{x[0], x[1]};
      all.insert(all.end(), w.begin(), w.end());
      return loss(all);
    };
    return grad(of_some)(Tensors(x.begin() + 2, x.end()));
  };
  return trace(of_weights)(arguments).program;
}

Tensors arguments_of(const ir::Program& program) {
  Tensors arguments{random::key(7)};
  const auto types = program.entry().signature().parameters;
  for (size_t i = 1; i < types.size(); ++i) {
    arguments.push_back(numbers(types[i].shape(), 20 + i) * (i > 1 ? 0.2 : 1.));
  }
  return arguments;
}

size_t products_of(const Compiled& compiled) {
  size_t products = 0;
  const Plan& plan = CompiledAccess::plan(compiled);
  for (const compile::Step& step : plan.functions[0].steps) {
    if (const Operation* operation = step.operation()) {
      products += operation->primitive->name == "matmul" ? 1 : 0;
    } else if (const auto* kernel = step.as<KernelStep>()) {
      products += plan.kernels[kernel->kernel].products.size() +
                  plan.kernels[kernel->kernel].trailing.size();
    }
  }
  return products;
}

class MemoryBudget : public testing::Test {
 protected:
  void SetUp() override { register_all(); }
};

TEST_F(MemoryBudget, IsKeptAndChangesNoBit) {
  const ir::Program program = gradients();
  const Tensors arguments = arguments_of(program);
  const Compiled whole(program);
  const Tensors wanted = whole(arguments);
  const int64_t without = planned_memory(whole).temporaries;
  size_t products = products_of(whole);
  for (const double share : {0.75, 0.5, 0.4}) {
    const Compiled within(program, {.memory_budget = share});
    EXPECT_LE(static_cast<double>(planned_memory(within).temporaries),
              share * static_cast<double>(without));
    EXPECT_GE(products_of(within), products) << share;
    products = products_of(within);
    expect_same_bits("within the budget", within(arguments), wanted);
  }
  EXPECT_GT(products, products_of(whole));
  expect_as_good_as_same("evaluated", wanted, evaluate(program, arguments), 1e-4);
}

// The update of a weight is computed when its gradient is: at the end, all that the gradients are
// computed from would be there.
TEST_F(MemoryBudget, IsKeptByStepsThatUpdateWeights) {
  const auto step = [](const Tensors& w, const Tensor& steps) {
    const auto loss = [](const Tensors& w) {
      Tensor h = full({512, 64}, 0.5);
      for (const Tensor& each : w) h = h + tanh(matmul(h, each));
      return mean(h * h);
    };
    Tensors next = grad(loss)(w);
    const Tensor rate = 0.01 / astype(steps + 1, DType::f32);
    for (size_t i = 0; i < w.size(); ++i) next[i] = w[i] - rate * next[i];
    return next;
  };
  Tensors weights;
  for (uint64_t i = 0; i < 8; ++i) weights.push_back(numbers({64, 64}, i) * 0.1);
  const Tensor steps(Array::of(int64_t{3}));
  const ir::Program program = trace(step)(weights, steps).program;
  weights.push_back(steps);
  const Compiled whole(program), within(program, {.memory_budget = 0.6});
  EXPECT_LE(static_cast<double>(planned_memory(within).temporaries),
            0.6 * static_cast<double>(planned_memory(whole).temporaries));
  expect_as_good_as_same("within the budget", within(weights), whole(weights), 1e-6);
}

// The first backward pass has values that only the second one reads.
TEST_F(MemoryBudget, OfSecondDerivatives) {
  const Tensor x = numbers({512, 64}, 9);
  const auto loss = [&](const Tensors& w) {
    Tensor h = x;
    for (const Tensor& each : w) h = h + tanh(matmul(h, each));
    return mean(h * h);
  };
  const auto of_gradient = [&](const Tensors& w) {
    Tensor sum_of_squares = zeros({});
    for (const Tensor& each : grad(loss)(w)) sum_of_squares = sum_of_squares + sum(each * each);
    return sum_of_squares;
  };
  const Tensors weights{numbers({64, 64}, 1) * 0.1, numbers({64, 64}, 2) * 0.1};
  const auto traced = trace(grad(of_gradient))(weights);
  Tensors arguments = weights;
  arguments.insert(arguments.end(), traced.hidden_inputs.begin(), traced.hidden_inputs.end());
  for (const double share : {0.8, 0.5, 0.1}) {
    const Compiled within(traced.program, {.memory_budget = share});
    expect_as_good_as_same("second derivatives", within(arguments),
                           evaluate(traced.program, arguments), 1e-4);
  }
}

// Chains of products whose rows are computed again, which read rows that are computed again.
TEST_F(MemoryBudget, OfAttention) {
  const auto loss = [](const Tensors& x) {
    Tensor h = x[0];
    for (size_t i = 1; i < x.size(); ++i) {
      const Tensor a = tanh(matmul(h, x[i]));
      const Tensor weights = softmax(matmul(a, matrix_transpose(a)) / 4., -1);
      h = where(a > h, a, matmul(weights, h)) * a;
      h = h / (1. + mean(absolute(h)));
    }
    return mean(h * h);
  };
  Tensors arguments{numbers({200, 4}, 1)};
  for (uint64_t i = 0; i < 6; ++i) arguments.push_back(numbers({4, 4}, 2 + i));
  const ir::Program program = trace(grad(loss))(arguments).program;
  const Tensors wanted = evaluate(program, arguments);
  for (const double share : {1., 0.6, 0.3, 0.05}) {
    const Compiled within(program, {.memory_budget = share});
    expect_as_good_as_same("attention", within(arguments), wanted, 1e-4);
  }
}

TEST_F(MemoryBudget, MayBeBytes) {
  const ir::Program program = gradients();
  const PlannedMemory whole = planned_memory(Compiled(program));
  const int64_t bytes = whole.arguments + whole.results + whole.temporaries * 6 / 10;
  const Compiled within(program, {.memory_budget = static_cast<double>(bytes)});
  EXPECT_LE(planned_memory(within).peak(), bytes);
  const Compiled ample(program, {.memory_budget = static_cast<double>(whole.peak())});
  EXPECT_EQ(products_of(ample), products_of(Compiled(program)));
}

TEST_F(MemoryBudget, ThatCannotBeKeptIsSaid) {
  std::string said;
  const LogSink before = set_log_sink([&](const LogLine& line) { said += line.message; });
  const Compiled least(gradients(), {.memory_budget = 0.001});
  set_log_sink(before);
  EXPECT_NE(said.find("memory_budget"), std::string::npos) << said;
  const int64_t without = planned_memory(Compiled(gradients())).temporaries;
  EXPECT_LT(planned_memory(least).temporaries, without / 2);
}

// An effect happens once.
TEST_F(MemoryBudget, EffectsAreNotRepeated) {
  const ir::Program program = gradients(true);
  const auto printed = [&](const Compiled& compiled) {
    std::string all;
    set_print_sink([&](std::string_view line) { all += std::string(line) + '\n'; });
    compiled(arguments_of(program));
    set_print_sink({});
    return all;
  };
  const std::string wanted = printed(Compiled(program));
  EXPECT_EQ(std::ranges::count(wanted, '\n'), static_cast<ptrdiff_t>(kLayers));
  EXPECT_EQ(printed(Compiled(program, {.memory_budget = 0.5})), wanted);
}

TEST_F(MemoryBudget, NeedsNoKernels) {
  const ir::Program prepared = prepared_for(nullptr, gradients(), true, {});
  const Tensors arguments = arguments_of(prepared);
  const auto planned = [&](const Segments& segments) {
    return LoadedPlan(plan_of(finished_for(nullptr, prepared, true, {}, segments), nullptr));
  };
  const LoadedPlan whole = planned({}), divided = planned({8, 7});
  const auto bytes_of = [](const LoadedPlan& loaded) {
    return bound_function(loaded.plan().functions[0], loaded.plan().kernels, {}).frame_bytes;
  };
  EXPECT_LT(bytes_of(divided), bytes_of(whole) * 2 / 3);
  const auto run = [&](const LoadedPlan& loaded) {
    return tensors_of(loaded.plan().program, execute(loaded, {}, values_of(arguments)).values);
  };
  expect_same_bits("divided", run(divided), run(whole));
}

TEST_F(MemoryBudget, ProgramsWithoutABackwardPassStay) {
  const auto f = [](const Tensor& x) { return matmul(exp(x), tanh(x)) * 2.; };
  const Tensor x = numbers({8, 8}, 1);
  const ir::Program program = trace(f)(x).program;
  const Compiled within(program, {.memory_budget = 0.5});
  expect_same_bits("the same", within(Tensors{x}), Compiled(program)(Tensors{x}));
}

TEST(MemoryBudgetOfJit, IsPositive) {
  for (const double budget : {0., -1., std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(jit([](const Tensor& x) { return x; }, {.memory_budget = budget}), ValueError);
  }
}

// Every way to divide programs of two passes gives the bits of the undivided one.
TEST_F(MemoryBudget, AnySegmentsGiveTheSameBits) {
  const ir::Program program = gradients();
  const Target* const target = find_target(Device::Kind::cpu);
  const ir::Program prepared = prepared_for(target, program, true, {});
  const Tensors arguments = arguments_of(program), wanted = Compiled(program)(arguments);
  for (const uint32_t count : {2U, 3U, 7U, 40U}) {
    for (uint32_t again = 0; again < count; again += count / 2) {
      const LoadedPlan loaded(
          plan_of(finished_for(target, prepared, true, {}, {count, again}), target));
      std::vector<ir::Value> given = values_of(arguments);
      Tensors found = tensors_of(loaded.plan().program, execute(loaded, {}, given).values);
      expect_same_bits("divided", found, wanted);
    }
  }
}

}  // namespace
}  // namespace plait::compile
