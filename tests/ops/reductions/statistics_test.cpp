// Expected values without another source are by the NumPy function of the same name.
#include "plait/ops/reductions/statistics.h"

#include <cmath>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/reductions/scan.h"

#include "tests/ops/rule_checks.h"

namespace plait {
namespace {

Tensor numbers() { return reshape(tensor<double>({3, 1, 2, 9, 7, 8.5, 4, 4, -1}), {3, 3}); }

void expect_numbers(const Tensor& got, const std::vector<double>& wanted) {
  expect_near(flatten(astype(got, DType::f64)),
              tensor(wanted, {static_cast<int64_t>(wanted.size())}), 1e-7);
}

TEST(Statistics, VarianceAndDeviation) {
  expect_numbers(var(numbers()), {10.333333333333332});
  expect_numbers(var(numbers(), 0, 1), {10.33333333, 9., 23.58333333});
  expect_numbers(stddev(numbers(), 1), {0.81649658, 0.84983659, 2.3570226});
  EXPECT_EQ(var(numbers(), 1, 0, true).shape(), (Shape{3, 1}));
  EXPECT_EQ(var(arange(4)).text(), "1.25 : f32[]");
  EXPECT_TRUE(std::isnan(var(tensor<float>({1}), {}, 1).item<float>()));
  EXPECT_EQ(stddev(tensor<float>({2, 2})).item<float>(), 0);
  const Tensor z = make_complex(tensor<double>({1, 3, 0}), tensor<double>({2, -1, 0.5}));
  expect_numbers(stddev(z), {1.7480147469502527});
  EXPECT_EQ(var(full({100}, 300, DType::f16)).text(), "0. : f16[]");
}

TEST(Statistics, CovarianceOfOneVariableIsANumber) {
  expect_numbers(cov(tensor<double>({1, 2, 4})), {2.3333333333333335});
  EXPECT_EQ(cov(reshape(tensor<double>({1, 2, 4}), {1, 3})).shape(), Shape());
  EXPECT_EQ(corrcoef(reshape(tensor<double>({1, 2, 4}), {1, 3})).text(), "1. : f64[]");
  EXPECT_EQ(cov(zeros({2, 3})).shape(), (Shape{2, 2}));
}

TEST(Statistics, MeansOfNarrowFloatsDoNotOverflow) {
  EXPECT_EQ(mean(full({1000}, 300, DType::f16)).text(), "300. : f16[]");
}

TEST(Statistics, LogSumExp) {
  expect_numbers(logsumexp(tensor<double>({1, 2, -3, 0.5})), {2.468594855088593});
  expect_numbers(logsumexp(tensor<double>({1000, 1000})), {1000 + std::log(2)});
  const Tensor rows =
      reshape(tensor<float>({-INFINITY, -INFINITY, INFINITY, -1, NAN, 0, -INFINITY, 3}), {4, 2});
  EXPECT_EQ(logsumexp(rows, 1).text(), "[-inf  inf  nan   3.] : f32[4]");
  EXPECT_EQ(logsumexp(zeros({0, 2}), 0).text(), "[-inf -inf] : f32[2]");
  EXPECT_EQ(logsumexp(rows, 1, true).shape(), (Shape{4, 1}));
}

TEST(Statistics, Norms) {
  expect_numbers(norm(numbers()), {15.787653403846944});
  expect_numbers(norm(numbers(), 3), {12.278498138148874});
  expect_numbers(norm(numbers(), 1.5, 1), {4.33462287, 17.03377799, 6.61148902});
  expect_numbers(norm(numbers(), 1, 0), {16, 12, 11.5});
  expect_numbers(norm(numbers(), INFINITY), {9});
  expect_numbers(norm(numbers(), -INFINITY, 1), {1, 7, 1});
  expect_numbers(norm(tensor<double>({0, 2, 0}), 0), {1});
  expect_numbers(norm(make_complex(tensor<double>({3}), tensor<double>({4}))), {5});
  EXPECT_EQ(norm(zeros({3})).item<float>(), 0);
  EXPECT_EQ(norm(zeros({0})).item<float>(), 0);
  EXPECT_THROW(norm(numbers(), NAN), ValueError);
}

TEST(Statistics, CountsAndMissingNumbers) {
  const Tensor x = reshape(tensor<float>({1, NAN, 4, NAN, NAN, 2}), {2, 3});
  EXPECT_EQ(nansum(x, 1).text(), "[5. 2.] : f32[2]");
  EXPECT_EQ(nanmean(x, 1).text(), "[2.5 2. ] : f32[2]");
  EXPECT_TRUE(std::isnan(nanmean(full({2}, NAN)).item<float>()));
  EXPECT_EQ(count_nonzero(tensor<float>({0, -0.F, NAN, 3})).text(), "2 : i64[]");
  EXPECT_EQ(count_nonzero(numbers() > 3, 0).text(), "[2 2 1] : i64[3]");
}

TEST(Statistics, MediansAndQuantiles) {
  expect_numbers(median(numbers(), 0), {4, 4, 2});
  expect_numbers(median(slice(numbers(), 0, {.stop = 2})), {5});
  expect_numbers(quantile(numbers(), tensor<double>({0, 0.25, 0.5, 0.9, 1})), {-1, 2, 4, 8.6, 9});
  expect_numbers(quantile(numbers(), 0.3, 1), {1.6, 7.9, 2});
  EXPECT_EQ(quantile(numbers(), tensor<double>({0.1, 0.2}), 0, true).shape(), (Shape{2, 1, 3}));
  EXPECT_EQ(quantile(numbers(), 0.5, {}, true).shape(), (Shape{1, 1}));
  EXPECT_EQ(median(numbers(), 1, true).shape(), (Shape{3, 1}));
  EXPECT_EQ(median(arange(4)).text(), "1.5 : f32[]");
  EXPECT_EQ(median(tensor<float>({INFINITY, INFINITY})).text(), "inf : f32[]");
  EXPECT_TRUE(std::isnan(median(tensor<float>({1, NAN, 3})).item<float>()));
  EXPECT_TRUE(std::isnan(quantile(tensor<float>({1, NAN, 3}), 0.).item<float>()));
  EXPECT_THROW(median(zeros({0})), ValueError);
  EXPECT_THROW(quantile(numbers(), 1.5), ValueError);
  EXPECT_THROW(quantile(numbers(), zeros({2, 2})), ShapeError);
}

TEST(Statistics, Differences) {
  EXPECT_EQ(diff(tensor<int64_t>({1, 4, 9, 16})).text(), "[3 5 7] : i64[3]");
  EXPECT_EQ(diff(tensor<int64_t>({1, 4, 9, 16}), 2).text(), "[2 2] : i64[2]");
  EXPECT_EQ(diff(tensor<int64_t>({1, 4}), 5).text(), "[] : i64[0]");
  EXPECT_EQ(diff(tensor<bool>({true, false, false})).text(), "[ True False] : bool[2]");
  expect_numbers(diff(numbers(), 1, 0), {6, 6, 6.5, -5, -3, -9.5});
}

TEST(Statistics, Counting) {
  EXPECT_EQ(bincount(tensor<int32_t>({1, 3, 1})).text(), "[0 2 0 1] : i64[4]");
  EXPECT_EQ(bincount(tensor<int32_t>({1, 3, 1}), 5).text(), "[0 2 0 1 0] : i64[5]");
  EXPECT_EQ(bincount(tensor<int32_t>({1, 0, 1}), {}, tensor<float>({1, 2, 4})).text(),
            "[2. 5.] : f32[2]");
  EXPECT_EQ(bincount(tensor(std::vector<int32_t>(), {0})).text(), "[] : i64[0]");
  EXPECT_THROW(bincount(tensor<int32_t>({1, 3}), 3), IndexError);
  EXPECT_THROW(bincount(tensor<int32_t>({-1})), IndexError);
  EXPECT_THROW(bincount(tensor<float>({1})), TypeError);
  const Histogram h = histogram(tensor<float>({1, 2, 1, 4, 5, 0, -1, 2.5, NAN, 9}), 4, 0, 5);
  EXPECT_EQ(h.counts.text(), "[3 1 1 2] : i64[4]");
  EXPECT_EQ(h.edges.text(), "[0.   1.25 2.5  3.75 5.  ] : f32[5]");
  EXPECT_THROW(histogram(numbers(), 0, 0, 1), ValueError);
  EXPECT_THROW(histogram(numbers(), 2, 1, 1), ValueError);
}

TEST(Statistics, Scans) {
  expect_numbers(logcumsumexp(tensor<double>({1, 2, -3, 0.5}), 0),
                 {1., 2.31326169, 2.31817543, 2.46859486});
  const Tensor x =
      tensor<float>({-INFINITY, -INFINITY, 1, -INFINITY, INFINITY, 0, INFINITY, NAN, 2});
  EXPECT_EQ(logcumsumexp(x, 0).text(), "[-inf -inf   1.   1.  inf  inf  inf  nan  nan] : f32[9]");
  EXPECT_EQ(cumsum(tensor<int8_t>({100, 100, 100}), 0).text(), "[100 200 300] : i64[3]");
  EXPECT_EQ(cumsum(tensor<bool>({true, true}), 0).text(), "[1 2] : i64[2]");
  EXPECT_EQ(cumprod(tensor<uint8_t>({100, 100}), 0).text(), "[  100 10000] : u64[2]");
  EXPECT_EQ(cummax(tensor<float>({1, NAN, 3}), 0).text(), "[ 1. nan nan] : f32[3]");
  EXPECT_EQ(cummin(tensor<bool>({true, false, true}), 0).text(), "[ True False False] : bool[3]");
  EXPECT_EQ(cumsum(zeros({0, 2}), 0).shape(), (Shape{0, 2}));
  EXPECT_EQ(cumsum(zeros({2, 0}), 0).shape(), (Shape{2, 0}));
  EXPECT_EQ(cumsum(make_complex(tensor<float>({1, 2}), tensor<float>({3, 4})), 0).text(),
            "[1.+3.j 3.+7.j] : c64[2]");
  // h = 2h + 1 gives 2^k − 1.
  EXPECT_EQ(linear_recurrence(full({5}, 2.), ones({5}), 0).text(),
            "[ 1.  3.  7. 15. 31.] : f32[5]");
  EXPECT_THROW(cumsum(numbers(), 2), IndexError);
  EXPECT_THROW(cummax(zeros({2}, DType::c64), 0), TypeError);
}

TEST(Statistics, TracedIsTheSame) {
  check_traced(
      [](const std::vector<Tensor>& x) {
        const Histogram h = histogram(x[0], 4, -2, 2);
        return std::vector<Tensor>{var(x[0], 0, 1),
                                   stddev(x[0]),
                                   logsumexp(x[0], 1),
                                   norm(x[0], 3),
                                   median(x[0], 0),
                                   quantile(x[0], tensor<double>({.2, .7}), 1),
                                   diff(x[0]),
                                   h.counts,
                                   cummax(x[0], 1, true),
                                   logcumsumexp(x[0], 0),
                                   nanmean(x[0]),
                                   prod(x[0], 0)};
      },
      {scattered({3, 4}, 1)});
}

}  // namespace
}  // namespace plait
