#include "plait/core/function_ref.h"

#include <memory>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

namespace plait {
namespace {

int twice(int x) { return 2 * x; }

int call(FunctionRef<int(int)> function, int x) { return function(x); }

TEST(FunctionRef, CallsWhatItRefersTo) {
  int offset = 10;
  EXPECT_EQ(call([&](int x) { return x + offset; }, 5), 15);
  EXPECT_EQ(call(&twice, 5), 10);
}

TEST(FunctionRef, SharesTheStateOfTheCallable) {
  auto count = [total = 0](int x) mutable { return total += x; };
  const FunctionRef<int(int)> first = count;
  const FunctionRef<int(int)> second = first;
  EXPECT_EQ(first(2), 2);
  EXPECT_EQ(second(3), 5);
  EXPECT_EQ(count(1), 6);
}

TEST(FunctionRef, CallsConstObjects) {
  const auto half = [](int x) { return x / 2; };
  EXPECT_EQ(call(half, 9), 4);
}

TEST(FunctionRef, PassesArgumentsOnWithoutCopying) {
  const auto take = [](std::unique_ptr<int> value) { return *value; };
  const FunctionRef<int(std::unique_ptr<int>)> function = take;
  EXPECT_EQ(function(std::make_unique<int>(7)), 7);
  int target = 0;
  const auto set = [](int& where) { where = 3; };
  FunctionRef<void(int&)>{set}(target);
  EXPECT_EQ(target, 3);
}

TEST(FunctionRef, DropsAResultThatNobodyWants) {
  int calls = 0;
  const auto count = [&](int) { return ++calls; };
  FunctionRef<void(int)>{count}(1);
  EXPECT_EQ(calls, 1);
}

TEST(FunctionRef, TakesOnlyWhatCanBeCalled) {
  using Function = FunctionRef<int(int)>;
  static_assert(std::is_trivially_copyable_v<Function>);
  static_assert(!std::is_constructible_v<Function, int>);
  static_assert(!std::is_constructible_v<Function, int (*)()>);
  static_assert(!std::is_default_constructible_v<Function>);
}

}  // namespace
}  // namespace plait
