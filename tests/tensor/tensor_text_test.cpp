// Output of tensors to streams and format strings.
#include <complex>
#include <span>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "plait/core/version.h"
#include "plait/tensor/tensor.h"

#include "tests/support/errors.h"

namespace plait {
namespace {

template <class T>
Tensor scalar(T value) {
  return Tensor(Array::of(value));
}

Tensor pair() {
  const std::vector<double> numbers{1, 2.5};
  return Tensor(Array::of(std::span<const double>(numbers), {2}));
}

TEST(TensorText, Streams) {
  const Tensor x = pair();
  std::ostringstream out;
  out << x << " and " << scalar(int64_t{7});
  EXPECT_EQ(out.str(), x.text() + " and 7 : i64[]");
  EXPECT_EQ(fmt::format("{} and {}", x, scalar(int64_t{7})), out.str());
}

TEST(TensorText, FormatsOfScalars) {
  EXPECT_EQ(fmt::format("{:.3f}", scalar(3.14159)), "3.142");
  EXPECT_EQ(fmt::format("[{:>8}]", scalar(0.1f)), "[     0.1]");
  EXPECT_EQ(fmt::format("{:e}", scalar(1500.0f)), "1.500000e+03");
  EXPECT_EQ(fmt::format("{:+d} {:x}", scalar(int64_t{5}), scalar(uint64_t{255})), "+5 ff");
  EXPECT_EQ(fmt::format("{:>5}", scalar(true)), " true");
}

TEST(TensorText, RefusesNumberFormatsOfArraysAndComplexNumbers) {
  const Tensor x = pair();
  expect_contains(what_of<TypeError>([&] { (void)fmt::format("{:.3f}", x); }),
                  {"f64[2]", ".3f", "several numbers"});
  expect_contains(
      what_of<TypeError>([&] { (void)fmt::format("{:.3f}", scalar(std::complex<double>(1, 2))); }),
      {"c128[]", "real and imag"});
}

TEST(Version, IsThatOfTheProject) { EXPECT_EQ(version().substr(0, 2), "0."); }

}  // namespace
}  // namespace plait
