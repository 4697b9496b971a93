// Compiled objects are shared by successive processes, and damaged entries are detected.
#include "plait/cpu/inside/codegen/object_cache.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <fmt/format.h>

#include "tests/cpu/nest_support.h"

#ifdef __linux__
#include <unistd.h>
#endif

namespace plait::nest_test {
namespace {

namespace fs = std::filesystem;
using cpu::CachedObject;
using cpu::read_cached_object;
using cpu::write_cached_object;

// Uses a separate folder.
class ObjectCache : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + fmt::format("plait_cache_{}", ::getpid());
    fs::remove_all(folder_);
    set_setting("cache", folder_);
  }
  void TearDown() override {
    reset_setting("cache");
    fs::remove_all(folder_);
  }

  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder_)) found.push_back(entry.path());
    return found;
  }
  static std::string content_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void replace(const fs::path& path, const std::string& content) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
  }

  std::string folder_;
};

CachedObject sample(size_t size) {
  CachedObject object;
  for (size_t i = 0; i < size; ++i) object.bytes.push_back(static_cast<std::byte>(i * 37));
  object.outside_names = {"plait.exp.f64.2", "plait.i0.f32.2"};
  return object;
}
const Hash128 kKey = {0x1234, 0x5678};

TEST_F(ObjectCache, GivesBackWhatItWasGiven) {
  EXPECT_FALSE(read_cached_object(kKey));
  for (const size_t size : {0, 1, 5000}) {
    write_cached_object(kKey, sample(size));
    const auto found = read_cached_object(kKey);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->bytes, sample(size).bytes);
    EXPECT_EQ(found->outside_names, sample(size).outside_names);
  }
  EXPECT_FALSE(read_cached_object({0x1234, 0x5679}));
  EXPECT_EQ(files().size(), 1u);  // no temporary files are left
}

TEST_F(ObjectCache, NoticesDamage) {
  write_cached_object(kKey, sample(300));
  const fs::path path = files().at(0);
  const std::string whole = content_of(path);
  for (size_t length = 0; length < whole.size(); ++length) {
    replace(path, whole.substr(0, length));
    ASSERT_FALSE(read_cached_object(kKey)) << length;
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    replace(path, damaged);
    ASSERT_FALSE(read_cached_object(kKey)) << i;
  }
  replace(path, whole + "x");
  EXPECT_FALSE(read_cached_object(kKey));
  write_cached_object(kKey, sample(300));  // replaces the damaged entry
  EXPECT_TRUE(read_cached_object(kKey));
}

TEST_F(ObjectCache, RefusesTheFileOfAnotherKey) {
  write_cached_object(kKey, sample(10));
  const fs::path path = files().at(0);
  const Hash128 other = {1, 2};
  fs::rename(path, path.parent_path() / (other.text() + ".o"));
  EXPECT_FALSE(read_cached_object(other));
}

TEST_F(ObjectCache, MayBeOff) {
  for (const char* value : {"off", ""}) {
    set_setting("cache", value);
    EXPECT_EQ(cache_folder(), "");
    write_cached_object(kKey, sample(10));
    EXPECT_FALSE(read_cached_object(kKey));
  }
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(ObjectCache, LiesAmongTheUsersCachesUnlessToldOtherwise) {
  set_setting("cache", "default");
  const char* home = std::getenv("HOME");
  const std::string home_before = home == nullptr ? "" : home;
  setenv("XDG_CACHE_HOME", "/somewhere", 1);
  EXPECT_EQ(cache_folder(), "/somewhere/plait");
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", "/home/me", 1);
  EXPECT_EQ(cache_folder(), "/home/me/.cache/plait");
  unsetenv("HOME");
  EXPECT_EQ(cache_folder(), "");
  if (home != nullptr) setenv("HOME", home_before.c_str(), 1);
}

// Code from a folder that others can write to is not run.
TEST_F(ObjectCache, RefusesFoldersOfOthers) {
  write_cached_object(kKey, sample(10));
  fs::permissions(folder_, fs::perms::others_write, fs::perm_options::add);
  EXPECT_FALSE(read_cached_object(kKey));
  fs::permissions(folder_, fs::perms::others_write, fs::perm_options::remove);
  EXPECT_TRUE(read_cached_object(kKey));
}

TEST_F(ObjectCache, KeepsWhatWasUsedLast) {
  const auto key = [](int number) { return hash_of(fmt::format("object {}", number)); };
  const auto age = [&](int number, std::chrono::hours hours) {
    fs::last_write_time(folder_ + "/" + key(number).text() + ".o",
                        fs::file_time_type::clock::now() - hours);
  };
  for (int i = 0; i < 4; ++i) write_cached_object(key(i), sample(1000));
  for (int i = 0; i < 4; ++i) age(i, std::chrono::hours(10 - i));
  EXPECT_TRUE(read_cached_object(key(0)));  // makes the oldest entry the latest
  trim_cache(2500);
  EXPECT_TRUE(read_cached_object(key(0)));
  EXPECT_FALSE(read_cached_object(key(1)));
  EXPECT_FALSE(read_cached_object(key(2)));
  EXPECT_TRUE(read_cached_object(key(3)));
}

TEST_F(ObjectCache, IsReadAndWrittenConcurrently) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const size_t size = static_cast<size_t>(1000 * t + i);
        if (t < 2) write_cached_object(kKey, sample(size));
        const auto found = read_cached_object(kKey);
        if (found && found->bytes != sample(found->bytes.size()).bytes) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(files().size(), 1u);
}

