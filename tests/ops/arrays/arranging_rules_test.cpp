// Rules of primitives that rearrange, reduce, scan, sort and index.
#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/scan.h"
#include "plait/ops/reductions/sort.h"

#include "tests/ops/rule_checks.h"

namespace plait {
namespace {

// A function of one tensor.
template <class F>
CheckedFunction one(F f) {
  return [f](const std::vector<Tensor>& x) { return std::vector<Tensor>{f(x[0])}; };
}

// Checks the rules of the primitive that the function records, for an operand of three dimensions.
void check_linear(const CheckedFunction& f, DType dtype = DType::f64) {
  const Tensor x = scattered({3, 4, 5}, 1, dtype);
  check_transpose(primitive_in(f, {x}), {x}, 0);
}

void check_batched(const CheckedFunction& f) {
  const Tensor x = scattered({3, 4, 5}, 1), lanes = scattered({2, 3, 4, 5}, 2);
  check_batching(primitive_in(f, {x}), {lanes}, {true});
}

void check_smooth(const CheckedFunction& f) {
  const Tensor x = scattered({3, 4, 5}, 1);
  check_tangents(primitive_in(f, {x}), {x});
}

TEST(Rules, ShapePrimitives) {
  const CheckedFunction functions[] = {
      one([](const Tensor& x) { return slice(x, 1, {.start = 1, .stop = 4, .step = 2}); }),
      one([](const Tensor& x) { return slice(x, 2, {.start = 3, .step = -2}); }),
      one([](const Tensor& x) { return slice(x, 0, {.start = 2, .stop = 2, .step = 3}); }),
      one([](const Tensor& x) { return pad_zeros(x, 1, 2, 1, 3); }),
      one([](const Tensor& x) { return reshape(x, {5, 12}); }),
      one([](const Tensor& x) { return broadcast_to(x, {2, 3, 4, 5}); }),
      one([](const Tensor& x) { return permute_dims(x, {2, 0, 1}); }),
  };
  for (const CheckedFunction& f : functions) check_linear(f);
  for (size_t i = 0; i + 1 < std::size(functions); ++i) check_batched(functions[i]);
  check_linear(one([](const Tensor& x) { return astype(x, DType::c128); }));
  check_linear(one([](const Tensor& x) { return astype(x, DType::f64); }), DType::c128);
}

TEST(Rules, Concat) {
  const CheckedFunction f = [](const std::vector<Tensor>& x) {
    return std::vector<Tensor>{concat(x, 1)};
  };
  const Tensor a = scattered({2, 3}, 1), b = scattered({2, 1}, 2), lanes = scattered({4, 2, 1}, 3);
  const UsedPrimitive used = primitive_in(f, {a, b});
  check_transpose(used, {a, b}, 0);
  check_transpose(used, {a, b}, 1);
  check_batching(used, {a, lanes}, {false, true});
}

TEST(Rules, ComplexParts) {
  const CheckedFunction parts[] = {one(real), one(imag), one(conj)};
  for (const CheckedFunction& f : parts) check_linear(f, DType::c128);
  const Tensor z = scattered({7}, 1, DType::c128);
  for (const CheckedFunction& f : {one([](const Tensor& x) { return absolute(x); }),
                                   one([](const Tensor& x) { return sign(x); })}) {
    check_tangents(primitive_in(f, {z}), {z});
    check_smooth(f);
  }
  const CheckedFunction make = [](const std::vector<Tensor>& x) {
    return std::vector<Tensor>{make_complex(x[0], x[1])};
  };
  const std::vector<Tensor> both{scattered({5}, 1), scattered({5}, 2)};
  check_transpose(primitive_in(make, both), both, 0);
  check_transpose(primitive_in(make, both), both, 1);
}

TEST(Rules, Reductions) {
  for (const Axes& axes : {Axes(1), Axes({0, 2}), Axes()}) {
    check_smooth(one([=](const Tensor& x) { return prod(x, axes); }));
    check_smooth(one([=](const Tensor& x) { return max(x, axes); }));
    check_smooth(one([=](const Tensor& x) { return min(x, axes); }));
  }
}

Tensor tangent_along(const CheckedFunction& f, const Tensor& x, const Tensor& dx) {
  const UsedPrimitive used = primitive_in(f, {x});
  const std::vector<Tensor> operands{x}, results = used(operands);
  const std::vector<OperandType> types{OperandType(x)};
  return find_rules(*used.primitive)
      ->tangents.of({used.attributes, operands, results, types}, {&dx, 1})[0];
}

TEST(Rules, ProductsWithZeros) {
  const Tensor dx = tensor<double>({1, 10, 100, 1000});
  const CheckedFunction product = one([](const Tensor& x) { return prod(x); });
  EXPECT_EQ(tangent_along(product, tensor<double>({2, 0, 3, 5}), dx).item<double>(), 300);
  EXPECT_EQ(tangent_along(product, tensor<double>({2, 0, 0, 5}), dx).item<double>(), 0);
  const CheckedFunction running = one([](const Tensor& x) { return cumprod(x, 0); });
  EXPECT_EQ(tangent_along(running, tensor<double>({2, 0, 3, 5}), dx).text(),
            "[  1.  20.  60. 300.] : f64[4]");
}

TEST(Rules, TiesShareEqually) {
  const Tensor x = tensor<double>({3, 1, 3, 3}), dx = tensor<double>({1, 10, 100, 1000});
  EXPECT_EQ(tangent_along(one([](const Tensor& y) { return max(y); }), x, dx).item<double>(), 367);
  EXPECT_EQ(tangent_along(one([](const Tensor& y) { return cummax(y, 0); }), x, dx).text(),
            "[  1.    1.   50.5 367. ] : f64[4]");
}

TEST(Rules, Scans) {
  for (const bool reverse : {false, true}) {
    for (const int64_t axis : {0, 1, 2}) {
      const CheckedFunction sums = one([=](const Tensor& x) { return cumsum(x, axis, reverse); });
      const CheckedFunction products =
          one([=](const Tensor& x) { return cumprod(x, axis, reverse); });
      const CheckedFunction most = one([=](const Tensor& x) { return cummax(x, axis, reverse); });
      const CheckedFunction least = one([=](const Tensor& x) { return cummin(x, axis, reverse); });
      const CheckedFunction logarithms =
          one([=](const Tensor& x) { return logcumsumexp(x, axis, reverse); });
      check_linear(sums);
      for (const CheckedFunction& f : {products, most, least, logarithms}) check_smooth(f);
      for (const CheckedFunction& f : {sums, products, most, least, logarithms}) check_batched(f);
      const CheckedFunction recurrence = [=](const std::vector<Tensor>& x) {
        return std::vector<Tensor>{linear_recurrence(x[0], x[1], axis, reverse)};
      };
      const std::vector<Tensor> both{scattered({3, 4, 5}, 1), scattered({3, 4, 5}, 2)};
      const UsedPrimitive used = primitive_in(recurrence, both);
      check_tangents(used, both);
      check_transpose(used, both, 1);
      check_batching(used, {both[0], scattered({2, 3, 4, 5}, 3)}, {false, true});
    }
  }
}

TEST(Rules, LogSumsOfNothing) {
  const Tensor x = tensor<double>({-INFINITY, -INFINITY, 0, INFINITY});
  const Tensor dx = tensor<double>({1, 10, 100, 1000});
  EXPECT_EQ(tangent_along(one([](const Tensor& y) { return logcumsumexp(y, 0); }), x, dx).text(),
            "[   0.    0.  100. 1000.] : f64[4]");
}

TEST(Rules, SortAndTopk) {
  for (const int64_t axis : {0, 1, 2}) {
    const CheckedFunction sorted = [=](const std::vector<Tensor>& x) {
      return std::vector<Tensor>{sort_with_indices(x[0], axis, true).values};
    };
    const CheckedFunction values = one([=](const Tensor& x) { return sort(x, axis); });
    const CheckedFunction most = [=](const std::vector<Tensor>& x) {
      return std::vector<Tensor>{topk(x[0], 2, axis).values};
    };
    for (const CheckedFunction& f : {sorted, values, most}) {
      check_smooth(f);
      check_batched(f);
    }
    check_batched(one([=](const Tensor& x) { return argmax(x, axis); }));
    check_batched(one([=](const Tensor& x) { return argmin(x, axis); }));
  }
}

TEST(Rules, SearchSortedIsBatched) {
  const CheckedFunction f = [](const std::vector<Tensor>& x) {
    return std::vector<Tensor>{searchsorted(x[0], x[1])};
  };
  const Tensor rows = sort(scattered({2, 6}, 1)), values = scattered({2, 3}, 2);
  check_batching(primitive_in(f, {rows, values}), {rows, scattered({4, 2, 3}, 3)}, {false, true});
}

TEST(Complex, PartsAndAngles) {
  const Tensor z = make_complex(tensor<float>({3, 0, -1}), tensor<float>({4, 0, 0}));
  EXPECT_EQ(z.dtype(), DType::c64);
  EXPECT_EQ(real(z).text(), "[ 3.  0. -1.] : f32[3]");
  EXPECT_EQ(imag(conj(z)).text(), "[-4. -0. -0.] : f32[3]");
  EXPECT_EQ(absolute(z).text(), "[5. 0. 1.] : f32[3]");
  EXPECT_EQ(angle(z).text(), "[0.9272952 0.        3.1415927] : f32[3]");
  EXPECT_EQ(angle(tensor<float>({2, -2})).text(), "[0.        3.1415927] : f32[2]");
  EXPECT_EQ(imag(tensor<int32_t>({2})).text(), "[0] : i32[1]");
  EXPECT_EQ(make_complex(1.5, tensor<double>({2})).dtype(), DType::c128);
  // The derivative of |z| at 0 is defined as 0.
  const Tensor zero = zeros({1}, DType::c64);
  const CheckedFunction length = one([](const Tensor& x) { return absolute(x); });
  EXPECT_EQ(tangent_along(length, zero, ones({1}, DType::c64)).text(), "[0.] : f32[1]");
  check_traced([](const std::vector<Tensor>& x) { return std::vector{angle(x[0]), conj(x[0])}; },
               {z});
}

}  // namespace
}  // namespace plait
