#include "plait/ops/elementwise/elementwise.h"

#include <cmath>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/core/inside/source_line.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/declare.h"
#include "plait/ops/indexing/at.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/trace_function.h"

#include "tests/ops/layer_support.h"

namespace plait {
namespace {

TEST(Elementwise, StretchesAndPromotes) {
  const Tensor a = floats({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ((a + 1).text(), "[[2. 3. 4.]\n [5. 6. 7.]] : f32[2, 3]");
  EXPECT_EQ((1 - a).text(), "[[ 0. -1. -2.]\n [-3. -4. -5.]] : f32[2, 3]");
  EXPECT_EQ((a * floats({10, 20}, {2, 1})).text(),
            "[[ 10.  20.  30.]\n [ 80. 100. 120.]] : f32[2, 3]");
  const Tensor i = tensor<int32_t>({1, 2, 3});
  EXPECT_EQ((a + i).dtype(), DType::f32);
  EXPECT_EQ((i + 1).dtype(), DType::i32);
  EXPECT_EQ((i + 1.5).text(), "[2.5 3.5 4.5] : f32[3]");
  EXPECT_EQ((i / 2).text(), "[0.5 1.  1.5] : f32[3]");
  EXPECT_EQ((i > 1).text(), "[False  True  True] : bool[3]");
  EXPECT_THROW(a + floats({1, 2}, {2}), ShapeError);
}

TEST(Elementwise, IntegersAndSpecialValues) {
  const Tensor i = tensor<int8_t>({-128, 127, 7, -7});
  EXPECT_EQ((-i).text(), "[-128 -127   -7    7] : i8[4]");
  EXPECT_EQ(floor_divide(i, 2).text(), "[-64  63   3  -4] : i8[4]");
  EXPECT_EQ(remainder(i, 3).text(), "[1 1 1 2] : i8[4]");
  EXPECT_EQ(floor_divide(i, 0).text(), "[0 0 0 0] : i8[4]");
  EXPECT_EQ(power(tensor<int32_t>({3, -2}), 3).text(), "[27 -8] : i32[2]");
  EXPECT_EQ(power(tensor<int32_t>({3, -1, 1, 0}), tensor<int32_t>({-3})).text(),
            "[ 0 -1  1  0] : i32[4]");
  EXPECT_EQ(power(tensor<int32_t>({2}), -1.).text(), "[0.5] : f32[1]");
  const Tensor u = tensor<uint64_t>({~uint64_t{0}, 1});
  EXPECT_EQ(greater(u, tensor<uint64_t>({1, 1})).text(), "[ True False] : bool[2]");
  const Tensor x = floats({NAN, -0.0F, INFINITY}, {3});
  EXPECT_EQ(maximum(x, 1).text(), "[nan  1. inf] : f32[3]");
  EXPECT_EQ(isfinite(x).text(), "[False  True False] : bool[3]");
  EXPECT_EQ(isnan(i).text(), "[False False False False] : bool[4]");
  EXPECT_EQ(clip(i, -1, 5).text(), "[-1  5  5 -1] : i8[4]");
  EXPECT_EQ(where(i > 0, i, 0).text(), "[  0 127   7   0] : i8[4]");
}

TEST(Elementwise, NumbersThatADtypeLacks) {
  const Tensor x = tensor<uint8_t>({1, 200}, {2});
  for (const Scalar number : {Scalar(300), Scalar(-1)}) {
    EXPECT_THROW(x + number, ValueError);
    EXPECT_THROW(where(equal(x, 1), x, number), ValueError);
    EXPECT_THROW(full({2}, number, DType::u8), ValueError);
    EXPECT_THROW(x.at(0).set(number), ValueError);
    EXPECT_THROW(trace([&](const Tensor& y) { return y + number; })(x), ValueError);
  }
  EXPECT_EQ((x + 55).text(), "[ 56 255] : u8[2]");
  // Numbers are compared by value, without conversion to the dtype.
  EXPECT_EQ(less(x, 300).text(), "[ True  True] : bool[2]");
  EXPECT_EQ(greater(x, -1).text(), "[ True  True] : bool[2]");
  EXPECT_EQ(equal(x, 257).text(), "[False False] : bool[2]");
  EXPECT_EQ(less(-1, tensor<uint64_t>({0, ~uint64_t{0}}, {2})).text(), "[ True  True] : bool[2]");
}

TEST(Shape, ViewsAndCopies) {
  const Tensor x = reshape(arange(6), {2, 3});
  EXPECT_EQ(permute_dims(x, {1, 0}).text(), "[[0 3]\n [1 4]\n [2 5]] : i64[3, 2]");
  EXPECT_EQ(flip(x, 1).text(), "[[2 1 0]\n [5 4 3]] : i64[2, 3]");
  EXPECT_EQ(slice(x, -1, {.start = -2}).text(), "[[1 2]\n [4 5]] : i64[2, 2]");
  EXPECT_EQ(slice(x, 1, {.start = 5}).text(), "[] : i64[2, 0]");
  EXPECT_EQ(reshape(x, {3, -1}).shape(), (Shape{3, 2}));
  const Tensor both[] = {x, x + 10};
  EXPECT_EQ(concat(both, 1).text(), "[[ 0  1  2 10 11 12]\n [ 3  4  5 13 14 15]] : i64[2, 6]");
  EXPECT_EQ(stack(both, 0).shape(), (Shape{2, 2, 3}));
  EXPECT_THROW(reshape(x, {4}), ShapeError);
  EXPECT_THROW(permute_dims(x, {0, 2}), IndexError);
  EXPECT_EQ(eye(2).text(), "[[1. 0.]\n [0. 1.]] : f32[2, 2]");
  EXPECT_EQ(linspace(0, 1, 5).text(), "[0.   0.25 0.5  0.75 1.  ] : f32[5]");
  EXPECT_EQ(arange(5, 0, -2).text(), "[5 3 1] : i64[3]");
}

TEST(Reduce, AlongAxes) {
  const Tensor x = reshape(arange(6), {2, 3});
  EXPECT_EQ(sum(x).text(), "15 : i64[]");
  EXPECT_EQ(sum(x, 0).text(), "[3 5 7] : i64[3]");
  EXPECT_EQ(max(x, -1, true).text(), "[[2]\n [5]] : i64[2, 1]");
  EXPECT_EQ(mean(x, 1).text(), "[1. 4.] : f32[2]");
  EXPECT_EQ(all(x, 1).text(), "[False  True] : bool[2]");
  EXPECT_EQ(sum(zeros({0, 3}), 0).text(), "[0. 0. 0.] : f32[3]");
  EXPECT_THROW(max(zeros({0, 3}), 0), ValueError);
  EXPECT_THROW(sum(x, {0, 0}), ValueError);
  EXPECT_THROW(sum(x, 2), IndexError);
}

TEST(Linear, Matmul) {
  const Tensor a = reshape(arange(6), {2, 3}), v = arange(3);
  EXPECT_EQ(matmul(a, permute_dims(a, {1, 0})).text(), "[[ 5 14]\n [14 50]] : i64[2, 2]");
  EXPECT_EQ(matmul(a, v).text(), "[ 5 14] : i64[2]");
  EXPECT_EQ(matmul(v, v).text(), "5 : i64[]");
  EXPECT_EQ(matmul(broadcast_to(a, {4, 1, 2, 3}), zeros({5, 3, 7})).shape(), (Shape{4, 5, 2, 7}));
  EXPECT_THROW(matmul(a, a), ShapeError);
}

struct Layer {
  Tensor weight, bias;
  Tensor operator()(const Tensor& x) const { return tanh(matmul(x, weight) + bias); }
};

TEST(Trace, RecordsAProgramThatGivesTheSame) {
  const Layer layer{floats({1, 2, 3, 4, 5, 6}, {3, 2}), floats({0.5, -0.5}, {2})};
  const Tensor x = floats({0.1F, 0.2F, 0.3F}, {1, 3}), hidden = floats({2}, {1});
  const auto f = [&](const Layer& l, const Tensor& y) { return sum(l(y)) * hidden; };
  const TracedProgram traced = trace(f)(layer, x);
  ASSERT_EQ(traced.hidden_inputs.size(), 1u);
  const std::string text = traced.program.text();
  EXPECT_EQ(ir::Program::parse(text).text(), text);
  EXPECT_NE(text.find("%arg0.weight: f32[3, 2], %arg0.bias: f32[2], %arg1: f32[1, 3], %p3: f32[1]"),
            std::string::npos)
      << text;
  const Tensor arguments[] = {layer.weight, layer.bias, x, hidden};
  EXPECT_EQ(evaluate(traced.program, arguments)[0].text(), f(layer, x).text());
}

TEST(Trace, NamesTheUsersLine) {
  if (!can_read_source_lines()) GTEST_SKIP() << "this build reads no debug information";
  int line = 0;
  const auto f = [&](const Tensor& x) {
    line = __LINE__ + 1;
    return mean(exp(x));
  };
  const TracedProgram traced = trace(f)(floats({1, 2}, {2}));
  for (const ir::Instruction instruction : traced.program.entry().instructions()) {
    EXPECT_EQ(instruction.location().text(), fmt::format("elementwise_test.cpp:{}", line));
  }
}

TEST(Trace, SizesStaySymbolic) {
  const Dim n = Dim::symbol("n");
  Trace recording("mean");
  const Tensor x = recording.parameter(ir::Type::array(DType::f32, {n}), "x");
  const Tensor result = mean(x * x) + slice(x, 0, {.start = -1});
  const auto program = recording.program(recording.finish({&result, 1}));
  for (const int64_t count : {1, 3, 5}) {
    const Tensor values = astype(arange(count), DType::f32);
    const Tensor expected = mean(values * values) + slice(values, 0, {.start = -1});
    EXPECT_EQ(evaluate(program, {&values, 1})[0].text(), expected.text());
  }
}

TEST(Trace, LateUseIsAnError) {
  Tensor kept;
  trace([&](const Tensor& x) { return kept = x + 1; })(zeros({2}));
  EXPECT_THROW(kept + 1, ValueError);
  EXPECT_THROW(trace([&](const Tensor& x) { return x + kept; })(zeros({2})), ValueError);
  EXPECT_THROW(trace([](const Tensor& x) { return x + x.item<float>(); })(zeros({})), ValueError);
  EXPECT_EQ(Trace::current(), nullptr);
}

// The second constant 5, 6 is freed, and the next one may be stored at the same address.
TEST(Trace, AnEqualConstantIsNotKnownByItsPlace) {
  const auto f = [](const Tensor& x) {
    Tensor result = x + floats({5, 6}, {2});
    const Tensor kept = floats({5, 6}, {2});
    result = result * kept;
    for (const float number : {5.0F, 7.0F, 8.0F}) result = result - floats({number, 6}, {2});
    return result;
  };
  const Tensor x = floats({1, 2}, {2});
  const TracedProgram traced = trace(f)(x);
  std::vector<Tensor> arguments = {x};
  arguments.insert(arguments.end(), traced.hidden_inputs.begin(), traced.hidden_inputs.end());
  EXPECT_EQ(evaluate(traced.program, arguments)[0].text(), f(x).text());
}

TEST(Trace, InnerTracesCaptureWhatIsOutside) {
  Trace outer("outer");
  const Tensor x = outer.parameter(ir::Type::array(DType::f32, {2}), "x");
  RecordedFunction inner;
  {
    Trace recording("inner");
    const Tensor y = recording.parameter(ir::Type::array(DType::f32, {2}), "y");
    const Tensor result = x * y + x;
    inner = recording.finish({&result, 1});
  }
  ASSERT_EQ(inner.captures.size(), 1u);
  EXPECT_EQ(inner.captures[0].identity(), x.identity());
  EXPECT_EQ(inner.function->parameter_count(), 2u);
}

}  // namespace
}  // namespace plait
