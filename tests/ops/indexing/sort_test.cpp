#include "plait/ops/reductions/sort.h"

#include <cmath>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/trace_function.h"

#include "tests/ops/rule_checks.h"

namespace plait {
namespace {

TEST(Sort, AlongAnAxis) {
  const Tensor x = reshape(tensor<int32_t>({3, 1, 2, 9, 7, 8}), {2, 3});
  EXPECT_EQ(sort(x).text(), "[[1 2 3]\n [7 8 9]] : i32[2, 3]");
  EXPECT_EQ(sort(x, 0, true).text(), "[[9 7 8]\n [3 1 2]] : i32[2, 3]");
  EXPECT_EQ(argsort(x, 1).text(), "[[1 2 0]\n [1 2 0]] : i64[2, 3]");
  EXPECT_EQ(sort(flip(x, 1)).text(), "[[1 2 3]\n [7 8 9]] : i32[2, 3]");
  EXPECT_EQ(sort(zeros({0, 3})).text(), "[] : f32[0, 3]");
  EXPECT_EQ(argsort(zeros({3, 0})).type().text(), "i64[3, 0]");
  EXPECT_EQ(sort(tensor<float>({5})).text(), "[5.] : f32[1]");
  EXPECT_THROW(sort(x, 2), IndexError);
  EXPECT_THROW(sort(scalar_tensor(1, DType::f32)), IndexError);
  EXPECT_THROW(sort(zeros({3}, DType::c64)), TypeError);
}

TEST(Sort, NaNIsTheGreatestAndZerosAreAlike) {
  const Tensor x = tensor<float>({NAN, 0.F, -INFINITY, -0.F, INFINITY, -1.F, NAN});
  EXPECT_EQ(sort(x).text(), "[-inf  -1.   0.  -0.  inf  nan  nan] : f32[7]");
  EXPECT_EQ(argsort(x).text(), "[2 5 1 3 4 0 6] : i64[7]");
  EXPECT_EQ(sort(x, 0, true).text(), "[ nan  nan  inf   0.  -0.  -1. -inf] : f32[7]");
  EXPECT_EQ(argsort(x, 0, true).text(), "[0 6 4 1 3 5 2] : i64[7]");
  EXPECT_EQ(argmax(x).text(), "0 : i64[]");
  EXPECT_EQ(argmin(slice(x, 0, {.start = 1})).text(), "5 : i64[]");
  EXPECT_EQ(argmin(tensor<float>({1, -0.F, 0, -0.F})).text(), "1 : i64[]");
}

TEST(Sort, EveryDTypeThatHasAnOrder) {
  for (const DTypeInfo& info : kDTypes) {
    if (!kOrdered.contains(info.dtype)) continue;
    SCOPED_TRACE(info.name);
    // More elements than are sorted by comparisons.
    const Tensor x = astype(scattered({3, 700}, 1) * (info.is_signed ? 30 : 0) +
                                scattered({3, 700}, 2) * 20 + (info.is_signed ? 0 : 40),
                            info.dtype);
    const Ordered ordered = sort_with_indices(x);
    expect_same_bits(ordered.values, sort(x));
    expect_same_bits(ordered.values, take_along_axis(x, ordered.indices, -1));
    const Tensor wide = astype(ordered.values, DType::f64);
    EXPECT_TRUE(all(slice(wide, 1, {.stop = -1}) <= slice(wide, 1, {.start = 1})).item<bool>());
    const Ordered few = topk(x, 10, -1, false);
    expect_same_bits(few.values, slice(ordered.values, 1, {.stop = 10}));
    expect_same_bits(few.indices, slice(ordered.indices, 1, {.stop = 10}));
    expect_same_bits(argmin(x, 1), squeeze(slice(ordered.indices, 1, {.stop = 1}), 1));
    expect_same_bits(argmax(x, 1), squeeze(topk(x, 1).indices, 1));
  }
}

TEST(Topk, LargestAndSmallest) {
  const Tensor x = reshape(tensor<float>({1, 5, 5, NAN, 3, 4, 0, 2}), {2, 4});
  const Ordered most = topk(x, 2);
  EXPECT_EQ(most.values.text(), "[[nan  5.]\n [ 4.  3.]] : f32[2, 2]");
  EXPECT_EQ(most.indices.text(), "[[3 1]\n [1 0]] : i64[2, 2]");
  EXPECT_EQ(topk(x, 1, 0, false).values.text(), "[[1. 4. 0. 2.]] : f32[1, 4]");
  EXPECT_EQ(topk(x, 0).values.type().text(), "f32[2, 0]");
  EXPECT_THROW(topk(x, 5), ValueError);
  EXPECT_THROW(topk(x, -1), ValueError);
}

TEST(ArgExtreme, AxesAndErrors) {
  const Tensor x = reshape(tensor<int64_t>({3, 9, 9, 1, 2, 1}), {2, 3});
  EXPECT_EQ(argmax(x).text(), "1 : i64[]");
  EXPECT_EQ(argmin(x, 0).text(), "[1 1 1] : i64[3]");
  EXPECT_EQ(argmax(x, -1, true).text(), "[[1]\n [1]] : i64[2, 1]");
  EXPECT_EQ(argmin(x, {}, true).text(), "[[3]] : i64[1, 1]");
  EXPECT_EQ(argmax(zeros({0, 3}), 1).type().text(), "i64[0]");
  EXPECT_THROW(argmax(zeros({0, 3}), 0), ValueError);
  EXPECT_THROW(argmax(x, 2), IndexError);
}

TEST(SearchSorted, SidesAndRows) {
  const Tensor sorted = tensor<float>({1, 2, 2, 5});
  const Tensor values = reshape(tensor<float>({0, 2, 5, 9, NAN, 1.5F}), {2, 3});
  EXPECT_EQ(searchsorted(sorted, values).text(), "[[0 1 3]\n [4 4 1]] : i64[2, 3]");
  EXPECT_EQ(searchsorted(sorted, values, SearchSide::right).text(),
            "[[0 3 4]\n [4 4 1]] : i64[2, 3]");
  EXPECT_EQ(searchsorted(sorted, scalar_tensor(3, DType::f32)).text(), "3 : i64[]");
  const Tensor rows = reshape(tensor<int32_t>({1, 3, 5, 10, 30, 50}), {2, 3});
  EXPECT_EQ(searchsorted(rows, reshape(tensor<int32_t>({4, 4}), {2, 1})).text(),
            "[[2]\n [0]] : i64[2, 1]");
  const Tensor loose = tensor<int32_t>({5, 1, 3});
  EXPECT_EQ(searchsorted(loose, tensor<int32_t>({2, 9}), SearchSide::left, argsort(loose)).text(),
            "[1 3] : i64[2]");
  EXPECT_EQ(searchsorted(zeros({0}), zeros({2})).text(), "[0 0] : i64[2]");
  EXPECT_THROW(searchsorted(rows, zeros({3, 2})), ShapeError);
}

TEST(Unique, ValuesInverseAndCounts) {
  const Tensor x = reshape(tensor<float>({3, 1, 3, NAN, 1, NAN}), {2, 3});
  const Unique found = unique(x);
  EXPECT_EQ(found.values.text(), "[ 1.  3. nan] : f32[3]");
  EXPECT_EQ(found.inverse.text(), "[[1 0 1]\n [2 0 2]] : i64[2, 3]");
  EXPECT_EQ(found.counts.text(), "[2 2 2] : i64[3]");
  EXPECT_EQ(unique(tensor<bool>({true, false, true})).values.text(), "[False  True] : bool[2]");
  EXPECT_EQ(unique(zeros({0})).counts.text(), "[] : i64[0]");
  check_traced(
      [](const std::vector<Tensor>& given) {
        const Unique u = unique(given[0]);
        return std::vector<Tensor>{u.values, u.inverse, u.counts};
      },
      {x});
}

TEST(Sort, TracedIsTheSame) {
  check_traced(
      [](const std::vector<Tensor>& x) {
        const Ordered some = topk(x[0], 3, 0);
        return std::vector<Tensor>{
            sort(x[0], 0), argsort(x[0], 0, true), some.values,     some.indices,
            argmin(x[0]),  partition(x[0], 2, 1),  argmax(x[0], 1), searchsorted(sort(x[1]), x[0])};
      },
      {scattered({4, 5}, 1), scattered({6}, 2)});
}

TEST(Sort, SizesStaySymbolic) {
  const Dim n = Dim::symbol("n");
  Trace recording("sorted");
  const Tensor x = recording.parameter(ir::Type::array(DType::f32, {n}), "x");
  const Tensor result = topk(sort(x), floor_div(n, 2)).values;
  const auto program = recording.program(recording.finish({&result, 1}));
  EXPECT_EQ(ir::Program::parse(program.text()).text(), program.text());
  const Tensor five = tensor<float>({4, 1, 5, 2, 3}), two = tensor<float>({1, 2});
  EXPECT_EQ(evaluate(program, {&five, 1})[0].text(), "[5. 4.] : f32[2]");
  EXPECT_EQ(evaluate(program, {&two, 1})[0].text(), "[2.] : f32[1]");
}

}  // namespace
}  // namespace plait
