// Refusals of convolution.h.
#include <gtest/gtest.h>

#include "plait/ops/neural/convolution.h"

#include "refusals.h"

namespace plait {
namespace {

using Convolution = Tensor (*)(const Tensor&, const Tensor&, const Tensor&,
                               const ConvolutionOptions&);
using Transposed = Tensor (*)(const Tensor&, const Tensor&, const Tensor&,
                              const TransposedConvolutionOptions&);

// x[2, 4, 5…] and w[6, 4, 3…], or w[4, 6, 3…] for transposed convolutions.
Tensor spatial(DType dtype, int64_t first, int64_t second, int64_t size, size_t dimensions) {
  Sizes sizes(dimensions + 2, size);
  sizes[0] = first;
  sizes[1] = second;
  return counted(dtype, sizes);
}
Tensor image(size_t dimensions, DType dtype = DType::f32) {
  return spatial(dtype, 2, 4, 5, dimensions);
}

// Refusals of both kinds of convolution.
template <class Function>
void add_common(Refusals& rows, const std::string& name, Function f, size_t n, const Tensor& w) {
  using Options = std::conditional_t<std::is_same_v<Function, Transposed>,
                                     TransposedConvolutionOptions, ConvolutionOptions>;
  const Tensor x = image(n);
  const std::string of_x = x.type().text(), of_w = w.type().text();
  const auto refuse = [&](std::function<void()> call, ErrorKind kind,
                          std::vector<std::string> words) {
    rows.push_back({name, std::move(call), kind, std::move(words)});
  };
  const auto refuse_options = [&](const Options& options, std::vector<std::string> words) {
    words.push_back(of_x);
    refuse([=] { f(x, w, {}, options); }, kValue, words);
  };
  refuse([=] { f(f32(5), w, {}, {}); }, kShape, {"input", "f32[5]", of_w});
  refuse([=] { f(x, f32(3), {}, {}); }, kShape, {"kernel", of_x, "f32[3]"});
  refuse([=] { f(image(n, DType::key), w, {}, {}); }, kType, {"key", of_w});
  refuse([=] { f(image(n, DType::boolean), astype(w, DType::boolean), {}, {}); }, kType, {"bool"});
  refuse([=] { f(x, w, f32(5), {}); }, kShape, {"bias", "f32[5]", of_x});
  refuse([=] { f(x, w, f32(6, 1), {}); }, kShape, {"bias", "f32[6, 1]", of_x});
  refuse([=] { f(x, w, keys(6), {}); }, kType, {"key[6]", of_x});
  refuse([=] { f(x, Tensor(), {}, {}); }, kValue, {"never given", of_x});
  refuse([=] { f(Tensor(), w, {}, {}); }, kValue, {"never given", of_w});
  refuse_options({.stride = 0}, {"stride", "0"});
  refuse_options({.stride = {1, 1, 1, 1}}, {"stride", "4"});
  refuse_options({.dilation = 0}, {"dilation", "0"});
  refuse_options({.padding = -1}, {"padding", "-1"});
  refuse_options({.groups = 0}, {"0 groups"});
  refuse([=] { f(x, w, {}, {.groups = 3}); }, kShape, {of_x, "groups"});
}

void add_convolutions(Refusals& rows) {
  const std::vector<Named<Convolution>> functions = {
      {"conv1d", conv1d}, {"conv2d", conv2d}, {"conv3d", conv3d}};
  size_t n = 0;
  for (const auto& [name, f] : functions) {
    const Tensor x = image(++n), w = spatial(DType::f32, 6, 4, 3, n);
    add_common(rows, name, f, n, w);
    const Tensor other = spatial(DType::f32, 6, 3, 3, n), nothing = spatial(DType::f32, 6, 4, 0, n);
    const std::string of_x = x.type().text();
    rows.push_back({name, [=] { f(x, other, {}, {}); }, kShape, {of_x, other.type().text()}});
    rows.push_back({name, [=] { f(x, nothing, {}, {}); }, kShape, {of_x, nothing.type().text()}});
    rows.push_back({name,
                    [=] { f(x, w, {}, {.padding = std::vector<Padding::Ends>(4, {1, 1})}); },
                    kValue,
                    {of_x, "4"}});
  }
}

void add_transposed(Refusals& rows) {
  const std::vector<Named<Transposed>> functions = {{"conv_transpose1d", conv_transpose1d},
                                                    {"conv_transpose2d", conv_transpose2d},
                                                    {"conv_transpose3d", conv_transpose3d}};
  size_t n = 0;
  for (const auto& [name, f] : functions) {
    const Tensor x = image(++n), w = spatial(DType::f32, 4, 6, 3, n);
    add_common(rows, name, f, n, w);
    const Tensor other = spatial(DType::f32, 3, 6, 3, n);
    const std::string of_x = x.type().text();
    rows.push_back({name, [=] { f(x, other, {}, {}); }, kShape, {of_x, other.type().text()}});
    rows.push_back({name, [=] { f(x, w, {}, {.padding = 9}); }, kShape, {of_x, "9"}});
    rows.push_back({name, [=] { f(x, w, {}, {.output_padding = -1}); }, kValue, {of_x, "-1"}});
    rows.push_back({name, [=] { f(x, w, {}, {.output_padding = 1}); }, kValue, {of_x, "1"}});
  }
}

ConvolutionAttributes attributes(int64_t stride, int64_t groups = 1, std::vector<Dim> sizes = {}) {
  return {.strides = {stride},
          .dilation = {1},
          .input_dilation = {1},
          .padding_low = {0},
          .padding_high = {0},
          .groups = groups,
          .sizes = std::move(sizes)};
}

void add_primitives(Refusals& rows) {
  const Tensor x = f32(2, 4, 5), w = f32(6, 4, 3), out = f32(2, 6, 3);
  const Refusals more = {
      {"convolution", [=] { convolution(x, w, attributes(0)); }, kValue, {"0"}},
      {"convolution", [=] { convolution(x, w, attributes(1, 0)); }, kValue, {"0 groups"}},
      {"convolution", [=] { convolution(x, f32(6, 3, 3), attributes(1)); }, kShape, {"[6, 3, 3]"}},
      {"convolution", [=] { convolution(x, f32(3, 3), attributes(1)); }, kShape, {"f32[3, 3]"}},
      {"convolution", [=] { convolution(keys(2, 4, 5), w, attributes(1)); }, kType, {"key"}},
      {"convolution_input_gradient",
       [=] { convolution_input_gradient(out, w, attributes(1)); },
       kValue,
       {"sizes"}},
      {"convolution_input_gradient",
       [=] { convolution_input_gradient(out, w, attributes(1, 1, {9})); },
       kShape,
       {"[2, 6, 3]"}},
      {"convolution_input_gradient",
       [=] { convolution_input_gradient(keys(2, 6, 3), w, attributes(1, 1, {5})); },
       kType,
       {"key"}},
      {"convolution_weight_gradient",
       [=] { convolution_weight_gradient(x, out, attributes(1, 1, {9})); },
       kShape,
       {"[2, 6, 3]"}},
      {"convolution_weight_gradient",
       [=] { convolution_weight_gradient(x, keys(2, 6, 3), attributes(1, 1, {3})); },
       kType,
       {"key"}},
  };
  rows.insert(rows.end(), more.begin(), more.end());
}

}  // namespace

Refusals refusals_of_convolution() {
  const Tensor x = f32(2, 4, 5), w = f32(6, 4, 3);
  const auto general = [x, w](const GeneralConvolutionOptions& options) {
    return [x, w, options] { conv_general(x, w, options); };
  };
  Refusals rows = {
      {"conv_general", general({.x_layout = "NCCX"}), kValue, {"NCCX", "f32[2, 4, 5]"}},
      {"conv_general", general({.x_layout = "NX"}), kValue, {"NX"}},
      {"conv_general", general({.w_layout = "OIY"}), kValue, {"OIY"}},
      {"conv_general", general({.out_layout = "NCY"}), kValue, {"NCY"}},
      {"conv_general", general({.x_layout = "NCXY"}), kShape, {"f32[2, 4, 5]"}},
      {"conv_general", general({.stride = 0}), kValue, {"stride", "0"}},
      {"conv_general", general({.dilation = 0}), kValue, {"dilation", "0"}},
      {"conv_general", general({.input_dilation = 0}), kValue, {"input dilation", "0"}},
      {"conv_general", general({.groups = 0}), kValue, {"0 groups"}},
      {"conv_general", general({.groups = 3}), kShape, {"groups"}},
      {"conv_general", general({.padding = -1}), kValue, {"padding", "-1"}},
      {"conv_general", [w] { conv_general(f32(2, 4), w); }, kShape, {"f32[2, 4]"}},
      {"conv_general", [x] { conv_general(x, f32(6, 4)); }, kShape, {"kernel", "f32[6, 4]"}},
      {"conv_general", [w] { conv_general(keys(2, 4, 5), w); }, kType, {"key[2, 4, 5]"}},
  };
  add_convolutions(rows);
  add_transposed(rows);
  add_primitives(rows);
  return rows;
}

TEST(Refusals, Convolution) { expect_refused(refusals_of_convolution()); }

TEST(Refusals, NamesOfPadding) {
  try {
    Padding("some");
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_NE(error.message().find("\"some\""), std::string::npos) << error.message();
  }
}

}  // namespace plait
