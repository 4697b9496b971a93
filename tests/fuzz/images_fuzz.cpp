// Any bytes either are an image or give an error; a crop has the bits of the whole image.
#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>

#include "plait/core/error.h"
#include "plait/io/images/decode_image.h"

namespace {

void try_scaled(std::span<const std::byte> file) {
  try {
    plait::decode_image(file, {.mode = plait::ImageMode::rgba,
                               .size = plait::ImageSize{3, 3},
                               .apply_orientation = true,
                               .accept_truncated = true,
                               .keep_16_bits = true,
                               .most_pixels = 1 << 20});
  } catch (const plait::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  try_scaled(file);
  plait::Array image;
  try {
    image = plait::decode_image(file, {.most_pixels = 1 << 20});
  } catch (const plait::Error&) {
    return 0;
  }
  const int64_t height = image.sizes()[1], width = image.sizes()[2];
  const plait::ImageBox crop{height / 3, width / 3, height - height / 3, (width + 2) / 3};
  const plait::Array part = plait::decode_image(file, {.crop = crop});
  const plait::Array expected = image.view(image.layout()
                                               .sliced(1, {crop.top, crop.top + crop.height})
                                               .sliced(2, {crop.left, crop.left + crop.width}));
  const plait::Array x = part.contiguous(), y = expected.contiguous();
  if (!std::ranges::equal(x.elements<uint8_t>(), y.elements<uint8_t>())) {
    throw std::logic_error("a crop differs from the whole image");
  }
  return 0;
}
