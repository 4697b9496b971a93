#include "plait/nn/layers/shape_layers.h"

#include "plait/core/error.h"
#include "plait/ops/arrays/rearrange.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/neural/unfold.h"

namespace plait::nn {

Tensor Flatten::operator()(const Tensor& x) const {
  const Call call("nn::Flatten", x);
  if (x.rank() == 0) return reshape(x, {1});
  const Shape shape = x.shape();
  const size_t first = shape.index_of(start_dim), last = shape.index_of(end_dim);
  if (first > last) {
    throw ValueError("start_dim is {} and end_dim {}, expected start_dim before end_dim", start_dim,
                     end_dim);
  }
  Shape merged(shape.dims().first(first));
  merged.append(Shape(shape.dims().subspan(first, last - first + 1)).element_count());
  for (const Dim size : shape.dims().subspan(last + 1)) merged.append(size);
  return reshape(x, merged);
}

Tensor Unflatten::operator()(const Tensor& x) const {
  const std::vector<Dim> sizes(unflattened_size.begin(), unflattened_size.end());
  return unflatten(x, dim, Shape(sizes));
}

Tensor PixelShuffle::operator()(const Tensor& x) const { return pixel_shuffle(x, upscale_factor); }
Tensor PixelUnshuffle::operator()(const Tensor& x) const {
  return pixel_unshuffle(x, downscale_factor);
}

Tensor ChannelShuffle::operator()(const Tensor& x) const {
  const Call call("nn::ChannelShuffle", x);
  if (x.rank() < 2) {
    throw ShapeError("{} has no dimensions for batch and channels", x.type().text());
  }
  const Dim channels = x.shape(1);
  if (groups < 1 || (channels.is_number() && channels.number() % groups != 0)) {
    throw ValueError("{} channels cannot be divided into {} groups", channels, groups);
  }
  const Tensor grouped = unflatten(x, 1, {groups, floor_div(channels, groups)});
  return reshape(swapaxes(grouped, 1, 2), x.shape());
}

Tensor Unfold::operator()(const Tensor& images) const {
  return unfold(images, kernel_size, {.dilation = dilation, .padding = padding, .stride = stride});
}

Tensor Fold::operator()(const Tensor& columns) const {
  const Call call("nn::Fold", columns);
  const std::vector<int64_t> sizes = PerDimension(output_size).of(2, "nn::Fold", "output size", 1);
  return fold(columns, {sizes.begin(), sizes.end()}, kernel_size,
              {.dilation = dilation, .padding = padding, .stride = stride});
}

}  // namespace plait::nn
