// Files that are damaged, torn or left over, disks that are full, and several writers.
#include <csignal>
#include <random>
#include <thread>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plait/core/log.h"
#include "plait/io/checkpoints.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/at.h"
#include "plait/transform/jit.h"

#include "tests/io/checkpoints/checkpoint_trees.h"
#include "tests/io/temporary_folder.h"

namespace plait {
namespace {

using namespace checkpoint_trees;

// Keeps the log lines of a test.
class LogLines {
 public:
  LogLines() {
    before_ = set_log_sink([this](const LogLine& line) { text_ += line.text() + "\n"; });
  }
  ~LogLines() { set_log_sink(before_); }
  LogLines(const LogLines&) = delete;
  LogLines& operator=(const LogLines&) = delete;
  const std::string& text() const { return text_; }

 private:
  LogSink before_;
  std::string text_;
};

class CheckpointDamage : public ::testing::TestWithParam<int64_t> {
 protected:
  std::string run() const { return folder_.path("run"); }
  CheckpointFolder open(bool wait = false) const {
    return CheckpointFolder(run(), {.largest_shard = GetParam(), .wait = wait});
  }
  void save_two() const {
    CheckpointFolder checkpoints = open();
    checkpoints.save(1, training(1), {.metrics = {{"loss", 1}}});
    checkpoints.save(2, training(2), {.metrics = {{"loss", 2}}});
  }
  std::vector<std::string> files_of(int64_t step) const {
    std::vector<std::string> paths;
    for (const std::string& name : names_in(run())) {
      if (name.find(fmt::format("{:010d}", step)) != std::string::npos) {
        paths.push_back(run() + "/" + name);
      }
    }
    return paths;
  }

  TemporaryFolder folder_;
};

// Every byte of every file: the checkpoint is refused, or the byte has no meaning (in the index).
TEST_P(CheckpointDamage, AnyByte) {
  save_two();
  const LogLines log;
  int64_t refused = 0, tried = 0;
  for (const std::string& path : files_of(2)) {
    const std::string content = content_of(path);
    std::mt19937 random(7);
    const size_t stride = content.size() < 1500 ? 7 : 41;
    for (size_t i = random() % stride; i < content.size(); i += 1 + random() % stride) {
      std::string damaged = content;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << random() % 8));
      write_content(path, damaged);
      const CheckpointFolder checkpoints(run(), {.read_only = true});
      ++tried;
      bool is_refused = false;
      try {
        EXPECT_EQ(bits_of(Training<>(checkpoints.restore(training(), {.step = 2}))),
                  bits_of(training(2)))
            << path << " " << i;
      } catch (const Error& error) {
        is_refused = true;
        ++refused;
      }
      if (is_refused) {
        EXPECT_EQ(bits_of(checkpoints.restore(training())), bits_of(training(1)));
      }
      EXPECT_TRUE(is_refused || path.ends_with("index.json")) << path << " " << i;
    }
    write_content(path, content);
  }
  EXPECT_GT(tried, 100);
  EXPECT_GT(refused, tried / 2);
  EXPECT_NE(log.text().find("the checkpoint before it is used"), std::string::npos);
}

TEST_P(CheckpointDamage, TornFiles) {
  save_two();
  const LogLines log;
  for (const std::string& path : files_of(2)) {
    const std::string content = content_of(path);
    for (const size_t size : {size_t{0}, size_t{5}, content.size() / 2, content.size() - 2}) {
      write_content(path, content.substr(0, size));
      CheckpointFolder checkpoints = open();
      EXPECT_EQ(checkpoints.latest(), 1) << path << " " << size;
      EXPECT_EQ(bits_of(checkpoints.restore(training())), bits_of(training(1)));
      EXPECT_NE(error_of([&] { checkpoints.load(2); }), "");
    }
    write_content(path, content);
  }
  EXPECT_EQ(open().latest(), 2);
}

TEST_P(CheckpointDamage, ADamagedOneIsReplaced) {
  save_two();
  const LogLines log;
  for (const std::string& path : files_of(2)) std::filesystem::resize_file(path, 9);
  CheckpointFolder checkpoints = open();
  checkpoints.save(2, training(5));
  EXPECT_EQ(bits_of(checkpoints.restore(training(), {.step = 2})), bits_of(training(5)));
  EXPECT_EQ(files_of(2).size(), files_of(1).size());
}

