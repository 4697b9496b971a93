// The seam between the compiler and what runs its kernels, with a target that evaluates them.
#include "plait/compile/inside/targets/target.h"

#include <gtest/gtest.h>

#include "plait/compile/inside/passes/kernel_passes.h"
#include "plait/compile/inside/running/compiled_access.h"
#include "plait/core/error.h"
#include "plait/ir/evaluation/evaluator.h"
#include "plait/ops/products/linear.h"
#include "plait/tensor/tracing/trace_function.h"
#include "plait/transform/programs.h"

#include "tests/compile/as_evaluated.h"

namespace plait::compile {
namespace {

class EvaluatedKernel final : public FusedKernel {
 public:
  EvaluatedKernel(std::shared_ptr<const ir::Function> function, int& runs)
      : program_(ir::Program::of({std::move(function)})), runs_(runs) {}

  void run(const KernelSizes&, std::span<const Array> operands,
           std::span<Array> results) const override {
    ++runs_;
    TensorMachine machine;
    std::vector<ir::Value> given;
    for (const Array& each : operands) given.push_back(TensorMachine::value_of(each));
    const std::vector<ir::Value> made = ir::evaluate(program_, machine, given);
    ASSERT_EQ(made.size(), results.size());
    for (size_t i = 0; i < made.size(); ++i) {
      copy_elements(TensorMachine::array_of(made[i]), results[i]);
    }
  }

 private:
  const ir::Program program_;
  int& runs_;
};

// Computes products and sums of f32, and nothing else.
class EvaluatingTarget final : public Target {
 public:
  Device::Kind device() const override { return Device::Kind::cpu; }
  bool holds(DType dtype) const override { return dtype == DType::f32; }
  bool computes(const ir::Primitive& primitive, std::span<const DType>, DType) const override {
    return primitive.name == "multiply" || primitive.name == "add";
  }
  bool is_costly(const ir::Primitive&, DType) const override { return false; }
  std::vector<std::shared_ptr<const FusedKernel>> compile(
      std::span<const PlannedKernel> kernels) const override {
    std::vector<std::shared_ptr<const FusedKernel>> made;
    for (const PlannedKernel& kernel : kernels) {
      made.push_back(std::make_shared<EvaluatedKernel>(kernel.function, runs));
    }
    return made;
  }

  mutable int runs = 0;
};

struct TargetRun {
  size_t kernels;
  std::vector<Tensor> results;
};
TargetRun run_on(const Target* target, const ir::Program& program, const Tensors& arguments) {
  register_all();
  const LoadedPlan loaded(plan_of(optimized_for(target, with_tapes(program), true, {}), target));
  auto given = execute(loaded, {}, values_of(arguments));
  return {loaded.plan().kernels.size(), tensors_of(program, std::move(given.values))};
}

TEST(Targets, TheCpuHasOneUnlessALibraryIsMissing) {
  const Target* const target = find_target(Device::Kind::cpu);
  EXPECT_EQ(find_target(Device::Kind::cpu), target);
  if (target == nullptr) GTEST_SKIP() << "no code is generated in this build";
  EXPECT_EQ(target->device(), Device::Kind::cpu);
  EXPECT_TRUE(target->holds(DType::bf16));
  EXPECT_FALSE(target->holds(DType::c64));
}

TEST(Targets, AreNotReplacedInUse) {
  find_target(Device::Kind::cpu);
  EXPECT_THROW(register_target(Device::Kind::cpu, nullptr), ValueError);
}

TEST(Targets, ComputeWhatTheyCan) {
  const auto f = [](const Tensor& x, const Tensor& y) { return exp(x * y + x) * y * x; };
  const Tensor x = numbers({7, 5}, 1), y = numbers({7, 5}, 2);
  const ir::Program program = trace(f)(x, y).program;
  const EvaluatingTarget target;
  const TargetRun fused = run_on(&target, program, {x, y}),
                  single = run_on(nullptr, program, {x, y});
  EXPECT_EQ(fused.kernels, 2u);
  EXPECT_EQ(target.runs, 2);
  EXPECT_EQ(single.kernels, 0u);
  const std::vector<Tensor> evaluated = evaluate(program, Tensors{x, y});
  expect_same_bits("by kernels", fused.results, evaluated);
  expect_same_bits("without kernels", single.results, evaluated);
}

TEST(Targets, LeaveOutDTypesThatTheyDoNotHold) {
  const auto f = [](const Tensor& x) { return x * x + x; };
  const Tensor x = numbers({6}, 1, DType::f64);
  const EvaluatingTarget target;
  const TargetRun given = run_on(&target, trace(f)(x).program, {x});
  EXPECT_EQ(given.kernels, 0u);
  EXPECT_EQ(target.runs, 0);
}

TEST(Targets, AreGivenTheOperandsOfAProduct) {
  const auto f = [](const Tensor& x, const Tensor& weight, const Tensor& bias) {
    const Tensor product = matmul(x, weight);
    return std::pair(product * bias + bias, product);
  };
  const Tensor x = numbers({9, 4}, 1), weight = numbers({4, 3}, 2), bias = numbers({3}, 3);
  const ir::Program program = trace(f)(x, weight, bias).program;
  const EvaluatingTarget target;
  const TargetRun given = run_on(&target, program, {x, weight, bias});
  EXPECT_EQ(given.kernels, 1u);
  EXPECT_EQ(target.runs, 1);
  expect_same_bits("by a kernel", given.results, evaluate(program, Tensors{x, weight, bias}));
}

TEST(Targets, AProgramForADeviceWithoutOneRunsItsOwnKernels) {
  const auto f = [](const Tensor& x) { return x * x + x; };
  const Tensor x = numbers({6}, 1);
  const ir::Program program = trace(f)(x).program;
  if (find_target(Device::Kind::cuda) != nullptr) GTEST_SKIP() << "there is one";
  const Compiled compiled(program, {.device = Device::Kind::cuda});
  EXPECT_TRUE(CompiledAccess::plan(compiled).kernels.empty());
  expect_same_bits("compiled", compiled(std::vector{x}), evaluate(program, Tensors{x}));
}

}  // namespace
}  // namespace plait::compile
