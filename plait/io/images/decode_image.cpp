#include "plait/io/images/decode_image.h"

#include <string_view>

#include "plait/core/error.h"
#include "plait/core/inside/system/with_path.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/file.h"
#include "plait/io/inside/images/exif.h"
#include "plait/io/inside/images/image_codecs.h"

namespace plait {
namespace {

ImageFormat format_of(std::span<const std::byte> file) {
  const std::string_view text = characters_of(file);
  if (text.starts_with("\xFF\xD8\xFF")) return ImageFormat::jpeg;
  if (text.starts_with("\x89PNG\r\n\x1A\n")) return ImageFormat::png;
  if (text.starts_with("RIFF") && text.size() >= 12 && text.substr(8, 4) == "WEBP") {
    return ImageFormat::webp;
  }
  if (text.empty()) throw ParseError("byte 0: the file is empty, expected an image");
  throw ParseError("byte 0: this is not a JPEG, PNG or WebP image");
}

ImageInfo info_of(std::span<const std::byte> file, ImageFormat format) {
  switch (format) {
    case ImageFormat::jpeg: return jpeg_info(file);
    case ImageFormat::png: return png_info(file);
    default: return webp_info(file);
  }
}

Array pixels_of(std::span<const std::byte> file, ImageFormat format, const DecodeOptions& options) {
  switch (format) {
    case ImageFormat::jpeg: return jpeg_pixels(file, options);
    case ImageFormat::png: return png_pixels(file, options);
    default: return webp_pixels(file, options);
  }
}

// Decodes an image that is stored turned.
Array turned_pixels(std::span<const std::byte> file, ImageFormat format, const Turn& turn,
                    DecodeOptions options) {
  const ImageInfo info = info_of(file, format);
  if (options.crop) {
    const auto& [height, width] = turn.stored(ImageSize{info.height, info.width});
    crop_of(height, width, options);  // it is inside, or the error has the user's numbers
    options.crop = turn.stored(*options.crop, info.height, info.width);
  }
  if (options.size) options.size = turn.stored(*options.size);
  return turn.turned(pixels_of(file, format, options));
}

}  // namespace

Array decode_image(std::span<const std::byte> bytes, const DecodeOptions& options) {
  const ImageFormat format = format_of(bytes);
  const Turn turn = Turn::of(options.apply_orientation ? orientation_in(bytes, format) : 1);
  const Array pixels = turn.is_none() ? pixels_of(bytes, format, options)
                                      : turned_pixels(bytes, format, turn, options);
  const int64_t axes[] = {2, 0, 1};
  return pixels.view(pixels.layout().permuted(axes));
}

Array read_image(const std::string& path, const DecodeOptions& options) {
  const InputFile file(path);
  return with_path(path, [&] { return decode_image(file.bytes(), options); });
}

ImageInfo image_info(std::span<const std::byte> bytes) {
  const ImageFormat format = format_of(bytes);
  ImageInfo info = info_of(bytes, format);
  info.format = format;
  info.orientation = orientation_in(bytes, format);
  return info;
}

ImageInfo read_image_info(const std::string& path) {
  const InputFile file(path);
  return with_path(path, [&] { return image_info(file.bytes()); });
}

}  // namespace plait
