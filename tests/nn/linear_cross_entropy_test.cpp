// linear_cross_entropy compared with the formula that has all logits: values, gradients,
// transforms, any number of rows; and its programs and memory, which hold the logits of one block
// only.
#include "plait/nn/losses/linear_cross_entropy.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "plait/plait.h"

#include "tests/support/errors.h"

namespace plait::linear_cross_entropy_tests {
namespace {

using nn::linear_cross_entropy;
using nn::LinearCrossEntropyOptions;

constexpr DType kF64 = DType::f64;
constexpr Reduction kReductions[] = {Reduction::none, Reduction::mean, Reduction::sum};

Tensor draw(uint64_t seed, const Shape& shape) {
  return random::normal(random::key(seed), shape, 0., 1., kF64);
}

const Tensor kX = draw(1, {10, 3}), kWeight = draw(2, {7, 3}), kBias = draw(3, {7});
const Tensor kTarget = tensor<int64_t>({0, 6, 5, 1, 3, 2, 4, 4, 0, 5});

// The differentiated operands.
struct Given {
  Tensor x, weight, bias;
};
const Given kGiven{kX, kWeight, kBias};

// The formula, with all logits.
Tensor plain(const Given& given, const Tensor& target, const LinearCrossEntropyOptions& options) {
  Tensor logits = linear(given.x, given.weight, given.bias);
  if (options.softcap) logits = *options.softcap * tanh(logits / *options.softcap);
  return cross_entropy(logits, target,
                       {.axis = 1,
                        .weight = options.weight,
                        .ignore_index = options.ignore_index,
                        .label_smoothing = options.label_smoothing,
                        .reduction = options.reduction});
}

Tensor in_blocks(const Given& given, const Tensor& target, LinearCrossEntropyOptions options) {
  options.linear_bias = given.bias;
  return linear_cross_entropy(given.x, given.weight, target, options);
}

template <class Tree>
double difference(const Tree& a, const Tree& b) {
  const auto ours = tensors_of(a), theirs = tensors_of(b);
  EXPECT_EQ(ours.size(), theirs.size());
  double most = 0;
  for (size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(ours[i].shape(), theirs[i].shape());
    if (ours[i].shape().element_count() == Dim(0)) continue;
    most = std::max(most, max(absolute(ours[i] - theirs[i])).template item<double>());
  }
  return most;
}

// Functions of Given and the target that depend on the losses nonlinearly.
auto ours_of(LinearCrossEntropyOptions options) {
  return [options](const Given& given, const Tensor& target) {
    return sum(sin(in_blocks(given, target, options)));
  };
}
auto theirs_of(LinearCrossEntropyOptions options) {
  return [options](const Given& given, const Tensor& target) {
    return sum(sin(plain(given, target, options)));
  };
}

void expect_same(const LinearCrossEntropyOptions& options, const Tensor& target) {
  EXPECT_LT(difference(in_blocks(kGiven, target, options), plain(kGiven, target, options)), 1e-10);
  EXPECT_LT(difference(value_and_grad(ours_of(options))(kGiven, target),
                       value_and_grad(theirs_of(options))(kGiven, target)),
            1e-10);
}

TEST(LinearCrossEntropy, IsThatOfTheLogits) {
  const Tensor weights = random::uniform(random::key(4), {7}, 0.1, 2, kF64);
  for (const Reduction reduction : kReductions) {
    for (const int64_t chunk : {1, 3, 5, 100}) {
      for (const Tensor& weight : {Tensor(), weights}) {
        expect_same({.weight = weight, .reduction = reduction, .chunk = chunk}, kTarget);
        expect_same({.weight = weight,
                     .ignore_index = 5,
                     .label_smoothing = 0.2,
                     .reduction = reduction,
                     .softcap = 1.5,
                     .chunk = chunk},
                    kTarget);
      }
    }
  }
}

TEST(LinearCrossEntropy, OfProbabilities) {
  const Tensor target = softmax(draw(5, {10, 7}), 1);
  for (const Reduction reduction : kReductions) {
    const LinearCrossEntropyOptions options{
        .label_smoothing = 0.1, .reduction = reduction, .chunk = 4};
    expect_same(options, target);
    EXPECT_LT(difference(grad<1>(ours_of(options))(kGiven, target),
                         grad<1>(theirs_of(options))(kGiven, target)),
              1e-10);
  }
}

TEST(LinearCrossEntropy, OfSeveralTargetsOfARow) {
  const Given given{draw(1, {5, 3}), draw(2, {4, 2, 6, 3}), draw(3, {4, 2, 6})};
  const Tensor target = random::randint(random::key(4), {5, 2, 6}, 0, 4);
  const auto logits_of = [](const Given& at) {
    const Tensor flat = linear(at.x, reshape(at.weight, {48, 3}), reshape(at.bias, {48}));
    return reshape(flat, {5, 4, 2, 6});
  };
  for (const Reduction reduction : kReductions) {
    const auto theirs = [&](const Given& at) {
      return sum(sin(cross_entropy(logits_of(at), target, {.axis = 1, .reduction = reduction})));
    };
    const auto ours = [&](const Given& at) {
      return sum(sin(in_blocks(at, target, {.reduction = reduction, .chunk = 2})));
    };
    EXPECT_LT(difference(value_and_grad(ours)(given), value_and_grad(theirs)(given)), 1e-10);
  }
}

TEST(LinearCrossEntropy, OfAnyNumberOfAxes) {
  const Tensor x = reshape(kX, {2, 5, 3}), target = reshape(kTarget, {2, 5});
  const LinearCrossEntropyOptions options{.reduction = Reduction::none, .chunk = 3};
  EXPECT_LT(difference(in_blocks({x, kWeight, kBias}, target, options),
                       reshape(plain(kGiven, kTarget, options), {2, 5})),
            1e-12);
  const Tensor one = linear_cross_entropy(kX[0], kWeight, kTarget[0]);
  EXPECT_LT(difference(one, cross_entropy(linear(kX[0], kWeight), kTarget[0])), 1e-12);
}

TEST(LinearCrossEntropy, JitsAndHasSecondDerivatives) {
  const auto along = [](const auto& f) {  // forward over reverse
    return [f](const Given& given, const Tensor& target) {
      const auto slope = [&](const Given& at) { return grad(f)(at, target); };
      const Given tangent{draw(5, {10, 3}), draw(6, {7, 3}), draw(7, {7})};
      return jvp(slope, std::tuple(given), std::tuple(tangent));
    };
  };
  const auto twice = [](const auto& f) {  // reverse over reverse
    return grad([f](const Given& given, const Tensor& target) {
      const Given slopes = grad(f)(given, target);
      return sum(sin(slopes.x)) + sum(sin(slopes.weight)) + sum(sin(slopes.bias));
    });
  };
  for (const Reduction reduction : kReductions) {
    const LinearCrossEntropyOptions options{.reduction = reduction, .chunk = 4};
    const auto ours = ours_of(options);
    const auto theirs = theirs_of(options);
    const auto first = value_and_grad(theirs)(kGiven, kTarget);
    EXPECT_LT(difference(jit(frozen(value_and_grad(ours)))(kGiven, kTarget), first), 1e-10);
    EXPECT_LT(difference(value_and_grad(remat(ours))(kGiven, kTarget), first), 1e-10);
    const auto forward = along(theirs)(kGiven, kTarget);
    EXPECT_LT(difference(along(ours)(kGiven, kTarget), forward), 1e-10);
    const auto backward = twice(theirs)(kGiven, kTarget);
    EXPECT_LT(difference(twice(ours)(kGiven, kTarget), backward), 1e-10);
    EXPECT_LT(difference(jit(frozen(twice(ours)))(kGiven, kTarget), backward), 1e-10);
  }
}

TEST(LinearCrossEntropy, HasDerivativesByTheWeightsOfClasses) {
  const Tensor weights = random::uniform(random::key(4), {7}, 0.1, 2, kF64);
  for (const Reduction reduction : {Reduction::mean, Reduction::sum}) {
    const auto ours = [&](const Tensor& weight, const Given& given) {
      return in_blocks(given, kTarget, {.weight = weight, .reduction = reduction, .chunk = 4});
    };
    const auto theirs = [&](const Tensor& weight, const Given& given) {
      return plain(given, kTarget, {.weight = weight, .reduction = reduction});
    };
    EXPECT_LT(difference(grad<0, 1>(ours)(weights, kGiven), grad<0, 1>(theirs)(weights, kGiven)),
              1e-10);
  }
}

TEST(LinearCrossEntropy, BatchesModels) {
  const Given models{draw(1, {3, 10, 3}), draw(2, {3, 7, 3}), draw(3, {3, 7})};
  const Tensor targets = random::randint(random::key(4), {3, 10}, 0, 7);
  for (const Reduction reduction : kReductions) {
    const LinearCrossEntropyOptions options{.reduction = reduction, .chunk = 4};
    const auto wanted = vmap(grad(theirs_of(options)))(models, targets);
    EXPECT_LT(difference(vmap(grad(ours_of(options)))(models, targets), wanted), 1e-10);
    EXPECT_LT(difference(jit(frozen(vmap(grad(ours_of(options)))))(models, targets), wanted),
              1e-10);
  }
}

TEST(LinearCrossEntropy, OneProgramServesAnyNumberOfRows) {
  const Dim rows = Dim::symbol("n");
  const auto typed = [](DType dtype, const Shape& shape) {
    return abstract_tensor(ir::Type::array(dtype, shape));
  };
  const Given any{typed(kF64, {rows, 3}), typed(kF64, {7, 3}), typed(kF64, {7})};
  for (const Reduction reduction : kReductions) {
    const LinearCrossEntropyOptions options{.reduction = reduction, .chunk = 4};
    const TracedProgram traced =
        trace(value_and_grad(ours_of(options)))(any, typed(DType::i64, {rows}));
    for (const int64_t count : {1, 3, 4, 8, 11, 0}) {
      const Given given{draw(5, {count, 3}), kWeight, kBias};
      const Tensor target = random::randint(random::key(6), {count}, 0, 7);
      std::vector<Tensor> arguments{given.x, given.weight, given.bias, target};
      arguments.insert(arguments.end(), traced.hidden_inputs.begin(), traced.hidden_inputs.end());
      const auto wanted = value_and_grad(theirs_of(options))(given, target);
      const std::vector<Tensor> found = run(traced.program, arguments);
      if (count == 0 && reduction == Reduction::mean) {
        EXPECT_TRUE(isnan(found[0]).item<bool>());
        continue;
      }
      EXPECT_LT(difference(found, tensors_of(wanted)), 1e-10) << count << " rows";
    }
  }
}

TEST(LinearCrossEntropy, TheMeanOverNoTargetsIsNanWithoutDerivatives) {
  const Tensor target = full({10}, -100, DType::i64);
  const auto [loss, slopes] = value_and_grad(
      [&](const Given& given) { return in_blocks(given, target, {.chunk = 4}); })(kGiven);
  EXPECT_TRUE(isnan(loss).item<bool>());
  EXPECT_EQ(max(absolute(slopes.weight)).item<double>(), 0);
  EXPECT_EQ(max(absolute(slopes.x)).item<double>(), 0);
}

TEST(LinearCrossEntropy, NarrowFloatsAreSummedInF32) {
  // The gradient by the weight is a sum over 4096 blocks: in f16 it would stop growing.
  const Tensor x = ones({4096, 1}, DType::f16), target = zeros({4096}, DType::i64);
  const auto loss = [&](const Tensor& weight) {
    return linear_cross_entropy(x, weight, target, {.reduction = Reduction::sum, .chunk = 1});
  };
  const auto [value, slope] = value_and_grad(loss)(zeros({2, 1}, DType::f16));
  EXPECT_EQ(value.dtype(), DType::f32);
  EXPECT_EQ(slope.dtype(), DType::f16);
  EXPECT_EQ(slope[0][0].item<double>(), -2048);
  EXPECT_EQ(slope[1][0].item<double>(), 2048);
}

// The number of elements of the largest value of the program.
int64_t most_elements(const ir::Program& program) {
  int64_t most = 0;
  for (const auto& function : program.functions()) {
    for (const ir::Instruction instruction : function->instructions()) {
      for (const ir::Type& type : instruction.result_types()) {
        if (type.is_array()) most = std::max(most, type.shape().element_count().number());
      }
    }
  }
  return most;
}

TEST(LinearCrossEntropy, NoInstructionHasTheLogits) {
  const Given given{zeros({60, 4}), zeros({50, 4}), zeros({50})};
  const Tensor target = zeros({60}, DType::i64);
  for (const Reduction reduction : kReductions) {
    const LinearCrossEntropyOptions options{.reduction = reduction, .chunk = 5};
    const auto ours = ours_of(options);
    const auto theirs = theirs_of(options);
    EXPECT_GE(most_elements(trace(theirs)(given, target).program), 60 * 50);
    EXPECT_LE(most_elements(trace(ours)(given, target).program), 5 * 50);
    EXPECT_GE(most_elements(trace(value_and_grad(theirs))(given, target).program), 60 * 50);
    EXPECT_LE(most_elements(trace(value_and_grad(ours))(given, target).program), 5 * 50);
  }
}

TEST(LinearCrossEntropy, BlocksAreSmallerThanManyLogits) {
  // The rows, the classes, and the most rows of a block.
  for (const auto& [rows, classes, block] : std::vector<std::array<int64_t, 3>>{
           {100, 50'000, 25}, {8, 200'000, 5}, {256, 50'000, 64}, {1024, 8000, 256}}) {
    const Given given{zeros({rows, 1}), zeros({classes, 1}), zeros({classes})};
    const auto step = value_and_grad(ours_of({}));
    const ir::Program program = trace(step)(given, zeros({rows}, DType::i64)).program;
    EXPECT_EQ(most_elements(program), block * classes) << rows << " rows";
  }
}

TEST(LinearCrossEntropy, TheRowsOfABlockMayBeASymbol) {
  const Given some{draw(5, {1, 3}), draw(2, {5000, 3}), draw(3, {5000})};
  const auto jitted = jit(frozen(value_and_grad(ours_of({}))));
  for (const int64_t count : {1, 3, 250, 900, 1100}) {
    const Given given{draw(5, {count, 3}), some.weight, some.bias};
    const Tensor target = random::randint(random::key(6), {count}, 0, 5000);
    const auto wanted = value_and_grad(theirs_of({}))(given, target);
    EXPECT_LT(difference(jitted(given, target), wanted), 1e-10) << count << " rows";
  }
}

TEST(LinearCrossEntropy, TheLogitsAreNotInMemory) {
  const Given given{ones({4096, 8}), ones({2048, 8}), ones({2048})};
  const Tensor target = zeros({4096}, DType::i64);
  for (const Reduction reduction : {Reduction::none, Reduction::mean}) {
    const int64_t before = memory_statistics().live_bytes;
    reset_peak_memory();
    value_and_grad(ours_of({.reduction = reduction, .chunk = 64}))(given, target);
    EXPECT_LT(memory_statistics().peak_bytes - before, 4096 * 2048 * 4 / 4);
  }
}

TEST(LinearCrossEntropy, TheLayerTrains) {
  auto loss = nn::LinearCrossEntropyLoss::init(random::key(1), 3, 7,
                                               {.bias = true, .weight = ones({7}), .chunk = 4});
  EXPECT_EQ(leaf_paths(loss), (std::vector<std::string>{"weight", "linear.weight", "linear.bias"}));
  const Tensor x = astype(kX, DType::f32);
  using Loss = nn::LinearCrossEntropyLoss;
  optim::Adam<Loss> optimizer(loss, {.lr = 0.1});
  const auto step = jit([](const Loss& model, const optim::Adam<Loss>& adam, const Tensor& rows,
                           const Tensor& target) {
    const auto [value, slopes] =
        value_and_grad([](const Loss& at, const Tensor& of, const Tensor& to) {
          return at(of, to);
        })(model, rows, target);
    return std::tuple_cat(std::tuple(value), adam.update(model, slopes));
  });
  std::vector<double> values;
  for (int i = 0; i < 30; ++i) {
    Tensor value;
    std::tie(value, loss, optimizer) = step(loss, optimizer, x, kTarget);
    values.push_back(value.item<double>());
  }
  EXPECT_LT(values.back(), 0.5 * values.front());
  EXPECT_EQ(loss.weight->text(), ones({7}).text());
}

TEST(LinearCrossEntropy, TheLayerOfSeveralTargets) {
  const auto loss = nn::LinearCrossEntropyLoss::init(
      random::key(1), 3, 4, {.out_features = {2, 6}, .bias = true, .dtype = kF64});
  EXPECT_EQ(loss.linear.weight.type().text(), "f64[48, 3]");
  const Tensor x = draw(1, {5, 3}), target = random::randint(random::key(4), {5, 2, 6}, 0, 4);
  EXPECT_LT(difference(loss(x, target),
                       cross_entropy(reshape(loss.linear(x), {5, 4, 2, 6}), target, {.axis = 1})),
            1e-12);
}

TEST(LinearCrossEntropy, RefusesWhatDoesNotFit) {
  const auto refuses = [](auto run, std::initializer_list<std::string_view> parts) {
    expect_contains(what_of(run), parts);
  };
  refuses([] { linear_cross_entropy(kX, draw(1, {7, 4}), kTarget); },
          {"ShapeError", "nn::linear_cross_entropy", "same number of features",
           "linear_cross_entropy_test.cpp"});
  refuses([] { linear_cross_entropy(kX, kWeight, kTarget[{Slice{1, {}}}]); },
          {"ShapeError", "the target is i64[9]", "[10]"});
  refuses([] { linear_cross_entropy(kX, kWeight, kTarget, {.linear_bias = zeros({3})}); },
          {"ShapeError", "linear_bias is f32[3], expected [7]"});
  refuses([] { linear_cross_entropy(kX, kWeight, kTarget, {.chunk = 0}); },
          {"ValueError", "chunk is 0"});
  refuses([] { linear_cross_entropy(kX, kWeight, kTarget, {.softcap = -1}); },
          {"ValueError", "softcap is -1"});
  refuses([] { linear_cross_entropy(kX, kWeight, kTarget, {.label_smoothing = 2}); },
          {"ValueError", "smoothing is 2"});
  refuses([] { linear_cross_entropy(kX, kWeight, kTarget, {.reduction = Reduction::batchmean}); },
          {"ValueError", "batchmean"});
  refuses([] { nn::LinearCrossEntropyLoss::init(random::key(1), 3, -7); }, {"ValueError", "-7"});
  refuses([] { nn::LinearCrossEntropyLoss::init(random::key(1), 3, 7, {.weight = ones({3})}); },
          {"ShapeError", "the weight is f32[3], expected [7]"});
}

}  // namespace
}  // namespace plait::linear_cross_entropy_tests
