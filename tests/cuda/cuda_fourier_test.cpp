// Fourier transforms on the device: as accurate as the CPU's, against sums in higher precision.
#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/inside/fft/fft_primitives.h"
#include "plait/plait.h"
#include "plait/tensor/apply.h"

#include "tests/cuda/both_devices.h"
#include "tests/support/errors.h"

namespace plait::cuda_fourier_test {
namespace {

using Number = std::complex<long double>;

Array wide(const Array& x) {
  return x.contiguous().converted(is_complex(x.dtype()) ? DType::c128 : DType::f64);
}

std::vector<Number> numbers_of(const Array& x) {
  const Array all = x.contiguous().converted(DType::c128);
  std::vector<Number> numbers;
  for (const std::complex<double> each : all.elements<std::complex<double>>()) {
    numbers.emplace_back(each.real(), each.imag());
  }
  return numbers;
}

// The greatest difference, in units of the dtype's precision at the greatest number.
double error_of(const Array& found, const std::vector<Number>& exact, DType dtype) {
  const std::vector<Number> numbers = numbers_of(found);
  EXPECT_EQ(numbers.size(), exact.size());
  long double error = 0, most = 1e-30L;
  for (size_t i = 0; i < exact.size(); ++i) {
    error = std::max(error, std::abs(numbers[i] - exact[i]));
    most = std::max(most, std::abs(exact[i]));
    if (!std::isfinite(std::abs(numbers[i]))) return INFINITY;
  }
  return static_cast<double>(error / most) / float_limits(real_dtype(dtype)).epsilon;
}

// Along the last axis, without a divisor.
std::vector<Number> direct_sums(const Array& x, bool inverse) {
  const std::vector<Number> given = numbers_of(x);
  const auto n = static_cast<size_t>(x.sizes().back());
  std::vector<Number> turns, sums;
  for (size_t k = 0; k < n; ++k) {
    const long double angle = 2 * std::numbers::pi_v<long double> * k / n;
    turns.emplace_back(std::cos(angle), inverse ? std::sin(angle) : -std::sin(angle));
  }
  for (size_t row = 0; row < given.size(); row += n) {
    for (size_t k = 0; k < n; ++k) {
      Number sum = 0;
      for (size_t j = 0; j < n; ++j) sum += given[row + j] * turns[j * k % n];
      sums.push_back(sum);
    }
  }
  return sums;
}

// The first half of each row.
std::vector<Number> first_halves(const std::vector<Number>& rows, size_t n) {
  std::vector<Number> halves;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i % n <= n / 2) halves.push_back(rows[i]);
  }
  return halves;
}

class CudaFourier : public BothDevices {
 protected:
  // Not much worse than the CPU.
  void expect_accurate(const ir::Primitive& primitive, const Array& x,
                       const ir::Attributes& attributes, const std::vector<Number>& exact,
                       const std::string& name) {
    const Results results = run(primitive, {x}, attributes);
    const Array &host = results.host[0], &device = results.device[0];
    ASSERT_EQ(device.dtype(), host.dtype()) << name;
    ASSERT_EQ(device.sizes(), host.sizes()) << name;
    const double ours = error_of(device, exact, x.dtype());
    EXPECT_LE(ours, 2 * error_of(host, exact, x.dtype()) + 2) << primitive.name << " " << name;
  }
  // As the CPU computes it in f64.
  void expect_like_host(const ir::Primitive& primitive, const Array& x,
                        const ir::Attributes& attributes, const std::string& name = {}) {
    const std::vector<Tensor> operand{Tensor(wide(x))};
    const Array exact = apply_all(primitive, operand, attributes)[0].array();
    const bool is_single = real_dtype(x.dtype()) == DType::f32;
    const Results results = run(primitive, {x}, attributes);
    ASSERT_EQ(results.device[0].sizes(), results.host[0].sizes()) << name;
    EXPECT_LE(error_of(results.device[0], numbers_of(exact), x.dtype()), is_single ? 4 : 8)
        << primitive.name << " " << name;
  }

  const FftPrimitives& all_ = fft_primitives();
};

ir::Attributes along(int64_t axis, bool inverse = false, FftScale scale = FftScale::none) {
  return ir::Attributes::of(FftAttributes{axis, inverse, scale});
}

TEST_F(CudaFourier, LengthsOfEveryRadix) {
  for (const DType dtype : {DType::c64, DType::c128}) {
    for (const int64_t n :
         {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17, 22, 30, 31, 49, 64, 87, 100, 120, 343, 512}) {
      const Array x = cuda_test::numbers(dtype, {2, n}, static_cast<uint64_t>(n));
      for (const bool inverse : {false, true}) {
        expect_accurate(all_.fft, x, along(1, inverse), direct_sums(x, inverse),
                        fmt::format("{} {}", name_of(dtype), n));
      }
    }
  }
}

TEST_F(CudaFourier, LengthsWithLargePrimeFactors) {
  for (const DType dtype : {DType::c64, DType::c128}) {
    for (const int64_t n : {37, 74, 101, 41 * 43}) {
      const Array x = cuda_test::numbers(dtype, {2, n}, static_cast<uint64_t>(n));
      expect_accurate(all_.fft, x, along(1, n % 2 == 0), direct_sums(x, n % 2 == 0),
                      fmt::format("{} {}", name_of(dtype), n));
    }
  }
}

