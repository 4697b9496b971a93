// The texts of the kernels of cuda_patches.h and direct_convolution.h.
#pragma once

#include <cstdint>
#include <string>

#include "plait/core/numbers/dtype.h"

namespace plait::cuda {

// A convolution as the kernels get it: sizes, and distances between neighbours in elements. The
// last `space` axes are in use; the others have a size of 1.
struct ConvolvedAxis {
  int64_t in = 1, kernel = 1, out = 1;
  int64_t stride = 1, low = 0, dilation = 1, input_dilation = 1;
  int64_t in_step = 0, kernel_step = 0, out_step = 0;
};
struct Convolved {
  int64_t images = 0, inputs = 0, outputs = 0, group_inputs = 0, group_outputs = 0;
  int64_t in_image = 0, in_channel = 0;    // in x
  int64_t w_output = 0, w_input = 0;       // in w
  int64_t out_image = 0, out_channel = 0;  // in the result
  ConvolvedAxis axes[3];
};
// Columns of some places of some images: their distances for one image, channel and kernel element
// more. Places are neighbours.
struct Columns {
  int64_t first_place = 0, places = 0;
  int64_t image = 0, channel = 0, tap = 0;
};

struct ConvolvedForm {
  int space = 1;
  bool is_strided = false, is_dilated = false;  // a stride; a dilation of the input
  bool is_narrow = false;                       // 32 bits hold all places
};

// Kernel gather_patches; it copies words of so many bytes.
std::string gather_patches_text(const ConvolvedForm& form, int64_t word);
// Kernel join_patches for columns of dtype `stored`.
std::string join_patches_text(const ConvolvedForm& form, DType dtype, DType stored);
// Kernel add_parts.
std::string add_parts_text(DType dtype, DType stored);
// Kernels direct_output, direct_input and direct_weight.
std::string direct_convolution_text(const ConvolvedForm& form, DType dtype);

}  // namespace plait::cuda
