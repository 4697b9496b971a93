// Compiled programs compared with evaluated ones, for cases that are rare in random programs.
#include "plait/compile/compiler.h"

#include <array>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "plait/compile/compare.h"
#include "plait/compile/inside/running/compiled_access.h"
#include "plait/compile/inside/targets/target.h"
#include "plait/compile/pass.h"
#include "plait/core/error.h"
#include "plait/core/system/thread_team.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/neural/loss.h"
#include "plait/ops/neural/normalization.h"
#include "plait/ops/neural/softmax.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/products/products.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/scan.h"
#include "plait/ops/register_all.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/tracing/trace_function.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/derivatives/vjp.h"

#include "tests/compile/as_evaluated.h"
#include "tests/compile/passes_left_out.h"

namespace plait::compile {
namespace {

size_t kernels_of(const Compiled& compiled) {
  return CompiledAccess::plan(compiled).kernels.size();
}
template <class Kind>
size_t steps_of(const Compiled& compiled) {
  size_t count = 0;
  for (const PlannedFunction& function : CompiledAccess::plan(compiled).functions) {
    for (const Step& step : function.steps) count += step.is<Kind>() ? 1 : 0;
  }
  return count;
}

// ---- Fusion.

TEST(Fusion, ANormIsOneKernel) {
  if (find_target(Device::Kind::cpu) == nullptr)
    GTEST_SKIP() << "no code is generated in this build";
  const auto f = [](const Tensor& x, const Tensor& weight, const Tensor& bias) {
    return layer_norm(x, {x.shape(-1)}, weight, bias);
  };
  const Tensor x = numbers({37, 197}, 1), weight = numbers({197}, 2), bias = numbers({197}, 3);
  const ir::Program program = trace(f)(x, weight, bias).program;
  const Compiled compiled(program);
  EXPECT_EQ(kernels_of(compiled), 1u) << CompiledAccess::plan(compiled).text();
  EXPECT_EQ(CompiledAccess::plan(compiled).functions[0].steps.size(), 1u)
      << CompiledAccess::plan(compiled).text();
  expect_as_evaluated(program, {x, weight, bias}, 1e-6);
}

TEST(Fusion, BackwardPassOfANormReadsItsOperandOnce) {
  if (find_target(Device::Kind::cpu) == nullptr)
    GTEST_SKIP() << "no code is generated in this build";
  const auto loss = [](const Tensor& x, const Tensor& weight, const Tensor& bias,
                       const Tensor& cotangent) {
    return sum(layer_norm(x, {x.shape(-1)}, weight, bias) * cotangent);
  };
  const auto gradients = [&](const Tensor& x, const Tensor& weight, const Tensor& bias,
                             const Tensor& cotangent) {
    return grad<0, 1, 2>(loss)(x, weight, bias, cotangent);
  };
  const Tensor x = numbers({64, 96}, 1), weight = numbers({96}, 2), bias = numbers({96}, 3),
               cotangent = numbers({64, 96}, 4);
  const ir::Program program = trace(gradients)(x, weight, bias, cotangent).program;
  const Compiled compiled(program);
  EXPECT_EQ(kernels_of(compiled), 1u) << CompiledAccess::plan(compiled).text();
  expect_as_evaluated(program, {x, weight, bias, cotangent}, 2e-6);
}

TEST(Fusion, SoftmaxAndItsDerivative) {
  const auto f = [](const Tensor& x, const Tensor& cotangent) {
    return std::get<0>(
        vjp([](const Tensor& given) { return softmax(given); }, x).second(cotangent));
  };
  for (const int64_t columns : {1, 7, 8, 64, 197}) {
    const Tensor x = numbers({5, 3, columns}, 1), cotangent = numbers({5, 3, columns}, 2);
    expect_as_evaluated(trace(f)(x, cotangent).program, {x, cotangent}, 2e-6);
  }
}

TEST(Fusion, EveryPassMayBeLeftOut) {
  const auto f = [](const Tensor& x, const Tensor& y) {
    return log_softmax(matmul(x, y) * 2. + sum(x, 1, true)) - mean(y);
  };
  const Tensor x = numbers({6, 8}, 1), y = numbers({8, 5}, 2);
  const ir::Program program = trace(f)(x, y).program;
  const Tensors arguments{x, y}, wanted = evaluate(program, arguments);
  for (const Pass& pass : passes()) {
    const PassesLeftOut out("-" + std::string(pass.name));
    expect_as_good_as_same(pass.name.data(), Compiled(program)(arguments), wanted, 1e-6);
  }
}

TEST(Settings, OfEveryRoomAreListed) {
  std::string names;
  for (const SettingState& state : settings()) {
    if (state.name != "cache") names += state.name + " ";  // only where code is generated
  }
  EXPECT_EQ(names,
            "arena cpu cublaslt cuda cudnn default_device detect_anomaly device_memory_limit dump "
            "float32_matmul_precision log memory_limit nvrtc packed_memory passes "
            "reproducible spin_microseconds threads verify winograd ");
}

TEST(Settings, AreDocumented) {
  std::ifstream file(PLAIT_SOURCE_DIR "/docs/building.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const SettingState& state : settings()) {
    EXPECT_NE(page.find("`" + state.environment_variable + "`"), std::string::npos) << state.name;
  }
}

TEST(Fusion, PassesThatAreNoneAreRefused) {
  const PassesLeftOut out("-fuze");
  try {
    is_on("fuse");
    FAIL() << "was taken";
  } catch (const ValueError& error) {
    EXPECT_NE(error.message().find("`-fuze`"), std::string::npos) << error.message();
    EXPECT_NE(std::string(error.what()).find("simplify"), std::string::npos) << error.what();
  }
}

TEST(Fusion, ComputesATransposedOperandOnce) {
  const auto f = [](const Tensor& x) {
    const Tensor y = exp(x);
    return y + matrix_transpose(y);
  };
  const Tensor x = numbers({9, 9}, 1);
  const ir::Program program = trace(f)(x).program;
  expect_as_evaluated(program, {x}, 1e-6);
}

TEST(Fusion, FusesConcatAsASelectOfOperands) {
  for (const int64_t axis : {0, 1, 2}) {
    for (const DType dtype : {DType::f32, DType::bf16, DType::i32}) {
      const auto f = [=](const Tensor& x, const Tensor& y, const Tensor& z) {
        return concat(Tensors{x, y, slice(z, axis, {1, {}})}, axis) * 2;
      };
      const auto part = [&](int64_t size, uint64_t seed) {
        std::vector<Dim> sizes{3, 4, 70};
        sizes[static_cast<size_t>(axis)] = size;
        return numbers(Shape(sizes), seed, dtype);
      };
      const Tensor x = part(5, 1), y = part(0, 2), z = part(33, 3);
      const ir::Program program = trace(f)(x, y, z).program;
      if (find_target(Device::Kind::cpu) != nullptr) {
        const Compiled compiled(program);
        EXPECT_EQ(kernels_of(compiled), 1u) << CompiledAccess::plan(compiled).text();
        EXPECT_EQ(steps_of<PrimitiveStep>(compiled), 0u) << CompiledAccess::plan(compiled).text();
      }
      expect_as_evaluated(program, {x, y, z}, 1e-6);
    }
  }
}

TEST(Fusion, SumsOfRowsWithoutColumns) {
  const auto f = [](const Tensor& x) { return sum(prod(x + x, 1) * 0.25); };
  for (const Shape& shape : {Shape{2, 0}, Shape{0, 2}, Shape{3, 1}, Shape{40, 50}}) {
    const Tensor x = numbers(shape, 1);
    expect_as_evaluated(trace(f)(x).program, {x}, 1e-6);
  }
}

TEST(Fusion, ASumOfAllBesideSumsOfSome) {
  const auto f = [](const Tensor& x, const Tensor& row) {
    const Tensor y = x + x;
    return std::vector<Tensor>{sum(y), sum(y + row, 0), sum(y * 2., {0, 1})};
  };
  const Tensor x = numbers({2, 3, 4}, 1), row = numbers({4}, 2);
  expect_as_evaluated(trace(f)(x, row).program, {x, row}, 1e-6);
}

TEST(Fusion, EmptySizes) {
  const auto f = [](const Tensor& x) {
    return std::vector<Tensor>{sum(exp(x) * 2., 0), sum(exp(x) * 2., 1), sum(exp(x) * 2.),
                               softmax(x * 3.) + 1.};
  };
  for (const Shape& shape : {Shape{0, 4}, Shape{4, 0}, Shape{0, 0}, Shape{1, 1}}) {
    const Tensor x = numbers(shape, 1);
    expect_as_evaluated(trace(f)(x).program, {x}, 1e-6);
  }
}

TEST(Fusion, TheSameBitsWithAnyNumberOfThreads) {
  const auto f = [](const Tensor& x, const Tensor& y) {
    return std::vector<Tensor>{sum(x * y), sum(tanh(x) * y, 0), mean(x * y, 1)};
  };
  const Tensor x = numbers({700, 300}, 1), y = numbers({700, 300}, 2);
  const Compiled compiled(trace(f)(x, y).program);
  Tensors before;
  const int count = thread_count();
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    const Tensors now = compiled(Tensors{x, y});
    if (!before.empty()) expect_same_bits("other threads", now, before);
    before = now;
  }
  set_thread_count(count);
}

TEST(Compiled, RefusesOtherArguments) {
  const auto f = [](const Tensor& x, const Tensor& y) { return exp(x) + y; };
  const Tensor x = numbers({4, 8}, 1), y = numbers({8}, 2);
  const Compiled compiled(trace(f)(x, y).program);
  EXPECT_THROW(compiled(Tensors{x}), Error);
  EXPECT_THROW(compiled(Tensors{x, y, y}), Error);
  EXPECT_THROW(compiled(Tensors{x, numbers({9}, 2)}), Error);
  EXPECT_THROW(compiled(Tensors{x, numbers({8}, 2, DType::f64)}), Error);
  EXPECT_THROW(compiled(Tensors{x, Tensor()}), Error);
}

// ---- Kernels fused with a product, as its epilogue.

// Expects one kernel, which includes the product, and the same numbers with any number of threads.
void expect_along(const ir::Program& program, const Tensors& arguments, double tolerance) {
  const Compiled compiled(program);
  if (find_target(Device::Kind::cpu) != nullptr) {
    ASSERT_EQ(kernels_of(compiled), 1u) << CompiledAccess::plan(compiled).text();
    EXPECT_EQ(CompiledAccess::plan(compiled).kernels[0].products.size(), 1u)
        << CompiledAccess::plan(compiled).text();
  }
  const int count = thread_count();
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    expect_as_evaluated(program, arguments, tolerance);
  }
  set_thread_count(count);
}

