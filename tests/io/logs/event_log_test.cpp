#include "plait/io/logs/event_log.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <csignal>
#include <fstream>
#include <functional>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/file.h"
#include "plait/io/inside/logs/event_files.h"
#include "plait/io/inside/logs/event_messages.h"
#include "plait/io/inside/logs/event_records.h"
#include "plait/io/inside/logs/histogram_buckets.h"

#include "tests/io/logs/full_disk.h"
#include "tests/io/temporary_folder.h"
#include "tests/support/errors.h"

namespace plait {
namespace {

std::string bytes_of_file(const std::string& path) {
  return std::string(characters_of(InputFile(path).bytes()));
}

void write_bytes(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// "step tag" of each value in the files of the folder, in order.
std::vector<std::string> steps_in(const std::string& folder) {
  std::vector<std::string> found;
  for (const std::string& path : event_files(folder)) {
    const InputFile file(path);
    EventRecordReader reader(file.bytes());
    while (const auto record = reader.next()) {
      const EventContent content = read_event(record->payload, record->payload_begin);
      const std::string_view tag = content.graph.empty() ? content.first_tag : "the graph";
      if (!tag.empty()) found.push_back(fmt::format("{} {}", content.step, tag));
    }
    EXPECT_EQ(reader.position(), file.bytes().size()) << path;
  }
  return found;
}

std::vector<std::string> loss_steps(int64_t begin, int64_t end) {
  std::vector<std::string> expected;
  for (int64_t step = begin; step < end; ++step) expected.push_back(fmt::format("{} loss", step));
  return expected;
}

void log_steps(EventLog& log, int64_t begin, int64_t end) {
  for (int64_t step = begin; step < end; ++step) log.log(step, {{"loss", 0.5 * step}});
}

TEST(EventLog, EachStepStandsOnceAfterItIsResumed) {
  const TemporaryFolder folder;
  for (const auto& [from, to] : {std::pair{0, 10}, {6, 12}, {9, 9}, {3, 20}, {25, 30}}) {
    EventLog log(folder.path("run"), from);
    EXPECT_EQ(steps_in(folder.path("run")).size(), std::min<size_t>(from, 20u)) << from;
    log_steps(log, from, to);
  }
  auto expected = loss_steps(0, 20);
  std::ranges::copy(loss_steps(25, 30), std::back_inserter(expected));
  EXPECT_EQ(steps_in(folder.path("run")), expected);
  EXPECT_EQ(event_files(folder.path("run")).size(), 5u);  // also those without records
  const EventLog again(folder.path("run"), 0);
  EXPECT_EQ(steps_in(folder.path("run")), std::vector<std::string>());
}

TEST(EventLog, FilesAreReadInTheOrderInWhichTheyAreWritten) {
  const TemporaryFolder folder;
  std::string last;
  for (int i = 0; i < 5; ++i) {
    EventLog(folder.path("run"), i).scalar("loss", 1, i);
    const std::string newest = event_files(folder.path("run")).back();
    EXPECT_LT(last, newest);
    last = newest;
  }
  EXPECT_EQ(steps_in(folder.path("run")), loss_steps(0, 5));
}

TEST(EventLog, ADifferentLogIsNotOverwritten) {
  const TemporaryFolder folder;
  {
    EventLog log(folder.path("run"));
  }
  expect_contains(what_of<IoError>([&] { EventLog log(folder.path("run")); }),
                  {"has events already", "pass a step to continue from"});
  EventLog log(folder.path("run"), 0);
  const std::string message = what_of<IoError>([&] { EventLog(folder.path("run"), 0); });
  expect_contains(message, {"the log " + folder.path("run") + " is being written by process " +
                            std::to_string(::getpid())});
}

TEST(EventLog, ARecordThatIsTornIsCutOff) {
  const TemporaryFolder folder;
  const std::string run = folder.path("run");
  {
    EventLog log(run);
    log_steps(log, 0, 3);
  }
  const std::string path = event_files(run).front(), whole = bytes_of_file(path);
  const size_t record = (whole.size() - event_record(version_event(0)).size()) / 3;
  for (size_t cut = 1; cut <= record; ++cut) {
    for (const size_t zeros : {0, 1, 5000}) {
      std::filesystem::remove_all(run);
      std::filesystem::create_directory(run);
      write_bytes(path, whole.substr(0, whole.size() - cut) + std::string(zeros, '\0'));
      EventLog log(run, 2);
      log_steps(log, 2, 3);
      EXPECT_EQ(steps_in(run), loss_steps(0, 3)) << cut << " " << zeros;
    }
  }
}

TEST(EventLog, DamageInTheMiddleIsRefusedAndNothingIsChanged) {
  const TemporaryFolder folder;
  const std::string run = folder.path("run");
  {
    EventLog log(run);
    log_steps(log, 0, 3);
  }
  {
    EventLog log(run, 3);
    log_steps(log, 3, 4);
  }
  const std::string first = event_files(run).front(), path = event_files(run).back();
  const std::string before = bytes_of_file(first), whole = bytes_of_file(path);
  for (size_t i = 0; i + 60 < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] ^= 0x10;
    write_bytes(path, damaged);
    expect_contains(what_of<ParseError>([&] { EventLog(run, 1); }),
                    {path + ": byte ", "move the file"});
    EXPECT_EQ(bytes_of_file(path), damaged);
    EXPECT_EQ(bytes_of_file(first), before);
  }
  write_bytes(path, event_record("\x08"));  // a checksum, but no event
  expect_contains(what_of<ParseError>([&] { EventLog(run, 1); }),
                  {path + ": byte 13: expected 1 bytes"});
}

TEST(EventLog, LeftoversOfAKilledProcessAreRemoved) {
  const TemporaryFolder folder;
  const std::string run = folder.path("run");
  {
    EventLog log(run);
    log_steps(log, 0, 3);
  }
  write_bytes(run + "/.events.rewritten", "half");
  write_bytes(run + "/.events.rewritten.123-0.part", "half");
  write_bytes(run + "/.events.lock", "123");
  write_bytes(run + "/mine.part", "kept");
  {
    EventLog log(run, 3);
  }
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(run)) {
    names.push_back(entry.path().filename().string());
  }
  EXPECT_EQ(std::ranges::count_if(names, [](const auto& name) { return name.starts_with("."); }),
            0);
  EXPECT_TRUE(std::filesystem::exists(run + "/mine.part"));
}

TEST(EventLog, DescriptionsStandOnce) {
  const TemporaryFolder folder;
  const std::string run = folder.path("run");
  const std::vector<LogEntry> rate{{"rate", 0.1}, {"name", "a"}, {"fast", true}};
  const std::vector<LogEntry> other{{"rate", 0.2}};
  const std::vector<std::string> metrics{"loss"};
  const std::vector<std::string> described{"0 _hparams_/experiment",
                                           "0 _hparams_/session_start_info"};
  {
    EventLog log(run);
    log.hparams(rate, metrics);
    log.hparams(rate, metrics);
    expect_contains(what_of<ValueError>([&] { log.hparams(other, metrics); }),
                    {"was written already"});
    EXPECT_EQ(steps_in(run), described);
    log.scalar("loss", 1, 1);
    log.close();
    EXPECT_EQ(steps_in(run).back(), "0 _hparams_/session_end_info");
  }
  {
    EventLog log(run, 2);  // the session goes on
    log.hparams(rate, metrics);
    EXPECT_EQ(steps_in(run), (std::vector<std::string>{described[0], described[1], "1 loss"}));
  }
  EventLog log(run, 2);
  log.hparams(other, metrics);
  EXPECT_EQ(steps_in(run), (std::vector<std::string>{"1 loss", described[0], described[1]}));
}

TEST(EventLog, PartsAreResumedWithIt) {
  const TemporaryFolder folder;
  const std::string run = folder.path("run");
  {
    EventLog log(run);
    log_steps(log.part("valid"), 0, 5);
    log_steps(log.part("train"), 0, 5);
    expect_contains(what_of<IoError>([&] { EventLog(run + "/valid", 0); }), {"is being written"});
  }
  {
    EventLog other(run + "/another run");
    log_steps(other, 0, 5);
  }
  EventLog log(run, 3);
  log_steps(log.part("valid"), 3, 4);
  EXPECT_EQ(steps_in(run + "/valid"), loss_steps(0, 4));
  EXPECT_EQ(steps_in(run + "/train"), loss_steps(0, 3));
  EXPECT_EQ(steps_in(run + "/another run"), loss_steps(0, 5));
  const std::string with_a_zero("a\0b", 3);
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("a/b"), with_a_zero}) {
    EXPECT_THROW(log.part(name), ValueError) << name;
  }
}

