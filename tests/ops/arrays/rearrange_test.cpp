#include "plait/ops/arrays/rearrange.h"

#include <cmath>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/matrix_parts.h"
#include "plait/ops/arrays/pad.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/trace_function.h"

#include "tests/ops/rule_checks.h"

namespace plait {
namespace {

Tensor grid(int64_t rows, int64_t columns) {
  return reshape(arange(rows * columns), {rows, columns});
}

std::string texts(const std::vector<Tensor>& tensors) {
  std::string all;
  for (const Tensor& tensor : tensors) all += tensor.text() + "; ";
  return all;
}

TEST(Rearrange, AxesInAnotherOrder) {
  const Tensor x = zeros({2, 3, 4, 5});
  EXPECT_EQ(transpose(x).shape(), (Shape{5, 4, 3, 2}));
  EXPECT_EQ(transpose(x, std::vector<int64_t>{1, 0, -1, 2}).shape(), (Shape{3, 2, 5, 4}));
  EXPECT_EQ(moveaxis(x, {0, 1}, {-1, -2}).shape(), (Shape{4, 5, 3, 2}));
  EXPECT_EQ(moveaxis(x, {}, {}).shape(), x.shape());
  EXPECT_THROW(moveaxis(x, {0, 0}, {1, 2}), ValueError);
  EXPECT_THROW(moveaxis(x, {0, 1}, {2}), ValueError);
  EXPECT_THROW(moveaxis(x, {0, 4}, {1, 2}), IndexError);
  EXPECT_EQ(unflatten(x, 2, {2, -1}).shape(), (Shape{2, 3, 2, 2, 5}));
  EXPECT_THROW(unflatten(x, 2, {3, -1}), ShapeError);
  EXPECT_THROW(unflatten(x, 2, {3, 2}), ShapeError);
}

TEST(Rearrange, Parts) {
  const Tensor x = grid(2, 5);
  EXPECT_EQ(texts(split(x, 2)), "[[0 1 2 3 4]] : i64[1, 5]; [[5 6 7 8 9]] : i64[1, 5]; ");
  EXPECT_EQ(texts(split_at(x, {1, 4}, 1)),
            "[[0]\n [5]] : i64[2, 1]; [[1 2 3]\n [6 7 8]] : i64[2, 3]; [[4]\n [9]] : i64[2, 1]; ");
  EXPECT_EQ(texts(chunk(arange(5), 3)), "[0 1] : i64[2]; [2 3] : i64[2]; [4] : i64[1]; ");
  EXPECT_EQ(chunk(arange(4), 3).size(), 2u);
  EXPECT_EQ(chunk(arange(0), 3).size(), 1u);
  EXPECT_EQ(texts(unstack(grid(2, 2), 1)), "[0 2] : i64[2]; [1 3] : i64[2]; ");
  EXPECT_THROW(split(x, 2, 1), ValueError);
  EXPECT_THROW(split(x, 0), ValueError);
  EXPECT_THROW(split_at(x, {3, 1}, 1), ValueError);
  EXPECT_THROW(split_at(x, {7}, 1), ValueError);
}

TEST(Rearrange, StacksAndStretches) {
  const Tensor rows[] = {arange(2), grid(2, 2)};
  EXPECT_EQ(vstack(rows).text(), "[[0 1]\n [0 1]\n [2 3]] : i64[3, 2]");
  const Tensor vectors[] = {arange(2), arange(1)};
  EXPECT_EQ(hstack(vectors).text(), "[0 1 0] : i64[3]");
  const Tensor columns[] = {grid(2, 1), grid(2, 2)};
  EXPECT_EQ(hstack(columns).text(), "[[0 0 1]\n [1 2 3]] : i64[2, 3]");
  const Tensor both[] = {zeros({3, 1}), zeros({4})};
  EXPECT_EQ(broadcast_arrays(both)[1].shape(), (Shape{3, 4}));
  EXPECT_THROW(vstack({}), ValueError);
}

TEST(Rearrange, Repeats) {
  EXPECT_EQ(tile(arange(2), {2, 3}).text(), "[[0 1 0 1 0 1]\n [0 1 0 1 0 1]] : i64[2, 6]");
  EXPECT_EQ(tile(grid(2, 1), {2}).text(), "[[0 0]\n [1 1]] : i64[2, 2]");
  EXPECT_EQ(tile(grid(2, 1), {0}).type().text(), "i64[2, 0]");
  EXPECT_EQ(repeat(grid(2, 2), 2, 1).text(), "[[0 0 1 1]\n [2 2 3 3]] : i64[2, 4]");
  EXPECT_EQ(repeat(grid(2, 2), 2, 0).text(), "[[0 1]\n [0 1]\n [2 3]\n [2 3]] : i64[4, 2]");
  EXPECT_THROW(repeat(arange(2), -1, 0), ValueError);
  EXPECT_THROW(tile(arange(2), {-1}), ValueError);
}

// Expected values by numpy.roll and numpy.rot90.
TEST(Rearrange, RollsAndTurns) {
  EXPECT_EQ(roll(arange(5), 2, 0).text(), "[3 4 0 1 2] : i64[5]");
  EXPECT_EQ(roll(arange(5), -7, 0).text(), "[2 3 4 0 1] : i64[5]");
  EXPECT_EQ(roll(arange(0), 3, 0).text(), "[] : i64[0]");
  const int64_t shifts[] = {1, 1}, axes[] = {0, 1};
  EXPECT_EQ(roll(grid(2, 3), shifts, axes).text(), "[[5 3 4]\n [2 0 1]] : i64[2, 3]");
  EXPECT_EQ(rot90(grid(2, 3)).text(), "[[2 5]\n [1 4]\n [0 3]] : i64[3, 2]");
  EXPECT_EQ(rot90(grid(2, 3), -1).text(), "[[3 0]\n [4 1]\n [5 2]] : i64[3, 2]");
  EXPECT_EQ(rot90(grid(2, 3), 2).text(), "[[5 4 3]\n [2 1 0]] : i64[2, 3]");
  EXPECT_THROW(rot90(grid(2, 3), 1, 0, -2), ValueError);
}

// torch.nn.functional.pixel_shuffle puts channel c·f² + i·f + j at row i, column j of each square.
TEST(Rearrange, PixelShuffle) {
  const Tensor x = reshape(arange(8), {4, 1, 2});
  EXPECT_EQ(pixel_shuffle(x, 2).text(), "[[[0 2 1 3]\n  [4 6 5 7]]] : i64[1, 2, 4]");
  EXPECT_EQ(pixel_unshuffle(pixel_shuffle(x, 2), 2).text(), x.text());
  EXPECT_THROW(pixel_shuffle(x, 3), ShapeError);
  EXPECT_THROW(pixel_unshuffle(x, 2), ShapeError);
}

// Expected values by numpy.pad.
TEST(Pad, Modes) {
  const Tensor x = arange(4);
  const auto padded = [&](PadMode mode) { return pad(x, {{2, 3}}, mode).text(); };
  EXPECT_EQ(padded(PadMode::constant), "[0 0 0 1 2 3 0 0 0] : i64[9]");
  EXPECT_EQ(padded(PadMode::edge), "[0 0 0 1 2 3 3 3 3] : i64[9]");
  EXPECT_EQ(padded(PadMode::reflect), "[2 1 0 1 2 3 2 1 0] : i64[9]");
  EXPECT_EQ(padded(PadMode::wrap), "[2 3 0 1 2 3 0 1 2] : i64[9]");
  EXPECT_EQ(pad(grid(1, 2), {{1, 0}, {0, 1}}, PadMode::constant, 7).text(),
            "[[7 7 7]\n [0 1 7]] : i64[2, 3]");
  EXPECT_EQ(pad(tensor<float>({1}), {{1, 1}}, PadMode::constant, -INFINITY).text(),
            "[-inf   1. -inf] : f32[3]");
  EXPECT_THROW(pad(x, {{-1, 0}}), ValueError);
  EXPECT_THROW(pad(x, {{4, 0}}, PadMode::reflect), ValueError);
  EXPECT_THROW(pad(x, {{5, 0}}, PadMode::wrap), ValueError);
  EXPECT_THROW(pad(arange(0), {{1, 0}}, PadMode::edge), ValueError);
  EXPECT_THROW(pad(x, {{1, 0}, {1, 0}}), ShapeError);
}

TEST(MatrixParts, Triangles) {
  const Tensor x = grid(2, 3) + 1;
  EXPECT_EQ(tril(x).text(), "[[1 0 0]\n [4 5 0]] : i64[2, 3]");
  EXPECT_EQ(triu(x, 1).text(), "[[0 2 3]\n [0 0 6]] : i64[2, 3]");
  EXPECT_EQ(tril(astype(x, DType::boolean), -1).dtype(), DType::boolean);
  EXPECT_EQ(tri(2, 3, 1).text(), "[[1. 1. 0.]\n [1. 1. 1.]] : f32[2, 3]");
  EXPECT_EQ(triu(stack(std::vector{x, x})).shape(), (Shape{2, 2, 3}));
  EXPECT_EQ(triu(full({2, 2}, NAN)).text(), "[[nan nan]\n [ 0. nan]] : f32[2, 2]");
  EXPECT_THROW(tril(arange(3)), ShapeError);
}

TEST(MatrixParts, Diagonals) {
  const Tensor x = grid(3, 4);
  EXPECT_EQ(diagonal(x).text(), "[ 0  5 10] : i64[3]");
  EXPECT_EQ(diagonal(x, 2).text(), "[2 7] : i64[2]");
  EXPECT_EQ(diagonal(x, -1).text(), "[4 9] : i64[2]");
  EXPECT_EQ(diagonal(x, 9).text(), "[] : i64[0]");
  EXPECT_EQ(diagonal(x, -9).text(), "[] : i64[0]");
  EXPECT_EQ(diagonal(transpose(x), 1).text(), "[4 9] : i64[2]");
  EXPECT_EQ(trace(x).text(), "15 : i64[]");
  EXPECT_EQ(diag(arange(2) + 1, 1).text(), "[[0 1 0]\n [0 0 2]\n [0 0 0]] : i64[3, 3]");
  EXPECT_EQ(diag(arange(2) + 1, -1).text(), "[[0 0 0]\n [1 0 0]\n [0 2 0]] : i64[3, 3]");
  EXPECT_EQ(diag(x).text(), "[ 0  5 10] : i64[3]");
  EXPECT_THROW(diag(zeros({2, 2, 2})), ShapeError);
}

TEST(MatrixParts, Meshgrid) {
  const Tensor vectors[] = {arange(3), arange(2) + 10};
  EXPECT_EQ(texts(meshgrid(vectors)),
            "[[0 1 2]\n [0 1 2]] : i64[2, 3]; [[10 10 10]\n [11 11 11]] : i64[2, 3]; ");
  EXPECT_EQ(texts(meshgrid(vectors, GridOrder::ij)),
            "[[0 0]\n [1 1]\n [2 2]] : i64[3, 2]; [[10 11]\n [10 11]\n [10 11]] : i64[3, 2]; ");
  EXPECT_TRUE(meshgrid({}).empty());
}

TEST(Rearrange, TracedIsTheSame) {
  check_traced(
      [](const std::vector<Tensor>& x) {
        return std::vector<Tensor>{roll(x[0], 1, 0),
                                   rot90(x[0]),
                                   tile(x[0], {2, 1}),
                                   repeat(x[0], 2, 0),
                                   pad(x[0], {{1, 2}}, PadMode::reflect),
                                   tril(x[0]),
                                   diagonal(x[0], 1),
                                   diag(diagonal(x[0])),
                                   chunk(x[0], 2, 1)[1],
                                   empty_like(x[0]),
                                   asarray(3)};
      },
      {scattered({3, 4}, 1)});
}

TEST(Rearrange, SizesStaySymbolic) {
  const Dim n = Dim::symbol("n"), m = Dim::symbol("m");
  const CheckedFunction f = [](const std::vector<Tensor>& x) {
    return std::vector<Tensor>{roll(x[0], 2, 0),
                               split(repeat(x[0], 2, 0), 2)[1],
                               pad(x[0], {{1, 2}, {0, 1}}, PadMode::edge),
                               pad(x[0], {{1, 1}}, PadMode::reflect),
                               tril(x[0]),
                               diagonal(x[0], 1),
                               diagonal(x[0], -1),
                               diag(sum(x[0], 1)),
                               unflatten(repeat(x[0], 3, 1), 1, {-1, 3}),
                               split_at(x[0], {x[0].shape(0) - 1})[1]};
  };
  Trace recording("symbolic");
  const Tensor x = recording.parameter(ir::Type::array(DType::f32, {n, m}), "x");
  const std::vector<Tensor> results = f({x});
  const auto program = recording.program(recording.finish(results));
  for (const Sizes& sizes : {Sizes{3, 3}, Sizes{2, 5}, Sizes{6, 2}}) {
    const Tensor numbers = scattered(sizes, 1, DType::f32);
    const std::vector<Tensor> got = evaluate(program, {&numbers, 1}), wanted = f({numbers});
    for (size_t i = 0; i < wanted.size(); ++i) expect_same_bits(got[i], wanted[i]);
  }
}

}  // namespace
}  // namespace plait