double tolerance_of(DType dtype) {
  return dtype == DType::f64 ? 1e-12 : dtype == DType::f32 ? 2e-5 : 3e-2;
}

TEST(Products, ALayerIsOneKernel) {
  const auto f = [](const Tensor& x, const Tensor& weight, const Tensor& bias) {
    return tanh(matmul(x, weight) + bias) * 2.;
  };
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    for (const auto& [rows, steps, columns] :
         {std::array<int64_t, 3>{300, 64, 96}, {577, 128, 320}, {520, 130, 1111}, {4, 8, 5}}) {
      const Tensor x = numbers({rows, steps}, 1, dtype),
                   weight = numbers({steps, columns}, 2, dtype),
                   bias = numbers({columns}, 3, dtype);
      expect_along(trace(f)(x, weight, bias).program, {x, weight, bias}, tolerance_of(dtype));
    }
  }
}

TEST(Products, ScoresBecomeWeightsOneByOne) {
  const auto f = [](const Tensor& q, const Tensor& k) {
    return softmax(matmul(q, matrix_transpose(k)) * 0.125);
  };
  for (const Shape& shape : {Shape{2, 3, 70, 64}, Shape{1, 1, 256, 32}, Shape{5, 200, 33}}) {
    const Tensor q = numbers(shape, 1), k = numbers(shape, 2);
    expect_along(trace(f)(q, k).program, {q, k}, 1e-5);
  }
}

