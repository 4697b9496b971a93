// Images in JPEG, PNG and WebP files, as arrays of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "plait/io/images/image_box.h"
#include "plait/tensor/memory/array.h"

namespace plait {

enum class ImageFormat : uint8_t { jpeg, png, webp };

// `unchanged` has the channels of the file: grey, grey and alpha, RGB, or RGB and alpha. Palettes
// and CMYK are converted to RGB; a palette with transparent colours, to RGB and alpha.
enum class ImageMode : uint8_t { unchanged, grey, rgb, rgba };

struct ImageInfo {
  ImageFormat format = ImageFormat::jpeg;
  int64_t height = 0, width = 0;  // as they are stored
  int64_t channels = 0;           // channels of the unchanged image
  int orientation = 1;            // orientation of the EXIF data, 1 to 8; 1 without any

  friend bool operator==(const ImageInfo&, const ImageInfo&) = default;
};

struct DecodeOptions {
  ImageMode mode = ImageMode::unchanged;
  // Only these pixels: the same bits as a part of the whole image. Of a JPEG only the blocks that
  // they need are decoded. ValueError if they are not inside the image.
  std::optional<ImageBox> crop = {};
  // The size that the caller will resize the image, or its crop, to. A JPEG is then decoded at the
  // smallest of the scales 1/8, 1/4, 1/2 and 1 that gives at least this size, and the edges of the
  // crop are rounded to pixels of that scale: those at multiples of 8 are exact. After a resize,
  // bytes of two photographs differ by 0.7 to 1.5 on average from those of the whole image (of one
  // crop by 0.3 to 4.4), and by 2.3 to 3.6 where edges were rounded (0.3 to 8.6). Other formats
  // ignore it.
  std::optional<ImageSize> size = {};
  // Turns the image as its EXIF data says. `crop` and `size` are those of the turned image.
  bool apply_orientation = false;
  // Accepts a JPEG that ends early or is damaged; what is missing is grey.
  bool accept_truncated = false;
  // A PNG with samples of 16 bits is u16; otherwise they lose their lower 8.
  bool keep_16_bits = false;
  // ParseError, before memory is allocated, if the whole image has more: as Pillow's limit.
  int64_t most_pixels = 178'956'970;
};

// u8[channels, height, width]. In memory the channels of a pixel are adjacent: the array is a view
// of [height, width, channels]. A JPEG in grey is its luminance; others are (19595 R + 38470 G +
// 7471 B) / 65536, as Pillow computes it.
//
// ParseError for a file that is damaged, ends early, or has an unknown format. But a
// JPEG, unless it is progressive, is read no further than a crop needs: it may end, or be damaged,
// behind that.
Array decode_image(std::span<const std::byte> bytes, const DecodeOptions& options = {});
// The same, of a file, whose name is in errors.
Array read_image(const std::string& path, const DecodeOptions& options = {});

// Reads only the header.
ImageInfo image_info(std::span<const std::byte> bytes);
// The same, of a file, whose name is in errors.
ImageInfo read_image_info(const std::string& path);

}  // namespace plait
