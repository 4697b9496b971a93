#include "plait/cuda/inside/windows/padded_input.h"

#include <algorithm>

#include "plait/cuda/inside/products/device_product.h"

namespace plait::cuda {
namespace {

using Dimension = ConvolutionShape::Dimension;

int64_t extent_of(const Dimension& d) { return (d.kernel - 1) * d.dilation + 1; }

// True if `low` zeros at both ends give as many windows as there are.
bool is_even(const Dimension& d) {
  const int64_t free = d.in + 2 * d.low - extent_of(d);
  return d.low >= 0 && free >= 0 && free / d.stride + 1 == d.out;
}

// The elements that the input and its copy share.
struct Shared {
  Array x, copy;
  bool is_all_of_x = true, is_all_of_copy = true, is_empty = false;
};

Shared shared_of(const PaddedInput& padded, const Array& x, const Array& copy) {
  Shared shared;
  Layout in_x = x.layout(), in_copy = copy.layout();
  const size_t unused = 5 - x.rank();
  for (size_t axis = 2; axis < x.rank(); ++axis) {
    const int64_t low = padded.axes[axis - 2 + unused].low;
    const int64_t size = x.sizes()[axis], room = copy.sizes()[axis];
    const int64_t begin = std::clamp<int64_t>(-low, 0, size);
    const int64_t end = std::clamp<int64_t>(room - low, begin, size);
    shared.is_empty |= begin == end;
    shared.is_all_of_x &= end - begin == size;
    shared.is_all_of_copy &= end - begin == room;
    if (shared.is_empty) return shared;
    const auto own = static_cast<int64_t>(axis);
    in_x = in_x.sliced(own, {.start = begin, .stop = end});
    in_copy = in_copy.sliced(own, {.start = begin + low, .stop = end + low});
  }
  shared.x = x.view(std::move(in_x));
  shared.copy = copy.view(std::move(in_copy));
  return shared;
}

// Sets a dense array, in any order of its axes, to zero.
void clear(const CudaDevice& device, const Array& x) {
  Layout layout = Layout::contiguous({x.element_count()});
  layout.offset = x.layout().offset;
  Array flat = x.view(std::move(layout));
  fill_with_zeros(device, flat);
}

}  // namespace

Sizes PaddedInput::sizes(const ConvolutionShape& shape, size_t space) const {
  Sizes sizes{shape.images, shape.inputs};
  for (size_t axis = 3 - space; axis < 3; ++axis) sizes.push_back(axes[axis].size);
  return sizes;
}

PaddedInput padded_input(const ConvolutionShape& shape) {
  PaddedInput padded;
  for (size_t axis = 0; axis < 3; ++axis) {
    const Dimension& d = shape.spatial[axis];
    if (is_even(d)) {
      padded.axes[axis] = {.size = d.in, .padding = d.low};
    } else {
      padded.axes[axis] = {.size = (d.out - 1) * d.stride + extent_of(d), .low = d.low};
      padded.is_copy = true;
    }
  }
  return padded;
}

void pad(const CudaDevice& device, const PaddedInput& padded, const Array& x, Array& copy) {
  Shared shared = shared_of(padded, x, copy);
  if (shared.is_empty || !shared.is_all_of_copy) clear(device, copy);
  if (!shared.is_empty) copy_elements(shared.x, shared.copy);
}

void crop(const CudaDevice& device, const PaddedInput& padded, const Array& copy, Array& x) {
  Shared shared = shared_of(padded, x, copy);
  if (shared.is_empty || !shared.is_all_of_x) clear(device, x);
  if (!shared.is_empty) copy_elements(shared.copy, shared.x);
}

}  // namespace plait::cuda
