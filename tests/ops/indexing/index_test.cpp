// x[…] compared with results of NumPy 2 (x = np.arange(24).reshape(2, 3, 4)), and refusals.
#include "plait/ops/indexing/index.h"

#include <limits>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/core/inside/source_line.h"
#include "plait/ir/analysis/effect_analysis.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/trace_function.h"

#include "tests/support/errors.h"

namespace plait {
namespace {

Tensor cube() { return reshape(arange(24), {2, 3, 4}); }

std::string flat_text(const Tensor& x) { return flatten(x).text(); }

TEST(Index, IntegersAndSlicesGiveViews) {
  const Tensor x = cube();
  EXPECT_EQ(x[1].shape(), (Shape{3, 4}));
  EXPECT_EQ(flat_text(x[1][0]), "[12 13 14 15] : i64[4]");
  EXPECT_EQ((x[{-1, Slice{1, {}}, Slice{}}].text()), "[[16 17 18 19]\n [20 21 22 23]] : i64[2, 4]");
  EXPECT_EQ((x[{ellipsis, 0}].text()), "[[ 0  4  8]\n [12 16 20]] : i64[2, 3]");
  EXPECT_EQ(flat_text(x[{Slice{.step = -1}, Slice{}, Slice{.start = 1, .step = 2}}]),
            "[13 15 17 19 21 23  1  3  5  7  9 11] : i64[12]");
  EXPECT_EQ((x[{Slice{}, new_axis, 1}].shape()), (Shape{2, 1, 4}));
  EXPECT_EQ(flat_text(x[{Slice{}, new_axis, 1}]), "[ 4  5  6  7 16 17 18 19] : i64[8]");
  EXPECT_EQ(x[{}].shape(), x.shape());
  EXPECT_EQ((x[{1, 2, 3}].text()), "23 : i64[]");
  EXPECT_EQ((x[{1, 2, 3, ellipsis, new_axis}].text()), "[23] : i64[1]");
  const Slice far{.start = std::numeric_limits<int64_t>::min(),
                  .stop = std::numeric_limits<int64_t>::max()};
  EXPECT_EQ(x[far].shape(), x.shape());
  const Tensor views[] = {x[1], x[{ellipsis, Slice{1, 3}}], x[{new_axis, Slice{.step = -1}}]};
  for (const Tensor& view : views) EXPECT_EQ(view.array().buffer(), x.array().buffer());
}

TEST(Index, TensorsAsInNumPy) {
  const Tensor x = cube(), r = tensor<int32_t>({0, 1}),
               c = reshape(tensor<int64_t>({2, 0}), {2, 1});
  EXPECT_EQ(flat_text(x[r]), flat_text(x));
  EXPECT_EQ(flat_text(x[{r, r}]), "[ 0  1  2  3 16 17 18 19] : i64[8]");
  EXPECT_EQ((x[{r, Slice{}, r}].text()), "[[ 0  4  8]\n [13 17 21]] : i64[2, 3]");
  EXPECT_EQ(flat_text(x[{Slice{}, c, r}]), "[ 8  9  0  1 20 21 12 13] : i64[8]");
  EXPECT_EQ((x[{Slice{}, c, r}].shape()), (Shape{2, 2, 2}));
  EXPECT_EQ((x[{0, Slice{}, r}].text()), "[[0 4 8]\n [1 5 9]] : i64[2, 3]");
  EXPECT_EQ(flat_text(x[remainder(x, 5) == 0]), "[ 0  5 10 15 20] : i64[5]");
  EXPECT_EQ((x[{Slice{}, tensor<bool>({true, false, true})}].shape()), (Shape{2, 2, 4}));
  const Tensor mask = reshape(tensor<bool>({false, true, false, false, true, false, false, false,
                                            false, false, false, false}),
                              {3, 4});
  EXPECT_EQ((x[{r, mask}].text()), "[ 1 16] : i64[2]");
  // Position of the index tensors' dimensions: in front if an ellipsis or a new axis is between
  // them, even an ellipsis that covers no axes.
  const Tensor square = x[0][{Slice{0, 2}}], four = tensor<int64_t>({0, 1, 1, 0});
  EXPECT_EQ((square[{new_axis, four, ellipsis, four}].shape()), (Shape{4, 1}));
  EXPECT_EQ((square[{new_axis, four, four, ellipsis}].shape()), (Shape{1, 4}));
  EXPECT_EQ((square[{new_axis, 0, ellipsis, four}].shape()), (Shape{4, 1}));
  EXPECT_EQ((x[{r, new_axis, r}].shape()), (Shape{2, 1, 4}));
  // Tensors without dimensions, and bool values.
  const Tensor one = full({}, 1);
  EXPECT_EQ((x[{one, Slice{}, one}].text()), "[13 17 21] : i64[3]");
  EXPECT_EQ(x[true].shape(), (Shape{1, 2, 3, 4}));
  EXPECT_EQ(x[false].shape(), (Shape{0, 2, 3, 4}));
  EXPECT_EQ((x[{Slice{}, true}].shape()), (Shape{2, 1, 3, 4}));
  EXPECT_EQ((x[{Slice{}, true, Slice{}, r}].shape()), (Shape{2, 2, 3}));
  EXPECT_EQ(x[one == 1].shape(), (Shape{1, 2, 3, 4}));
  EXPECT_EQ(x[tensor(std::vector<int64_t>{}, {0})].shape(), (Shape{0, 3, 4}));
}

TEST(Index, AllDTypes) {
  const Tensor rows = tensor<int64_t>({2, -3, 2});
  for (const DTypeInfo& info : kDTypes) {
    if (is_key(info.dtype)) continue;
    const Tensor x = astype(reshape(tensor<int64_t>({0, 1, 1, 0, 1, 1}), {3, 2}), info.dtype);
    EXPECT_EQ(x[rows].dtype(), info.dtype);
    EXPECT_EQ(astype(x[rows], DType::i64).text(), "[[1 1]\n [0 1]\n [1 1]] : i64[3, 2]");
    EXPECT_EQ(astype(x[{rows, 0}], DType::i64).text(), "[1 0 1] : i64[3]");
    EXPECT_EQ((x[x != 0].shape()), (Shape{4}));
  }
  const std::vector<KeyBits> words{{{1, 2}}, {{3, 4}}};
  const Tensor keys(Array::of(std::span<const KeyBits>(words), {2}));
  const Tensor taken = keys[tensor<int64_t>({-1, 0})];
  EXPECT_EQ(taken.array().elements<KeyBits>()[0], words[1]);
}

TEST(Index, IntegersOfAllDTypes) {
  const Tensor x = arange(300);
  for (const DTypeInfo& info : kDTypes) {
    if (!is_integer(info.dtype)) continue;
    EXPECT_EQ(x[astype(tensor<int64_t>({7, 100}), info.dtype)].text(), "[  7 100] : i64[2]");
    if (info.is_signed) {
      EXPECT_EQ(x[astype(tensor<int64_t>({-1}), info.dtype)].text(), "[299] : i64[1]");
    }
  }
  EXPECT_THROW(x[tensor<uint64_t>({~uint64_t{0}})], IndexError);
  EXPECT_THROW((reshape(x, {3, 100})[{tensor<uint64_t>({~uint64_t{0}}), tensor<int8_t>({1})}]),
               IndexError);
}

TEST(Index, RefusesIndicesOutOfRange) {
  const Tensor x = cube(), r = tensor<int32_t>({0, 3});
  EXPECT_EQ(message_of([&] { return x[{0, 3}]; }),
            "index: 3 is out of range for axis 1 of i64[2, 3, 4], whose size is 3");
  EXPECT_EQ(message_of([&] { return x[-3]; }),
            "index: -3 is out of range for axis 0 of i64[2, 3, 4], whose size is 2");
  EXPECT_EQ(message_of([&] { return x[{Slice{}, r}]; }),
            "index: gather: index 3 is out of range for axis 1 of i64[2, 3, 4], whose size is 3");
  EXPECT_THROW((x[{0, 0, 0, 0}]), IndexError);
  EXPECT_THROW((x[{ellipsis, ellipsis}]), IndexError);
  EXPECT_THROW(x[tensor<float>({0})], TypeError);
  EXPECT_THROW(x[tensor<bool>({true, false, true})], IndexError);
  EXPECT_THROW((x[{tensor<int64_t>({0, 1}), tensor<int64_t>({0, 1, 1})}]), ShapeError);
  EXPECT_THROW(x[Slice{.step = 0}], ValueError);
  EXPECT_THROW(x[uint64_t{1} << 63], IndexError);
  // Indices are checked even if rows are empty.
  EXPECT_THROW(zeros({2, 0})[r], IndexError);
  EXPECT_THROW(zeros({0, 2})[tensor<int64_t>({0})], IndexError);
  // An integer is checked even if the index tensors next to it are empty.
  const Tensor nothing = tensor<bool>({false, false});
  EXPECT_EQ(message_of([&] { return x[{nothing, 3}]; }),
            "index: 3 is out of range for axis 1 of i64[2, 3, 4], whose size is 3");
  EXPECT_THROW((x[{false, -3}]), IndexError);
  EXPECT_EQ((x[{nothing, -3}]).shape(), Shape({0, 4}));
  try {
    x[{r, r}];
    FAIL();
  } catch (const Error& error) {
    const std::string line = fmt::format("index_test.cpp:{}", __LINE__ - 3);
    if (can_read_source_lines()) {
      EXPECT_EQ(error.location().text(), line);
    }
  }
}

TEST(Index, TracedWithSymbolicSizes) {
  const Dim n = Dim::symbol("n");
  Trace recording("f");
  const Tensor x = recording.parameter(ir::Type::array(DType::i64, {n, 3}), "x");
  const Tensor rows = recording.parameter(ir::Type::array(DType::i64, {n}), "rows");
  const Tensor results[] = {
      x[-1],
      x[{Slice{.start = -2}, 0}],
      x[{rows, ellipsis, Slice{1, {}}}],
      x[{SymbolicSlice{.start = floor_div(n, 2)}, rows[0]}],
      x[x > 4],
      x[n - 1],
      sum(x[{rows > 0}], 0),
      x[4],
  };
  const auto program = recording.program(recording.finish(results));
  for (const int64_t size : {5, 8}) {
    const Tensor y = reshape(arange(size * 3), {size, 3}), r = remainder(arange(size), 2);
    const Tensor arguments[] = {y, r};
    const std::vector<Tensor> got = evaluate(program, arguments);
    const Tensor expected[] = {y[-1],
                               y[{Slice{.start = -2}, 0}],
                               y[{r, ellipsis, Slice{1, {}}}],
                               y[{Slice{.start = size / 2}, 0}],
                               y[y > 4],
                               y[-1],
                               sum(y[r > 0], 0),
                               y[4]};
    for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].text(), expected[i].text()) << i;
  }
  const Tensor few[] = {reshape(arange(12), {4, 3}), zeros({4}, DType::i64)};
  EXPECT_THROW(evaluate(program, few), IndexError);
  const Tensor outside[] = {reshape(arange(15), {5, 3}), arange(1, 6)};
  EXPECT_THROW(evaluate(program, outside), IndexError);
}

