// Functions of the colours of images: [..., channels, height, width] of u8 (0 to 255) or floats
// (0 to 1). Images have one channel, or red, green and blue.
#pragma once

#include <cstdint>

#include "plait/tensor/tensor.h"

namespace plait::data::transforms {

// 0.2989 r + 0.587 g + 0.114 b, in one channel or three equal ones.
Tensor rgb_to_grayscale(const Tensor& image, int64_t channels = 1);

// Between black (0), the image (1) and beyond.
Tensor adjust_brightness(const Tensor& image, double factor);
// Between the mean of the grey image (0), the image (1) and beyond.
Tensor adjust_contrast(const Tensor& image, double factor);
// Between the grey image (0), the image (1) and beyond.
Tensor adjust_saturation(const Tensor& image, double factor);
// Turns the hue by a part of the circle, from -0.5 to 0.5.
Tensor adjust_hue(const Tensor& image, double factor);

Tensor invert(const Tensor& image);
// Keeps the upper bits of each number, 0 to 8 of them.
Tensor posterize(const Tensor& image, int64_t bits);
// Inverts the numbers from the threshold on.
Tensor solarize(const Tensor& image, double threshold);
// The least number of each channel becomes 0 and the greatest one the maximum.
Tensor autocontrast(const Tensor& image);
// Numbers such that all are about equally frequent, for each channel.
Tensor equalize(const Tensor& image);

}  // namespace plait::data::transforms
