// Matrices in the layout that a product reads, kept with the memory of the matrix if several
// programs were given it unchanged: weights that do not change are packed once.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "plait/core/numbers/dtype.h"
#include "plait/core/settings.h"
#include "plait/ops/inside/products/matrix.h"
#include "plait/tensor/memory/buffer.h"

namespace plait {

namespace setting {
extern Setting<int64_t> kPackedMemory;
}

// The right-hand side of a product, and the memory that it is in.
struct RightMatrix {
  Matrix matrix;
  DType dtype;
  const Buffer& memory;
};

// `bytes` bytes, into which `pack` packs the matrix in a layout, which numbers describe. If
// programs use its memory repeatedly, the bytes are kept there and found by later calls; else they
// are workspace.
Buffer packed_matrix(const RightMatrix& b, std::span<const int64_t> layout, int64_t bytes,
                     const std::function<void(std::byte*)>& pack);

// Bytes of all packed matrices that are kept.
int64_t kept_packing_bytes();

}  // namespace plait