TEST_F(CudaFourier, RealNumbers) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const int64_t n : {1, 2, 3, 6, 7, 10, 16, 29, 37, 82, 96, 243}) {
      const std::string name = fmt::format("{} {}", name_of(dtype), n);
      const Array x = cuda_test::numbers(dtype, {3, n}, static_cast<uint64_t>(n));
      const auto length = static_cast<size_t>(n);
      const std::vector<Number> halves = first_halves(direct_sums(x, false), length);
      expect_accurate(all_.rfft, x, ir::Attributes::of(RfftAttributes{1}), halves, name);
      // The imaginary parts of the ends do not count.
      const Array half = cuda_test::numbers(dtype == DType::f32 ? DType::c64 : DType::c128,
                                            {3, n / 2 + 1}, static_cast<uint64_t>(n));
      expect_like_host(all_.irfft, half, ir::Attributes::of(IrfftAttributes{1, n}), name);
    }
  }
}

TEST_F(CudaFourier, EndsOfRealTransformsAreReal) {
  const Array x = cuda_test::numbers(DType::f32, {30});
  const Results results = run(all_.rfft, {x}, ir::Attributes::of(RfftAttributes{0}));
  const auto numbers = results.device[0].elements<std::complex<float>>();
  EXPECT_EQ(numbers[0].imag(), 0);
  EXPECT_EQ(numbers[15].imag(), 0);
}

TEST_F(CudaFourier, LongRowsTakeSeveralPasses) {
  expect_like_host(all_.fft, cuda_test::numbers(DType::c64, {65536}), along(0));
  expect_like_host(all_.fft, cuda_test::numbers(DType::c64, {2, 6000}), along(1, true));
  expect_like_host(all_.fft, cuda_test::numbers(DType::c128, {4096}), along(0));
  expect_like_host(all_.rfft, cuda_test::numbers(DType::f32, {9973}),
                   ir::Attributes::of(RfftAttributes{0}));
  expect_like_host(all_.irfft, cuda_test::numbers(DType::c64, {4097}),
                   ir::Attributes::of(IrfftAttributes{0, 8192, FftScale::length}));
}

TEST_F(CudaFourier, AxesAndStrides) {
  const Array x = cuda_test::numbers(DType::c64, {3, 5, 12, 7});
  for (int64_t axis = 0; axis < 4; ++axis) {
    for (const FftScale scale : {FftScale::none, FftScale::root, FftScale::length}) {
      expect_like_host(all_.fft, x, along(axis, scale == FftScale::length, scale));
    }
    expect_like_host(all_.fft, permuted(x, {2, 0, 3, 1}), along(axis));
    expect_like_host(all_.fft, stepped(x, 2, 2), along(axis, true));
    expect_like_host(all_.rfft, cuda_test::numbers(DType::f64, {3, 5, 12, 7}),
                     ir::Attributes::of(RfftAttributes{axis, FftScale::root}));
    expect_like_host(
        all_.irfft, x,
        ir::Attributes::of(IrfftAttributes{axis, 2 * x.sizes()[static_cast<size_t>(axis)] - 1}));
  }
  expect_like_host(all_.fft, cuda_test::numbers(DType::c64, {2, 47, 3}), along(1, true));
  expect_like_host(all_.fft, cuda_test::numbers(DType::c128, {4500, 3}), along(0));
  expect_like_host(all_.rfft, cuda_test::numbers(DType::f32, {4, 53, 6}),
                   ir::Attributes::of(RfftAttributes{1}));
}

TEST_F(CudaFourier, TheOrderOfThreadsDoesNotMatter) {
  const Array x = cuda_test::numbers(DType::c64, {3, 4, 5 * 37}),
              y = cuda_test::numbers(DType::c64, {2, 4100, 2});
  for (const auto& [operand, axis] : {std::pair{x, int64_t{2}}, {y, 1}}) {
    set_order(0);
    const Array first = run(all_.fft, {operand}, along(axis)).device[0];
    set_order(5);
    EXPECT_TRUE(same_bits(first, run(all_.fft, {operand}, along(axis)).device[0]));
  }
}

TEST_F(CudaFourier, EmptyOperands) {
  expect_same(all_.fft, {Array::empty(DType::c64, {0, 4})}, along(1));
  expect_same(all_.rfft, {Array::empty(DType::f32, {3, 0, 8})},
              ir::Attributes::of(RfftAttributes{2}));
  expect_same(all_.irfft, {Array::empty(DType::c128, {0, 5})},
              ir::Attributes::of(IrfftAttributes{1, 8}));
  const Tensor none(Array::empty(DType::c64, {2, 0}).on(there));
  EXPECT_THROW((void)fft::fft(none), ValueError);
}

TEST_F(CudaFourier, GradientsEqualTheHost) {
  const auto loss = [](const Tensor& x) {
    return sum(square(fft::irfft(fft::rfft(x) * 2, 9))) +
           sum(square(real(fft::fft(astype(x, DType::c64)))));
  };
  const Tensor x(cuda_test::numbers(DType::f32, {2, 9}));
  const Tensor expected = grad(loss)(x);
  const auto jitted = jit(grad(loss));
  for (const Tensor& found : {grad(loss)(to_device(x, there)), jitted(to_device(x, there))}) {
    EXPECT_EQ(found.device(), there);
    EXPECT_TRUE(
        allclose(to_device(found, Device()), expected, {.rtol = 1e-4, .atol = 1e-3}).item<bool>());
  }
}

}  // namespace
}  // namespace plait::cuda_fourier_test
