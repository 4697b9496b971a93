// Anomaly detection: the first NaN or infinity is an error that names the operation and the line.
#include "plait/core/anomaly.h"

#include <cmath>
#include <limits>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "plait/core/inside/source_line.h"
#include "plait/plait.h"

#include "tests/support/errors.h"
#include "tests/transform/transform_support.h"

namespace plait {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor quotient(const Tensor& x, const Tensor& y) { return (x + 1) / (y * 2); }

constexpr int kLineOfRoot = __LINE__ + 1;
Tensor root_of_all(const Tensor& x) { return sum(sqrt(x)); }

// The error of the first anomaly.
template <class Work>
std::string anomaly_in(const Work& work) {
  const DetectAnomaly detect;
  return what_of<CheckError>(work);
}

void expect_line(const std::string& text, int line) {
  if (can_read_source_lines()) expect_contains(text, {fmt::format("anomaly_test.cpp:{}", line)});
}

TEST(Anomaly, NamesTheOperationAndWhatItWasGiven) {
  const Tensor x = tensor({1., -1.}), y = tensor({2., 0.});
  const Tensor large = astype(arange(100000), DType::f64);
  quotient(x, y);
  const std::string text = anomaly_in([&] { quotient(x, y); });
  expect_contains(text, {"divide", "returned 1 nan among 2 elements, the first at [1], for 0 and 0",
                         "hint: print and check_finite"});
  expect_line(text, kLineOfRoot - 3);
  expect_contains(anomaly_in([&] { quotient(x, zeros({}, DType::f64)); }),
                  {"divide", "returned 1 nan and 1 inf"});
  expect_contains(anomaly_in([&] { exp(tensor({1000.F})); }),
                  {"exp", "returned 1 inf", "for 1000"});
  expect_contains(anomaly_in([&] { log(large); }), {"log", "returned 1 inf among 100000 elements"});
  quotient(x, y);  // no longer an error
}

TEST(Anomaly, IsWhatAppearsAndNotWhatIsPassedOn) {
  const Tensor bad = tensor({1., kInf});
  const DetectAnomaly detect;
  EXPECT_EQ((bad * 2 + full({2}, kInf, DType::f64)).text(), "[inf inf] : f64[2]");
  EXPECT_EQ((full({1}, std::nan(""), DType::f64) * 2).text(), "[nan] : f64[1]");
  const Tensor masked = where(tensor({1., -1.}) > 0, tensor({1., 2.}), -kInf);
  EXPECT_EQ(softmax(masked, 0).text(), "[1. 0.] : f64[2]");
  EXPECT_THROW(bad - bad, CheckError);
  const DetectAnomaly nan_only(Anomaly::nan);
  log(zeros({2}));
  EXPECT_THROW(sqrt(full({2}, -1.)), CheckError);
  const DetectAnomaly none(Anomaly::none);
  sqrt(full({2}, -1.));
}

TEST(Anomaly, InABackwardPassNamesTheLineOfTheForwardOne) {
  const Tensor x = tensor({4., 0.});
  grad(root_of_all)(x);
  const std::string text = anomaly_in([&] { grad(root_of_all)(x); });
  expect_contains(text, {"returned 1 inf among 2 elements, the first at [1]",
                         "in the backward pass of sqrt run at "});
  expect_line(text, kLineOfRoot);
  expect_line(text, __LINE__ - 4);
  expect_contains(anomaly_in([&] {
                    const Tensor leaf = x.requires_grad();
                    root_of_all(leaf).backward();
                  }),
                  {"in the backward pass of sqrt"});
}

TEST(Anomaly, IsFoundInWhatJitRecorded) {
  const auto slope = jit(grad(root_of_all));
  const Tensor good = tensor({4., 1.}), bad = tensor({4., 0.});
  const std::string expected = slope(good).text();
  for (int i = 0; i < 2; ++i) {
    const std::string text = anomaly_in([&] { slope(bad); });
    expect_contains(text,
                    {"returned 1 inf among 2 elements, the first at [1]", "in the backward pass"});
    expect_line(text, kLineOfRoot);
  }
  const DetectAnomaly detect;
  EXPECT_EQ(slope(good).text(), expected);
  const auto recorded_meanwhile = jit(root_of_all);
  EXPECT_THROW(recorded_meanwhile(tensor({-1.})), CheckError);
  EXPECT_EQ(value_of(recorded_meanwhile(good)), 3);
}

TEST(Anomaly, IsFoundInSamplesBranchesAndLoops) {
  const auto root = [](const Tensor& x) { return sqrt(x); };
  const auto count_down = [](const Tensor& x) {
    return while_loop([](const Tensor& y) { return y > -2; },
                      [](const Tensor& y) { return y - 1 + 0 * sqrt(y); }, x);
  };
  const auto branch = [root](const Tensor& x) {
    return cond(x < 1, root, [](const Tensor& y) { return y; }, x);
  };
  const Tensor samples = tensor({4., -1.});
  expect_contains(anomaly_in([&] { vmap(root)(samples); }), {"sqrt", "returned 1 nan", "[1]"});
  expect_contains(anomaly_in([&] { count_down(number(2)); }), {"sqrt", "returned 1 nan", "for -1"});
  expect_contains(anomaly_in([&] { jit(frozen(count_down))(number(2)); }),
                  {"sqrt", "returned 1 nan"});
  expect_contains(anomaly_in([&] { vmap(branch)(samples); }), {"sqrt", "returned 1 nan"});
  const DetectAnomaly detect;
  EXPECT_EQ(vmap(branch)(tensor({4., 0.})).text(), "[4. 0.] : f64[2]");
}

TEST(Anomaly, LeavesWhatAnOperationWouldOverwrite) {
  Tensor x = tensor({4., 0.});
  const DetectAnomaly detect;
  EXPECT_THROW(x /= tensor({1., 0.}), CheckError);
  EXPECT_EQ(x.text(), "[4. 0.] : f64[2]");
}

TEST(Anomaly, IsOfAThreadOrOfTheProcess) {
  const auto finds = [] {
    try {
      log(zeros({1}));
    } catch (const CheckError&) {
      return true;
    }
    return false;
  };
  const auto finds_elsewhere = [&] {
    bool found = false;
    std::thread([&] { found = finds(); }).join();
    return found;
  };
  {
    const DetectAnomaly detect;
    EXPECT_TRUE(finds());
    EXPECT_FALSE(finds_elsewhere());
  }
  setting::kDetectAnomaly.set(true);
  EXPECT_TRUE(finds() && finds_elsewhere());
  {
    const DetectAnomaly none(Anomaly::none);
    EXPECT_FALSE(finds());
  }
  setting::kDetectAnomaly.reset();
  EXPECT_FALSE(finds());
}

}  // namespace
}  // namespace plait
