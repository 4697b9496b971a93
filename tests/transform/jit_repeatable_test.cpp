// Jitted functions whose results do not depend on earlier calls.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/plait.h"

namespace plait {
namespace {

Tensor rows(int64_t count) { return random::normal(random::key(3), {Dim(count), Dim(70)}); }

// Its sums are computed in another order when it is compiled.
Tensor total(const Tensor& x) { return sum(x * x + 1.); }

std::string bits(const Tensor& x) {
  const Array array = x.array().contiguous();
  const auto* first = reinterpret_cast<const char*>(array.data());
  return {first, first + array.element_count() * array.element_size()};
}

TEST(RepeatableJit, TheFirstCallHasTheBitsOfLaterOnes) {
  const auto usual = jit(total), repeatable = jit(total, {.repeatable = true});
  const Tensor x = rows(33);
  const std::string first = bits(repeatable(x));
  usual(x);
  EXPECT_EQ(bits(repeatable(x)), first);
  EXPECT_EQ(bits(usual(x)), first);
  EXPECT_EQ(repeatable.stats().traces, 1);
  EXPECT_EQ(repeatable.stats().hits, 1);
}

TEST(RepeatableJit, SizesStayNumbers) {
  const auto f = jit(total, {.repeatable = true});
  std::vector<std::string> first;
  for (const int64_t count : {31, 32, 33}) first.push_back(bits(f(rows(count))));
  for (const int64_t count : {33, 32, 31}) {
    EXPECT_EQ(bits(f(rows(count))), first[static_cast<size_t>(count - 31)]);
    EXPECT_EQ(bits(jit(total, {.repeatable = true})(rows(count))),
              first[static_cast<size_t>(count - 31)]);
  }
  EXPECT_EQ(f.stats().traces, 3);
}

TEST(RepeatableJit, PathsAndNumbersThatAreRead) {
  const auto paths =
      jit([](const Tensor& x) { return x[{0, 0}].truth() ? total(x) : total(x) + 1.; },
          {.repeatable = true});
  const auto reading =
      jit([](const Tensor& x) { return total(x) * max(x).item<double>(); }, {.repeatable = true});
  const Tensor x = rows(33), zero = x * 0.;
  const std::string first = bits(paths(x)), second = bits(paths(zero)), read = bits(reading(x));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(bits(paths(x)), first);
    EXPECT_EQ(bits(paths(zero)), second);
    EXPECT_EQ(bits(reading(x)), read);
  }
  EXPECT_EQ(paths.stats().traces, 2);
  EXPECT_EQ(reading.stats().pieces, 0);
}

TEST(RepeatableJit, DonatedArguments) {
  const auto add = [](const Tensor& state, const Tensor& x) { return state + total(x); };
  const auto donating = jit(add, {.donate = {0}, .repeatable = true});
  const auto keeping = jit(add, {.repeatable = true});
  Tensor state = zeros({4}), other = zeros({4});
  for (int i = 0; i < 3; ++i) {
    state = donating(std::move(state), rows(33));
    other = keeping(other, rows(33));
  }
  EXPECT_EQ(bits(state), bits(other));
}

}  // namespace
}  // namespace plait
