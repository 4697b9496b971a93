#include "plait/ops/neural/convolution.h"

#include "plait/core/error.h"

#include "tests/ops/layer_support.h"

namespace plait {
namespace {

struct Case {
  Sizes x, w;
  std::vector<int64_t> strides, low, high, dilation, input_dilation;
  int64_t groups = 1;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> cases = {
      {{2, 3, 7}, {4, 3, 3}, {1}, {0}, {0}, {1}, {1}},
      {{2, 4, 8}, {6, 2, 3}, {2}, {1}, {2}, {2}, {1}, 2},
      {{1, 2, 5, 6}, {3, 2, 2, 3}, {1, 2}, {1, 0}, {0, 2}, {2, 1}, {1, 1}},
      {{2, 4, 4, 5}, {4, 1, 3, 2}, {2, 1}, {1, 1}, {1, 1}, {1, 2}, {1, 1}, 4},
      {{1, 2, 3, 4}, {2, 2, 2, 2}, {1, 1}, {1, 2}, {2, 1}, {1, 1}, {2, 3}},
      {{1, 2, 4, 3, 4}, {2, 1, 2, 3, 2}, {2, 1, 1}, {0, 1, 0}, {1, 1, 0}, {1, 1, 2}, {1, 1, 1}, 2},
      {{1, 1, 6}, {1, 1, 2}, {1}, {-1}, {-2}, {1}, {1}},
      {{0, 2, 5}, {3, 2, 3}, {1}, {0}, {0}, {1}, {1}},
      {{1, 2, 2}, {3, 2, 3}, {1}, {0}, {0}, {1}, {1}}};  // no window fits
  return cases;
}

std::vector<Dim> dims(const std::vector<int64_t>& numbers) {
  return {numbers.begin(), numbers.end()};
}

ConvolutionAttributes attributes_of(const Case& c) {
  return {c.strides, c.dilation, c.input_dilation, dims(c.low), dims(c.high), c.groups};
}

int64_t place_in(const Sizes& sizes, const Sizes& index) {
  int64_t place = 0;
  for (size_t i = 0; i < sizes.size(); ++i) place = place * sizes[i] + index[i];
  return place;
}

// Calls visit(index) for all indices of an array.
template <class Visit>
void each_index(const Sizes& sizes, const Visit& visit) {
  const int64_t count = element_count_of(sizes);
  for (int64_t i = 0; i < count; ++i) {
    Sizes index(sizes.size());
    int64_t rest = i;
    for (size_t axis = sizes.size(); axis-- > 0; rest /= sizes[axis])
      index[axis] = rest % sizes[axis];
    visit(index);
  }
}

// By definition, product by product.
Tensor convolved(const Case& c, const Tensor& x, const Tensor& w) {
  Sizes out{c.x[0], c.w[0]};
  for (size_t i = 0; i < c.strides.size(); ++i) {
    const int64_t in = (c.x[i + 2] - 1) * c.input_dilation[i] + 1 + c.low[i] + c.high[i];
    const int64_t window = (c.w[i + 2] - 1) * c.dilation[i] + 1;
    out.push_back(in < window ? 0 : (in - window) / c.strides[i] + 1);
  }
  const std::vector<double> xs = values_of(x), ws = values_of(w);
  std::vector<double> sums(static_cast<size_t>(element_count_of(out)));
  each_index(out, [&](const Sizes& at) {
    each_index(std::span(c.w).subspan(1), [&](const Sizes& tap) {
      Sizes from{at[0], at[1] / (c.w[0] / c.groups) * c.w[1] + tap[0]}, with{at[1], tap[0]};
      for (size_t i = 0; i < c.strides.size(); ++i) {
        const int64_t place = at[i + 2] * c.strides[i] + tap[i + 1] * c.dilation[i] - c.low[i];
        if (place < 0 || place % c.input_dilation[i] != 0) return;
        if (place / c.input_dilation[i] >= c.x[i + 2]) return;
        from.push_back(place / c.input_dilation[i]);
        with.push_back(tap[i + 1]);
      }
      sums[static_cast<size_t>(place_in(out, at))] += xs[static_cast<size_t>(place_in(c.x, from))] *
                                                      ws[static_cast<size_t>(place_in(c.w, with))];
    });
  });
  return tensor(sums, out);
}

TEST(Convolution, IsTheSumOfItsProducts) {
  for (const Case& c : cases()) {
    const Tensor x = wave(c.x), w = wave(c.w, 1.1);
    expect_same(convolution(x, w, attributes_of(c)), convolved(c, x, w), 1e-12);
    const Tensor single =
        convolution(astype(x, DType::f32), astype(w, DType::f32), attributes_of(c));
    expect_values(single, values_of(convolved(c, x, w)), 1e-5);
  }
}

TEST(Convolution, TransposesOfAllThreeFitEachOther) {
  for (const Case& c : cases()) {
    const Tensor x = wave(c.x), w = wave(c.w, 1.1);
    ConvolutionAttributes a = attributes_of(c);
    const Tensor out = wave(convolution(x, w, a).array().sizes(), 0.9);
    expect_transposes("convolution", ir::Attributes::of(a), {x, w});
    a.sizes = dims({c.x.begin() + 2, c.x.end()});
    expect_transposes("convolution_input_gradient", ir::Attributes::of(a), {out, w});
    a.sizes = dims({c.w.begin() + 2, c.w.end()});
    expect_transposes("convolution_weight_gradient", ir::Attributes::of(a), {x, out});
  }
}

Sizes with_batch(int64_t batch, const Sizes& sizes) {
  Sizes all{batch};
  for (const int64_t size : sizes) all.push_back(size);
  return all;
}

TEST(Convolution, BatchesAsALoopDoes) {
  for (const Case& c : cases()) {
    ConvolutionAttributes a = attributes_of(c);
    const Tensor x = wave(c.x), w = wave(c.w, 1.1);
    const Sizes out = convolution(x, w, a).array().sizes();
    const Tensor xs = wave(with_batch(3, c.x)), ws = wave(with_batch(3, c.w), 1.1);
    const Tensor outs = wave(with_batch(3, out), 0.9), one_out = wave(out, 0.9);
    const auto check = [&](const char* name, const Tensor& a_batch, const Tensor& a_one,
                           const Tensor& b_batch, const Tensor& b_one) {
      const auto attributes = ir::Attributes::of(a);
      expect_batches(name, attributes, {a_batch, b_batch}, {true, true});
      expect_batches(name, attributes, {a_batch, b_one}, {true, false});
      expect_batches(name, attributes, {a_one, b_batch}, {false, true});
    };
    check("convolution", xs, x, ws, w);
    a.sizes = dims({c.x.begin() + 2, c.x.end()});
    check("convolution_input_gradient", outs, one_out, ws, w);
    a.sizes = dims({c.w.begin() + 2, c.w.end()});
    check("convolution_weight_gradient", xs, x, outs, one_out);
  }
}

TEST(Convolution, TakesPyTorchsArguments) {
  const Tensor x = wave({2, 3, 8, 9}), w = wave({4, 3, 3, 2}, 1.1), bias = wave({4}, 0.3);
  const Tensor plain = conv2d(x, w);
  EXPECT_EQ(plain.shape(), (Shape{2, 4, 6, 8}));
  expect_same(conv2d(x, w, bias), plain + reshape(bias, {4, 1, 1}));
  expect_same(conv2d(x, w, {}, {.padding = "valid"}), plain);
  EXPECT_EQ(conv2d(x, w, {}, {.stride = {2, 3}, .padding = {1, 0}}).shape(), (Shape{2, 4, 4, 3}));
  const Tensor same = conv2d(x, w, {}, {.padding = "same", .dilation = {2, 1}});
  EXPECT_EQ(same.shape(), (Shape{2, 4, 8, 9}));
  // An odd amount of padding has its extra element at the end, as in PyTorch.
  const std::vector<Padding::Ends> ends{{2, 2}, {0, 1}};
  expect_same(same, conv2d(x, w, {}, {.padding = ends, .dilation = {2, 1}}));
  EXPECT_EQ(conv2d(x, w, {}, {.stride = 2, .padding = "same"}).shape(), (Shape{2, 4, 4, 5}));
  const Tensor one = reshape(slice(x, 0, {.start = 1}), {3, 8, 9});
  expect_same(conv2d(one, w), reshape(slice(plain, 0, {.start = 1}), {4, 6, 8}));
  EXPECT_EQ(conv1d(wave({2, 4, 9}), wave({6, 2, 3}), {}, {.groups = 2}).shape(), (Shape{2, 6, 7}));
  EXPECT_EQ(conv3d(wave({1, 2, 4, 4, 4}), wave({3, 2, 2, 2, 2})).shape(), (Shape{1, 3, 3, 3, 3}));
  EXPECT_EQ(conv2d(astype(x, DType::f32), w).dtype(), DType::f64);
}

TEST(Convolution, OfNarrowFloatsAndStridedOnes) {
  const Tensor x = wave({2, 9, 8, 3}), w = wave({4, 3, 3, 2}, 1.1);
  const Tensor moved = permute_dims(x, {0, 3, 1, 2}), flipped = flip(moved, 3);
  expect_same(conv2d(flipped, w), conv2d(flipped + 0, w), 1e-12);
  const Tensor half = conv2d(astype(moved, DType::bf16), astype(w, DType::bf16));
  EXPECT_EQ(half.dtype(), DType::bf16);
  expect_values(half, values_of(conv2d(moved, w)), 0.05);
}

TEST(Convolution, InAnyLayout) {
  const Tensor x = wave({2, 3, 8, 9}), w = wave({4, 3, 3, 2}, 1.1);
  const Tensor plain = conv2d(x, w, {}, {.stride = 2, .padding = 1});
  const Tensor channels_last = conv_general(
      permute_dims(x, {0, 2, 3, 1}), permute_dims(w, {2, 3, 1, 0}),
      {.x_layout = "NHWC", .w_layout = "HWIO", .out_layout = "NHWC", .stride = 2, .padding = 1});
  expect_same(channels_last, permute_dims(plain, {0, 2, 3, 1}));
  expect_same(conv_general(x, w, {.stride = 2, .padding = 1}), plain);
  EXPECT_THROW(conv_general(x, w, {.x_layout = "NHHC"}), ValueError);
  EXPECT_THROW(conv_general(x, w, {.w_layout = "OIXY"}), ValueError);
}

// The matrix of the transposed convolution is the transpose of that of the convolution.
TEST(Convolution, TransposedIsTheAdjoint) {
  struct Sample {
    int64_t in, kernel, stride, padding, more, dilation, groups;
  };
  for (const Sample& s : std::vector<Sample>{{4, 3, 1, 0, 0, 1, 1},
                                             {4, 3, 2, 1, 1, 1, 2},
                                             {5, 2, 3, 0, 2, 1, 1},
                                             {3, 3, 1, 2, 1, 2, 2},
                                             {1, 4, 2, 1, 0, 1, 1}}) {
    const Tensor x = wave({2, 4, s.in}), w = wave({4, 6 / s.groups, s.kernel}, 1.1);
    const TransposedConvolutionOptions options{.stride = s.stride,
                                               .padding = s.padding,
                                               .output_padding = s.more,
                                               .groups = s.groups,
                                               .dilation = s.dilation};
    const Tensor out = conv_transpose1d(x, w, {}, options);
    const int64_t size =
        (s.in - 1) * s.stride - 2 * s.padding + s.dilation * (s.kernel - 1) + s.more + 1;
    ASSERT_EQ(out.shape(), (Shape{2, 6, size}));
    const Tensor y = wave({2, 6, size}, 0.9);
    const std::vector<Padding::Ends> ends{{s.padding, s.padding - s.more}};
    const Tensor back = conv1d(y, w, {}, {s.stride, ends, s.dilation, s.groups});
    ASSERT_EQ(back.shape(), x.shape());
    EXPECT_NEAR(inner_product(out, y), inner_product(x, back), 1e-9);
  }
  const Tensor x = wave({2, 4, 3, 5}), w = wave({4, 2, 3, 3});
  EXPECT_EQ(conv_transpose2d(x, w, wave({2}), {.stride = 2}).shape(), (Shape{2, 2, 7, 11}));
  EXPECT_THROW(conv_transpose2d(x, w, {}, {.stride = 2, .output_padding = 2}), ValueError);
}

TEST(Convolution, TracedAndWithSymbolicSizes) {
  const Tensor x = wave({2, 3, 8, 9}), w = wave({4, 3, 3, 2}, 1.1), bias = wave({4});
  const auto f = [](const Tensor& x, const Tensor& w, const Tensor& bias) {
    return conv2d(x, w, bias, {.stride = {2, 1}, .padding = "same"});
  };
  expect_traced_alike(f, x, w, bias);
  expect_symbolic_alike(f, {0, 2, 3}, x, w, bias);
  const auto transposed = [](const Tensor& x, const Tensor& w) {
    return conv_transpose2d(x, w, {}, {.stride = 2, .output_padding = 1});
  };
  expect_symbolic_alike(transposed, {0, 2, 3}, x, wave({3, 2, 3, 3}));
}

TEST(Convolution, RefusesWhatDoesNotFit) {
  const Tensor x = wave({2, 3, 8, 9}), w = wave({4, 3, 3, 2});
  EXPECT_THROW(conv2d(x, wave({4, 2, 3, 3})), ShapeError);
  EXPECT_THROW(conv2d(x, wave({4, 3, 3})), ShapeError);
  EXPECT_THROW(conv2d(wave({3, 3}), w), ShapeError);
  EXPECT_THROW(conv2d(x, w, wave({3})), ShapeError);
  EXPECT_THROW(conv2d(x, w, {}, {.stride = 0}), ValueError);
  EXPECT_THROW(conv2d(x, w, {}, {.stride = {1, 1, 1}}), ValueError);
  EXPECT_THROW(conv2d(x, w, {}, {.padding = -1}), ValueError);
  EXPECT_THROW(conv2d(x, w, {}, {.padding = "sane"}), ValueError);
  EXPECT_THROW(conv2d(x, w, {}, {.groups = 0}), ValueError);
  EXPECT_THROW(conv2d(x, w, {}, {.groups = 3}), ShapeError);
  EXPECT_THROW(conv2d(x, wave({4, 3, 0, 2})), ShapeError);
  EXPECT_THROW(conv2d(astype(x, DType::f8e5m2), astype(w, DType::f8e5m2)), TypeError);
}

}  // namespace
}  // namespace plait
