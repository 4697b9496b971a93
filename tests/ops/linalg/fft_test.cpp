#include "plait/ops/fft/fft.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/inside/fft/fft_primitives.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/trace_function.h"

#include "tests/ops/numeric_check.h"
#include "tests/support/threads.h"

namespace plait {
namespace {

using Number = std::complex<double>;
using Numbers = std::vector<Number>;
constexpr Number kI{0, 1};

// The sum by definition, in long double.
Numbers by_definition(const Numbers& x, bool inverse) {
  const size_t n = x.size();
  Numbers result;
  for (size_t k = 0; k < n; ++k) {
    std::complex<long double> sum;
    for (size_t j = 0; j < n; ++j) {
      const long double turn = static_cast<long double>(j * k % n) / static_cast<long double>(n);
      const long double angle = (inverse ? 2 : -2) * std::numbers::pi_v<long double> * turn;
      sum += std::complex<long double>(x[j]) * std::polar(1.0L, angle);
    }
    result.emplace_back(sum);
  }
  return result;
}

double size_of_greatest(const Numbers& x) {
  double greatest = 1e-300;
  for (const Number& each : x) greatest = std::max(greatest, std::abs(each));
  return greatest;
}

TEST(Fft, AnyLengthIsTheSum) {
  for (const int64_t n :
       {1,  2,  3,  4,  5,  6,  7,   8,   9,   10,  11,  12,  13,  15,   16,   17,  30,
        31, 37, 60, 64, 74, 97, 100, 101, 128, 202, 243, 256, 257, 1000, 1009, 1024}) {
    for (const DType dtype : {DType::c64, DType::c128}) {
      const Tensor x = noise(static_cast<uint64_t>(n), {n}, dtype);
      const double step = dtype == DType::c64 ? 0x1p-23 : 0x1p-52;
      for (const bool inverse : {false, true}) {
        const Numbers expected = by_definition(numbers_of(x), inverse);
        const Tensor got = inverse ? fft::ifft(x, {}, -1, fft::Norm::forward) : fft::fft(x);
        EXPECT_EQ(got.dtype(), dtype);
        EXPECT_LT(distance(got, expected), 10 * step * size_of_greatest(expected)) << n;
      }
    }
  }
}

TEST(Fft, OfRealNumbersIsTheHalf) {
  for (const int64_t n : {1, 2, 3, 4, 5, 6, 7, 10, 12, 37, 64, 74, 101, 202, 1000, 1009}) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      const Tensor x = noise(static_cast<uint64_t>(n), {3, n}, dtype);
      const double step = dtype == DType::f32 ? 0x1p-23 : 0x1p-52;
      const Tensor whole = fft::fft(x), half = fft::rfft(x);
      EXPECT_EQ(half.shape(), (Shape{3, n / 2 + 1}));
      const Tensor first = slice(whole, 1, {.stop = n / 2 + 1});
      const double greatest = size_of_greatest(numbers_of(whole));
      EXPECT_LT(distance(half, first), 10 * step * greatest) << n;
      EXPECT_LT(distance(fft::irfft(half, n), x), 20 * step) << n;
    }
  }
}