TEST(Products, StoresAProductThatOthersRead) {
  const auto f = [](const Tensor& x, const Tensor& weight, const Tensor& bias) {
    const Tensor product = matmul(x, weight);
    return std::vector<Tensor>{exp(product * 0.1 + bias), product};
  };
  for (const int64_t rows : {3, 400}) {
    const Tensor x = numbers({rows, 96}, 1), weight = numbers({96, 128}, 2),
                 bias = numbers({128}, 3);
    expect_along(trace(f)(x, weight, bias).program, {x, weight, bias}, 1e-5);
  }
}

// A right-hand side that is not packed is read until the last block of the product is done.
TEST(Products, OperandsStayUntilTheLastRow) {
  const auto f = [](const Tensor& given, const Tensor& weight) {
    const Tensor x = cumsum(given, 0) * 0.01;
    return cumsum(x + matmul(weight, x), 0);
  };
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = numbers({150, 150}, 1, dtype), weight = numbers({150, 150}, 2, dtype);
    expect_as_evaluated(trace(f)(x, weight).program, {x, weight}, tolerance_of(dtype));
  }
}

TEST(Products, TransposedReadsNeedTheWholeProduct) {
  const auto f = [](const Tensor& x, const Tensor& weight) {
    const Tensor product = matmul(x, weight);
    return product + matrix_transpose(product) * 2.;
  };
  const Tensor x = numbers({150, 90}, 1), weight = numbers({90, 150}, 2);
  expect_as_evaluated(trace(f)(x, weight).program, {x, weight}, 1e-5);
}

