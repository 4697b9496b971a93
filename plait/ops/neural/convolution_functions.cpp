// Public functions: converts arguments as in PyTorch and JAX to attributes of a primitive.
#include <algorithm>

#include "plait/core/error.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/neural/convolution.h"

namespace plait {
namespace {

std::vector<Dim> as_dims(std::span<const int64_t> numbers) {
  return {numbers.begin(), numbers.end()};
}

void expect_rank(std::string_view function, std::string_view what, const Tensor& x, size_t rank) {
  if (x.rank() == rank) return;
  throw ShapeError("{}: the {} is {}, expected {} dimensions", function, what, x.type().text(),
                   rank)
      .at(Location::of_caller());
}

// The common dtype of all operands.
DType dtype_of(const Tensor& x, const Tensor& w, const Tensor& bias) {
  const DType dtype = promote(x.dtype(), w.dtype());
  return bias ? promote(dtype, bias.dtype()) : dtype;
}

Tensor with_bias(std::string_view function, const Tensor& out, const Tensor& bias) {
  if (!bias) return out;
  if (bias.rank() != 1 || !same(bias.shape(0), out.shape(1))) {
    throw ShapeError("{}: the bias {} does not match {} output channels", function,
                     bias.type().text(), out.shape(1))
        .at(Location::of_caller());
  }
  Shape shape{Dim(1), bias.shape(0)};
  for (size_t i = 2; i < out.rank(); ++i) shape.append(1);
  return out + reshape(astype(bias, out.dtype()), shape);
}

void check_groups(std::string_view function, int64_t groups) {
  if (groups >= 1) return;
  throw ValueError("{}: {} groups, expected 1 or more", function, groups).at(Location::of_caller());
}

// Adds a batch dimension of size 1 if x has none.
struct Batched {
  Tensor x;
  bool is_single;
};
Batched batched(std::string_view function, const Tensor& x, size_t dimensions) {
  const bool is_single = x.rank() == dimensions + 1;
  if (!is_single) expect_rank(function, "input", x, dimensions + 2);
  return {is_single ? expand_dims(x, 0) : x, is_single};
}

struct Geometry {
  PerDimension stride, dilation, input_dilation;
  Padding padding;
  int64_t groups;
};

ConvolutionAttributes attributes_of(std::string_view function, const Geometry& geometry,
                                    const Tensor& x, const Tensor& w) {
  const size_t dimensions = x.rank() - 2;
  check_groups(function, geometry.groups);
  ConvolutionAttributes a{
      .strides = geometry.stride.of(dimensions, function, "stride", 1),
      .dilation = geometry.dilation.of(dimensions, function, "dilation", 1),
      .input_dilation = geometry.input_dilation.of(dimensions, function, "input dilation", 1),
      .groups = geometry.groups};
  std::vector<Padding::Dimension> sizes;
  for (size_t i = 0; i < dimensions; ++i) {
    const auto axis = static_cast<int64_t>(i) + 2;
    sizes.push_back({.size = (x.shape(axis) - 1) * a.input_dilation[i] + 1,
                     .window = (w.shape(axis) - 1) * a.dilation[i] + 1,
                     .stride = a.strides[i]});
  }
  for (const auto& [low, high] : geometry.padding.of(sizes, function)) {
    a.padding_low.push_back(low);
    a.padding_high.push_back(high);
  }
  return a;
}

Tensor conv(std::string_view function, size_t dimensions, const Tensor& x, const Tensor& w,
            const Tensor& bias, const ConvolutionOptions& options) {
  const Call call(function, x, w, bias);
  const DType dtype = dtype_of(x, w, bias);
  const Batched input = batched(function, astype(x, dtype), dimensions);
  const Tensor kernel = astype(w, dtype);
  expect_rank(function, "kernel", kernel, dimensions + 2);
  const auto attributes = attributes_of(
      function, {options.stride, options.dilation, 1, options.padding, options.groups}, input.x,
      kernel);
  const Tensor out = with_bias(function, convolution(input.x, kernel, attributes), bias);
  return input.is_single ? squeeze(out, 0) : out;
}

Tensor conv_transpose(std::string_view function, size_t dimensions, const Tensor& x,
                      const Tensor& w, const Tensor& bias,
                      const TransposedConvolutionOptions& options) {
  const Call call(function, x, w, bias);
  const DType dtype = dtype_of(x, w, bias);
  const Batched input = batched(function, astype(x, dtype), dimensions);
  const Tensor kernel = astype(w, dtype);
  expect_rank(function, "kernel", kernel, dimensions + 2);
  check_groups(function, options.groups);
  const auto padding = options.padding.of(dimensions, function, "padding", 0);
  const auto more = options.output_padding.of(dimensions, function, "output padding", 0);
  ConvolutionAttributes a{.strides = options.stride.of(dimensions, function, "stride", 1),
                          .dilation = options.dilation.of(dimensions, function, "dilation", 1),
                          .input_dilation = std::vector<int64_t>(dimensions, 1),
                          .padding_low = as_dims(padding),
                          .groups = options.groups};
  for (size_t i = 0; i < dimensions; ++i) {
    const auto axis = static_cast<int64_t>(i) + 2;
    if (more[i] >= std::max(a.strides[i], a.dilation[i])) {
      throw ValueError("{}: an output padding of {} is not below the stride {} or the dilation {}",
                       function, more[i], a.strides[i], a.dilation[i])
          .at(Location::of_caller());
    }
    const Dim size = (input.x.shape(axis) - 1) * a.strides[i] - 2 * padding[i] +
                     (kernel.shape(axis) - 1) * a.dilation[i] + more[i] + 1;
    if (size.is_number() && size.number() < 0) {
      throw ShapeError("{}: {} by a kernel {} and a padding of {} has a size of {}", function,
                       input.x.type().text(), kernel.type().text(), padding[i], size)
          .at(Location::of_caller());
    }
    a.padding_high.push_back(padding[i] - more[i]);
    a.sizes.push_back(size);
  }
  const Tensor out = with_bias(function, convolution_input_gradient(input.x, kernel, a), bias);
  return input.is_single ? squeeze(out, 0) : out;
}

// ---- Layouts

// For each letter of `to`, its index in `from`.
std::vector<int64_t> order_of(std::string_view from, std::string_view to) {
  std::vector<int64_t> order;
  for (const char letter : to) {
    const size_t place = from.find(letter);
    if (place == std::string_view::npos || from.size() != to.size() ||
        std::ranges::count(from, letter) != 1) {
      throw ValueError("conv_general: the layout {} is not a permutation of the letters {}", from,
                       to)
          .at(Location::of_caller())
          .hint("N and C, O and I, and the same spatial letters in all three");
    }
    order.push_back(static_cast<int64_t>(place));
  }
  return order;
}

Tensor ordered(const Tensor& x, std::string_view what, std::string_view from, std::string_view to) {
  const auto order = order_of(from, to);
  expect_rank("conv_general", what, x, to.size());
  return from == to ? x : permute_dims(x, order);
}

}  // namespace

Padding::Padding(std::string_view name) {
  if (name == "same") {
    kind_ = of_same;
  } else if (name != "valid") {
    throw ValueError("unknown padding \"{}\"", name)
        .at(Location::of_caller())
        .hint("\"same\", \"valid\", or numbers");
  }
}

std::vector<Padding::Ends> Padding::of(std::span<const Dimension> dimensions,
                                       std::string_view function) const {
  std::vector<Ends> ends;
  if (kind_ == of_same) {
    for (const Dimension& d : dimensions) {
      const Dim count = floor_div(d.size + (d.stride - 1), d.stride);
      const Dim total = max((count - 1) * d.stride + d.window - d.size, Dim(0));
      const Dim low = floor_div(total, 2);
      ends.emplace_back(low, total - low);
    }
    return ends;
  }
  if (kind_ == of_both) {
    for (const int64_t each : both_.of(dimensions.size(), function, "padding", 0)) {
      ends.emplace_back(each, each);
    }
    return ends;
  }
  if (ends_.size() != dimensions.size()) {
    throw ValueError("{}: paddings for {} dimensions, expected {}", function, ends_.size(),
                     dimensions.size())
        .at(Location::of_caller());
  }
  return ends_;
}

Tensor conv1d(const Tensor& x, const Tensor& w, const Tensor& bias,
              const ConvolutionOptions& options) {
  return conv("conv1d", 1, x, w, bias, options);
}
Tensor conv2d(const Tensor& x, const Tensor& w, const Tensor& bias,
              const ConvolutionOptions& options) {
  return conv("conv2d", 2, x, w, bias, options);
}
Tensor conv3d(const Tensor& x, const Tensor& w, const Tensor& bias,
              const ConvolutionOptions& options) {
  return conv("conv3d", 3, x, w, bias, options);
}

Tensor conv_transpose1d(const Tensor& x, const Tensor& w, const Tensor& bias,
                        const TransposedConvolutionOptions& options) {
  return conv_transpose("conv_transpose1d", 1, x, w, bias, options);
}
Tensor conv_transpose2d(const Tensor& x, const Tensor& w, const Tensor& bias,
                        const TransposedConvolutionOptions& options) {
  return conv_transpose("conv_transpose2d", 2, x, w, bias, options);
}
Tensor conv_transpose3d(const Tensor& x, const Tensor& w, const Tensor& bias,
                        const TransposedConvolutionOptions& options) {
  return conv_transpose("conv_transpose3d", 3, x, w, bias, options);
}

Tensor conv_general(const Tensor& x, const Tensor& w, const GeneralConvolutionOptions& options) {
  const Call call("conv_general", x, w);
  std::string space;
  for (const char letter : options.x_layout) {
    if (letter != 'N' && letter != 'C') space += letter;
  }
  for (size_t i = 2; options.x_layout.empty() && i < x.rank(); ++i) {
    space += static_cast<char>('0' + i);
  }
  if (space.empty() || space.size() > 3) {
    throw ShapeError("conv_general: {} does not have one to three spatial dimensions",
                     x.type().text())
        .at(Location::of_caller());
  }
  const std::string x_order = "NC" + space, w_order = "OI" + space;
  const auto or_else = [](const std::string& layout, const std::string& standard) {
    return layout.empty() ? standard : layout;
  };
  const std::string out_layout = or_else(options.out_layout, x_order);
  const auto back = order_of(x_order, out_layout);
  const DType dtype = promote(x.dtype(), w.dtype());
  const Tensor input =
      ordered(astype(x, dtype), "input", or_else(options.x_layout, x_order), x_order);
  const Tensor kernel =
      ordered(astype(w, dtype), "kernel", or_else(options.w_layout, w_order), w_order);
  const Tensor out =
      convolution(input, kernel,
                  attributes_of("conv_general",
                                {options.stride, options.dilation, options.input_dilation,
                                 options.padding, options.groups},
                                input, kernel));
  return out_layout == x_order ? out : permute_dims(out, back);
}

}  // namespace plait