TEST(Index, DataDependentSizesMeet) {
  const Dim n = Dim::symbol("n");
  Trace recording("f");
  const Tensor x = recording.parameter(ir::Type::array(DType::i64, {n}), "x");
  const Tensor y = recording.parameter(ir::Type::array(DType::i64, {n}), "y");
  const Tensor result = x[x > 2] + y[y > 2] * 10;
  const auto program = recording.program(recording.finish({&result, 1}));
  const Tensor alike[] = {arange(5), arange(5)}, unlike[] = {arange(5), arange(1, 6)};
  EXPECT_EQ(evaluate(program, alike)[0].text(), "[33 44] : i64[2]");
  EXPECT_THROW(evaluate(program, unlike), ShapeError);
}

TEST(Index, DeclaresWhichInstructionsMayFail) {
  const Dim n = Dim::symbol("n");
  Trace recording("f");
  const Tensor x = recording.parameter(ir::Type::array(DType::f32, {n, 3}), "x");
  const Tensor rows = recording.parameter(ir::Type::array(DType::i64, {2}), "rows");
  const Tensor results[] = {x[rows], x[7], x[x > 0], x[{Slice{}, 2}]};
  const auto program = recording.program(recording.finish(results));
  const ir::EffectAnalysis effects(program);
  std::vector<bool> may_fail;
  for (const ir::Instruction instruction : program.entry().instructions()) {
    const std::string_view name = instruction.primitive().name;
    if (name == "gather" || name == "slice") {
      may_fail.push_back(effects.of(0, instruction).may_fail);
    }
  }
  // Instructions: the rows, index 7, the two rows of indices from a mask and their elements, the
  // column.
  EXPECT_EQ(may_fail, (std::vector<bool>{true, true, false, false, false, false}));
}

}  // namespace
}  // namespace plait
