#include "plait/core/deep_stack.h"

#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "plait/core/error.h"

namespace plait {
namespace {

int64_t sum_to(int64_t n) {
  if (n == 0) return 0;
  return with_enough_stack([&] { return sum_to(n - 1); }) + n;
}

TEST(DeepStack, GoesOnElsewhereAndComesBack) {
  EXPECT_EQ(sum_to(1'000'000), int64_t{1'000'000} * 1'000'001 / 2);
  EXPECT_EQ(sum_to(10), 55);
  int64_t found = 0;
  std::thread([&] { found = sum_to(300'000); }).join();
  EXPECT_EQ(found, int64_t{300'000} * 300'001 / 2);
}

int64_t throw_at(int64_t n) {
  if (n == 0) throw std::runtime_error("the end");
  return with_enough_stack([&] { return throw_at(n - 1); }) + 1;
}

TEST(DeepStack, ExceptionsComeThrough) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(throw_at(200'000), std::runtime_error);
    EXPECT_EQ(sum_to(100'000), int64_t{100'000} * 100'001 / 2);
  }
}

// With much stack at each depth, of which little is touched.
int64_t take_much(int64_t n) {
  volatile std::byte much[1 << 19];
  much[0] = std::byte{1};
  return with_enough_stack([&] { return take_much(n + 1); }) + static_cast<int64_t>(much[0]);
}

TEST(DeepStack, EndsWhereThereIsNoEnd) { EXPECT_THROW(take_much(0), MemoryError); }

}  // namespace
}  // namespace plait