TEST(Fft, GivesNumPysFigures) {
  // Expected values by numpy.fft.
  const Tensor x = tensor<double>({1, 2, -1, 3, 0.5, 4, -2});
  EXPECT_LT(distance(fft::fft(x), {7.5, -2.8209538395274105 + 0.6626042832431038 * kI,
                                   0.4793077027983097 - 4.114551638145011 * kI,
                                   2.0916461367291 - 8.08201214926494 * kI,
                                   2.0916461367291 + 8.08201214926494 * kI,
                                   0.4793077027983097 + 4.114551638145011 * kI,
                                   -2.8209538395274105 - 0.6626042832431038 * kI}),
            1e-14);
  EXPECT_LT(
      distance(fft::rfft(x, 8), {7.5, -3.0355339059327378 - 1.7071067811865472 * kI, 4.5 - 3. * kI,
                                 4.035533905932738 + 0.29289321881345276 * kI, -10.5}),
      1e-14);
  EXPECT_LT(distance(fft::fft(x, 5, -1, fft::Norm::ortho),
                     {2.4596747752497685, 0.06909830056250527 + 0.41347411797423733 * kI,
                      -0.18090169943749473 - 2.0955999507934298 * kI,
                      -0.18090169943749473 + 2.0955999507934298 * kI,
                      0.06909830056250527 - 0.41347411797423733 * kI}),
            1e-14);
  const Tensor half = tensor<Number>({1, 2. + kI, 3. - kI, 4});
  EXPECT_LT(
      distance(fft::irfft(half), {2.5, -0.6666666666666666, -0.5773502691896257,
                                  -0.16666666666666669, 0.5773502691896257, -0.6666666666666666}),
      1e-15);
  EXPECT_LT(distance(fft::irfft(half, 7, -1, fft::Norm::forward),
                     {19, -4.662724480094717, -3.125601830968667, -3.074534575278966,
                      1.7883263110633858, 2.5096447742288595, -5.435110198949893}),
            1e-14);
  EXPECT_LT(distance(fft::hfft(half), {15, -4, 3.4641016151377544, -1, -3.4641016151377544, -4}),
            1e-14);
  EXPECT_LT(
      distance(fft::ihfft(x), {1.0714285714285714, -0.4029934056467728 - 0.09465775474901486 * kI,
                               0.06847252897118716 + 0.5877930911635727 * kI,
                               0.29880659096129997 + 1.1545731641807058 * kI}),
      1e-15);
  const Tensor m = square(reshape(astype(arange(12), DType::f64), {3, 4}));
  EXPECT_LT(distance(fft::fft2(m),
                     {506, -60. + 72. * kI, -66, -60. - 72. * kI, -232. + 207.84609690826525 * kI,
                      10.143593539448982 - 37.856406460551014 * kI, 24. - 13.856406460551018 * kI,
                      37.856406460551014 + 10.143593539448982 * kI, -232. - 207.84609690826525 * kI,
                      37.856406460551014 - 10.143593539448982 * kI, 24. + 13.856406460551018 * kI,
                      10.143593539448982 + 37.856406460551014 * kI}),
            1e-12);
  EXPECT_LT(
      distance(fft::rfftn(m, {2, 5}, {0, 1}), {140, -55.249223594996224 - 14.147334882409474 * kI,
                                               25.249223594996216 - 32.401433852917066 * kI, -112,
                                               34.83281572999748 + 18.1230743727439 * kI,
                                               -18.832815729997478 + 21.715298185380583 * kI}),
      1e-13);
  EXPECT_LT(distance(fft::irfftn(fft::rfftn(m), {3, 4}, {0, 1}), m), 1e-13);
  EXPECT_LT(distance(fft::irfft2(fft::rfft2(m)), m), 1e-13);
  EXPECT_LT(distance(fft::ifft2(fft::fft2(m)), astype(m, DType::c128)), 1e-13);
  EXPECT_LT(distance(fft::ifftn(fft::fftn(m, {}, {}, fft::Norm::ortho), {}, {}, fft::Norm::ortho),
                     astype(m, DType::c128)),
            1e-13);
  EXPECT_EQ(fft::fftfreq(5, 0.1).text(), "[ 0.  2.  4. -4. -2.] : f32[5]");
  EXPECT_LT(distance(fft::rfftfreq(6, 2, DType::f64),
                     {0, 0.08333333333333333, 0.16666666666666666, 0.25}),
            1e-17);
}

TEST(Fft, AnyAxisAndLayout) {
  const Tensor x = noise(1, {3, 4, 5}, DType::c128);
  for (int64_t axis = 0; axis < 3; ++axis) {
    const Tensor moved = fft::fft(moveaxis(x, axis, 2));
    EXPECT_LT(distance(fft::fft(x, {}, axis), moveaxis(moved, 2, axis)), 1e-14) << axis;
    EXPECT_EQ(fft::fft(x, {}, axis - 3).text(), fft::fft(x, {}, axis).text());
  }
  const Tensor odd = slice(flip(x, 2), 1, {.start = 1, .step = 2});
  EXPECT_LT(distance(fft::fft(odd, {}, 1), fft::fft(Tensor(odd.array().copy()), {}, 1)), 1e-15);
  EXPECT_EQ(fft::fft(zeros({0, 4})).shape(), (Shape{0, 4}));
  EXPECT_EQ(fft::fft(arange(4)).text(), "[ 6.+0.j -2.+2.j -2.+0.j -2.-2.j] : c64[4]");
  EXPECT_EQ(fft::fft(zeros({2}, DType::f16)).dtype(), DType::c64);
}

TEST(Fft, RowsAreIndependentAndTheSameOnAnyTeam) {
  for (const int64_t n : {12, 37, 1024}) {
    Tensor x = noise(2, {9, n}, DType::f32);
    const Tensor row = expand_dims(arange(9), 1);
    const Tensor spoilt = where(row == 4, NAN, x);
    const Tensor clean = fft::rfft(x), beside = fft::rfft(spoilt);
    EXPECT_EQ(distance(slice(clean, 0, {.stop = 4}), slice(beside, 0, {.stop = 4})), 0);
    EXPECT_EQ(distance(slice(clean, 0, {.start = 5}), slice(beside, 0, {.start = 5})), 0);
    EXPECT_TRUE(all(isnan(absolute(slice(beside, 0, {.start = 4, .stop = 5})))).item<bool>());
    const Threads team(3);
    EXPECT_EQ(distance(fft::rfft(x), clean), 0);
  }
}

