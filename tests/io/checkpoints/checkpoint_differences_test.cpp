// Trees that are not that of the checkpoint.
#include "plait/io/checkpoints.h"
#include "plait/ops/arrays/reshape.h"

#include "tests/io/checkpoints/checkpoint_trees.h"
#include "tests/io/temporary_folder.h"

namespace plait {
namespace {

using namespace checkpoint_trees;

class CheckpointDifferences : public ::testing::Test {
 protected:
  template <class Tree>
  void save(const Tree& tree) {
    checkpoints_.save(1, tree);
    checkpoints_.wait();
  }
  // The lines of the error, without its first one.
  template <class Tree>
  std::string differences(const Tree& like, const RestoreOptions& options = {}) {
    const std::string error = error_of([&] { (void)checkpoints_.restore(like, options); });
    const size_t line = error.find('\n');
    return line == std::string::npos ? error : error.substr(line + 1);
  }
  template <class Tree>
  std::vector<std::string> restored(const Tree& like, const RestoreOptions& options) {
    return bits_of(checkpoints_.restore(like, options));
  }

  TemporaryFolder folder_;
  CheckpointFolder checkpoints_{folder_.path("run")};
};

TEST_F(CheckpointDifferences, TheStateOfAnotherOptimizer) {
  save(training<Sgd>(1));
  EXPECT_EQ(differences(training<Adam>()),
            "    optimizer is Sgd in the checkpoint, Adam in the tree");
  const auto restored = checkpoints_.restore(training<Adam>(2), {.skip = {"optimizer.*"}});
  EXPECT_EQ(bits_of(restored.rest), bits_of(training(1).rest));
  EXPECT_EQ(bits_of(restored.optimizer), bits_of(training(2).optimizer));
}

TEST_F(CheckpointDifferences, AnotherStaticValueButForTheMode) {
  save(training(1));
  auto like = training();
  like.first.training = false;
  EXPECT_FALSE(checkpoints_.restore(like).first.training);
  like.optimizer.nesterov = true;
  like.rest[1].heads = 2;
  EXPECT_EQ(differences(like),
            "    optimizer.nesterov is false in the checkpoint, true in the tree\n"
            "    rest.1.heads is 1 in the checkpoint, 2 in the tree");
  EXPECT_EQ(differences(like, {.skip = {"*.nesterov", "*.heads"}}), "");
}

TEST_F(CheckpointDifferences, AnotherClassShapeDTypeOrNumberOfTensors) {
  save(training(1));
  const auto plain = training();
  Training<Sgd, Wide> wide{
      {plain.first.weight, plain.first.bias}, plain.rest, plain.optimizer, plain.step};
  EXPECT_EQ(differences(wide), "    first is Layer in the checkpoint, Wide in the tree");
  auto like = training(0, 7);
  like.rest.pop_back();
  like.step = Tensor(Array::of(int32_t{7}));
  like.optimizer.momentum["first.weigth"] = numbers(0, 6);
  EXPECT_EQ(differences(like),
            "    optimizer.momentum.\"first.weigth\" is missing from the checkpoint\n"
            "    rest.1 is in the checkpoint, but not in the tree\n"
            "    first.weight is f32[6] in the checkpoint, f32[7] in the tree\n"
            "    optimizer.momentum.\"first.weight\" is f32[6] in the checkpoint, f32[7] in the "
            "tree\n"
            "    rest.0.weight is f32[6] in the checkpoint, f32[7] in the tree\n"
            "    step is i64[] in the checkpoint, i32[] in the tree");
}

TEST_F(CheckpointDifferences, ATensorIsEmptyInOneOfThem) {
  save(training(1));
  auto like = training();
  like.first.bias = Tensor();
  EXPECT_EQ(differences(like), "    first.bias is f32[2] in the checkpoint, empty in the tree");
}

TEST_F(CheckpointDifferences, FillAndSkip) {
  save(training(1));
  auto like = training(0);
  like.rest.push_back(layer(500));
  EXPECT_EQ(differences(like), "    rest.2 is missing from the checkpoint");
  auto expected = training(1);
  expected.rest.push_back(layer(500));
  EXPECT_EQ(restored(like, {.fill = {"rest.2.*"}}), bits_of(expected));
  like.rest.resize(1);
  expected.rest.resize(1);
  EXPECT_EQ(restored(like, {.skip = {"rest.1.*"}}), bits_of(expected));
  expected.first.weight = like.first.weight;
  EXPECT_EQ(restored(like, {.skip = {"rest.1.*", "first.weight"}}), bits_of(expected));
  EXPECT_EQ(
      differences(like, {.skip = {"rest.1.*", "second.*"}}),
      "ValueError: restore: nothing in the tree or the checkpoint matches \"second.*\" of skip");
}

struct Renamed {
  Layer body;
  std::vector<Layer> rest;
  Sgd optimizer;
  Tensor step;
};
struct Whole {
  Training<> model;
  int64_t size = 3;
};
struct OtherNames {
  Tensor kernel, bias;
  int64_t heads = 1;
};

TEST_F(CheckpointDifferences, RenamedParts) {
  save(training(1));
  const auto other = training(0);
  const Renamed like{other.first, other.rest, other.optimizer, other.step};
  EXPECT_EQ(differences(like, {.rename = {{"first.*", "body.*"}}}),
            "    the tree is Training in the checkpoint, Renamed in the tree");
  const std::vector<Layer> rest =
      checkpoints_.restore(other.rest, {.rename = {{"rest.*", "*"}, {"*", std::nullopt}}});
  EXPECT_EQ(bits_of(rest), bits_of(training(1).rest));
  const Layer first =
      checkpoints_.restore(other.first, {.rename = {{"first.*", "*"}, {"*", std::nullopt}}});
  EXPECT_EQ(bits_of(first), bits_of(training(1).first));
}

TEST_F(CheckpointDifferences, ATreeAroundTheSavedOne) {
  save(training(1));
  const RestoreOptions options{.rename = {{"*", "model.*"}}};
  EXPECT_EQ(differences(Whole{training(0)}, options), "    size is missing from the checkpoint");
  EXPECT_EQ(restored(Whole{training(0)}, {.rename = options.rename, .fill = {"size"}}),
            bits_of(training(1)));
}

TEST_F(CheckpointDifferences, RenamedTensors) {
  save(std::vector{layer(1)});
  const std::vector<OtherNames> like = {{numbers(0, 6), numbers(0, 2)}};
  EXPECT_EQ(differences(like, {.rename = {{"*.weight", "*.kernel"}}}),
            "    0 is Layer in the checkpoint, OtherNames in the tree");
  EXPECT_EQ(differences(std::vector{layer(2)}, {.rename = {{"*.weight", "*.bias"}}}),
            "ValueError: restore: rename gives the name \"0.bias\" to \"0.bias\" and \"0.weight\"");
}

TEST_F(CheckpointDifferences, TensorsAtTwoPlaces) {
  const Tensor shared = numbers(1, 3);
  const std::vector<Tensor> tied = {shared, shared, numbers(5, 3)};
  save(tied);
  EXPECT_EQ(Safetensors::open(folder_.path("run/step-0000000001.safetensors")).names().size(), 2U);
  EXPECT_EQ(checkpoints_.load(1).tree.tensors().size(), 3U);
  const Tensor other = numbers(0, 3);
  const std::vector<Tensor> made = checkpoints_.restore(std::vector{other, other, numbers(0, 3)});
  EXPECT_EQ(bits_of(made), bits_of(tied));
  EXPECT_EQ(made[0].identity(), made[1].identity());
  EXPECT_EQ(differences(std::vector{numbers(0, 3), numbers(0, 3), numbers(0, 3)}),
            "    0 and 1 are one tensor in the checkpoint, two in the tree");
  EXPECT_EQ(differences(std::vector{other, numbers(0, 3), other}),
            "    0 and 2 are one tensor in the tree, two in the checkpoint\n"
            "    0 and 1 are one tensor in the checkpoint, two in the tree");
  EXPECT_EQ(differences(std::vector{other, numbers(0, 3), numbers(0, 3)}, {.skip = {"1"}}), "");
}

TEST_F(CheckpointDifferences, Resize) {
  const std::vector saved = {numbers(5, 3), numbers(0, 2)};
  save(saved);
  const std::vector like = {numbers(0, 1), numbers(0, 2)};
  EXPECT_EQ(differences(like), "    0 is f32[3] in the checkpoint, f32[1] in the tree");
  EXPECT_EQ(restored(like, {.resize = {"0"}}), bits_of(saved));
  EXPECT_EQ(differences(std::vector{reshape(numbers(0, 1), {1, 1}), saved[1]}, {.resize = {"*"}}),
            "    0 is f32[3] in the checkpoint, f32[1, 1] in the tree");
  EXPECT_EQ(differences(std::vector{astype(saved[0], DType::f64), saved[1]}, {.resize = {"*"}}),
            "    0 is f32[3] in the checkpoint, f64[3] in the tree");
  EXPECT_EQ(differences(like, {.resize = {"2"}}),
            "ValueError: restore: nothing in the tree or the checkpoint matches \"2\" of resize");
}

TEST_F(CheckpointDifferences, ATreeOfAnotherLanguage) {
  CheckpointTree tree;
  tree.language = "Python";
  checkpoints_.save_tree(1, tree);
  EXPECT_EQ(error_of([&] { (void)checkpoints_.restore(training()); }),
            "ValueError: restore: the checkpoint is that of a program in Python, whose classes are "
            "others");
}

}  // namespace
}  // namespace plait
