// Functions of images, with numbers that the package has put in order
// (python/plait/inside/data/images).
#include "plait/data/transforms/image_functions.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "plait/data/transforms/color_functions.h"

#include "python/bindings/bindings.h"

namespace plait::python {
namespace images {
namespace {

using namespace data::transforms;
using nb::arg;
using Numbers = std::vector<double>;
using Pair = std::array<double, 2>;

ResizeOptions resize_options(const std::string& interpolation, bool antialias) {
  return {interpolation_from(interpolation), antialias};
}
WarpOptions warp_options(const std::string& interpolation, const Numbers& fill,
                         const std::optional<Pair>& center) {
  return {interpolation_from(interpolation), fill, center};
}

void bind_numbers(nb::module_& module) {
  module.def("to_dtype", [](const Tensor& image, nb::handle dtype, bool scale) {
    const DType to = dtype_from(dtype);
    return computed([&] { return to_dtype(image, to, scale); });
  });
  module.def("normalize", [](const Tensor& image, const Numbers& mean, const Numbers& std) {
    return computed([&] { return normalize(image, mean, std); });
  });
  module.def("to_image", [](const Tensor& pixels) { return to_image(pixels); });
  module.def("size", [](const Tensor& image) {
    const ImageSize size = size_of_image(image);
    return nb::make_tuple(size.height, size.width);
  });
}

void bind_sizes(nb::module_& module) {
  module.def("resize", [](const Tensor& image, int64_t height, int64_t width,
                          const std::string& interpolation, bool antialias) {
    const ResizeOptions options = resize_options(interpolation, antialias);
    return computed([&] { return resize(image, {height, width}, options); });
  });
  module.def(
      "resized_size",
      [](int64_t height, int64_t width, std::optional<int64_t> side, std::optional<int64_t> most) {
        const ImageSize size = resized_size({height, width}, side, most);
        return nb::make_tuple(size.height, size.width);
      },
      arg("height"), arg("width"), arg("side").none(), arg("max_size").none());
  module.def("crop", [](const Tensor& image, int64_t top, int64_t left, int64_t height,
                        int64_t width) { return crop(image, {top, left, height, width}); });
  module.def("center_crop", [](const Tensor& image, int64_t height, int64_t width) {
    return center_crop(image, {height, width});
  });
  module.def(
      "resized_crop", [](const Tensor& image, const std::array<int64_t, 4>& box, int64_t height,
                         int64_t width, const std::string& interpolation, bool antialias) {
        const ResizeOptions options = resize_options(interpolation, antialias);
        return computed([&] {
          return resized_crop(image, {box[0], box[1], box[2], box[3]}, {height, width}, options);
        });
      });
  module.def("pad", [](const Tensor& image, const std::array<int64_t, 4>& padding,
                       const Numbers& fill, const std::string& mode) {
    const PaddingMode padding_mode = padding_mode_from(mode);
    return computed([&] {
      return pad(image, {padding[0], padding[1], padding[2], padding[3]}, fill, padding_mode);
    });
  });
  module.def("horizontal_flip", &horizontal_flip);
  module.def("vertical_flip", &vertical_flip);
  module.def(
      "erase", [](const Tensor& image, const std::array<int64_t, 4>& box, const Tensor& value) {
        return computed([&] { return erase(image, {box[0], box[1], box[2], box[3]}, value); });
      });
}

void bind_warps(nb::module_& module) {
  module.def(
      "affine",
      [](const Tensor& image, double angle, const Pair& translate, double scale, const Pair& shear,
         const std::string& interpolation, const Numbers& fill, const std::optional<Pair>& center) {
        const WarpOptions options = warp_options(interpolation, fill, center);
        return computed([&] { return affine(image, {angle, translate, scale, shear}, options); });
      },
      arg("image"), arg("angle"), arg("translate"), arg("scale"), arg("shear"),
      arg("interpolation"), arg("fill"), arg("center").none());
  module.def(
      "rotate",
      [](const Tensor& image, double angle, bool expand, const std::string& interpolation,
         const Numbers& fill, const std::optional<Pair>& center) {
        const WarpOptions options = warp_options(interpolation, fill, center);
        return computed([&] { return rotate(image, angle, options, expand); });
      },
      arg("image"), arg("angle"), arg("expand"), arg("interpolation"), arg("fill"),
      arg("center").none());
  module.def("gaussian_blur",
             [](const Tensor& image, const std::array<int64_t, 2>& kernel_size, const Pair& sigma) {
               return computed([&] { return gaussian_blur(image, kernel_size, sigma); });
             });
}

template <Tensor (*function)(const Tensor&)>
Tensor plain(const Tensor& image) {
  return computed([&] { return function(image); });
}
template <Tensor (*function)(const Tensor&, double)>
Tensor by_factor(const Tensor& image, double factor) {
  return computed([&] { return function(image, factor); });
}
template <Tensor (*function)(const Tensor&, int64_t)>
Tensor by_count(const Tensor& image, int64_t count) {
  return computed([&] { return function(image, count); });
}

void bind_colors(nb::module_& module) {
  module.def("rgb_to_grayscale", by_count<rgb_to_grayscale>);
  module.def("posterize", by_count<posterize>);
  module.def("adjust_brightness", by_factor<adjust_brightness>);
  module.def("adjust_contrast", by_factor<adjust_contrast>);
  module.def("adjust_saturation", by_factor<adjust_saturation>);
  module.def("adjust_hue", by_factor<adjust_hue>);
  module.def("adjust_sharpness", by_factor<adjust_sharpness>);
  module.def("solarize", by_factor<solarize>);
  module.def("invert", plain<invert>);
  module.def("autocontrast", plain<autocontrast>);
  module.def("equalize", plain<equalize>);
}

}  // namespace
}  // namespace images

void bind_image_functions(nb::module_& core) {
  nb::module_ module = core.def_submodule("_images", "The parts of plait.data.transforms in C++.");
  images::bind_numbers(module);
  images::bind_sizes(module);
  images::bind_warps(module);
  images::bind_colors(module);
}

}  // namespace plait::python