// The loop nest merges rows and columns of each image.
TEST(Products, WhoseRowsAreNotThoseOfTheLoops) {
  const auto f = [](const Tensor& x, const Tensor& weight, const Tensor& bias) {
    return tanh(matmul(x, weight) + bias);
  };
  const Tensor x = numbers({4, 75, 64}, 1), weight = numbers({64, 100}, 2),
               bias = numbers({75, 100}, 3);
  expect_as_evaluated(trace(f)(x, weight, bias).program, {x, weight, bias}, 1e-5);
}

TEST(Products, ReadsASliceOfRows) {
  const auto f = [](const Tensor& x, const Tensor& weight, const Tensor& bias) {
    return cumsum(slice(matmul(x, weight), 0, {{}, 130}) * 2. + bias, 0);
  };
  const Tensor x = numbers({300, 90}, 1), weight = numbers({90, 100}, 2), bias = numbers({100}, 3);
  expect_as_evaluated(trace(f)(x, weight, bias).program, {x, weight, bias}, 1e-5);
}

// All rows are contiguous in one row of the loop nest, which is split at multiples of the
// vector length.
TEST(Products, RowsOfAnyLength) {
  const auto f = [](const Tensor& x, const Tensor& weight) { return tanh(matmul(x, weight)); };
  for (const int64_t columns : {64, 65, 127, 200}) {
    for (const Shape& shape : {Shape{300, 64}, Shape{3, 150, 64}}) {
      const Tensor x = numbers(shape, 1), weight = numbers({64, columns}, 2);
      expect_along(trace(f)(x, weight).program, {x, weight}, 1e-5);
    }
    const Tensor x = numbers({3, 150, 64}, 1), weight = numbers({3, 64, columns}, 2);
    expect_along(trace(f)(x, weight).program, {x, weight}, 1e-5);
  }
}

TEST(Products, OneProgramForEverySize) {
  const Dim n = Dim::symbol("n"), m = Dim::symbol("m");
  const auto f = [](const Tensor& x, const Tensor& weight) {
    return softmax(matmul(x, weight) * 0.5);
  };
  const ir::Program program = trace(f)(abstract_tensor(ir::Type::array(DType::f32, {n, 48})),
                                       abstract_tensor(ir::Type::array(DType::f32, {48, m})))
                                  .program;
  for (const auto& [rows, columns] :
       {std::pair<int64_t, int64_t>{0, 5}, {5, 0}, {1, 1}, {700, 130}, {130, 700}}) {
    const Tensor x = numbers({rows, 48}, 1), weight = numbers({48, columns}, 2);
    expect_as_evaluated(program, {x, weight}, 1e-5);
  }
}

// f32 weights with a narrow operand, plain and transposed: they are rounded while they are packed.
TEST(Products, WeightsAreRoundedOnTheWay) {
  const auto f = [](const Tensor& x, const Tensor& weight) {
    const Tensor narrow = astype(weight, DType::bf16);
    const Tensor y = astype(matmul(x, narrow), DType::f32) * 0.5;
    return astype(matmul(astype(y, DType::bf16), matrix_transpose(narrow)), DType::f32) + 1.;
  };
  for (const auto& [rows, steps, columns] :
       {std::array<int64_t, 3>{500, 384, 400}, {300, 64, 96}, {5, 6, 7}, {400, 129, 333}}) {
    const Tensor x = numbers({rows, steps}, 1, DType::bf16), weight = numbers({steps, columns}, 2);
    const ir::Program program = trace(f)(x, weight).program;
    expect_as_evaluated(program, {x, weight}, 2e-2);
    if (find_target(Device::Kind::cpu) == nullptr) continue;
    const Compiled compiled(program);
    EXPECT_EQ(steps_of<PrimitiveStep>(compiled), 0u) << CompiledAccess::plan(compiled).text();
    EXPECT_EQ(kernels_of(compiled), 2u) << CompiledAccess::plan(compiled).text();
  }
}

