// Arrays as PNG images.
#pragma once

#include <string>

#include "plait/tensor/memory/array.h"

namespace plait {

struct PngImage {
  int64_t height = 0, width = 0;
  int64_t channels = 0;  // 1: grey, 2: grey and alpha, 3: RGB, 4: RGB and alpha
  std::string bytes = {};
};

// From [height, width] or [height, width, channels]: bytes, or floats from 0 to 1, which are
// clipped and rounded (NaN is 0). ShapeError or TypeError for other arrays.
PngImage png_image(const Array& array);

}  // namespace plait
