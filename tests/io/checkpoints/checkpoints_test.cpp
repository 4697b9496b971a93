// Saving and loading, which checkpoints are kept, and what is refused.
#include "plait/io/checkpoints.h"

#include <cmath>
#include <limits>

#include "plait/io/inside/checkpoints/checkpoint_paths.h"
#include "plait/ops/indexing/index.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/transform/jit.h"
#include "plait/transform/programs.h"

#include "tests/io/checkpoints/checkpoint_trees.h"
#include "tests/io/temporary_folder.h"

namespace plait {
namespace {

using namespace checkpoint_trees;

TEST(Checkpoints, RestoreATree) {
  const TemporaryFolder folder;
  CheckpointFolder checkpoints(folder.path("run"));
  EXPECT_FALSE(checkpoints.latest());
  checkpoints.save(20, training(1));
  const auto restored = checkpoints.restore(training(0));
  EXPECT_EQ(bits_of(restored), bits_of(training(1)));
  EXPECT_EQ(checkpoints.latest(), 20);
  EXPECT_EQ(names_in(folder.path("run")), std::vector<std::string>{"step-0000000020.safetensors"});
}

TEST(Checkpoints, OtherReadersSeeTheTensorsByPath) {
  const TemporaryFolder folder;
  CheckpointFolder(folder.path("run")).save(20, training(1), {.metadata = {{"made by", "a test"}}});
  const Safetensors file = Safetensors::open(folder.path("run") + "/step-0000000020.safetensors");
  EXPECT_TRUE(file.contains("rest.1.weight"));
  EXPECT_TRUE(file.contains("optimizer.momentum.\"first.weight\""));
  EXPECT_EQ(file.array("rest.1.weight").elements<float>()[2], 203.F);
  EXPECT_EQ(file.metadata()->at("made by"), "a test");
}

TEST(Checkpoints, HaveMetricsMetadataAndAProgram) {
  const TemporaryFolder folder;
  CheckpointFolder checkpoints(folder.path("run"));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Metrics metrics = {{"loss", 0.1}, {"rate", -kInfinity}, {"norm", std::nan("")}};
  const auto program = make_program([](const Tensor& x) { return x; })(numbers(0, 2));
  checkpoints.save(1, training(), {metrics, {{"set", "circles"}}, program.program().bytes()});
  const Checkpoint loaded = checkpoints.load(1);
  EXPECT_EQ(loaded.metrics.at("loss"), 0.1);
  EXPECT_EQ(loaded.metrics.at("rate"), -kInfinity);
  EXPECT_TRUE(std::isnan(loaded.metrics.at("norm")));
  EXPECT_EQ(loaded.metadata, (SafetensorsMetadata{{"set", "circles"}}));
  EXPECT_EQ(ir::Program::from_bytes(loaded.program).text(), program.text());
  EXPECT_EQ(loaded.tree.arrays.count("plait.program"), 0U);
  EXPECT_TRUE(checkpoints.describe(1).tree.arrays.empty());
}

TEST(Checkpoints, TensorsOfEveryKind) {
  const TemporaryFolder folder;
  CheckpointFolder checkpoints(folder.path("run"));
  std::map<std::string, Tensor> tensors = {{"empty", zeros({0, 3})}, {"x.y", numbers(1, 5)}};
  for (const DType dtype : {DType::key, DType::c128, DType::bf16, DType::boolean, DType::f8e4m3}) {
    Array array = Array::empty(dtype, {3});
    std::fill_n(array.writable_data(), 3 * size_of(dtype), std::byte{1});
    tensors[std::string(name_of(dtype))] = Tensor(array);
  }
  tensors["view"] = numbers(0, 8)[{Slice{1, {}, 2}}];
  checkpoints.save(0, tensors);
  const auto restored = checkpoints.restore(tensors);
  EXPECT_EQ(bits_of(restored), bits_of(tensors));
  for (const auto& [name, tensor] : restored) EXPECT_EQ(tensor.type(), tensors.at(name).type());
}

TEST(Checkpoints, ATreeWithoutTensors) {
  const TemporaryFolder folder;
  CheckpointFolder checkpoints(folder.path("run"), {.largest_shard = 8});
  checkpoints.save(3, std::vector<Layer>{});
  EXPECT_TRUE(checkpoints.restore(std::vector<Layer>{}).empty());
}

// ---- Which are kept.

std::set<int64_t> kept(const std::map<int64_t, Metrics>& steps, CheckpointFolderOptions options) {
  return kept_steps(steps, options);
}

TEST(Checkpoints, RulesKeepTheLastTheBestAndMultiples) {
  const std::map<int64_t, Metrics> steps = {{10, {{"loss", 3}}},
                                            {20, {{"loss", 1}}},
                                            {30, {{"loss", 1}}},
                                            {40, {{"loss", std::nan("")}}},
                                            {50, {}},
                                            {60, {{"loss", 2}}}};
  EXPECT_EQ(kept(steps, {.keep_last = 2}), (std::set<int64_t>{50, 60}));
  EXPECT_EQ(kept(steps, {.keep_last = 0}).size(), 6U);
  EXPECT_EQ(kept(steps, {.keep_last = 1, .keep_every = 20}), (std::set<int64_t>{20, 40, 60}));
  EXPECT_EQ(kept(steps, {.keep_last = 1, .best = "loss"}), (std::set<int64_t>{20, 60}));
  EXPECT_EQ(kept(steps, {.keep_last = 1, .best = "loss", .keep_best = 9}),
            (std::set<int64_t>{10, 20, 30, 60}));
  EXPECT_EQ(kept(steps, {.keep_last = 1, .best = "loss", .best_is = BestIs::greatest}),
            (std::set<int64_t>{10, 60}));
}

TEST(Checkpoints, OthersAreRemoved) {
  for (const int64_t largest_shard : {0, 40}) {
    const TemporaryFolder folder;
    CheckpointFolder checkpoints(
        folder.path("run"),
        {.keep_last = 2, .keep_every = 4, .best = "loss", .largest_shard = largest_shard});
    for (int64_t step = 1; step <= 9; ++step) {
      const double loss = step == 3 ? 0.1 : static_cast<double>(step);
      checkpoints.save(step, training(static_cast<float>(step)), {.metrics = {{"loss", loss}}});
    }
    EXPECT_EQ(checkpoints.steps(), (std::vector<int64_t>{3, 4, 8, 9}));
    EXPECT_EQ(checkpoints.best(), 3);
    EXPECT_EQ(names_in(folder.path("run")).size(), largest_shard == 0 ? 4U : 4 * 5U);
    EXPECT_EQ(bits_of(checkpoints.restore(training(), {.step = 4})), bits_of(training(4)));
  }
}

TEST(Checkpoints, TheWorkingDirectoryMayChange) {
  const TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path(""));
  CheckpointFolder checkpoints("runs/first/");
  std::filesystem::current_path(before);
  checkpoints.save(1, training());
  EXPECT_EQ(checkpoints.latest(), 1);
  EXPECT_EQ(names_in(folder.path("runs/first")).size(), 1U);
}

TEST(Checkpoints, ARunBeginsWhereAnotherEnded) {
  const TemporaryFolder folder;
  CheckpointFolder(folder.path("run"), {.best = "loss"})
      .save(5, training(), {.metrics = {{"loss", 1}}});
  CheckpointFolder checkpoints(folder.path("run"), {.keep_last = 1, .best = "loss"});
  checkpoints.save(6, training(), {.metrics = {{"loss", 2}}});
  checkpoints.save(7, training(), {.metrics = {{"loss", 3}}});
  EXPECT_EQ(checkpoints.steps(), (std::vector<int64_t>{5, 7}));
}

// A step may be saved again: a run continues from the checkpoint before a damaged one.
TEST(Checkpoints, AStepIsReplacedAlsoByAnotherDivision) {
  const TemporaryFolder folder;
  for (const int64_t largest_shard : {0, 40, 100, 0}) {
    CheckpointFolder checkpoints(folder.path("run"), {.largest_shard = largest_shard});
    checkpoints.save(5, training(static_cast<float>(largest_shard)));
    EXPECT_EQ(bits_of(checkpoints.restore(training())),
              bits_of(training(static_cast<float>(largest_shard))));
    EXPECT_EQ(names_in(folder.path("run")).size(), largest_shard == 0    ? 1U
                                                   : largest_shard == 40 ? 5U
                                                                         : 3U);
  }
}

TEST(Checkpoints, AReaderSeesWhatIsReplaced) {
  const TemporaryFolder folder;
  CheckpointFolder checkpoints(folder.path("run"), {.best = "loss", .wait = true});
  const CheckpointFolder reader(folder.path("run"), {.best = "loss", .read_only = true});
  for (const int64_t step : {1, 2}) {
    checkpoints.save(step, training(), {.metrics = {{"loss", static_cast<double>(step)}}});
  }
  EXPECT_EQ(reader.best(), 1);
  checkpoints.save(2, training(), {.metrics = {{"loss", 0.5}}});
  EXPECT_EQ(reader.best(), 2);
}

TEST(Checkpoints, StepsGoForwards) {
  const TemporaryFolder folder;
  CheckpointFolder checkpoints(folder.path("run"));
  for (const int64_t step : {10, 20, 30}) checkpoints.save(step, training());
  EXPECT_EQ(error_of([&] { checkpoints.save(15, training()); }).substr(0, 75),
            "ValueError: Checkpoints.save: step 15 is before step 30, the latest in " +
                folder.path("").substr(0, 4));
  checkpoints.remove_after(10);
  checkpoints.save(15, training());
  EXPECT_EQ(checkpoints.steps(), (std::vector<int64_t>{10, 15}));
  checkpoints.remove(10);
  EXPECT_EQ(checkpoints.steps(), (std::vector<int64_t>{15}));
}

// ---- What is refused.

TEST(Checkpoints, BadArguments) {
  const TemporaryFolder folder;
  const std::string run = folder.path("run");
  EXPECT_EQ(error_of([&] { CheckpointFolder(run, {.keep_last = -1}); }),
            "ValueError: Checkpoints: keep_last is -1, expected 0 or more");
  write_content(folder.path("file"), "");
  EXPECT_NE(error_of([&] { CheckpointFolder(folder.path("file")); }).find("IoError: cannot open"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              CheckpointFolder(folder.path("none"), {.read_only = true});
            }).find("IoError: cannot open"),
            std::string::npos);
  CheckpointFolder checkpoints(run, {.best = "loss"});
  const auto saving = [&](SaveCheckpointOptions options) {
    return error_of([&] { checkpoints.save(1, training(), std::move(options)); });
  };
  EXPECT_EQ(error_of([&] { checkpoints.save(-1, training()); }),
            "ValueError: Checkpoints: the step is -1, expected 0 or more");
  EXPECT_EQ(
      saving({.metrics = {{"los", 1}}}),
      "ValueError: Checkpoints.save: the best are kept by the metric \"loss\", but there is los");
  EXPECT_EQ(saving({.metadata = {{"plait.step", "3"}}}),
            "ValueError: Checkpoints.save: the metadata \"plait.step\" has a reserved name");
  EXPECT_NE(saving({.metadata = {{"a", "\xff"}}}).find("is not UTF-8"), std::string::npos);
  const std::map<std::string, Tensor> clash = {{"plait.program", numbers(0, 1)}};
  EXPECT_EQ(error_of([&] { checkpoints.save(1, clash); }),
            "ValueError: Checkpoints.save: a tensor cannot be named plait.program");
  EXPECT_EQ(names_in(run), std::vector<std::string>());
  EXPECT_EQ(error_of([&] { checkpoints.load(4); }).substr(0, 38),
            "KeyError: unknown checkpoint of step 4");
  EXPECT_EQ(error_of([&] { (void)checkpoints.restore(training()); }).substr(0, 34),
            "ValueError: there is no checkpoint");
}

TEST(Checkpoints, AreNotSavedInARecordedFunction) {
  const TemporaryFolder folder;
  CheckpointFolder checkpoints(folder.path("run"));
  const Tensor known = numbers(0, 2);
  const auto step = jit(frozen([&](const Tensor& x, bool saves_x) {
    checkpoints.save(1, std::vector{saves_x ? x : known});
    return x;
  }));
  EXPECT_EQ(error_of([&] { step(known, false); }),
            "ValueError: Checkpoints.save: a function is being recorded here");
  EXPECT_EQ(error_of([&] { step(known, true); }),
            "ValueError: 0 is a f32[2], which has no elements to save while it is recorded");
  EXPECT_FALSE(checkpoints.latest());
}

TEST(Checkpoints, AClosedFolderIsOnlyRead) {
  const TemporaryFolder folder;
  CheckpointFolder checkpoints(folder.path("run"));
  checkpoints.save(1, training(3));
  checkpoints.close();
  EXPECT_EQ(bits_of(checkpoints.restore(training())), bits_of(training(3)));
  EXPECT_NE(error_of([&] { checkpoints.save(2, training()); }).find("is closed"),
            std::string::npos);
}

}  // namespace
}  // namespace plait
