// Tables of the shared mathematics (shared_names.h), for the texts of kernels too.
#pragma once

#include <array>
#include <cstddef>

namespace plait::special {

// (ζ(k) − 1) / k for k = 2, 3, …
const std::array<double, 22>& log_gamma_series();

// The power series of Temme's functions C_k(η).
using TemmeCoefficients = std::array<std::array<long double, 24>, 9>;
const TemmeCoefficients& temme_coefficients();

// The nodes and weights of Gauss-Legendre quadrature on [0, 1].
struct Quadrature {
  static constexpr int kPoints = 32;
  std::array<double, kPoints> points, weights;
};
const Quadrature& quadrature();

// log n! − log(√(2πn) (n / e)^n) for n > 0.
const std::array<double, 16>& stirling_of_few();

}  // namespace plait::special
