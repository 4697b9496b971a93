#include "plait/core/system/deep_stack.h"

#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "plait/core/error.h"

namespace plait {
namespace {

// ThreadSanitizer supports at most 65,536 frames: fewer calls, with larger frames.
#if defined(__SANITIZE_THREAD__)
constexpr int64_t kDeep = 10'000;
constexpr int64_t kThrown = 200;  // it does not notice that frames are left by an exception
constexpr size_t kFrame = 4096;
#else
constexpr int64_t kDeep = 1'000'000;
constexpr int64_t kThrown = kDeep / 5;
constexpr size_t kFrame = 16;
#endif

int64_t sum_to(int64_t n) {
  volatile std::byte taken[kFrame];
  taken[0] = std::byte{0};
  if (n == 0) return static_cast<int64_t>(taken[0]);
  return with_enough_stack([&] { return sum_to(n - 1); }) + n;
}

TEST(DeepStack, GrowsAndReturns) {
  EXPECT_EQ(sum_to(kDeep), kDeep * (kDeep + 1) / 2);
  EXPECT_EQ(sum_to(10), 55);
  int64_t found = 0;
  std::thread([&] { found = sum_to(kDeep / 2); }).join();
  EXPECT_EQ(found, kDeep / 2 * (kDeep / 2 + 1) / 2);
}

int64_t throw_at(int64_t n) {
  volatile std::byte taken[kFrame];
  taken[0] = std::byte{1};
  if (n == 0) throw std::runtime_error("the end");
  return with_enough_stack([&] { return throw_at(n - 1); }) + static_cast<int64_t>(taken[0]);
}

TEST(DeepStack, ExceptionsComeThrough) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(throw_at(kThrown), std::runtime_error);
    EXPECT_EQ(sum_to(kDeep / 10), kDeep / 10 * (kDeep / 10 + 1) / 2);
  }
}

// Uses much stack at each depth, but touches little of it.
int64_t take_much(int64_t n) {
  volatile std::byte much[1 << 19];
  much[0] = std::byte{1};
  return with_enough_stack([&] { return take_much(n + 1); }) + static_cast<int64_t>(much[0]);
}

TEST(DeepStack, EndsWhereThereIsNoEnd) { EXPECT_THROW(take_much(0), MemoryError); }

}  // namespace
}  // namespace plait
