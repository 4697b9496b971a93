// The tables of what kernels of CUDA compute: each row is of a primitive. No device is needed.
#include <array>

#include <gtest/gtest.h>

#include "plait/cuda/inside/kernels/special_text.h"
#include "plait/cuda/inside/nests/operations.h"
#include "plait/ir/primitive.h"
#include "plait/ops/register_all.h"

namespace plait::cuda_operations_test {
namespace {

// The first look into a table throws if one of its names is not that of a primitive.
TEST(CudaOperations, AreNamedByPrimitives) {
  register_all();
  size_t special = 0, computed = 0;
  for (const ir::Primitive* primitive : ir::primitives()) {
    const std::array operands = {DType::f32};
    special += cuda::has_special_text(primitive->name) ? 1 : 0;
    computed += cuda::computes(*primitive, operands, DType::f32) ? 1 : 0;
  }
  EXPECT_GE(special, 18U);
  EXPECT_GE(computed, 90U);
}

}  // namespace
}  // namespace plait::cuda_operations_test
