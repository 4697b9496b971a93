#include "plait/ops/indexing/at.h"

#include <cmath>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/assign.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/trace_function.h"

namespace plait {
namespace {

Tensor owned(std::vector<float> values, Sizes sizes) { return tensor(values, sizes); }

TEST(At, GivesANewTensor) {
  const Tensor x = reshape(arange(6), {2, 3});
  EXPECT_EQ(x.at(0).set(7).text(), "[[7 7 7]\n [3 4 5]] : i64[2, 3]");
  EXPECT_EQ((x.at({ellipsis, Slice{.step = -2}}).set(tensor<int64_t>({10, 20})).text()),
            "[[20  1 10]\n [20  4 10]] : i64[2, 3]");
  EXPECT_EQ((x.at({tensor<int64_t>({1, 1, 0}), 0}).add(5).text()),
            "[[ 5  1  2]\n [13  4  5]] : i64[2, 3]");
  EXPECT_EQ(x.at(x > 3).multiply(10).text(), "[[ 0  1  2]\n [ 3 40 50]] : i64[2, 3]");
  EXPECT_EQ(x.at(x > 3).set(tensor<int64_t>({8, 9})).text(), "[[0 1 2]\n [3 8 9]] : i64[2, 3]");
  EXPECT_EQ((x.at({Slice{}, tensor<bool>({true, false, true})}).min(1).text()),
            "[[0 1 1]\n [1 4 1]] : i64[2, 3]");
  EXPECT_EQ((x.at({1, Slice{0, 2}}).max(tensor<int32_t>({9, 0})).text()),
            "[[0 1 2]\n [9 4 5]] : i64[2, 3]");
  EXPECT_EQ((x.at({Slice{}, new_axis, 1}).set(reshape(tensor<int64_t>({7, 8}), {2, 1})).text()),
            "[[0 7 2]\n [3 8 5]] : i64[2, 3]");
  EXPECT_EQ((x.at({Slice{1, {}}, tensor<int64_t>({2, 2})}).add(tensor<int64_t>({1, 2})).text()),
            "[[0 1 2]\n [3 4 8]] : i64[2, 3]");
  EXPECT_EQ(x.text(), "[[0 1 2]\n [3 4 5]] : i64[2, 3]");
  // If an element is set several times, the last value remains.
  EXPECT_EQ(x.at(tensor<int64_t>({0, 0})).set(x).text(), "[[3 4 5]\n [3 4 5]] : i64[2, 3]");
}

TEST(At, WritesInPlaceWhereNobodyElseHasIt) {
  const auto same_memory = [](Tensor x, auto change) {
    const std::byte* const before = x.array().data();
    x = change(std::move(x));
    return x.array().data() == before;
  };
  const auto make = [] { return owned({1, 2, 3, 4, 5, 6}, {2, 3}); };
  const Tensor rows = tensor<int64_t>({1, 1});
  EXPECT_TRUE(same_memory(make(), [](Tensor x) { return std::move(x).at(0).set(1); }));
  EXPECT_TRUE(same_memory(make(), [](Tensor x) { return std::move(x).at(0).add(1); }));
  EXPECT_TRUE(same_memory(make(), [&](Tensor x) { return std::move(x).at(rows).add(1); }));
  EXPECT_TRUE(same_memory(
      make(), [&](Tensor x) { return std::move(x).at({new_axis, rows, ellipsis, 0}).max(1); }));
  EXPECT_TRUE(
      same_memory(make(), [](Tensor x) { return std::move(x).at({0, Slice{0, 2}}).set(9); }));
  const Tensor mask = make() > 3;
  EXPECT_TRUE(same_memory(make(), [&](Tensor x) { return std::move(x).at(mask).set(9); }));
  EXPECT_FALSE(same_memory(make(), [&](Tensor x) { return x.at(rows).add(1); }));
  const Tensor kept = make();
  EXPECT_FALSE(same_memory(kept, [&](Tensor x) { return std::move(x).at(rows).add(1); }));
  EXPECT_EQ(kept.text(), make().text());
  const Tensor view = kept[0];
  EXPECT_EQ(Tensor(kept).at(0).set(0)[0].text(), "[0. 0. 0.] : f32[3]");
  EXPECT_EQ(view.text(), "[1. 2. 3.] : f32[3]");
}

TEST(At, FailingLeavesEverythingAsItWas) {
  Tensor x = owned({1, 2, 3, 4, 5, 6}, {2, 3});
  const std::string before = x.text();
  const Tensor outside = tensor<int64_t>({0, 2}), one = tensor<int64_t>({0});
  EXPECT_THROW(std::move(x).at(outside).add(1), IndexError);
  EXPECT_EQ(x.text(), before);
  EXPECT_THROW((std::move(x).at({new_axis, outside}).set(1)), IndexError);
  EXPECT_EQ(x.text(), before);
  EXPECT_THROW(std::move(x).at(5).set(1), IndexError);
  EXPECT_THROW(std::move(x).at(0).set(owned({1, 2}, {2})), ShapeError);
  EXPECT_THROW(std::move(x).at(one).set(owned({1, 2}, {2})), ShapeError);
  EXPECT_THROW(std::move(x).at(0).set(std::complex<double>(1, 2)), TypeError);
  EXPECT_EQ(x.text(), before);
  EXPECT_THROW(arange(3).at(0).set(1.5), TypeError);
  EXPECT_THROW((tensor<bool>({true}).at(0).set(1)), TypeError);
  EXPECT_EQ(tensor<int8_t>({1, 2}).at(0).set(true).text(), "[1 2] : i8[2]");
}

TEST(At, GetWithADefault) {
  const Tensor x = reshape(arange(6), {2, 3});
  EXPECT_EQ(x.at(tensor<int64_t>({1, 2, -2, -3})).get(-1).text(),
            "[[ 3  4  5]\n [-1 -1 -1]\n [ 0  1  2]\n [-1 -1 -1]] : i64[4, 3]");
  EXPECT_EQ((x.at({Slice{}, tensor<uint64_t>({2, ~uint64_t{0}})}).get(-1).text()),
            "[[ 2 -1]\n [ 5 -1]] : i64[2, 2]");
  EXPECT_EQ((x.at({tensor<int8_t>({0, 1}), tensor<int8_t>({1, 3})}).get(7).text()),
            "[1 7] : i64[2]");
  EXPECT_EQ(x.at(9).get(4).text(), "[4 4 4] : i64[3]");
  EXPECT_EQ((x.at({ellipsis, Slice{0, 1}}).get(4).text()), "[[0]\n [3]] : i64[2, 1]");
  EXPECT_EQ(x.at(1).get().text(), "[3 4 5] : i64[3]");
  EXPECT_EQ(arange(300).at(tensor<int8_t>({-128, 127})).get(-1).text(), "[172 127] : i64[2]");
  EXPECT_EQ(owned({1, 2}, {2}).at(tensor<int64_t>({1, 2})).get(NAN).text(), "[ 2. nan] : f32[2]");
  EXPECT_THROW(x.at(tensor<int64_t>({5})).get(0.5), TypeError);
}

TEST(At, TracedWithSymbolicSizes) {
  const Dim n = Dim::symbol("n");
  Trace recording("f");
  const Tensor x = recording.parameter(ir::Type::array(DType::f32, {n, 2}), "x");
  const Tensor rows = recording.parameter(ir::Type::array(DType::i64, {3}), "rows");
  const auto compute = [](const Tensor& y, const Tensor& r) {
    Tensor z = y.at(-1).add(2).at({Slice{1, {}}, 0}).set(5);
    z = std::move(z).at(r).add(1);
    z += 1;
    z = z.at({z > 5}).multiply(2);
    return z.at({z > 8}).set(-z[z > 8]);
  };
  const Tensor result = compute(x, rows);
  const auto program = recording.program(recording.finish({&result, 1}));
  for (const int64_t size : {3, 6}) {
    const Tensor y = astype(reshape(arange(2 * size), {size, 2}), DType::f32);
    const Tensor r = tensor<int64_t>({0, -1, 0});
    const Tensor arguments[] = {y, r};
    EXPECT_EQ(evaluate(program, arguments)[0].text(), compute(y, r).text());
  }
}

TEST(Assign, KeepsDTypeSizesAndMemory) {
  Tensor x = owned({1, 2, 3, 4}, {2, 2});
  const std::byte* const memory = x.array().data();
  x += 1;
  x -= owned({1, 2}, {2});
  x *= tensor<int32_t>({2, 3});
  x /= 2;
  EXPECT_EQ(x.text(), "[[1.  1.5]\n [3.  4.5]] : f32[2, 2]");
  EXPECT_EQ(x.array().data(), memory);
  x += x;
  EXPECT_EQ(x.text(), "[[2. 3.]\n [6. 9.]] : f32[2, 2]");
  const Tensor kept = x, row = x[0];
  x += tensor<double>({1.0, 1.0});
  EXPECT_EQ(x.text(), "[[ 3.  4.]\n [ 7. 10.]] : f32[2, 2]");
  EXPECT_EQ(kept.text(), "[[2. 3.]\n [6. 9.]] : f32[2, 2]");
  EXPECT_EQ(row.text(), "[2. 3.] : f32[2]");
  Tensor i = arange(3), b = tensor<bool>({true, false});
  EXPECT_THROW(i += 0.5, TypeError);
  EXPECT_THROW(i /= 2, TypeError);
  EXPECT_THROW((i += zeros({2, 3}, DType::i64)), ShapeError);
  EXPECT_THROW(b += 1, TypeError);
  EXPECT_EQ(i.text(), "[0 1 2] : i64[3]");
  i |= 4;
  i ^= 1;
  i &= 5;
  EXPECT_EQ(i.text(), "[5 4 5] : i64[3]");
  EXPECT_EQ((b |= true).text(), "[ True  True] : bool[2]");
}

}  // namespace
}  // namespace plait
