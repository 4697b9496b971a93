// The decoders and encoders of the formats, and their common checks. Pixels are contiguous
// u8[height, width, channels] unless noted; u16 of a PNG whose 16 bits are kept.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "plait/io/images/decode_image.h"

namespace plait {

// Apart from the orientation, which exif.h finds.
ImageInfo jpeg_info(std::span<const std::byte> file);
ImageInfo png_info(std::span<const std::byte> file);
ImageInfo webp_info(std::span<const std::byte> file);

// All options but the orientation are applied. May be a strided view.
Array jpeg_pixels(std::span<const std::byte> file, const DecodeOptions& options);
Array png_pixels(std::span<const std::byte> file, const DecodeOptions& options);
Array webp_pixels(std::span<const std::byte> file, const DecodeOptions& options);

// ParseError if an image of this size has too many pixels, or is shorter than any that has.
void expect_pixels(int64_t height, int64_t width, const DecodeOptions& options);
// The crop of the options, or the whole image; ValueError if it is not inside the image.
ImageBox crop_of(int64_t height, int64_t width, const DecodeOptions& options);
// A view of pixels.
Array cropped(const Array& pixels, const ImageBox& crop);

Array grey_of_rgb(const Array& pixels);
// From CMYK as Adobe's programs write it: inverted.
Array rgb_of_inverted_cmyk(const Array& pixels);

// Pixels of u8[channels, height, width] or u8[height, width] for an encoder. `format` is named in
// errors.
Array pixels_of_image(std::string_view format, const Array& image, int64_t least_channels,
                      int64_t most_channels, int64_t most_size);

[[noreturn]] void throw_no_library(std::string_view format, std::string_view library,
                                   std::string_view package);

}  // namespace plait
