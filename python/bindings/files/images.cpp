// Images. The package (python/plait/inside/files/image_files.py) makes the arguments.
#include <optional>
#include <tuple>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include "plait/io/images/decode_image.h"
#include "plait/io/images/encode_image.h"

#include "python/bindings/files/bytes_of.h"
#include "python/bindings/files/files.h"

namespace plait::python {
namespace {

using PythonCrop = std::optional<std::tuple<int64_t, int64_t, int64_t, int64_t>>;
using PythonSize = std::optional<std::tuple<int64_t, int64_t>>;

DecodeOptions image_options(int mode, const PythonCrop& crop, const PythonSize& size,
                            bool apply_orientation, bool accept_truncated, int64_t most_pixels,
                            bool keep_16_bits) {
  DecodeOptions options{.mode = static_cast<ImageMode>(mode),
                        .apply_orientation = apply_orientation,
                        .accept_truncated = accept_truncated,
                        .keep_16_bits = keep_16_bits,
                        .most_pixels = most_pixels};
  if (crop) {
    const auto& [top, left, height, width] = *crop;
    options.crop = {top, left, height, width};
  }
  if (size) options.size = {std::get<0>(*size), std::get<1>(*size)};
  return options;
}

Tensor decoded_image(nb::handle data, int mode, const PythonCrop& crop, const PythonSize& size,
                     bool apply_orientation, bool accept_truncated, int64_t most_pixels,
                     bool keep_16_bits) {
  const BytesOf bytes(data);
  const DecodeOptions options = image_options(mode, crop, size, apply_orientation, accept_truncated,
                                              most_pixels, keep_16_bits);
  return Tensor(computed([&] { return decode_image(bytes.get(), options); }));
}

Tensor image_of_file(const nb::bytes& path, int mode, const PythonCrop& crop,
                     const PythonSize& size, bool apply_orientation, bool accept_truncated,
                     int64_t most_pixels, bool keep_16_bits) {
  const std::string file = path_from(path);
  const DecodeOptions options = image_options(mode, crop, size, apply_orientation, accept_truncated,
                                              most_pixels, keep_16_bits);
  return Tensor(computed([&] { return read_image(file, options); }));
}

nb::tuple size_of_image(nb::handle data) {
  const BytesOf bytes(data);
  const ImageInfo info = computed([&] { return image_info(bytes.get()); });
  return nb::make_tuple(info.height, info.width);
}

nb::tuple size_of_image_file(const nb::bytes& path) {
  const std::string file = path_from(path);
  const ImageInfo info = computed([&] { return read_image_info(file); });
  return nb::make_tuple(info.height, info.width);
}

struct PythonWriteOptions {
  WriteImageOptions options;
};

WriteImageOptions write_options(int quality, int sampling, bool progressive, int compression,
                                double webp_quality, bool lossless, int effort) {
  return {.jpeg = {quality, static_cast<ChromaSampling>(sampling), progressive},
          .png = {compression},
          .webp = {lossless, webp_quality, effort}};
}

template <class Encode>
nb::bytes encoded_image(const Tensor& image, const Encode& encode) {
  const Array array = image.array();
  const std::vector<std::byte> bytes = computed([&] { return encode(array); });
  return nb::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace

void bind_images(nb::module_& module) {
  const auto arg = [](const char* name) { return nb::arg(name).none(); };
  module.def("_decode_image", decoded_image, nb::arg("data"), nb::arg("mode"), arg("crop"),
             arg("size"), nb::arg("apply_orientation"), nb::arg("accept_truncated"),
             nb::arg("most_pixels"), nb::arg("keep_16_bits"));
  module.def("_read_image", image_of_file, nb::arg("path"), nb::arg("mode"), arg("crop"),
             arg("size"), nb::arg("apply_orientation"), nb::arg("accept_truncated"),
             nb::arg("most_pixels"), nb::arg("keep_16_bits"));
  module.def("_image_size", size_of_image);
  module.def("_image_size_of_file", size_of_image_file);
  nb::class_<PythonWriteOptions>(module, "_WriteImageOptions")
      .def("__init__", [](PythonWriteOptions* place, int quality, int sampling, bool progressive,
                          int compression, double webp_quality, bool lossless, int effort) {
        new (place) PythonWriteOptions{write_options(quality, sampling, progressive, compression,
                                                     webp_quality, lossless, effort)};
      });
  module.def("_encode_jpeg", [](const Tensor& image, const PythonWriteOptions& given) {
    return encoded_image(image, [&](const Array& a) { return encode_jpeg(a, given.options.jpeg); });
  });
  module.def("_encode_png", [](const Tensor& image, const PythonWriteOptions& given) {
    return encoded_image(image, [&](const Array& a) { return encode_png(a, given.options.png); });
  });
  module.def("_encode_webp", [](const Tensor& image, const PythonWriteOptions& given) {
    return encoded_image(image, [&](const Array& a) { return encode_webp(a, given.options.webp); });
  });
  module.def("_write_image",
             [](const nb::bytes& path, const Tensor& image, const PythonWriteOptions& given) {
               const std::string file = path_from(path);
               const Array array = image.array();
               computed([&] { write_image(file, array, given.options); });
             });
}

}  // namespace plait::python