// Weights that are also read elsewhere, on either side.
TEST(Products, WeightsThatOthersReadToo) {
  const auto f = [](const Tensor& weight) {
    const Tensor narrow = astype(weight, DType::bf16);
    return std::vector<Tensor>{astype(matmul(narrow, narrow), DType::f32) + weight,
                               matmul(narrow, narrow) + narrow * 2.,
                               astype(matmul(narrow, narrow), DType::f32) * 2., narrow};
  };
  const auto square = [](const Tensor& weight) {
    const Tensor narrow = astype(weight, DType::bf16);
    return astype(matmul(narrow, narrow), DType::f32) * 2.;
  };
  const Tensor weight = numbers({160, 160}, 2);
  expect_as_evaluated(trace(f)(weight).program, {weight}, 2e-2);
  expect_as_evaluated(trace(square)(weight).program, {weight}, 2e-2);
}

// A kernel that depends on the product through another kernel cannot be its epilogue.
TEST(Products, NothingWaitsForItself) {
  const auto f = [](const Tensor& x, const Tensor& weight) {
    const Tensor product = matmul(x, weight);
    return product * 2. + cumsum(product, 1) + matmul(matrix_transpose(product), x);
  };
  const Tensor x = numbers({128, 128}, 1), weight = numbers({128, 128}, 2);
  expect_as_evaluated(trace(f)(x, weight).program, {x, weight}, 1e-5);
}

TEST(Libraries, ComputesTheTransposedProductDirectly) {
  const auto f = [](const Tensor& x, const Tensor& y, const Tensor& weight) {
    const Tensor narrow = matmul(matrix_transpose(astype(x, DType::bf16)), astype(y, DType::bf16));
    return std::vector<Tensor>{weight - 0.1 * matrix_transpose(matmul(matrix_transpose(x), y)),
                               weight - 0.1 * matrix_transpose(astype(narrow, DType::f32))};
  };
  const Tensor x = numbers({200, 40}, 1), y = numbers({200, 60}, 2), weight = numbers({60, 40}, 3);
  const ir::Program program = trace(f)(x, y, weight).program;
  expect_as_evaluated(program, {x, y, weight}, 2e-2);
  const Compiled compiled(program);
  for (const PlannedKernel& kernel : CompiledAccess::plan(compiled).kernels) {
    for (const NestValue& value : kernel.nest.values) {
      if (value.kind != NestValue::Kind::load) continue;
      EXPECT_TRUE(same(value.place.strides.back(), Dim(1)))
          << CompiledAccess::plan(compiled).text();
    }
  }
}

// A product with another reader is not transposed.
TEST(Libraries, ComputesAProductOnceIfBothLayoutsAreRead) {
  const auto f = [](const Tensor& x, const Tensor& y) {
    const Tensor product = matmul(x, y);
    return std::vector<Tensor>{matrix_transpose(product) * 2., cumsum(product, 0)};
  };
  const Tensor x = numbers({30, 40}, 1), y = numbers({40, 50}, 2);
  const ir::Program program = trace(f)(x, y).program;
  expect_as_evaluated(program, {x, y}, 1e-5);
  const std::string text = optimized(program).text();
  EXPECT_EQ(text.find("matmul"), text.rfind("matmul")) << text;
}

TEST(Libraries, ASumOverProductsIsOne) {
  const auto f = [](const Tensor& x, const Tensor& y) { return sum(matmul(x, y), {0, 1}); };
  const Tensor x = numbers({2, 3, 8, 5}, 1), y = numbers({2, 3, 5, 7}, 2);
  const ir::Program program = trace(f)(x, y).program;
  expect_as_evaluated(program, {x, y}, 1e-5);
  EXPECT_EQ(optimized(program).text().find("reduce_sum"), std::string::npos);
}

// ---- Plans.

TEST(Plans, ResultsSurviveLaterCalls) {
  const auto f = [](const Tensor& x) { return std::vector<Tensor>{x * 2. + 1., x, x * 3.}; };
  const Tensor x = numbers({100}, 1), y = numbers({100}, 2);
  const Compiled compiled(trace(f)(x).program);
  const Tensors first = compiled(Tensors{x});
  const Tensors kept{first[0] + 0., first[1] + 0., first[2] + 0.};
  compiled(Tensors{y});
  expect_same_bits("after another call", first, kept);
}

TEST(Plans, NothingIsWrittenOverThatIsLookedAtOtherwise) {
  const auto f = [](const Tensor& given) {
    const Tensor x = cumsum(given, 0);
    return cumsum(x * 2. + matrix_transpose(reshape(x, {4, 6})), 0);
  };
  const Tensor x = numbers({6, 4}, 1);
  expect_as_evaluated(trace(f)(x).program, {x}, 1e-6);
}

