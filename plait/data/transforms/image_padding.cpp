#include <algorithm>
#include <array>

#include "plait/core/error.h"
#include "plait/data/inside/transforms/image_view.h"
#include "plait/data/transforms/image_functions.h"

namespace plait::data::transforms {
namespace {

constexpr std::array<std::string_view, 4> kModes = {"constant", "edge", "reflect", "symmetric"};
constexpr int64_t kFilled = -1;

// The pixel outside of an axis that has the number of this one; kFilled for a constant.
int64_t inner_pixel(int64_t i, int64_t size, PaddingMode mode) {
  if (i >= 0 && i < size) return i;
  switch (mode) {
    case PaddingMode::edge: return std::clamp<int64_t>(i, 0, size - 1);
    case PaddingMode::reflect: return i < 0 ? -i : 2 * (size - 1) - i;
    case PaddingMode::symmetric: return i < 0 ? -i - 1 : 2 * size - 1 - i;
    default: return kFilled;
  }
}

std::vector<int64_t> axis_pixels(int64_t before, int64_t after, int64_t size, PaddingMode mode) {
  const int64_t most = mode == PaddingMode::reflect     ? size - 1
                       : mode == PaddingMode::symmetric ? size
                                                        : INT64_MAX;
  if (before > most || after > most || (size == 0 && mode == PaddingMode::edge)) {
    throw ValueError("pad: {} and {} pixels are added to an axis of {}, where {} padding has {}",
                     before, after, size, kModes[static_cast<size_t>(mode)],
                     std::max<int64_t>(most == INT64_MAX ? 0 : most, 0))
        .hint("padding_mode=\"constant\"");
  }
  const int64_t count = size + before + after;
  if (count < 0) {
    throw ValueError("pad: {} and {} pixels are taken from an axis of {}", -before, -after, size);
  }
  std::vector<int64_t> pixels(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    pixels[static_cast<size_t>(i)] = inner_pixel(i - before, size, mode);
  }
  return pixels;
}

// An upper limit of what is added, so that sums do not overflow.
void expect_padding(const Padding& padding) {
  constexpr int64_t kMost = int64_t{1} << 40;
  for (const int64_t each : {padding.left, padding.top, padding.right, padding.bottom}) {
    if (each < -kMost || each > kMost) {
      throw ValueError("pad: the padding has the number {}", each);
    }
  }
}

void expect_fill(const ImageView& view, std::span<const double> fill, PaddingMode mode) {
  if (fill.size() <= 1) return;
  if (mode != PaddingMode::constant) {
    throw ValueError("pad: fill has {} numbers, expected one for the mode {}", fill.size(),
                     kModes[static_cast<size_t>(mode)]);
  }
  if (static_cast<int64_t>(fill.size()) == view.channels) return;
  throw ValueError("pad: fill has {} numbers, expected one or {}, one for each channel",
                   fill.size(), view.channels);
}

}  // namespace

PaddingMode padding_mode_from(std::string_view name) {
  for (size_t i = 0; i < kModes.size(); ++i) {
    if (kModes[i] == name) return static_cast<PaddingMode>(i);
  }
  throw ValueError("pad: the padding mode is \"{}\", expected constant, edge, reflect or symmetric",
                   name);
}

Tensor pad(const Tensor& image, const Padding& padding, std::span<const double> fill,
           PaddingMode mode) {
  const ImageView view = view_of("pad", image);
  expect_fill(view, fill, mode);
  expect_padding(padding);
  const auto rows = axis_pixels(padding.top, padding.bottom, view.height, mode);
  const auto columns = axis_pixels(padding.left, padding.right, view.width, mode);
  return for_pixels(view, [&]<class T>(const ImageView& from, std::type_identity<T>) {
    Array result =
        image_array(from, from.array.dtype(), from.channels, static_cast<int64_t>(rows.size()),
                    static_cast<int64_t>(columns.size()));
    auto* to = reinterpret_cast<T*>(result.writable_data());
    for (int64_t image_number = 0; image_number < from.count(); ++image_number) {
      for (int64_t channel = 0; channel < from.channels; ++channel) {
        const double number =
            fill.empty() ? 0 : fill[fill.size() == 1 ? 0 : static_cast<size_t>(channel)];
        T filler;
        store_element(kDTypeOf<T>, Element::of(number), reinterpret_cast<std::byte*>(&filler));
        for (const int64_t y : rows) {
          const T* row = y == kFilled ? nullptr : from.at<T>(image_number, channel, y);
          for (const int64_t x : columns) {
            *to++ = row == nullptr || x == kFilled ? filler : row[x * from.column_stride];
          }
        }
      }
    }
    return result;
  });
}

}  // namespace plait::data::transforms