// ---- Through the compiler. Child processes run the next test, and log what they do.

Nest nest_to_keep() {
  register_all();
  NestMaker maker({}, Dim::symbol("n"));
  const uint32_t x = maker.load(DType::f64, {1});
  // One operation that is called, and one that is emitted.
  maker.result(maker.compute("exp", {maker.compute("sqrt", {x})}), {1});
  return maker.nest;
}

TEST(ObjectCacheChild, DISABLED_CompilesAndRuns) {
  const Nest nest = nest_to_keep();
  const Elements in = Elements::of(std::vector<double>(37, 4.0));
  Elements out(DType::f64, 37);
  compile_and_run(nest, {&in}, {&out}, {{Dim::symbol("n"), 37}});
  for (size_t i = 0; i < 37; ++i) ASSERT_EQ(out.at<double>(i), std::exp(2.0));
}

class CompiledObjects : public ObjectCache {
 protected:
  void SetUp() override {
    ObjectCache::SetUp();
    register_all();
    if (!cpu::has_nest_compiler()) GTEST_SKIP() << "this build has no compiler of kernels";
  }

  std::string command(const std::string& log, const std::string& level) const {
    return fmt::format(
        "PLAIT_CACHE={} PLAIT_LOG=compile=debug PLAIT_CPU={} {} --gtest_also_run_disabled_tests "
        "--gtest_filter=ObjectCacheChild.* >/dev/null 2>{}",
        folder_, level, fs::read_symlink("/proc/self/exe").string(), log);
  }
  // Returns the log of the child process.
  std::string run_child(const std::string& level = "best") const {
    const std::string log = folder_ + ".log";
    EXPECT_EQ(std::system(command(log, level).c_str()), 0);
    const std::string text = content_of(log);
    fs::remove(log);
    return text;
  }
  static bool has_compiled(const std::string& log) {
    return log.find("kernels compiled in") != std::string::npos;
  }
  static bool has_taken(const std::string& log) {
    return log.find("kernels loaded from") != std::string::npos;
  }
};

TEST_F(CompiledObjects, ServeTheNextProcess) {
  const std::string first = run_child();
  EXPECT_TRUE(has_compiled(first) && !has_taken(first)) << first;
  ASSERT_EQ(files().size(), 1u);
  const std::string second = run_child();
  EXPECT_TRUE(has_taken(second) && !has_compiled(second)) << second;
}

TEST_F(CompiledObjects, AreMadeAnewWhereTheyAreDamaged) {
  run_child();
  const fs::path path = files().at(0);
  const std::string whole = content_of(path);
  std::string flipped = whole;
  flipped[whole.size() - 100] ^= 1;
  for (const std::string& damaged : {whole.substr(0, whole.size() / 2), flipped, std::string()}) {
    replace(path, damaged);
    EXPECT_TRUE(has_compiled(run_child()));
    EXPECT_EQ(content_of(path).size(), whole.size());
    EXPECT_TRUE(has_taken(run_child()));
  }
}

TEST_F(CompiledObjects, AreOfOneLevel) {
  for (const std::string& level : cpu_levels()) {
    EXPECT_TRUE(has_compiled(run_child(level))) << level;
    EXPECT_TRUE(has_taken(run_child(level))) << level;
  }
  EXPECT_EQ(files().size(), cpu_levels().size());
}

TEST_F(CompiledObjects, AreMadeByProcessesConcurrently) {
  std::vector<std::thread> processes;
  std::atomic<int> failed = 0;
  for (int i = 0; i < 4; ++i) {
    processes.emplace_back([&, i] {
      const std::string log = fmt::format("{}.{}.log", folder_, i);
      if (std::system(command(log, "best").c_str()) != 0) ++failed;
      fs::remove(log);
    });
  }
  for (std::thread& process : processes) process.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(files().size(), 1u);
}

// Within a process equal nests share their code.
TEST_F(CompiledObjects, AreSharedByEqualNests) {
  const Nest nests[] = {nest_to_keep(), nest_to_keep()};
  const std::vector<CompiledNest> shared = compiled(nests);
  EXPECT_EQ(shared[0].run, shared[1].run);
  std::vector<std::thread> threads;
  std::atomic<int> others = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const Nest nest = nest_to_keep();
      if (compiled(nest).run != shared[0].run) ++others;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(others, 0);
}

}  // namespace
}  // namespace plait::nest_test
