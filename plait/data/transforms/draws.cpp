#include "plait/data/transforms/draws.h"

#include <cmath>
#include <numeric>

#include "plait/ops/inside/random/philox.h"

namespace plait::data::transforms {

double Draws::uniform() {
  return std::ldexp(static_cast<double>(stream_word(key_, next_++) >> 11), -53);
}

int64_t Draws::below(int64_t count) {
  return static_cast<int64_t>(uniform() * static_cast<double>(count));
}

// ImageBox and Muller.
double Draws::normal() {
  const double radius = std::sqrt(-2 * std::log1p(-uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

// Marsaglia and Tsang, "A simple method for generating gamma variables" (2000); a shape below 1
// from the one above, times a power.
double Draws::gamma(double shape) {
  if (shape < 1) {
    const double power = std::pow(1 - uniform(), 1 / shape);
    return gamma(shape + 1) * power;
  }
  const double d = shape - 1. / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = normal(), v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log1p(-uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

double Draws::beta(double a, double b) {
  const double x = gamma(a), y = gamma(b);
  return x + y > 0 ? x / (x + y) : static_cast<double>(chance(a / (a + b)));
}

std::vector<double> Draws::dirichlet(size_t count, double alpha) {
  std::vector<double> shares(count);
  for (double& each : shares) each = gamma(alpha);
  const double sum = std::reduce(shares.begin(), shares.end());
  if (!(sum > 0)) {  // all have underflowed: one is 1
    shares[static_cast<size_t>(below(static_cast<int64_t>(count)))] = 1;
    return shares;
  }
  for (double& each : shares) each /= sum;
  return shares;
}

std::vector<int64_t> Draws::permutation(int64_t count) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  for (int64_t i = count - 1; i > 0; --i) {
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(below(i + 1))]);
  }
  return order;
}

size_t Draws::index(std::span<const double> weights) {
  double rest = uniform() * std::reduce(weights.begin(), weights.end());
  size_t last = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0) continue;
    last = i;
    if (rest < weights[i]) break;
    rest -= weights[i];
  }
  return last;
}

}  // namespace plait::data::transforms
