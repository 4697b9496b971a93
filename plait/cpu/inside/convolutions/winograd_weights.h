// The transforms of a convolution's weights [outputs][inputs][9] for Winograd's algorithm: matrices
// [points][inputs][outputs], each cut into panels of kWinogradPanel columns.
#pragma once

#include "plait/cpu/inside/convolutions/channel_rows.h"

namespace plait {

inline constexpr int64_t kWinogradPanel = 32;

// Matrices [points][panels][inputs][kWinogradPanel]. Those of a transposed convolution from y to x
// have weights [inputs][outputs][9].
void transform_weights(const WinogradKernels& transforms, const Images& x, const Images& y,
                       const std::byte* weights, bool is_transposed, float* to);

// The gradient by the weights from the one by matrices [points][inputs][columns]. False if a result
// is not finite.
bool transform_weight_gradient(const WinogradKernels& transforms, const Images& x, const Images& y,
                               float* from, int64_t columns, std::byte* weights);

}  // namespace plait
