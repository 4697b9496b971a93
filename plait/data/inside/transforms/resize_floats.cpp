// Resizing floats, along rows and then along columns; and any elements, to the nearest pixel.
#include <algorithm>

#include "plait/data/inside/transforms/resize_images.h"
#include "plait/data/inside/transforms/resize_weights.h"

namespace plait::data {
namespace {

// One plane, with the width of the result.
template <class T>
void resize_rows(const ImageView& from, const T* plane, const AxisWeights<T>& axis, int64_t width,
                 T* result) {
  for (int64_t y = 0; y < from.height; ++y, plane += from.row_stride) {
    for (int64_t x = 0; x < width; ++x) {
      const auto i = static_cast<size_t>(x);
      const T* pixel = plane + axis.first[i] * from.column_stride;
      const T* weights = axis.weights.data() + x * axis.most;
      T sum = 0;
      for (int32_t k = 0; k < axis.count[i]; ++k) sum += weights[k] * pixel[k * from.column_stride];
      *result++ = sum;
    }
  }
}

template <class T>
void resize_columns(const T* rows, const AxisWeights<T>& axis, int64_t height, int64_t width,
                    T* result) {
  for (int64_t y = 0; y < height; ++y, result += width) {
    const auto i = static_cast<size_t>(y);
    std::fill_n(result, width, T{0});
    for (int32_t k = 0; k < axis.count[i]; ++k) {
      const T* row = rows + (axis.first[i] + k) * width;
      const T weight = axis.weights[static_cast<size_t>(y * axis.most + k)];
      for (int64_t x = 0; x < width; ++x) result[x] += weight * row[x];
    }
  }
}

template <class T>
void copy_plane(const ImageView& from, const T* plane, T* result) {
  for (int64_t y = 0; y < from.height; ++y, plane += from.row_stride) {
    for (int64_t x = 0; x < from.width; ++x) *result++ = plane[x * from.column_stride];
  }
}

}  // namespace

template <class T>
void resize_floats(const ImageView& from, const ResizeTo& to, Array& result) {
  const ImageView target = view_of("resize", Tensor(result));
  const bool has_rows = from.width != to.width, has_columns = from.height != to.height;
  AxisWeights<T> rows, columns;
  if (has_rows) rows = axis_weights<T>(from.width, to.width, to.interpolation, to.antialias);
  if (has_columns) {
    columns = axis_weights<T>(from.height, to.height, to.interpolation, to.antialias);
  }
  std::vector<T> between(static_cast<size_t>(has_columns ? from.height * to.width : 0));
  for (int64_t image = 0; image < from.count(); ++image) {
    for (int64_t channel = 0; channel < from.channels; ++channel) {
      const T* plane = from.at<T>(image, channel, 0);
      T* end = const_cast<T*>(target.at<T>(image, channel, 0));
      T* middle = has_columns ? between.data() : end;
      has_rows ? resize_rows(from, plane, rows, to.width, middle) : copy_plane(from, plane, middle);
      if (has_columns) resize_columns(between.data(), columns, to.height, to.width, end);
    }
  }
}
template void resize_floats<float>(const ImageView&, const ResizeTo&, Array&);
template void resize_floats<double>(const ImageView&, const ResizeTo&, Array&);

template <class T>
void resize_to_nearest(const ImageView& from, const ResizeTo& to, Array& result) {
  const ImageView target = view_of("resize", Tensor(result));
  const auto rows = nearest_pixels(from.height, to.height, to.interpolation);
  const auto columns = nearest_pixels(from.width, to.width, to.interpolation);
  for (int64_t image = 0; image < from.count(); ++image) {
    for (int64_t channel = 0; channel < from.channels; ++channel) {
      for (int64_t y = 0; y < to.height; ++y) {
        const T* row = from.at<T>(image, channel, rows[static_cast<size_t>(y)]);
        T* pixels = const_cast<T*>(target.at<T>(image, channel, y));
        for (int64_t x = 0; x < to.width; ++x) {
          pixels[x * target.column_stride] =
              row[columns[static_cast<size_t>(x)] * from.column_stride];
        }
      }
    }
  }
}
template void resize_to_nearest<uint8_t>(const ImageView&, const ResizeTo&, Array&);
template void resize_to_nearest<float>(const ImageView&, const ResizeTo&, Array&);
template void resize_to_nearest<double>(const ImageView&, const ResizeTo&, Array&);

}  // namespace plait::data
