#include "plait/data/inside/transforms/image_view.h"

#include <algorithm>

#include "plait/data/constant_array.h"

namespace plait::data {
namespace {

bool is_pixel(DType dtype) {
  return dtype == DType::u8 || dtype == DType::f32 || dtype == DType::f64 || dtype == DType::f16 ||
         dtype == DType::bf16;
}

void expect_image(std::string_view function, const Array& array) {
  if (array.rank() < 3) {
    throw ShapeError("{}: the image is {}{}, expected [..., channels, height, width]", function,
                     name_of(array.dtype()), text_of_sizes(array.sizes()))
        .hint(array.rank() == 2 ? "x[None] has one channel" : "to_image makes one of an array");
  }
  if (is_pixel(array.dtype())) return;
  throw TypeError("{}: the image is {}{}, expected u8 or floats", function, name_of(array.dtype()),
                  text_of_sizes(array.sizes()))
      .hint("convert it: ToDtype, of u8");
}

std::vector<int64_t> offsets_of(const Layout& layout, size_t leading) {
  std::vector<int64_t> offsets{0};
  for (size_t axis = 0; axis < leading; ++axis) {
    std::vector<int64_t> next;
    for (const int64_t offset : offsets) {
      for (int64_t i = 0; i < layout.sizes[axis]; ++i) {
        next.push_back(offset + i * layout.strides[axis]);
      }
    }
    offsets = std::move(next);
  }
  return offsets;
}

}  // namespace

const std::byte* ImageView::end() const {
  if (is_empty()) return array.data();
  int64_t last = 0;
  for (size_t axis = 0; axis < array.rank(); ++axis) {
    last += std::max<int64_t>(0, array.layout().strides[axis]) * (array.sizes()[axis] - 1);
  }
  return array.data() + (last + 1) * array.element_size();
}

ImageView view_of(std::string_view function, const Tensor& image) {
  const Array& array = constant_array(function, image);
  expect_image(function, array);
  const Layout& layout = array.layout();
  const size_t leading = array.rank() - 3;
  return {.array = array,
          .leading = std::span<const int64_t>(layout.sizes).first(leading),
          .offsets = offsets_of(layout, leading),
          .channels = layout.sizes[leading],
          .height = layout.sizes[leading + 1],
          .width = layout.sizes[leading + 2],
          .channel_stride = layout.strides[leading],
          .row_stride = layout.strides[leading + 1],
          .column_stride = layout.strides[leading + 2]};
}

ImageView colour_view_of(std::string_view function, const Tensor& image) {
  ImageView view = view_of(function, image);
  if (view.channels == 1 || view.channels == 3) return view;
  throw ShapeError("{}: the image {} has {} channels, expected 1 or 3", function,
                   text_of_sizes(view.array.sizes()), view.channels)
      .hint(
          "images are [..., channels, height, width]; to_image makes one of [height, width, "
          "channels]");
}

ImageView dense(const ImageView& view) {
  if (view.array.is_contiguous()) return view;
  return view_of("image", Tensor(view.array.contiguous()));
}

Array image_array(const ImageView& like, DType dtype, int64_t channels, int64_t height,
                  int64_t width) {
  Sizes sizes = like.leading;
  for (const int64_t size : {channels, height, width}) sizes.push_back(size);
  return Array::empty(dtype, std::move(sizes));
}

Array interleaved_array(const ImageView& like, DType dtype, int64_t channels, int64_t height,
                        int64_t width) {
  const Array rows = image_array(like, dtype, height, width, channels);
  std::vector<int64_t> axes(rows.rank());
  for (size_t axis = 0; axis < axes.size(); ++axis) axes[axis] = static_cast<int64_t>(axis);
  const size_t first = axes.size() - 3;
  axes[first] = static_cast<int64_t>(first + 2);
  axes[first + 1] = static_cast<int64_t>(first);
  axes[first + 2] = static_cast<int64_t>(first + 1);
  return rows.view(rows.layout().permuted(axes));
}

}  // namespace plait::data
