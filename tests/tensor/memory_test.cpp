#include "plait/tensor/memory/memory.h"

#include <cstring>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/tensor/memory/buffer.h"

namespace plait {
namespace {

int64_t live() { return memory_statistics().live_bytes; }

TEST(Memory, EveryBlockBeginsOn64BytesAndHoldsWhatWasAskedFor) {
  for (int64_t bytes = 0; bytes < (int64_t{8} << 20); bytes = bytes * 5 / 4 + 1) {
    const Buffer buffer = Buffer::allocate(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u) << bytes;
    std::memset(buffer.data(), 0x5a, static_cast<size_t>(bytes));
  }
}

TEST(Memory, IsKeptAndGivenOutAgain) {
  for (const int64_t bytes : {100, 100'000, 10'000'000}) {
    const std::byte* first = Buffer::allocate(bytes).data();
    EXPECT_GE(cached_memory(), bytes);
    EXPECT_EQ(Buffer::allocate(bytes).data(), first) << bytes;
  }
  release_cached_memory();
  EXPECT_EQ(cached_memory(), 0);
}

TEST(Memory, CountsWhatIsLiveAndItsPeak) {
  const int64_t before = live();
  reset_peak_memory();
  {
    const Buffer a = Buffer::allocate(1000);
    EXPECT_EQ(live(), before + 1000);
    const Buffer b = a;  // NOLINT: the copy is the subject
    EXPECT_EQ(live(), before + 1000);
    const Buffer c = Buffer::allocate(5'000'000);
  }
  EXPECT_EQ(live(), before);
  EXPECT_EQ(memory_statistics().peak_bytes, before + 5'001'000);
  reset_peak_memory();
  EXPECT_EQ(memory_statistics().peak_bytes, before);
}

MemoryStatistics of_tag(std::string_view tag) {
  for (const MemoryStatistics& each : memory_statistics_by_tag()) {
    if (each.tag == tag) return each;
  }
  return {};
}

TEST(Memory, CountsByTag) {
  const MemoryTag outer("weights");
  const Buffer weights = Buffer::allocate(640);
  {
    const MemoryTag inner("activations");
    const Buffer activations = Buffer::allocate(1280);
    EXPECT_EQ(of_tag("activations").live_bytes, 1280);
  }
  const Buffer more = Buffer::allocate(10);
  EXPECT_EQ(of_tag("weights").live_bytes, 650);
  EXPECT_EQ(of_tag("activations").live_bytes, 0);
  EXPECT_EQ(of_tag("activations").peak_bytes, 1280);
}

TEST(Memory, TheUsersTagStaysBesideTheLibrarys) {
  const uint16_t index = DefaultMemoryTag::index_of("of the library");
  {
    const DefaultMemoryTag tag(index);
    const Buffer untagged = Buffer::allocate(100);
    EXPECT_EQ(of_tag("of the library").live_bytes, 100);
  }
  const MemoryTag users("of the user");
  const DefaultMemoryTag tag(index);
  const Buffer tagged = Buffer::allocate(200);
  EXPECT_EQ(of_tag("of the library").live_bytes, 0);
  EXPECT_EQ(of_tag("of the user").live_bytes, 200);
}

// As the scopes of generators may.
TEST(Memory, TagsOfTheUserAndOfTheLibraryMayOverlap) {
  const uint16_t index = DefaultMemoryTag::index_of("of the library");
  const auto count = [](std::string_view tag) {
    const int64_t before = of_tag(tag).live_bytes;
    const Buffer buffer = Buffer::allocate(100);
    return of_tag(tag).live_bytes - before;
  };
  auto library = std::make_unique<DefaultMemoryTag>(index);
  auto user = std::make_unique<MemoryTag>("of the user");
  EXPECT_EQ(count("of the user"), 100);
  library.reset();
  EXPECT_EQ(count("of the user"), 100);
  user.reset();
  EXPECT_EQ(count(""), 100);
  user = std::make_unique<MemoryTag>("of the user");
  library = std::make_unique<DefaultMemoryTag>(index);
  user.reset();
  EXPECT_EQ(count("of the library"), 100);
  library.reset();
  EXPECT_EQ(count(""), 100);
}

TEST(Memory, MoreThanThereIsIsAMemoryErrorBeforePagesAreTouched) {
  EXPECT_THROW(Buffer::allocate(int64_t{1} << 45), MemoryError);
  EXPECT_THROW(Buffer::allocate(std::numeric_limits<int64_t>::max()), MemoryError);
  EXPECT_THROW(Buffer::allocate(-1), MemoryError);
}

TEST(Memory, TheLimitHolds) {
  setting::kMemoryLimit.set(live() + 1000);
  EXPECT_NO_THROW(Buffer::allocate(1000));
  const Buffer some = Buffer::allocate(600);
  try {
    Buffer::allocate(401);
    ADD_FAILURE() << "no error";
  } catch (const MemoryError& error) {
    EXPECT_NE(error.message().find("memory_limit"), std::string::npos) << error.message();
  }
  EXPECT_NO_THROW(Buffer::allocate(400));
  setting::kMemoryLimit.reset();
}

TEST(Memory, BlocksMayBeLetGoOnAnotherThread) {
  const int64_t before = live();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      std::vector<Buffer> kept;
      for (int i = 0; i < 2000; ++i) {
        kept.push_back(Buffer::allocate(i * 37 % 5000));
        if (i % 3 == 0) kept.erase(kept.begin() + i / 3 % static_cast<int>(kept.size()));
      }
      std::thread([kept = std::move(kept)]() mutable { kept.clear(); }).join();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(live(), before);
}

TEST(Buffer, BorrowedBytesAreReleasedOnceByTheLastOwner) {
  const double numbers[] = {1, 2, 3};
  int released = 0;
  {
    Buffer a = Buffer::borrow(numbers, [&] { ++released; });
    EXPECT_EQ(static_cast<const void*>(a.data()), numbers);
    EXPECT_FALSE(a.is_writable());
    const Buffer b = a;
    a = Buffer();
    EXPECT_EQ(released, 0);
    EXPECT_TRUE(b);
  }
  EXPECT_EQ(released, 1);
}

TEST(Buffer, IsWritableForASoleOwner) {
  Buffer a = Buffer::allocate(8);
  EXPECT_TRUE(a.is_writable());
  {
    const Buffer b = a;
    EXPECT_FALSE(a.is_writable());
    EXPECT_EQ(a, b);
  }
  EXPECT_TRUE(a.is_writable());
}

}  // namespace
}  // namespace plait
