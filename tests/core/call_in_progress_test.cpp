#include "plait/core/call_in_progress.h"

#include <thread>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "plait/core/device.h"
#include "plait/core/error.h"
#include "plait/core/inside/source_line.h"

namespace plait {
namespace {

class TestCall final : public CallInProgress {
 public:
  [[gnu::always_inline]] explicit TestCall(std::string_view function,
                                           std::vector<std::string> given = {},
                                           const Device* device = nullptr)
      : CallInProgress(function), given_(std::move(given)), device_(device) {}

 private:
  bool find_device(Device& device) const override {
    if (device_ != nullptr) device = *device_;
    return device_ != nullptr;
  }
  std::vector<std::string> operands(bool) const override { return given_; }
  std::vector<std::string> given_;
  const Device* device_;
};

std::string message(std::string text) { return ValueError("{}", text).message(); }

TEST(CallInProgress, IsNamedByErrorsMadeMeanwhile) {
  {
    const TestCall call("sum", {"f32[3]", "key[2]"});
    EXPECT_EQ(message("axis 1 is twice"), "sum of f32[3] and key[2]: axis 1 is twice");
    EXPECT_EQ(message("key[2] beside f32[3]"), "sum: key[2] beside f32[3]");
    EXPECT_EQ(message("key[2] alone"), "sum of f32[3] and key[2]: key[2] alone");
    // A message that begins with the function's name does not get it twice.
    EXPECT_EQ(message("sum: axis 1"), "sum of f32[3] and key[2]: axis 1");
    EXPECT_EQ(message("sums: axis 1"), "sum of f32[3] and key[2]: sums: axis 1");
    EXPECT_TRUE(ValueError("no").location().known());
  }
  EXPECT_EQ(message("axis 1"), "axis 1");
  EXPECT_FALSE(ValueError("no").location().known());
  const TestCall call("draw");
  EXPECT_EQ(message("too much"), "draw: too much");
}

TEST(CallInProgress, IsTheOutermostOfTheThread) {
  const TestCall outer("stddev", {"f32[3]"});
  {
    const TestCall inner("mean", {"f32[9]"});
    EXPECT_EQ(message("mean: no"), "stddev of f32[3]: mean: no");
  }
  EXPECT_EQ(message("no"), "stddev of f32[3]: no");
  std::string other;
  std::thread([&] { other = message("no"); }).join();
  EXPECT_EQ(other, "no");
}

TEST(CallInProgress, EndsWhenItFails) {
  try {
    const TestCall call("sum");
    throw ValueError("no");
  } catch (const ValueError&) {
    EXPECT_EQ(CallInProgress::outermost(), nullptr);
  }
}

TEST(CallInProgress, KeepsItsLineWhereNoOtherIsKnown) {
  const TestCall call("sum");
  const Location mine = Location::of("model.py", 3);
  EXPECT_EQ(ValueError("no").at(mine).location(), mine);
  EXPECT_EQ(ValueError("no").at(mine).at({}).location(), mine);
}

// Like the functions that users call.
[[gnu::noinline]] Location where_it_was_called() {
  const TestCall call("f");
  const Location location = Location::of_caller();
  asm volatile("");
  return location;
}

TEST(CallInProgress, DecidesWhereTensorsAreMade) {
  const Device first("cuda:0"), second("cuda:1");
  const DeviceScope on(first);
  EXPECT_EQ(default_device(), first);
  {
    const TestCall call("one_hot", {}, &second);
    EXPECT_EQ(default_device(), second);
  }
  const TestCall without_tensors("zeros");
  EXPECT_EQ(default_device(), first);
}

}  // namespace
}  // namespace plait

namespace user_code {

struct Noted {
  plait::Location location;
  int line;
};
[[gnu::noinline]] std::vector<Noted> call_twice() {
  std::vector<Noted> noted;
  noted.push_back({plait::where_it_was_called(), __LINE__});
  noted.push_back({plait::where_it_was_called(), __LINE__});
  return noted;
}

}  // namespace user_code

namespace plait {
namespace {

TEST(CallInProgress, TellsTheUsersLine) {
  if (!can_read_source_lines()) GTEST_SKIP() << "this build reads no debug information";
  for (int i = 0; i < 2; ++i) {
    for (const auto& [location, line] : user_code::call_twice()) {
      EXPECT_EQ(location.text(), fmt::format("call_in_progress_test.cpp:{}", line));
    }
  }
  EXPECT_EQ(user_code::call_twice()[0].location, user_code::call_twice()[0].location);
}

}  // namespace
}  // namespace plait
