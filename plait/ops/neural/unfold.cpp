#include "plait/ops/neural/unfold.h"

#include <array>

#include "plait/core/error.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"

namespace plait {
namespace {

// Positions of the windows over an image.
class WindowGrid {
 public:
  WindowGrid(std::string_view function, std::array<Dim, 2> image, const PerDimension& window,
             const UnfoldOptions& options)
      : window_(window.of(2, function, "window", 1)),
        dilation_(options.dilation.of(2, function, "dilation", 1)),
        padding_(options.padding.of(2, function, "padding", 0)),
        stride_(options.stride.of(2, function, "stride", 1)) {
    for (size_t i : {0, 1}) {
      const Dim room = image[i] + (2 * padding_[i] - dilation_[i] * (window_[i] - 1) - 1);
      if (room.is_number() && room.number() < 0) {
        throw ShapeError("{}: a window of {} is larger than {} with its padding", function,
                         window_[i], image[i])
            .at(Location::of_caller());
      }
      padded_[i] = image[i] + 2 * padding_[i];
      counts_[i] = floor_div(room, stride_[i]) + 1;
    }
  }

  int64_t window_size() const { return window_[0] * window_[1]; }
  Dim count(size_t i) const { return counts_[i]; }
  Dim places() const { return counts_[0] * counts_[1]; }

  // Element `number` of each window, for an image or a stack of them.
  Tensor elements(const Tensor& padded, int64_t number) const {
    const std::array<int64_t, 2> first = first_of(number);
    const Tensor rows = slice_axis(padded, -2, first[0], counts_[0], stride_[0]);
    return slice_axis(rows, -1, first[1], counts_[1], stride_[1]);
  }
  // The transpose of elements(): zeros elsewhere in the padded image.
  Tensor spread(const Tensor& elements, int64_t number) const {
    const std::array<int64_t, 2> first = first_of(number);
    Tensor image = elements;
    for (size_t i : {0, 1}) {
      const Dim covered = (counts_[i] - 1) * stride_[i] + (first[i] + 1);
      image =
          pad_zeros(image, static_cast<int64_t>(i) - 2, first[i], padded_[i] - covered, stride_[i]);
    }
    return image;
  }

  Tensor with_padding(const Tensor& image) const {
    return pad_zeros(pad_zeros(image, -2, padding_[0], padding_[0]), -1, padding_[1], padding_[1]);
  }
  Tensor without_padding(const Tensor& padded) const {
    const Tensor rows = slice_axis(padded, -2, padding_[0], padded_[0] - 2 * padding_[0]);
    return slice_axis(rows, -1, padding_[1], padded_[1] - 2 * padding_[1]);
  }

 private:
  std::array<int64_t, 2> first_of(int64_t number) const {
    return {number / window_[1] * dilation_[0], number % window_[1] * dilation_[1]};
  }

  std::vector<int64_t> window_, dilation_, padding_, stride_;
  std::array<Dim, 2> padded_ = {0, 0}, counts_ = {0, 0};
};

void expect_dimensions(std::string_view function, const Tensor& x, size_t least,
                       std::string_view what) {
  if (x.rank() >= least) return;
  throw ShapeError("{}: expected {}, not {}", function, what, x.type().text())
      .at(Location::of_caller());
}

Shape with_last(const Shape& shape, size_t replaced, std::initializer_list<Dim> sizes) {
  Shape result(shape.dims().first(shape.rank() - replaced));
  for (const Dim size : sizes) result.append(size);
  return result;
}

}  // namespace

Tensor unfold(const Tensor& x, const PerDimension& window, const UnfoldOptions& options) {
  const Call call("unfold", x);
  expect_dimensions("unfold", x, 3, "[..., channels, height, width]");
  const WindowGrid grid("unfold", {x.shape(-2), x.shape(-1)}, window, options);
  const Tensor padded = grid.with_padding(x);
  std::vector<Tensor> elements;
  for (int64_t i = 0; i < grid.window_size(); ++i) elements.push_back(grid.elements(padded, i));
  return reshape(stack(elements, -3),
                 with_last(x.shape(), 3, {x.shape(-3) * grid.window_size(), grid.places()}));
}

Tensor fold(const Tensor& x, const std::vector<Dim>& size, const PerDimension& window,
            const UnfoldOptions& options) {
  const Call call("fold", x);
  expect_dimensions("fold", x, 2, "[..., channels · window, positions]");
  if (size.size() != 2) {
    throw ValueError("fold: {} sizes of images, expected a height and a width", size.size())
        .at(Location::of_caller());
  }
  const WindowGrid grid("fold", {size[0], size[1]}, window, options);
  const Dim elements = x.shape(-2), per_channel = grid.window_size();
  if (differ(mod(elements, per_channel), Dim(0)) || differ(x.shape(-1), grid.places())) {
    throw ShapeError("fold: {} is not [..., a multiple of {}, {}]", x.type().text(), per_channel,
                     grid.places())
        .at(Location::of_caller());
  }
  const Tensor windows = reshape(
      x, with_last(x.shape(), 2,
                   {floor_div(elements, per_channel), per_channel, grid.count(0), grid.count(1)}));
  Tensor image;
  for (int64_t i = 0; i < grid.window_size(); ++i) {
    const Tensor part = grid.spread(squeeze(slice_axis(windows, -3, i, 1), -3), i);
    image = image ? image + part : part;
  }
  return grid.without_padding(image);
}

}  // namespace plait