TEST(EventLog, BadArgumentsWriteNothing) {
  const TemporaryFolder folder;
  EXPECT_THROW(EventLog(folder.path("run"), -1), ValueError);
  EXPECT_EQ(folder.file_count(), 0u);
  EventLog log(folder.path("run"));
  const Array pixels = Array::empty(DType::u8, {2, 2, 5});
  EXPECT_THROW(log.scalar("", 1, 1), ValueError);
  EXPECT_THROW(log.scalar("\xff", 1, 1), ValueError);
  EXPECT_THROW(log.scalar("a", 1, -1), ValueError);
  EXPECT_THROW(log.text("a", "\xff", 1), ValueError);
  EXPECT_THROW(log.image("a", pixels, 1), ShapeError);
  EXPECT_THROW(log.image("a", Array::empty(DType::u8, {0, 2}), 1), ShapeError);
  EXPECT_THROW(log.image("a", Array::empty(DType::i32, {2, 2}), 1), TypeError);
  EXPECT_THROW(log.histogram("a", Array::empty(DType::f32, {0}), 1), ValueError);
  EXPECT_THROW(log.histogram("a", Array::empty(DType::c64, {1}), 1), TypeError);
  EXPECT_THROW(log.log(1, {{"a", 1}, {"a", 2}}), ValueError);
  EXPECT_THROW(log.log(1, {{"a", "\xff"}}), ValueError);
  EXPECT_EQ(steps_in(folder.path("run")).size(), 0u);
  log.close();
  log.close();
  expect_contains(message_of<ValueError>([&] { log.scalar("a", 1, 1); }), {"is closed"});
  EXPECT_THROW(log.flush(), ValueError);
  EXPECT_THROW(log.part("a"), ValueError);
}

