// The size of an image and a box of its pixels.
#pragma once

#include <cstdint>

namespace plait {

struct ImageSize {
  int64_t height = 0, width = 0;
  friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

// The rows from `top` on and the columns from `left` on.
struct ImageBox {
  int64_t top = 0, left = 0, height = 0, width = 0;
  friend bool operator==(const ImageBox&, const ImageBox&) = default;
};

}  // namespace plait