TEST(Plans, OneProgramForEverySize) {
  const Dim n = Dim::symbol("n");
  const auto f = [](const Tensor& x) { return softmax(x * 2.) - mean(x, 1, true); };
  const ir::Program program =
      trace(f)(abstract_tensor(ir::Type::array(DType::f32, {n, n * 2 + 1}))).program;
  const Compiled compiled(program);
  for (const int64_t size : {0, 1, 2, 5, 33, 5}) {
    const Tensor x = numbers({size, 2 * size + 1}, 1);
    expect_as_good_as_same("another size", compiled(Tensors{x}), evaluate(program, Tensors{x}),
                           1e-6);
  }
}

TEST(Plans, StridedArguments) {
  const auto f = [](const Tensor& x) { return exp(x) * 2. + sum(x, 0); };
  const Tensor x = numbers({6, 5}, 1);
  const ir::Program program = trace(f)(matrix_transpose(x)).program;
  for (const Tensor& given : {matrix_transpose(x), flip(matrix_transpose(x), 0)}) {
    expect_as_evaluated(program, {given}, 1e-6);
  }
}

TEST(Plans, ErrorsNameTheLineAndTheFunction) {
  register_all();
  const ir::Program program = ir::Program::parse(
      "func @main<n>(%x: f32[n], %i: i64[1]) -> (f32[1]) {\n"
      "  %0 = exp %x\n"
      "  %1 = gather %0, %i {axes = [0]} ; model.cpp:14\n"
      "  return %1\n"
      "}\n");
  const Compiled compiled(program);
  try {
    compiled(Tensors{numbers({3}, 1), Tensor(Array::of(std::span<const int64_t>({7}), {1}))});
    FAIL() << "the index was taken";
  } catch (const IndexError& error) {
    EXPECT_NE(std::string(error.what()).find("model.cpp:14"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("@main"), std::string::npos) << error.what();
  }
}

TEST(Plans, RecursionIsAsDeepAsMemoryAllows) {
  register_all();
  const ir::Program program = ir::Program::parse(R"(
    func @sum_to(%n: f64[]) -> (f64[]) {
      %zero = literal {value = f64[](0)} : f64[]
      %done = less_equal %n, %zero
      %0 = cond @nothing, @more(%done, %n)
      return %0
    }
    func @nothing(%n: f64[]) -> (f64[]) {
      %0 = literal {value = f64[](0)} : f64[]
      return %0
    }
    func @more(%n: f64[]) -> (f64[]) {
      %one = literal {value = f64[](1)} : f64[]
      %less = subtract %n, %one
      %rest = call @sum_to(%less)
      %0 = add %n, %rest
      return %0
    })");
  const Compiled compiled(program);
  EXPECT_EQ(compiled(Tensors{Tensor(Array::of(100000.))})[0].item<double>(), 5000050000.);
  EXPECT_GT(steps_of<CallStep>(compiled), 0u);
}

// ---- Comparison with the evaluator.

TEST(Compare, FindsNothingWhereAllIsRight) {
  const auto loss = [](const Tensor& w, const Tensor& x) {
    return mean(log_softmax(matmul(tanh(matmul(x, w)), matrix_transpose(w))));
  };
  const auto f = [&](const Tensor& w, const Tensor& x) { return value_and_grad(loss)(w, x); };
  const Tensor w = numbers({8, 16}, 1), x = numbers({32, 8}, 2);
  const ir::Program program = trace(f)(w, x).program;
  for (const int64_t shift : {0, 4, 32}) {
    const auto difference = compare(program, Tensors{w, x}, {.arena = {true, shift}});
    EXPECT_FALSE(difference) << difference->text();
  }
}

// Differences of nearly equal numbers are rounding error, and so are decisions by them.
TEST(Compare, TakesRoundingForWhatItIs) {
  const auto f = [](const Tensor& x) {
    const Tensor left = sum(x - mean(x));
    return std::vector<Tensor>{left, sign(left), exp(x)};
  };
  for (const uint64_t seed : {1, 2, 3, 4, 5}) {
    const Tensor x = numbers({1001}, seed) * 100.;
    const auto difference = compare(trace(f)(x).program, Tensors{x}, {.tolerance = 1e-7});
    EXPECT_FALSE(difference) << difference->text();
  }
}

}  // namespace
}  // namespace plait::compile