TEST(EventLog, ThreadsWriteWholeRecords) {
  const TemporaryFolder folder;
  EventLog log(folder.path("run"));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { log_steps(log, 0, 200); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(steps_in(folder.path("run")).size(), 800u);
}

TEST(EventLog, AForkedProcessNeitherWritesNorKeepsTheLock) {
  const TemporaryFolder folder;
  auto log = std::make_unique<EventLog>(folder.path("run"));
  int to_child[2];
  ASSERT_EQ(::pipe(to_child), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 1;
    try {
      log->scalar("a", 1, 1);
    } catch (const IoError&) {
      code = 0;
    }
    char wait = 0;
    ::close(to_child[1]);
    (void)!::read(to_child[0], &wait, 1);  // until the parent has finished
    ::_exit(code);
  }
  log->scalar("a", 1, 2);
  log.reset();
  EXPECT_FALSE(std::filesystem::exists(folder.path("run") + "/.events.lock"));
  {
    EventLog again(folder.path("run"), 3);
  }
  ::close(to_child[1]);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(steps_in(folder.path("run")), std::vector<std::string>{"2 a"});
}

// The lock file is still there, and a process that the killed one forked is alive.
TEST(EventLog, AKilledProcessLeavesTheLockFreeAlsoToItsChildren) {
  const TemporaryFolder folder;
  int from_child[2], to_grandchild[2];
  ASSERT_EQ(::pipe(from_child), 0);
  ASSERT_EQ(::pipe(to_grandchild), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    EventLog log(folder.path("run"));
    char byte = 0;
    ::close(to_grandchild[1]);
    if (::fork() == 0) {
      (void)!::write(from_child[1], &byte, 1);
      (void)!::read(to_grandchild[0], &byte, 1);  // until the test has ended
      ::_exit(0);
    }
    ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(from_child[0], &byte, 1), 1);
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(std::filesystem::exists(folder.path("run") + "/.events.lock"));
  EXPECT_NO_THROW(EventLog(folder.path("run"), 0));
  for (const int descriptor : {from_child[0], from_child[1], to_grandchild[0], to_grandchild[1]}) {
    ::close(descriptor);
  }
}

TEST(EventLog, AFullDiskLeavesWholeRecords) {
  const TemporaryFolder folder;
  const std::string run = folder.path("run");
  const int code = on_full_disk(1000, [&] {
    EventLog log(run);
    int64_t step = 0;
    const std::string message = what_of<IoError>([&] {
      for (;; ++step) log.scalar("loss", 1, step);
    });
    expect_contains(message, {"cannot write " + run, "File too large"});
    EXPECT_EQ(steps_in(run), loss_steps(0, step));
    EXPECT_THROW(log.text("a", std::string(2000, 'a'), 1), IoError);
    EXPECT_EQ(steps_in(run), loss_steps(0, step));
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(on_full_disk(10,
                         [&] {
                           EXPECT_THROW(EventLog(folder.path("other")), IoError);
                           EXPECT_TRUE(std::filesystem::is_empty(folder.path("other")));
                           const std::string before = bytes_of_file(event_files(run).front());
                           EXPECT_THROW(EventLog(run, 2), IoError);  // cannot be cut, so it stays
                           EXPECT_EQ(bytes_of_file(event_files(run).front()), before);
                         }),
            0);
  EventLog log(run, 2);
  EXPECT_EQ(steps_in(run), loss_steps(0, 2));
}

// Each element in the first bucket whose limit is above it.
TEST(Histogram, CountsAsTensorBoardDoes) {
  std::vector<double> elements{0,      -0.0,  1e-12, -1e-12,  1e-13,
                               -1e-13, 1,     -1,    1.1e-12, -1.1e-12,
                               1e30,   -1e30, 1e300, 5e-324,  std::numeric_limits<double>::max()};
  double limit = 1e-12;
  for (int i = 0; i < 770; ++i, limit *= 1.1) {
    for (const double x : {limit, -limit, std::nextafter(limit, 0), -std::nextafter(limit, 0),
                           std::nextafter(limit, 1e30), -std::nextafter(limit, 1e30)}) {
      elements.push_back(x);
    }
  }
  const auto size = static_cast<int64_t>(elements.size());
  const Histogram histogram = histogram_of(Array::of(std::span<const double>(elements), {size}));
  EXPECT_EQ(histogram.count, size);
  EXPECT_EQ(histogram.min, -1e30);
  EXPECT_TRUE(std::ranges::is_sorted(histogram.limits));
  std::ranges::sort(elements);
  size_t below = 0;
  for (size_t i = 0; i < histogram.limits.size(); ++i) {
    const bool is_last = i + 1 == histogram.limits.size();  // which has the largest number itself
    size_t end = below;
    while (end < elements.size() && (is_last || elements[end] < histogram.limits[i])) ++end;
    EXPECT_EQ(histogram.counts[i], static_cast<double>(end - below)) << histogram.limits[i];
    below = end;
  }
  EXPECT_EQ(below, elements.size());
}

TEST(Histogram, NumbersThatAreNotFiniteShow) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const double elements[] = {1, nan, inf, -inf};
  const Histogram histogram = histogram_of(Array::of(std::span<const double>(elements), {4}));
  EXPECT_EQ(histogram.min, -inf);
  EXPECT_EQ(histogram.max, inf);
  EXPECT_EQ(histogram.count, 4);
  EXPECT_TRUE(std::isnan(histogram.sum));
  double counted = 0;
  for (const double count : histogram.counts) counted += count;
  EXPECT_EQ(counted, 3);
}

TEST(Histogram, IsTheSameForEachDtypeAndLayout) {
  Array array = Array::empty(DType::f64, {700, 1000});
  for (int64_t i = 0; i < array.element_count(); ++i) {
    array.writable_elements<double>()[static_cast<size_t>(i)] =
        static_cast<double>(i * 37 % 251 - 100);
  }
  const Histogram expected = histogram_of(array);
  for (const DType dtype : {DType::f32, DType::i16, DType::i64, DType::bf16}) {
    const Histogram found = histogram_of(array.converted(dtype));
    EXPECT_EQ(found.limits, expected.limits) << name_of(dtype);
    EXPECT_EQ(found.counts, expected.counts) << name_of(dtype);
    EXPECT_EQ(found.sum, expected.sum) << name_of(dtype);
  }
  const int64_t axes[] = {1, 0};
  EXPECT_EQ(histogram_of(array.view(array.layout().permuted(axes))).counts, expected.counts);
}

}  // namespace
}  // namespace plait
