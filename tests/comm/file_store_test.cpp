#include "plait/comm/file_store.h"

#include <csignal>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plait/comm/inside/stores/store_file.h"
#include "plait/io/inside/byte_fields.h"

#include "tests/io/temporary_folder.h"
#include "tests/support/errors.h"

namespace plait::dist {
namespace {

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

TEST(FileStore, DropsRecordsThatAreNotWhole) {
  const TemporaryFolder folder;
  const std::string path = folder.path("store");
  FileStore(path).set("a", "1");
  const std::string one = content_of(path);
  FileStore(path).multi_set({"a", "b"}, {"2", "3"});
  const std::string both = content_of(path);
  for (size_t size = 0; size < both.size(); ++size) {
    write(path, both.substr(0, size));
    FileStore store(path);
    EXPECT_EQ(store.num_keys(), size < one.size() ? 0 : 1) << size;
    store.set("c", "4");
    EXPECT_EQ(FileStore(path).get("c"), "4") << size;
    EXPECT_EQ(FileStore(path).check({"a"}), size >= one.size()) << size;
  }
}

TEST(FileStore, LeavesOtherFilesAlone) {
  const TemporaryFolder folder;
  const std::string path = folder.path("notes");
  write(path, "play with the dog\n");
  expect_contains(what_of<IoError>([&] { FileStore store(path); }),
                  {path, "not a file of a FileStore"});
  EXPECT_EQ(content_of(path), "play with the dog\n");
  expect_contains(message_of<IoError>([&] { FileStore store(folder.path("none/store")); }),
                  {"cannot open", "No such file"});
  expect_contains(message_of<ValueError>([&] { FileStore(folder.path("new"), -1); }), {"-1"});
}

TEST(FileStore, TheLastOneRemovesTheFile) {
  const TemporaryFolder folder;
  const std::string path = folder.path("store");
  {
    FileStore first(path, 2);
    FileStore(path, 2).set("k", "v");
    EXPECT_EQ(folder.file_count(), 1u);
  }
  EXPECT_EQ(folder.file_count(), 0u);
}

TEST(FileStore, TheFileStaysWhileAStoreIsOpen) {
  const TemporaryFolder folder;
  const std::string path = folder.path("store");
  auto first = std::make_unique<FileStore>(path, 1), second = std::make_unique<FileStore>(path, 1);
  first.reset();
  second->set("key", "value");
  EXPECT_EQ(FileStore(path).get("key"), "value");
  second.reset();
  EXPECT_EQ(folder.file_count(), 0u);
}

// Writers are killed while they add; what the others added stays.
TEST(FileStore, SurvivesWritersThatAreKilled) {
  const TemporaryFolder folder;
  const std::string path = folder.path("store");
  FileStore store(path);
  for (int round = 0; round < 20; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      FileStore own(path);
      for (;;) own.add("n", 1);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2 + round));
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    const int64_t sum = store.add("n", 0);
    EXPECT_EQ(store.add("n", 1), sum + 1);
    EXPECT_EQ(FileStore(path).get("n"), std::to_string(sum + 1));
  }
}

TEST(FileStore, DoesNotWaitForEverForTheLock) {
  const TemporaryFolder folder;
  FileStore store(folder.path("store"), 0, Duration(50));
  const Descriptor other(::open(store.path().c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(other.number(), LOCK_EX), 0);
  expect_contains(what_of<DistError>([&] { store.set("k", "v"); }),
                  {"holds the lock", "has stopped"});
  ::flock(other.number(), LOCK_UN);
  store.set("k", "v");
  EXPECT_EQ(store.get("k"), "v");
}

TEST(FileStore, AForkedProcessMakesItsOwn) {
  const TemporaryFolder folder;
  FileStore store(folder.path("store"), 1);
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      store.set("k", "v");
    } catch (const DistError&) {
      ::_exit(0);
    }
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(folder.file_count(), 1u);
}

TEST(StoreRecord, ReadsWhatItWrites) {
  const std::string bytes = record_of({{"a", "1"}, {"", ""}, {"b", std::nullopt}});
  const auto record = read_record(plait::bytes_of(bytes));
  ASSERT_TRUE(record);
  EXPECT_EQ(record->size, bytes.size());
  ASSERT_EQ(record->changes.size(), 3u);
  EXPECT_EQ(record->changes[0].value, "1");
  EXPECT_EQ(record->changes[1].value, "");
  EXPECT_EQ(record->changes[2].value, std::nullopt);
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_FALSE(read_record(plait::bytes_of(damaged))) << i;
  }
}

}  // namespace
}  // namespace plait::dist
