// Expected values by NumPy's functions, and from the examples in PyTorch's manual.
#include "plait/ops/indexing/take.h"

#include <cmath>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/trace_function.h"

#include "tests/ops/layer_support.h"

namespace plait {
namespace {

Tensor integers(std::vector<int64_t> values, Sizes sizes) { return tensor(values, sizes); }
bool array_equal_to(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && all(a == b).item<bool>();
}

TEST(Take, AlongAnAxis) {
  const Tensor x = reshape(arange(24), {2, 3, 4}), i = integers({3, 0, 1, 1}, {2, 2});
  EXPECT_EQ(
      take(x, i, 2)[0].text(),
      "[[[ 3  0]\n  [ 1  1]]\n\n [[ 7  4]\n  [ 5  5]]\n\n [[11  8]\n  [ 9  9]]] : i64[3, 2, 2]");
  EXPECT_EQ(take(x, integers({-1}, {1})).text(), "[23] : i64[1]");
  EXPECT_EQ(take(x, full({}, 1), -2).shape(), (Shape{2, 4}));
  EXPECT_EQ(take(x, integers({}, {0}), 1).shape(), (Shape{2, 0, 4}));
  EXPECT_THROW(take(x, i, 3), IndexError);
  EXPECT_THROW(take(x, i, 0), IndexError);
  EXPECT_THROW(take(x, floats({1}, {1}), 0), TypeError);
}

TEST(Take, AlongEachLine) {
  const Tensor a = integers({10, 30, 20, 60, 40, 50}, {2, 3});
  const Tensor order = integers({0, 2, 1, 1, 2, 0}, {2, 3});
  EXPECT_EQ(take_along_axis(a, order, 1).text(), "[[10 20 30]\n [40 50 60]] : i64[2, 3]");
  EXPECT_EQ(take_along_axis(a, integers({1, 0, 1}, {1, 3}), 0).text(), "[[60 30 50]] : i64[1, 3]");
  EXPECT_EQ(take_along_axis(a, integers({-1}, {1, 1})).text(), "[[20]\n [50]] : i64[2, 1]");
  EXPECT_EQ(take_along_axis(integers({1, 2}, {2, 1}), integers({1, 0, 1}, {1, 3}), 0).text(),
            "[[2 1 2]] : i64[1, 3]");
  EXPECT_EQ(put_along_axis(a, integers({1, 2}, {2, 1}), 99, 1).text(),
            "[[10 99 20]\n [60 40 99]] : i64[2, 3]");
  EXPECT_EQ(put_along_axis(a, integers({1, 0, 1}, {1, 3}), integers({1, 2, 3}, {3}), 0).text(),
            "[[10  2 20]\n [ 1 40  3]] : i64[2, 3]");
  EXPECT_THROW(take_along_axis(a, integers({0}, {1}), 0), ShapeError);
  EXPECT_THROW(take_along_axis(a, integers({3, 0}, {2, 1}), 1), IndexError);
  EXPECT_THROW(take_along_axis(a, integers({0, 0, 0, 0}, {2, 2}), 0), ShapeError);
}

TEST(Take, Nonzero) {
  const Tensor x = integers({0, 3, 0, 4, 0, 5}, {2, 3});
  EXPECT_EQ(argwhere(x).text(), "[[0 1]\n [1 0]\n [1 2]] : i64[3, 2]");
  const std::vector<Tensor> places = nonzero(x);
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0].text(), "[0 1 1] : i64[3]");
  EXPECT_EQ(places[1].text(), "[1 0 2] : i64[3]");
  EXPECT_EQ(argwhere(permute_dims(x, {1, 0})).text(), "[[0 1]\n [1 0]\n [2 1]] : i64[3, 2]");
  EXPECT_EQ(argwhere(full({}, 2)).shape(), (Shape{1, 0}));
  EXPECT_EQ(argwhere(full({}, 0)).shape(), (Shape{0, 0}));
  EXPECT_EQ(argwhere(zeros({0, 2})).shape(), (Shape{0, 2}));
  EXPECT_EQ(argwhere(floats({NAN, -0.0F, 0, INFINITY}, {4})).text(), "[[0]\n [3]] : i64[2, 1]");
  EXPECT_THROW(nonzero(full({}, 1)), ValueError);
  // Large enough for several threads; every thousandth element is nonzero.
  const Tensor many = remainder(arange(300'000), 1000) == 0;
  EXPECT_TRUE(array_equal_to(nonzero(many)[0], arange(300) * 1000));
  EXPECT_TRUE(array_equal_to(nonzero(reshape(many, {300, 10, 100}))[0], arange(300)));
}

// The examples of torch.Tensor.scatter_, scatter_add_, scatter_reduce_ and index_add_.
TEST(Take, AsPyTorch) {
  const Tensor source = reshape(arange(1, 11), {2, 5});
  const Tensor none = zeros({3, 5}, DType::i64);
  EXPECT_EQ(gather(integers({1, 2, 3, 4}, {2, 2}), 1, integers({0, 0, 1, 0}, {2, 2})).text(),
            "[[1 1]\n [4 3]] : i64[2, 2]");
  EXPECT_EQ(scatter(none, 0, integers({0, 1, 2, 0}, {1, 4}), source).text(),
            "[[1 0 0 4 0]\n [0 2 0 0 0]\n [0 0 3 0 0]] : i64[3, 5]");
  EXPECT_EQ(scatter(none, 1, integers({0, 1, 2, 0, 1, 4}, {2, 3}), source).text(),
            "[[1 2 3 0 0]\n [6 7 0 0 8]\n [0 0 0 0 0]] : i64[3, 5]");
  const Tensor ones_here = ones({2, 5}, DType::i64);
  EXPECT_EQ(scatter_add(none, 0, integers({0, 1, 2, 0, 0}, {1, 5}), ones_here).text(),
            "[[1 0 0 1 1]\n [0 1 0 0 0]\n [0 0 1 0 0]] : i64[3, 5]");
  EXPECT_EQ(
      scatter_add(none, 0, integers({0, 1, 2, 0, 0, 0, 1, 2, 2, 2}, {2, 5}), ones_here).text(),
      "[[2 0 0 1 1]\n [0 2 0 0 0]\n [0 0 2 1 1]] : i64[3, 5]");
  const Tensor x = floats({1, 2, 3, 4}, {4}), s = floats({1, 2, 3, 4, 5, 6}, {6});
  const Tensor i = integers({0, 1, 0, 1, 2, 1}, {6});
  using R = ScatterReduction;
  EXPECT_EQ(scatter_reduce(x, 0, i, s, R::sum).text(), "[ 5. 14.  8.  4.] : f32[4]");
  EXPECT_EQ(scatter_reduce(x, 0, i, s, R::sum, false).text(), "[ 4. 12.  5.  4.] : f32[4]");
  EXPECT_EQ(scatter_reduce(x, 0, i, s, R::maximum).text(), "[3. 6. 5. 4.] : f32[4]");
  const Tensor y = floats({5, 4, 3, 2}, {4});
  EXPECT_EQ(scatter_reduce(y, 0, i, s, R::maximum).text(), "[5. 6. 5. 2.] : f32[4]");
  EXPECT_EQ(scatter_reduce(y, 0, i, s, R::maximum, false).text(), "[3. 6. 5. 2.] : f32[4]");
  EXPECT_EQ(scatter_reduce(y, 0, i, s, R::minimum, false).text(), "[1. 2. 5. 2.] : f32[4]");
  EXPECT_EQ(scatter_reduce(x, 0, i, s, R::product).text(), "[ 3. 96. 15.  4.] : f32[4]");
  EXPECT_EQ(scatter_reduce(x, 0, i, s, R::product, false).text(), "[ 3. 48.  5.  4.] : f32[4]");
  EXPECT_EQ(scatter_reduce(x, 0, i, s, R::mean, false).text(), "[2. 4. 5. 4.] : f32[4]");
  EXPECT_EQ(scatter_reduce(x, 0, i, s, R::mean).text(),
            "[1.6666666 3.5       4.        4.       ] : f32[4]");
  EXPECT_THROW(scatter_reduce(arange(4), 0, i, arange(6), R::mean), TypeError);
  EXPECT_EQ(index_add(ones({5, 3}), 0, integers({0, 4, 2}, {3}), reshape(arange(1, 10), {3, 3}), -1)
                .text(),
            "[[ 0. -1. -2.]\n [ 1.  1.  1.]\n [-6. -7. -8.]\n [ 1.  1.  1.]\n [-3. -4. -5.]] : "
            "f32[5, 3]");
  EXPECT_THROW(gather(none, 0, integers({0}, {1})), ShapeError);
  EXPECT_THROW(gather(none, 0, zeros({1, 6}, DType::i64)), ShapeError);
  EXPECT_THROW(gather(none, 0, full({1, 1}, 3)), IndexError);
}

TEST(Take, Masked) {
  const Tensor x = reshape(arange(6), {2, 3}), mask = tensor<bool>({true, false, true});
  EXPECT_EQ(masked_fill(x, mask, -1).text(), "[[-1  1 -1]\n [-1  4 -1]] : i64[2, 3]");
  EXPECT_EQ(masked_select(x, mask).text(), "[0 2 3 5] : i64[4]");
  EXPECT_EQ(masked_select(tensor<int64_t>({7, 8, 9}), x > 3).text(), "[8 9] : i64[2]");
  EXPECT_THROW(masked_fill(x, tensor<bool>({true, false}), 0), ShapeError);
  EXPECT_THROW(masked_fill(x, mask, 0.5), TypeError);
  EXPECT_THROW(masked_fill(tensor<int64_t>({1, 2, 3}), x > 3, 0), ShapeError);
}

TEST(Take, Tables) {
  const Tensor table = floats({1, 2, 3, 4, 5, 6}, {3, 2}), ids = tensor<int32_t>({2, 0});
  EXPECT_EQ(embedding(ids, table).text(), "[[5. 6.]\n [1. 2.]] : f32[2, 2]");
  EXPECT_EQ(embedding(ids, table, 2).text(), embedding(ids, table).text());
  EXPECT_THROW(embedding(tensor<int32_t>({3}), table), IndexError);
  EXPECT_EQ(one_hot(ids, 3).text(), "[[0. 0. 1.]\n [1. 0. 0.]] : f32[2, 3]");
  EXPECT_EQ(one_hot(full({}, 1), 2, DType::i64).text(), "[0 1] : i64[2]");
  EXPECT_THROW(one_hot(ids, 2), IndexError);
}

TEST(Take, PartsThatBeginWhereNumbersSay) {
  const Tensor x = reshape(arange(24), {2, 3, 4});
  const Tensor part = dynamic_slice(x, integers({1, 2}, {2}), {0, 2}, {1, 2});
  EXPECT_EQ(part.text(), "[[[14 15]\n  [18 19]\n  [22 23]]] : i64[1, 3, 2]");
  EXPECT_EQ(dynamic_slice(x, integers({-1}, {1}), {1}, {1}).shape(), (Shape{2, 1, 4}));
  EXPECT_EQ(slice_update(arange(5), integers({7, 8}, {2}), integers({-2}, {1}), {0}).text(),
            "[0 1 2 7 8] : i64[5]");
  EXPECT_EQ(dynamic_slice(slice_update(x, part * 10, integers({0, 1}, {2}), {0, 2}),
                          integers({0, 1}, {2}), {0, 2}, {1, 2})
                .text(),
            (part * 10).text());
  for (const int64_t start : {4, -1, -6, -7}) {
    EXPECT_THROW(dynamic_slice(arange(5), integers({start}, {1}), {0}, {2}), IndexError) << start;
  }
  EXPECT_THROW(dynamic_slice(x, integers({0}, {1}), {0, 1}, {1, 1}), ShapeError);
}

TEST(Take, TracedWithSymbolicSizes) {
  const Dim n = Dim::symbol("n");
  Trace recording("f");
  const Tensor x = recording.parameter(ir::Type::array(DType::f32, {n, 3}), "x");
  const Tensor ids = recording.parameter(ir::Type::array(DType::i64, {n}), "ids");
  const auto compute = [](const Tensor& y, const Tensor& i) {
    return std::vector<Tensor>{
        take_along_axis(y, expand_dims(i, 1), 1), one_hot(i, y.shape(0)),  argwhere(y),
        scatter_add(y, 1, expand_dims(i, 1), 1),  masked_select(y, y > 2), embedding(i, y, 1)};
  };
  const std::vector<Tensor> results = compute(x, ids);
  const auto program = recording.program(recording.finish(results));
  const Tensor y = reshape(astype(arange(12), DType::f32), {4, 3}), i = integers({0, 2, 1, 2}, {4});
  const Tensor arguments[] = {y, i};
  const std::vector<Tensor> got = evaluate(program, arguments), expected = compute(y, i);
  for (size_t k = 0; k < got.size(); ++k) EXPECT_EQ(got[k].text(), expected[k].text()) << k;
}

}  // namespace
}  // namespace plait
