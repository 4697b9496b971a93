#include "tests/support/agreement.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>

#include <fmt/core.h>

namespace plait {

Numbers numbers_of(const Tensors& tensors) {
  Numbers all;
  for (const Tensor& tensor : tensors) {
    if (!tensor || !is_inexact(tensor.dtype())) continue;
    const Array array = tensor.array().converted(DType::c128).contiguous();
    for (const std::complex<double>& element : array.elements<std::complex<double>>()) {
      all.push_back(element.real());
      if (is_complex(tensor.dtype())) all.push_back(element.imag());
    }
  }
  return all;
}

double greatest_of(const Numbers& numbers) {
  double greatest = 0;
  for (const double number : numbers) {
    if (std::isfinite(number)) greatest = std::max(greatest, std::abs(number));
  }
  return greatest;
}

bool is_finite(const Numbers& numbers) {
  return std::ranges::all_of(numbers, [](double number) { return std::isfinite(number); });
}

void expect_close(const char* what, const Numbers& got, const Numbers& wanted, double tolerance) {
  if (got.size() != wanted.size()) {
    throw Disagreement(fmt::format("{}: {} numbers and {}", what, got.size(), wanted.size()));
  }
  const double allowed = tolerance * (1 + greatest_of(wanted));
  for (size_t i = 0; i < got.size(); ++i) {
    const bool are_nan = std::isnan(got[i]) && std::isnan(wanted[i]);
    if (are_nan || got[i] == wanted[i] || std::abs(got[i] - wanted[i]) <= allowed) continue;
    throw Disagreement(fmt::format("{}: number {} is {} and {}", what, i, got[i], wanted[i]));
  }
}

void expect_same_bits(const char* what, const Tensors& got, const Tensors& wanted) {
  if (got.size() != wanted.size()) {
    throw Disagreement(fmt::format("{}: {} results and {}", what, got.size(), wanted.size()));
  }
  for (size_t i = 0; i < got.size(); ++i) {
    if (!got[i] && !wanted[i]) continue;
    const Array a = got[i].array().contiguous(), b = wanted[i].array().contiguous();
    const auto bytes = static_cast<size_t>(a.element_count() * a.element_size());
    if (got[i].type() == wanted[i].type() &&
        (bytes == 0 || std::memcmp(a.data(), b.data(), bytes) == 0)) {
      continue;
    }
    throw Disagreement(
        fmt::format("{}: result {} is {}\nand {}", what, i, got[i].text(), wanted[i].text()));
  }
}

void expect_as_good_as_same(const char* what, const Tensors& got, const Tensors& wanted,
                            double tolerance) {
  if (got.size() != wanted.size()) {
    throw Disagreement(fmt::format("{}: {} results and {}", what, got.size(), wanted.size()));
  }
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i].type() != wanted[i].type()) {
      throw Disagreement(fmt::format("{}: result {} is {} and {}", what, i, got[i].type().text(),
                                     wanted[i].type().text()));
    }
    if (!is_inexact(got[i].dtype())) expect_same_bits(what, {got[i]}, {wanted[i]});
  }
  expect_close(what, numbers_of(got), numbers_of(wanted), tolerance);
}

}  // namespace plait