// A checksum is found to be wrong when the checkpoint is restored: the run goes on from the one
// before it, with steps of its own.
TEST_P(CheckpointDamage, ARunGoesOnBeforeADamagedOne) {
  save_two();
  {
    open(true).save(5, training(5));
  }
  const LogLines log;
  std::string content = content_of(files_of(5).front());
  content[content.size() - 2] ^= 1;
  write_content(files_of(5).front(), content);
  CheckpointFolder checkpoints = open(true);
  EXPECT_EQ(checkpoints.latest(), 5);
  EXPECT_EQ(bits_of(checkpoints.restore(training())), bits_of(training(2)));
  EXPECT_EQ(checkpoints.latest(), 2);
  checkpoints.save(4, training(4));
  EXPECT_EQ(checkpoints.latest(), 4);
  checkpoints.save(5, training(6));
  EXPECT_EQ(bits_of(checkpoints.restore(training())), bits_of(training(6)));
}

// While it exists, files cannot grow beyond this size.
class FullDisk {
 public:
  explicit FullDisk(rlim_t most) {
    ::signal(SIGXFSZ, SIG_IGN);  // writes fail instead
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{most, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
};

TEST_P(CheckpointDamage, AFullDisk) {
  CheckpointFolder checkpoints = open();
  checkpoints.save(1, training(1));
  checkpoints.wait();
  const auto names = names_in(run());
  for (const rlim_t most : {10, 1000, 1800, 2300}) {
    const std::string error = error_of([&] {
      const FullDisk full(most);
      checkpoints.save(2, training(2, 400));
      checkpoints.wait();
    });
    EXPECT_TRUE(
        error.starts_with("IoError: the checkpoint of step 2 was not saved: cannot write " + run()))
        << error;
    EXPECT_TRUE(error.ends_with("File too large")) << error;
    EXPECT_EQ(names_in(run()), names);
    EXPECT_EQ(bits_of(checkpoints.restore(training())), bits_of(training(1)));
  }
}

// The shards are there when the index fails.
TEST(CheckpointIndex, ThatDoesNotFitLeavesNoShards) {
  const TemporaryFolder folder;
  const std::string run = folder.path("run");
  std::map<std::string, Tensor> tensors;
  for (int i = 0; i < 300; ++i) tensors[fmt::format("x{}", i)] = numbers(0, 1);
  CheckpointFolder checkpoints(run, {.largest_shard = 100});
  checkpoints.save(1, tensors);
  checkpoints.wait();
  const auto names = names_in(run);
  uintmax_t index = 0, shard = 0;
  for (const std::string& name : names) {
    uintmax_t& most = name.ends_with(".json") ? index : shard;
    most = std::max(most, std::filesystem::file_size(run + "/" + name));
  }
  ASSERT_GT(index, shard);
  tensors["x0"] = numbers(5, 1);
  for (const int64_t step : {1, 2}) {
    const std::string error = error_of([&] {
      const FullDisk full((index + shard) / 2);
      checkpoints.save(step, tensors);
      checkpoints.wait();
    });
    EXPECT_NE(error.find("index.json: File too large"), std::string::npos) << error;
    EXPECT_EQ(names_in(run), names);
  }
  EXPECT_EQ(checkpoints.load(1).tree.arrays.at("x0").elements<float>()[0], 0.F);
}

TEST_P(CheckpointDamage, AnErrorIsThrownByTheNextSave) {
  CheckpointFolder checkpoints = open();
  {
    const FullDisk full(10);
    checkpoints.save(1, training(1));
    EXPECT_FALSE(checkpoints.latest());  // waits, and leaves the error
  }
  EXPECT_NE(error_of([&] { checkpoints.save(2, training(2)); }).find("step 1 was not saved"),
            std::string::npos);
  checkpoints.wait();
  EXPECT_EQ(checkpoints.steps(), std::vector<int64_t>{2});
  const LogLines log;
  {
    const FullDisk full(10);
    CheckpointFolder(folder_.path("other")).save(1, training(1));
  }
  EXPECT_NE(log.text().find("the checkpoint of step 1 was not saved"), std::string::npos);
}

TEST_P(CheckpointDamage, LeftoversOfKilledProcessesAreRemoved) {
  save_two();
  const auto names = names_in(run());
  const std::vector<std::string> leftovers = {
      "step-0000000003.safetensors.77-0.part", "step-0000000003.safetensors.index.json.77-0.part",
      "step-0000000003-1a2b3c4d-00001-of-00002.safetensors",
      "step-0000000003-1a2b3c4d-00002-of-00002.safetensors.77-0.part",
      "step-0000000002-1a2b3c4d-00001-of-00002.safetensors"};
  const std::vector<std::string> others = {"notes.txt", "step-3.safetensors", "step-0000000004.bin",
                                           "other.safetensors.77-0.part"};
  for (const std::string& name : leftovers) write_content(run() + "/" + name, "x");
  for (const std::string& name : others) write_content(run() + "/" + name, "x");
  CheckpointFolder(run(), {.read_only = true});
  EXPECT_EQ(names_in(run()).size(), names.size() + leftovers.size() + others.size());
  CheckpointFolder checkpoints = open();
  EXPECT_EQ(names_in(run()).size(), names.size() + others.size());
  EXPECT_EQ(checkpoints.steps(), (std::vector<int64_t>{1, 2}));
}

TEST_P(CheckpointDamage, TwoWriters) {
  CheckpointFolder checkpoints = open();
  checkpoints.save(1, training(1));
  checkpoints.wait();
  EXPECT_NE(
      error_of([&] { open(); }).find(fmt::format("is being written by process {}", ::getpid())),
      std::string::npos);
  CheckpointFolder reader(run(), {.read_only = true});
  EXPECT_EQ(reader.latest(), 1);
  checkpoints.save(2, training(2));
  checkpoints.close();
  EXPECT_EQ(reader.latest(), 2);
  EXPECT_EQ(bits_of(reader.restore(training())), bits_of(training(2)));
  EXPECT_NE(error_of([&] { reader.save(3, training()); }).find("is opened read_only"),
            std::string::npos);
  open().save(3, training(3));
  EXPECT_EQ(reader.latest(), 3);
}

// A process that outlives the writer, such as a worker that it has forked.
TEST_P(CheckpointDamage, AChildDoesNotKeepTheFolder) {
  auto checkpoints = std::make_unique<CheckpointFolder>(open());
  checkpoints->save(1, training(1));
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_refused =
        error_of([&] { checkpoints->save(2, training()); }).find("parent") != std::string::npos;
    checkpoints.reset();
    ::pause();
    ::_exit(is_refused ? 0 : 1);
  }
  checkpoints.reset();
  EXPECT_EQ(error_of([&] { open().save(2, training(2)); }), "");
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

// Saves one checkpoint after another, and tells the step when save has returned.
[[noreturn]] void save_for_ever(CheckpointFolder checkpoints, int tell) {
  for (int64_t step = checkpoints.latest().value_or(0) + 1;; ++step) {
    checkpoints.save(step, training(static_cast<float>(step), 5000));
    if (::write(tell, &step, sizeof(step)) != sizeof(step)) ::_exit(1);
  }
}

// Kills a process that saves, and returns the last step whose save has returned; 0 if there is
// none.
int64_t step_before_kill(pid_t saving, int told, std::chrono::microseconds delay) {
  int64_t last = 0;
  for (int i = 0; i < 2; ++i) EXPECT_GT(::read(told, &last, sizeof(last)), 0);
  std::this_thread::sleep_for(delay);
  ::kill(saving, SIGKILL);
  ::waitpid(saving, nullptr, 0);
  for (int64_t step = 0; ::read(told, &step, sizeof(step)) == sizeof(step);) last = step;
  ::close(told);
  return last;
}

TEST_P(CheckpointDamage, KilledAtAnyMoment) {
  std::mt19937 random(11);
  for (int round = 0; round < 20; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) save_for_ever(open(true), ends[1]);
    ::close(ends[1]);
    const int64_t told =
        step_before_kill(child, ends[0], std::chrono::microseconds(random() % 8000));
    CheckpointFolder checkpoints = open();
    const int64_t latest = checkpoints.latest().value_or(0);
    EXPECT_TRUE(latest == told || latest == told + 1) << latest << " " << told;
    EXPECT_LE(checkpoints.steps().size(), 3U);  // also if it was killed before it removed one
    EXPECT_FALSE(std::filesystem::exists(run() + "/.removals"));
    for (const int64_t step : checkpoints.steps()) {
      EXPECT_EQ(bits_of(checkpoints.restore(training(0, 5000), {.step = step})),
                bits_of(training(static_cast<float>(step), 5000)));
    }
  }
}

// Four checkpoints are there, and the note of a process that was killed when it had written the
// fourth, or before. By the options of the next one alone nothing is removed.
TEST_P(CheckpointDamage, KilledBeforeItRemoves) {
  const auto left = [&](const std::string& note, bool read_only) {
    {
      CheckpointFolder all(run(), {.keep_last = 0, .largest_shard = GetParam()});
      all.remove_after(0);
      for (int64_t step = 1; step <= 4; ++step) all.save(step, training(1));
    }
    if (!note.empty()) write_content(run() + "/.removals", note);
    const auto steps = CheckpointFolder(run(), {.keep_last = 1, .read_only = read_only}).steps();
    EXPECT_EQ(std::filesystem::exists(run() + "/.removals"), read_only && !note.empty());
    return steps;
  };
  const std::vector<int64_t> all = {1, 2, 3, 4};
  EXPECT_EQ(left("4\n1\n2\nend\n", false), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(left("4\n1\n9\nend\n", false), (std::vector<int64_t>{2, 3, 4}));  // one is gone
  EXPECT_EQ(left("4\n1\n2\nend\n", true), all);
  EXPECT_EQ(left("5\n1\n2\nend\n", false), all);  // the fifth was not complete
  EXPECT_EQ(left("", false), all);
  for (const char* torn : {"4", "4\n1\n", "4\n1\n2\nen", "x\n1\nend\n", "4\n1 two\nend\n"}) {
    EXPECT_EQ(left(torn, false), all) << torn;
  }
}

INSTANTIATE_TEST_SUITE_P(Shards, CheckpointDamage, ::testing::Values(0, 60));

// ---- Memory that is shared with the run.

constexpr int64_t kMany = int64_t{1} << 22;

TEST(CheckpointMemory, IsNotWrittenByLaterOperations) {
  const TemporaryFolder folder;
  CheckpointFolder checkpoints(folder.path("run"));
  std::vector<Tensor> state = {zeros({kMany}), zeros({kMany})};
  const std::byte* const before = state[0].array().data();
  checkpoints.save(1, state);
  state[0] = std::move(state[0]).at(0).set(5.);
  state[0] = std::move(state[0]).at(kMany - 1).set(5.);
  EXPECT_NE(state[0].array().data(), before);
  const auto add = jit([](const Tensor& x) { return x + 1.; }, {.donate = {0}});
  for (int i = 0; i < 3; ++i) state[1] = add(std::move(state[1]));
  checkpoints.wait();
  for (const auto& [path, array] : checkpoints.load(1).tree.arrays) {
    EXPECT_EQ(std::ranges::count(array.elements<float>(), 0.F), kMany) << path;
  }
  // Afterwards the memory is the run's alone again.
  const std::byte* const alone = state[0].array().data();
  state[0] = std::move(state[0]).at(0).set(6.);
  EXPECT_EQ(state[0].array().data(), alone);
}

TEST(CheckpointMemory, BorrowedMemoryIsCopied) {
  const TemporaryFolder folder;
  CheckpointFolder checkpoints(folder.path("run"));
  std::vector<float> theirs(kMany, 1.F);
  const auto bytes = static_cast<int64_t>(theirs.size() * sizeof(float));
  checkpoints.save(1, std::vector{Tensor(Array::borrow(DType::f32, Layout::contiguous({kMany}),
                                                       theirs.data(), bytes, [] {}))});
  std::ranges::fill(theirs, 2.F);
  EXPECT_EQ(checkpoints.load(1).tree.arrays.at("0").elements<float>().back(), 1.F);
}

TEST(CheckpointMemory, RestoredTensorsAreTheRunsOwn) {
  const TemporaryFolder folder;
  CheckpointFolder checkpoints(folder.path("run"));
  checkpoints.save(1, std::vector{zeros({kMany}), zeros({3})});
  for (const Tensor& tensor : checkpoints.restore(std::vector{zeros({kMany}), zeros({3})})) {
    EXPECT_FALSE(tensor.array().buffer().is_borrowed());
  }
}

}  // namespace
}  // namespace plait
