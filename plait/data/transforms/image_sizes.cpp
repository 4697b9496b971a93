#include <algorithm>
#include <cmath>

#include "plait/core/error.h"
#include "plait/data/inside/transforms/image_view.h"
#include "plait/data/inside/transforms/resize_images.h"
#include "plait/data/transforms/image_functions.h"

namespace plait::data::transforms {
namespace {

void expect_size(std::string_view function, ImageSize size) {
  if (size.height > 0 && size.width > 0) return;
  throw ValueError("{}: the size is [{}, {}], expected 1 or more", function, size.height,
                   size.width);
}

Tensor resized(const ImageView& view, ImageSize size, const ResizeOptions& options) {
  if (view.height == 0 || view.width == 0) {
    throw ShapeError("resize: the image is {}, which has no pixels",
                     text_of_sizes(view.array.sizes()));
  }
  const ResizeTo to{size.height, size.width, options.interpolation, options.antialias};
  const bool is_nearest = to.interpolation == Interpolation::nearest ||
                          to.interpolation == Interpolation::nearest_exact;
  return for_pixels(view, [&]<class T>(const ImageView& from, std::type_identity<T>) {
    const bool takes_strides = is_nearest || std::is_same_v<T, uint8_t>;
    const auto make = takes_strides && from.is_interleaved() ? interleaved_array : image_array;
    Array result = make(from, from.array.dtype(), from.channels, to.height, to.width);
    if (from.is_empty()) return result;
    if (is_nearest) {
      resize_to_nearest<T>(from, to, result);
    } else if constexpr (std::is_same_v<T, uint8_t>) {
      resize_bytes(from, to, result);
    } else {
      resize_floats<T>(from, to, result);
    }
    return result;
  });
}

// The slice of an axis, counted from the last.
Layout cut(const Layout& layout, int64_t axis, int64_t begin, int64_t count) {
  return layout.sliced(axis, {.start = begin, .stop = begin + count});
}

bool contains(const ImageView& view, const ImageBox& box) {
  return box.top >= 0 && box.left >= 0 && box.height <= view.height - box.top &&
         box.width <= view.width - box.left;
}

void expect_box(std::string_view function, const ImageBox& box) {
  if (box.height >= 0 && box.width >= 0) return;
  throw ValueError("{}: the box has the size [{}, {}], expected 0 or more", function, box.height,
                   box.width);
}

// How far a box reaches beyond both ends of an axis.
int64_t before(int64_t begin) { return std::max<int64_t>(-begin, 0); }
int64_t after(int64_t end, int64_t size) { return std::max<int64_t>(end - size, 0); }

}  // namespace

ImageSize size_of_image(const Tensor& image) {
  const ImageView view = view_of("transforms", image);
  return {view.height, view.width};
}

Tensor resize(const Tensor& image, ImageSize size, const ResizeOptions& options) {
  const ImageView view = view_of("resize", image);
  expect_size("resize", size);
  if (size == ImageSize{view.height, view.width}) return image;
  return resized(view, size, options);
}

ImageSize resized_size(ImageSize from, std::optional<int64_t> side,
                       std::optional<int64_t> max_size) {
  const bool is_tall = from.width <= from.height;
  const double shorter = static_cast<double>(std::min(from.height, from.width));
  const double longer = static_cast<double>(std::max(from.height, from.width));
  const auto in_order = [is_tall](int64_t narrow, int64_t wide) {
    return is_tall ? ImageSize{wide, narrow} : ImageSize{narrow, wide};
  };
  if (!side && !max_size) throw ValueError("resize: give a size or max_size");
  if (shorter == 0) return from;
  if (!side) {
    const auto most = static_cast<double>(*max_size);
    return in_order(static_cast<int64_t>(most * shorter / longer), *max_size);
  }
  if (max_size && *max_size <= *side) {
    throw ValueError("resize: max_size is {}, expected more than the size {} of the shorter side",
                     *max_size, *side);
  }
  const auto wide = static_cast<int64_t>(static_cast<double>(*side) * longer / shorter);
  if (!max_size || wide <= *max_size) return in_order(*side, wide);
  const double narrow = static_cast<double>(*max_size) * static_cast<double>(*side);
  return in_order(static_cast<int64_t>(narrow / static_cast<double>(wide)), *max_size);
}

Tensor crop(const Tensor& image, const ImageBox& box) {
  const ImageView view = view_of("crop", image);
  expect_box("crop", box);
  if (contains(view, box)) {
    const Layout rows = cut(view.array.layout(), -2, box.top, box.height);
    return Tensor(view.array.view(cut(rows, -1, box.left, box.width)));
  }
  const int64_t bottom = box.top + box.height, right = box.left + box.width;
  const int64_t top = std::clamp<int64_t>(box.top, 0, view.height);
  const int64_t left = std::clamp<int64_t>(box.left, 0, view.width);
  const int64_t height = std::max<int64_t>(std::min(bottom, view.height) - top, 0);
  const int64_t width = std::max<int64_t>(std::min(right, view.width) - left, 0);
  const Tensor part = crop(image, {top, left, height, width});
  const Padding padding{std::min(before(box.left), box.width),
                        std::min(before(box.top), box.height),
                        std::min(after(right, view.width), box.width),
                        std::min(after(bottom, view.height), box.height)};
  return pad(part, padding);
}

Tensor center_crop(const Tensor& image, ImageSize size) {
  const ImageView view = view_of("center_crop", image);
  expect_size("center_crop", size);
  const int64_t rows = std::max<int64_t>(size.height - view.height, 0);
  const int64_t columns = std::max<int64_t>(size.width - view.width, 0);
  const Tensor padded =
      rows + columns == 0
          ? image
          : pad(image, {columns / 2, rows / 2, columns - columns / 2, rows - rows / 2});
  const auto middle = [](int64_t rest) {  // to even, as Python rounds
    return static_cast<int64_t>(std::nearbyint(static_cast<double>(rest) / 2));
  };
  const int64_t top = middle(std::max<int64_t>(view.height - size.height, 0));
  const int64_t left = middle(std::max<int64_t>(view.width - size.width, 0));
  return crop(padded, {top, left, size.height, size.width});
}

Tensor resized_crop(const Tensor& image, const ImageBox& box, ImageSize size,
                    const ResizeOptions& options) {
  return resize(crop(image, box), size, options);
}

Tensor horizontal_flip(const Tensor& image) {
  const ImageView view = view_of("horizontal_flip", image);
  return Tensor(view.array.view(view.array.layout().reversed(-1)));
}

Tensor vertical_flip(const Tensor& image) {
  const ImageView view = view_of("vertical_flip", image);
  return Tensor(view.array.view(view.array.layout().reversed(-2)));
}

Tensor erase(const Tensor& image, const ImageBox& box, const Tensor& value) {
  const ImageView view = view_of("erase", image);
  expect_box("erase", box);
  if (!contains(view, box)) {
    throw ValueError("erase: the box from [{}, {}] on of the size [{}, {}] is not in the image {}",
                     box.top, box.left, box.height, box.width, text_of_sizes(view.array.sizes()));
  }
  Array result = view.array.copy();
  const Layout rows = cut(result.layout(), -2, box.top, box.height);
  Array part = result.view(cut(rows, -1, box.left, box.width));
  const Array filler = value.array().converted(view.array.dtype());
  copy_elements(filler.view(filler.layout().broadcast_to(part.sizes())), part);
  return Tensor(std::move(result));
}

}  // namespace plait::data::transforms
