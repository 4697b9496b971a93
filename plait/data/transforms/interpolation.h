// How pixels between pixels are computed.
#pragma once

#include <cstdint>
#include <string_view>

namespace plait::data::transforms {

// `nearest` rounds as OpenCV does, `nearest_exact` as Pillow and scikit-image do.
enum class Interpolation : uint8_t { nearest, nearest_exact, bilinear, bicubic };

std::string_view name_of(Interpolation interpolation);  // "nearest-exact"
// ValueError for an unknown name.
Interpolation interpolation_from(std::string_view name);

}  // namespace plait::data::transforms
