#include "plait/ops/inside/neural/convolution_shape.h"

#include <algorithm>

#include "plait/core/error.h"

namespace plait {
namespace {

using Dimension = ConvolutionShape::Dimension;

Sizes numbers_of(std::span<const Dim> dims) {
  Sizes sizes;
  for (const Dim dim : dims) sizes.push_back(dim.number());
  return sizes;
}

// Far enough from the limits of 64 bits that positions can be added without overflow.
constexpr int64_t kMostPlaces = int64_t{1} << 60;

int64_t product_of(const ConvolutionShape& shape, int64_t Dimension::* size) {
  int64_t product = 1;
  for (const Dimension& d : shape.spatial) product *= d.*size;
  return product;
}

int64_t given(const Sizes& list, const char* name, size_t axis, size_t rank, int64_t standard) {
  if (list.empty()) return standard;
  if (list.size() != rank) {
    throw ShapeError("convolution: {} {} for {} spatial dimensions", name, text_of_sizes(list),
                     rank);
  }
  return list[axis];
}

// (count - 1) · step + 1
int64_t extent_of(int64_t count, int64_t step, const char* name) {
  int64_t extent = 0;
  if (count == 0) return 0;
  if (__builtin_mul_overflow(count - 1, step, &extent) || extent >= kMostPlaces) {
    throw ValueError("convolution: a {} of {} extends {} elements beyond 2^60", name, step, count);
  }
  return extent + 1;
}

int64_t out_size_of(const Dimension& d) {
  for (const auto& [name, value] : {std::pair("stride", d.stride),
                                    {"dilation", d.dilation},
                                    {"input dilation", d.input_dilation}}) {
    if (value < 1) throw ValueError("convolution: a {} of {}, expected 1 or more", name, value);
  }
  if (std::max(d.low, d.high) >= kMostPlaces || std::min(d.low, d.high) <= -kMostPlaces) {
    throw ValueError("convolution: a padding of {} and {}", d.low, d.high);
  }
  if (d.kernel == 0) throw ShapeError("convolution: a kernel without elements");
  const int64_t padded = extent_of(d.in, d.input_dilation, "input dilation") + d.low + d.high;
  const int64_t kernel = extent_of(d.kernel, d.dilation, "dilation");
  return padded < kernel ? 0 : (padded - kernel) / d.stride + 1;
}

ConvolutionShape shape_of(const Sizes& x, const Sizes& w, const ConvolutionGeometry& geometry) {
  if (x.size() < 3 || x.size() > 5 || w.size() != x.size()) {
    throw ShapeError(
        "convolution: {} by a kernel {}: both have two and one to three spatial "
        "dimensions",
        text_of_sizes(x), text_of_sizes(w));
  }
  ConvolutionShape shape{.rank = static_cast<int>(x.size()) - 2,
                         .images = x[0],
                         .inputs = x[1],
                         .outputs = w[0],
                         .groups = geometry.groups};
  if (shape.groups < 1 || shape.inputs % shape.groups != 0 || shape.outputs % shape.groups != 0 ||
      w[1] != shape.inputs / shape.groups) {
    throw ShapeError("convolution: {} channels in {} groups do not fit a kernel {}", shape.inputs,
                     shape.groups, text_of_sizes(w));
  }
  const auto rank = static_cast<size_t>(shape.rank);
  for (size_t axis = 0; axis < rank; ++axis) {
    Dimension& d = shape.spatial[3 - rank + axis];
    d = {.in = x[axis + 2],
         .kernel = w[axis + 2],
         .stride = given(geometry.strides, "strides", axis, rank, 1),
         .low = given(geometry.padding_low, "padding", axis, rank, 0),
         .high = given(geometry.padding_high, "padding", axis, rank, 0),
         .dilation = given(geometry.dilation, "dilation", axis, rank, 1),
         .input_dilation = given(geometry.input_dilation, "input dilation", axis, rank, 1)};
    d.out = out_size_of(d);
  }
  return shape;
}

Sizes out_sizes_of(const ConvolutionShape& shape) {
  Sizes sizes{shape.images, shape.outputs};
  for (size_t i = 3 - static_cast<size_t>(shape.rank); i < 3; ++i) {
    sizes.push_back(shape.spatial[i].out);
  }
  return sizes;
}

}  // namespace

int64_t ConvolutionShape::taps() const { return product_of(*this, &Dimension::kernel); }
int64_t ConvolutionShape::in_places() const { return product_of(*this, &Dimension::in); }
int64_t ConvolutionShape::out_places() const { return product_of(*this, &Dimension::out); }

bool ConvolutionShape::is_pointwise() const {
  return std::ranges::all_of(spatial, [](const Dimension& d) {
    return d.kernel == 1 && d.stride == 1 && d.low == 0 && d.high == 0 && d.input_dilation == 1;
  });
}

ConvolutionGeometry geometry_of(const ConvolutionAttributes& attributes) {
  return {.strides = attributes.strides,
          .padding_low = numbers_of(attributes.padding_low),
          .padding_high = numbers_of(attributes.padding_high),
          .dilation = attributes.dilation,
          .input_dilation = attributes.input_dilation,
          .groups = attributes.groups.number()};
}

Sizes convolution_sizes(const Sizes& x, const Sizes& w, const ConvolutionGeometry& geometry) {
  return out_sizes_of(shape_of(x, w, geometry));
}

ConvolutionShape convolution_shape(const Array& x, const Array& w, const Array& out,
                                   const ConvolutionGeometry& geometry) {
  if (x.dtype() != w.dtype() || x.dtype() != out.dtype()) {
    throw TypeError("convolution: dtypes differ: {} by {} to {}", name_of(x.dtype()),
                    name_of(w.dtype()), name_of(out.dtype()));
  }
  ConvolutionShape shape = shape_of(x.sizes(), w.sizes(), geometry);
  shape.dtype = x.dtype();
  if (const Sizes sizes = out_sizes_of(shape); sizes != out.sizes()) {
    throw ShapeError("convolution: {} by a kernel {} has the result {}, not {}",
                     text_of_sizes(x.sizes()), text_of_sizes(w.sizes()), text_of_sizes(sizes),
                     text_of_sizes(out.sizes()));
  }
  return shape;
}

}  // namespace plait