TEST(Fft, ShiftsAndErrors) {
  EXPECT_EQ(fft::fftshift(arange(5)).text(), "[3 4 0 1 2] : i64[5]");
  EXPECT_EQ(fft::ifftshift(arange(5)).text(), "[2 3 4 0 1] : i64[5]");
  EXPECT_EQ(fft::fftshift(arange(4)).text(), "[2 3 0 1] : i64[4]");
  const Tensor m = reshape(arange(6), {2, 3});
  EXPECT_EQ(fft::fftshift(m).text(), "[[5 3 4]\n [2 0 1]] : i64[2, 3]");
  EXPECT_EQ(fft::fftshift(m, {1}).text(), "[[2 0 1]\n [5 3 4]] : i64[2, 3]");
  EXPECT_EQ(fft::ifftshift(fft::fftshift(m)).text(), m.text());
  EXPECT_THROW(fft::fft(zeros({2, 0})), ValueError);
  EXPECT_THROW(fft::fft(zeros({})), IndexError);
  EXPECT_THROW(fft::fft(zeros({2}), 0), ValueError);
  EXPECT_THROW(fft::fft(zeros({2}), {}, 1), IndexError);
  EXPECT_THROW(fft::rfft(zeros({2}, DType::c64)), TypeError);
  EXPECT_THROW(fft::irfft(zeros({1}, DType::c64)), ValueError);
  EXPECT_EQ(fft::irfft(ones({1}, DType::c64), 1).text(), "[1.] : f32[1]");
  EXPECT_THROW(fft::fftn(zeros({2, 2}), {2}, {0, 1}), ValueError);
  EXPECT_THROW(fft::fftn(zeros({2}), {2, 2}), ValueError);
  EXPECT_THROW(fft::fftfreq(0), ValueError);
  EXPECT_THROW(fft::rfftfreq(4, 0), ValueError);
  EXPECT_THROW(fft::fftshift(m, {2}), IndexError);
}

TEST(FftRules, TransposesAndBatches) {
  const FftPrimitives& ops = fft_primitives();
  for (const int64_t n : {1, 2, 5, 6, 37}) {
    for (const FftScale scale : {FftScale::none, FftScale::root, FftScale::length}) {
      const Tensor z = noise(3, {3, n, 2}, DType::c128), x = noise(4, {3, n, 2}, DType::f64);
      const Tensor half = noise(5, {3, n / 2 + 1, 2}, DType::c128);
      for (const bool inverse : {false, true}) {
        const UsedPrimitive fft{&ops.fft, ir::Attributes::of(FftAttributes{1, inverse, scale})};
        check_transpose(fft, {z}, 0);
      }
      const UsedPrimitive rfft{&ops.rfft, ir::Attributes::of(RfftAttributes{1, scale})};
      const UsedPrimitive irfft{&ops.irfft, ir::Attributes::of(IrfftAttributes{1, Dim(n), scale})};
      check_transpose(rfft, {x}, 0);
      check_transpose(irfft, {half}, 0);
      const auto first = ir::Attributes::of(FftAttributes{0, true, scale});
      check_batching({&ops.fft, first}, {z}, {true});
      check_batching({&ops.rfft, ir::Attributes::of(RfftAttributes{0, scale})}, {x}, {true});
      check_batching({&ops.irfft, ir::Attributes::of(IrfftAttributes{0, Dim(n), scale})}, {half},
                     {true});
    }
  }
}

TEST(FftTrace, TheProgramGivesTheSame) {
  const auto f = [](const Tensor& x) {
    const Tensor half = fft::rfft(x);
    return std::vector<Tensor>{fft::fft(x, {}, 0), half, fft::irfft(half * 2.),
                               fft::ifft(x, {}, 1, fft::Norm::ortho)};
  };
  Trace recording("f");
  const Tensor x = recording.parameter(ir::Type::array(DType::f64, {3, Dim::symbol("n") * 2}), "x");
  const RecordedFunction recorded = recording.finish(f(x));
  const ir::Program program = recording.program(recorded);
  EXPECT_EQ(ir::Program::parse(program.text()).text(), program.text());
  for (const int64_t n : {2, 10, 74}) {
    const Tensor argument = noise(6, {3, n}, DType::f64);
    const auto results = evaluate(program, {&argument, 1});
    const auto expected = f(argument);
    for (size_t i = 0; i < results.size(); ++i) {
      EXPECT_EQ(results[i].text(), expected[i].text()) << i;
    }
  }
}

}  // namespace
}  // namespace plait
