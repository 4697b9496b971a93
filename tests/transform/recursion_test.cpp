// Recursive functions: well-known ones, recursion over sizes, deep recursion, and errors.
// tests/transform/control_test.cpp has them under every transform.
#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/fft/fft.h"
#include "plait/ops/indexing/at.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/sort.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/trace_function.h"
#include "plait/transform/control/recursive.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/programs.h"
#include "plait/transform/vmap.h"

#include "tests/support/errors.h"
#include "tests/transform/traced_run.h"
#include "tests/transform/transform_support.h"

namespace plait {
namespace {

Tensor whole(int64_t value) { return asarray(value, DType::i64); }

template <class... Arguments>
Tensor evaluated(const TracedProgram& traced, const Arguments&... arguments) {
  return run_traced(traced, {arguments...}).at(0);
}

const auto factorial = recursive("factorial", [](auto self, Tensor n) {
  return cond(
      n <= 1., [](Tensor n) { return ones_like(n); }, [&](Tensor n) { return n * self(n - 1.); },
      n);
});
const auto fibonacci = recursive("fibonacci", [](auto self, Tensor n) {
  return cond(
      n < 2, [](Tensor n) { return n; }, [&](Tensor n) { return self(n - 1) + self(n - 2); }, n);
});
const auto ackermann = recursive("ackermann", [](auto self, Tensor m, Tensor n) {
  return cond(
      m == 0, [](Tensor, Tensor n) { return n + 1; },
      [&](Tensor m, Tensor n) {
        return cond(
            n == 0, [&](Tensor m, Tensor) { return self(m - 1, ones_like(m)); },
            [&](Tensor m, Tensor n) { return self(m - 1, self(m, n - 1)); }, m, n);
      },
      m, n);
});

TEST(Recursion, OfNumbers) {
  EXPECT_EQ(factorial(number(10)).item<double>(), 3628800);
  EXPECT_EQ(fibonacci(whole(15)).item<int64_t>(), 610);
  EXPECT_EQ(ackermann(whole(2), whole(3)).item<int64_t>(), 9);
  const TracedProgram product = trace(factorial, "main")(number(3));
  EXPECT_NE(product.program.text().find("call @factorial"), std::string::npos);
  EXPECT_EQ(evaluated(product, number(10)).item<double>(), 3628800);
  EXPECT_EQ(evaluated(trace(fibonacci)(whole(1)), whole(15)).item<int64_t>(), 610);
  EXPECT_EQ(evaluated(trace(ackermann)(whole(1), whole(1)), whole(2), whole(3)).item<int64_t>(), 9);
}

TEST(Recursion, OfManyNumbers) {
  const Tensor n = tensor({1., 4., 2.5, 10., 0.});
  const Tensor expected = tensor({1., 24., 3.75, 3628800., 1.});
  EXPECT_EQ(vmap(factorial)(n).text(), expected.text());
  EXPECT_EQ(evaluated(trace(vmap(factorial))(n), n).text(), expected.text());
  EXPECT_EQ(vmap(fibonacci)(iota(12)).text(),
            astype(tensor({0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89}), DType::i64).text());
  EXPECT_EQ(vmap(ackermann)(tensor({0, 1, 2}), tensor({5, 4, 3})).text(), tensor({6, 6, 9}).text());
}

TEST(Recursion, OfNumbersHasItsSlope) {
  // n (n - 1) (n - 2) … until a factor is at most 1.
  const double x = 4.3;
  const double slope = 4.3 * 3.3 * 2.3 * 1.3 * (1 / 4.3 + 1 / 3.3 + 1 / 2.3 + 1 / 1.3);
  EXPECT_NEAR(grad(factorial)(number(x)).item<double>(), slope, 1e-12);
  EXPECT_NEAR(evaluated(trace(grad(factorial))(number(1)), number(x)).item<double>(), slope, 1e-12);
  const Tensor many = tensor({4.3, 0.5, 2.5});
  const Tensor slopes = vmap(grad(factorial))(many);
  EXPECT_NEAR(slopes[0].item<double>(), slope, 1e-12);
  EXPECT_EQ(slopes[1].item<double>(), 0);
  EXPECT_NEAR(slopes[2].item<double>(), 2.5 + 1.5, 1e-12);
}

// ---- Recursion over sizes.

Tensor length_of(const Tensor& x) { return full({}, x.shape(0), DType::i64); }
Tensor behind_half(const Tensor& x) {
  return slice_axis(x, 0, half_of(x), x.shape(0) - half_of(x));
}

// Merges two sorted arrays: the place of an element is its index plus the number of smaller
// elements in the other array.
Tensor merged(const Tensor& a, const Tensor& b) {
  const Tensor before_a = sum(astype(expand_dims(b, 0) < expand_dims(a, 1), DType::i64), 1);
  const Tensor before_b = sum(astype(expand_dims(a, 0) <= expand_dims(b, 1), DType::i64), 1);
  const Tensor all = zeros(Shape{a.shape(0) + b.shape(0)}, a.dtype());
  return all.at(before_a + iota(a.shape(0))).set(a).at(before_b + iota(b.shape(0))).set(b);
}
const auto merge_sort = recursive("merge_sort", [](auto self, Tensor x) {
  return cond(
      length_of(x) <= 1, [](Tensor x) { return x; },
      [&](Tensor x) { return merged(self(first_half(x)), self(behind_half(x))); }, x);
});

TEST(Recursion, SortsByHalves) {
  const Tensor x = tensor({3., -1., 7., 2., 2., 0., 9., -4., 5., 1., 6.});
  const Tensor sorted = tensor({-4., -1., 0., 1., 2., 2., 3., 5., 6., 7., 9.});
  EXPECT_EQ(merge_sort(x).text(), sorted.text());
  // One function for any size.
  const TracedProgram traced = trace(merge_sort, "main")(x);
  EXPECT_EQ(evaluated(traced, x).text(), sorted.text()) << traced.program.text();
  const Tensor weights = cos(astype(iota(11), DType::f64));
  const auto loss = [&](Tensor x) { return sum(merge_sort(x) * weights); };
  const Tensor slope = grad(loss)(x);
  EXPECT_EQ(slope[7].item<double>(), weights[0].item<double>());
  EXPECT_EQ(slope[6].item<double>(), weights[10].item<double>());
  EXPECT_EQ(evaluated(trace(grad(loss))(x), x).text(), slope.text());
  const Tensor both = stack(std::vector{x, -x});
  EXPECT_EQ(vmap(merge_sort)(both)[1].text(), merge_sort(-x).text());
  EXPECT_EQ(evaluated(trace(vmap(merge_sort))(both), both)[0].text(), sorted.text());
}

TEST(Recursion, OfSymbolicSizes) {
  Trace trace("main", Trace::apart);
  const Tensor x = trace.parameter(ir::Type::array(DType::f64, Shape{Dim::symbol("n")}));
  const RecordedFunction recorded = trace.finish(std::vector{merge_sort(x)});
  const ir::Program program = trace.program(recorded);
  for (const int64_t count : {0, 1, 2, 7, 16}) {
    const Tensor given = cos(astype(iota(count), DType::f64) * 3.);
    EXPECT_EQ(evaluate(program, std::vector{given})[0].text(), sort(given).text());
  }
  const ir::Program back = ir::Program::parse(program.text());
  const Tensor given = cos(astype(iota(9), DType::f64));
  EXPECT_EQ(evaluate(back, std::vector{given})[0].text(), sort(given).text());
}

// If host code decides by sizes, each size is a function of its own.
const auto fast_fourier = recursive("fourier", [](auto self, Tensor x) {
  const int64_t count = x.shape(0).number();
  if (count == 1) return x;
  const Tensor pairs = reshape(x, {count / 2, 2});
  const Tensor even = self(slice_axis(pairs, 1, 0, 1)[{ellipsis, 0}]);
  const Tensor odd = self(slice_axis(pairs, 1, 1, 1)[{ellipsis, 0}]);
  const Tensor angle =
      astype(iota(count / 2), DType::f64) * (-2 * M_PI / static_cast<double>(count));
  const Tensor turned = odd * make_complex(cos(angle), sin(angle));
  return concat(std::vector{even + turned, even - turned}, 0);
});

TEST(Recursion, TransformsByHalves) {
  const Tensor x = sin(astype(iota(16), DType::f64) * 0.7);
  const Tensor expected = fft::fft(x);
  const auto of_reals = [](Tensor x) { return fast_fourier(astype(x, DType::c128)); };
  EXPECT_LT(max(absolute(of_reals(x) - expected)).item<double>(), 1e-13);
  const TracedProgram traced = trace(of_reals)(x);
  EXPECT_LT(max(absolute(evaluated(traced, x) - expected)).item<double>(), 1e-13);
  const auto power = [&](Tensor x) { return sum(square(absolute(of_reals(x)))); };
  EXPECT_LT(max(absolute(grad(power)(x) - x * 32.)).item<double>(), 1e-12);
}

// ---- Depth.

const auto chain = recursive("chain", [](auto self, Tensor x, Tensor n) {
  return cond(
      n == 0, [](Tensor x, Tensor) { return x; },
      [&](Tensor x, Tensor n) { return sin(self(x, n - 1)) * 1.5; }, x, n);
});

double chain_of(double x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x = std::sin(x) * 1.5;
  return x;
}

TEST(Recursion, GoesAsDeepAsItIsTold) {
#if defined(__SANITIZE_THREAD__)
  constexpr int64_t kDepth = 1'000;  // ThreadSanitizer supports 65,536 frames
#elif defined(__SANITIZE_ADDRESS__)
  constexpr int64_t kDepth = 5'000;
#else
  constexpr int64_t kDepth = 100'000;
#endif
  const double expected = chain_of(0.3, kDepth);
  EXPECT_EQ(chain(number(0.3), whole(kDepth)).item<double>(), expected);
  const TracedProgram traced = trace(chain)(number(0), whole(0));
  EXPECT_EQ(evaluated(traced, number(0.3), whole(kDepth)).item<double>(), expected);

  const auto loss = [](Tensor x) { return chain(x, whole(kDepth)); };
  const auto nearly_linear = recursive("nearly_linear", [](auto self, Tensor x, Tensor n) {
    return cond(
        n == 0, [](Tensor x, Tensor) { return x; },
        [&](Tensor x, Tensor n) { return sin(self(x, n - 1)); }, x, n);
  });
  const auto small = [&](Tensor x) { return nearly_linear(x, whole(kDepth)) * 1.; };
  double value = 1e-3, slope = 1;
  for (int64_t i = 0; i < kDepth; ++i) {
    slope *= std::cos(value);
    value = std::sin(value);
  }
  EXPECT_NEAR(grad(small)(number(1e-3)).item<double>(), slope, 1e-12 * slope);
  const TracedProgram gradient = trace(grad(small))(number(0));
  EXPECT_NEAR(evaluated(gradient, number(1e-3)).item<double>(), slope, 1e-12 * slope);
  EXPECT_EQ(grad(loss)(number(0.3)).item<double>(), 0);  // it is a contraction
}

TEST(Recursion, WithoutAnEndIsRefused) {
  const auto forever = recursive("forever", [](auto self, Tensor x) { return self(x + 1.); });
  EXPECT_THROW(trace(forever)(number(0)), TypeError);
}

TEST(Recursion, RefusesWhatCannotBe) {
  const auto refusal_of = [](const auto& f) { return what_of([&] { trace(f)(number(1)); }); };
  const auto other_type = recursive("narrowed", [](auto self, Tensor x) {
    return cond(
        x > 0., [&](Tensor x) { return self(astype(x - 1., DType::f32)); },
        [](Tensor x) { return x; }, x);
  });
  EXPECT_NE(refusal_of(other_type).find("f32"), std::string::npos);
  const auto differentiated = recursive("slope", [](auto self, Tensor x) {
    return cond(
        x > 0., [&](Tensor x) { return grad([&](Tensor y) { return self(y - 1.); })(x); },
        [](Tensor x) { return x; }, x);
  });
  EXPECT_NE(refusal_of(differentiated).find("while it is being recorded"), std::string::npos);
}

}  // namespace
}  // namespace plait
