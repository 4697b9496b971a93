// Tensors as images: [..., channels, height, width] of u8 or floats, with any strides.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "plait/core/error.h"
#include "plait/core/numbers/element.h"
#include "plait/tensor/tensor.h"

namespace plait::data {

struct ImageView {
  Array array;
  Sizes leading;                 // sizes before the channels
  std::vector<int64_t> offsets;  // offsets of each image, in elements from the array's data
  int64_t channels, height, width;
  int64_t channel_stride, row_stride, column_stride;

  int64_t count() const { return static_cast<int64_t>(offsets.size()); }
  bool is_empty() const { return array.element_count() == 0; }
  // The channels of a pixel are adjacent, and so are the pixels of a row.
  bool is_interleaved() const {
    return channels > 1 && channel_stride == 1 && column_stride == channels;
  }
  template <class T>
  const T* at(int64_t image, int64_t channel, int64_t row) const {
    return reinterpret_cast<const T*>(array.data()) + offsets[static_cast<size_t>(image)] +
           channel * channel_stride + row * row_stride;
  }
  // The end of the memory of its elements.
  const std::byte* end() const;
};

// ShapeError or TypeError, which names the function, unless it is an image.
ImageView view_of(std::string_view function, const Tensor& image);
// With one or three channels.
ImageView colour_view_of(std::string_view function, const Tensor& image);
// The same, in row-major order.
ImageView dense(const ImageView& view);

// [..., channels, height, width] with the dtype and the leading sizes of a view.
Array image_array(const ImageView& like, DType dtype, int64_t channels, int64_t height,
                  int64_t width);
// The same with the channels of a pixel adjacent.
Array interleaved_array(const ImageView& like, DType dtype, int64_t channels, int64_t height,
                        int64_t width);

// compute(view, std::type_identity<T>{}) for T = uint8_t, float or double. Narrow floats are
// computed as f32.
template <class Compute>
Tensor for_pixels(const ImageView& view, Compute compute) {
  switch (view.array.dtype()) {
    case DType::u8: return Tensor(compute(view, std::type_identity<uint8_t>{}));
    case DType::f32: return Tensor(compute(view, std::type_identity<float>{}));
    case DType::f64: return Tensor(compute(view, std::type_identity<double>{}));
    default: break;
  }
  const ImageView wide = view_of("image", Tensor(view.array.converted(DType::f32)));
  const Array result = compute(wide, std::type_identity<float>{});
  return Tensor(result.converted(view.array.dtype()));
}

// A number of floats for the pixels of a dtype: 255, or 1 for floats.
template <class T>
inline constexpr double kWhite = std::is_same_v<T, uint8_t> ? 255 : 1;

// f32 for bytes.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, uint8_t>, float, T>;

}  // namespace plait::data
