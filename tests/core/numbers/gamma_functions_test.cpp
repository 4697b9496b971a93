#include "plait/core/inside/mathematics/gamma_functions.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace plait::special {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(GammaFunctions, SlopesOfQuantilesAreExact) {
  // Computed with mpmath: finite differences of the incomplete gamma function with 50 digits.
  const struct {
    double a, log_x, slope;
  } known[] = {
      {1e-08, -300.0, 29942278435.15478},     {0.03, -5.0, 150.22692247845295},
      {0.03, 1.0, 10.035286004283083},        {0.75, 0.25, 1.2450453939458845},
      {3.0, -4.0, 1.7604752317071447},        {3.0, 1.0, 0.36995801788074843},
      {3.0, 2.5, 0.16094634367413246},        {40.0, 3.5, 0.027549703992180573},
      {40.0, 4.0, 0.021401093731274821},      {99.5, 4.75, 0.009331682064438194},
      {250.0, 5.25, 0.0045704939465373578},   {250.0, 6.0, 0.0031210298660435395},
      {10000.0, 9.2, 0.00010051958493384771}, {10000.0, 9.25, 9.8031759405769095e-5},
  };
  for (const auto& [a, log_x, slope] : known) {
    EXPECT_NEAR(log_gamma_quantile_da(a, log_x), slope, 1e-13 * slope) << a << ' ' << log_x;
  }
}

TEST(GammaFunctions, SlopesMeetWhereTheMethodChanges) {
  for (const double a : {1., 2., 100., 1e6}) {
    for (const double deviations : {-4., -1., 0., 0.5, 3.}) {
      const double log_x = std::log(a) + deviations / std::sqrt(a);
      const double below = log_gamma_quantile_da(a * (1 - 1e-15), log_x);
      const double above = log_gamma_quantile_da(a * (1 + 1e-15), log_x);
      EXPECT_NEAR(below, above, 1e-12 * above) << a << ' ' << deviations;
    }
    const double below = log_gamma_quantile_da(a, std::log(a) - 1e-15);
    const double above = log_gamma_quantile_da(a, std::log(a) + 1e-15);
    EXPECT_NEAR(below, above, 1e-12 * above) << a;
  }
}

TEST(GammaFunctions, SlopesAtTheEnds) {
  EXPECT_EQ(log_gamma_quantile_da(2, -kInfinity), kInfinity);
  EXPECT_EQ(log_gamma_quantile_da(2, kInfinity), 0);
  EXPECT_EQ(log_gamma_quantile_da(200, 1000), 0);
  EXPECT_EQ(log_gamma_quantile_da(kInfinity, 3), 0);
  EXPECT_TRUE(std::isnan(log_gamma_quantile_da(-1, 0)));
  EXPECT_TRUE(std::isnan(log_gamma_quantile_da(1, NAN)));
  EXPECT_TRUE(std::isnan(log_gamma_quantile_da(NAN, 1)));
  // For a tiny a, −a log x is exponentially distributed.
  EXPECT_NEAR(log_gamma_quantile_da(1e-200, -1e100) / 1e300, 1, 1e-12);
  EXPECT_NEAR(log_gamma_quantile_da(1e290, 290 * std::log(10)) * 1e290, 1, 1e-12);
}

TEST(GammaFunctions, ProbabilitiesOfCounts) {
  double poisson = 0, binomial = 0;
  for (int k = 0; k <= 60; ++k) {
    const double by_factorial = k * std::log(12.5) - 12.5 - std::lgamma(k + 1.);
    EXPECT_NEAR(log_poisson(k, 12.5), by_factorial, 1e-12);
    poisson += std::exp(log_poisson(k, 12.5));
    binomial += std::exp(log_binomial(k, 60, 0.3, 0.7));
  }
  EXPECT_NEAR(poisson, 1, 1e-12);
  EXPECT_NEAR(binomial, 1, 1e-12);
  // Computed with mpmath; the factorials have more digits than a double.
  EXPECT_NEAR(log_poisson(1e15 + 3e7, 1e15), -18.6383267411600153, 1e-7);
  EXPECT_NEAR(log_binomial(25e13, 1e15, 0.25, 0.75), -17.35133851387418, 1e-7);
}

}  // namespace
}  // namespace plait::special
