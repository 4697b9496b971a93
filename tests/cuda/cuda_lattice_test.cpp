// Recurrences on lattices on the device.
#include <vector>

#include <gtest/gtest.h>

#include "plait/ops/inside/lattice.h"
#include "plait/ops/inside/primitives.h"
#include "plait/plait.h"

#include "tests/cuda/both_devices.h"

namespace plait::cuda_lattice_test {
namespace {

class CudaLattices : public BothDevices {
 protected:
  void expect_walks(DType dtype, const Sizes& sizes, bool finite) {
    std::vector<Array> operands;
    for (int64_t seed = 1; seed <= 4; ++seed) {
      operands.push_back(assorted(dtype, sizes, seed, finite).converted(dtype));
    }
    for (const bool reverse : {false, true}) {
      const ir::Attributes attributes = ir::Attributes::of(LatticeAttributes{reverse});
      const std::string name = text_of_sizes(sizes);
      expect_near(lattice_recurrence_primitive(), operands, attributes, 0, name);
      expect_near(lattice_logsumexp_primitive(), operands, attributes, 4, name);
    }
  }
};

TEST_F(CudaLattices, EqualTheHost) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    expect_walks(dtype, {2, 3, 5, 7}, true);
    expect_walks(dtype, {4, 6, 9}, false);
    expect_walks(dtype, {3, 300}, true);
    expect_walks(dtype, {1, 1, 1}, true);
    expect_walks(dtype, {0, 3, 2}, true);
    expect_walks(dtype, {2, 0, 2}, true);
    expect_walks(dtype, {2, 3, 0}, true);
  }
}

TEST_F(CudaLattices, ManyStatesAreInGlobalMemory) { expect_walks(DType::f32, {2, 2, 15000}, true); }

TEST_F(CudaLattices, StridedOperands) {
  std::vector<Array> operands;
  for (int64_t seed = 1; seed <= 4; ++seed) {
    operands.push_back(permuted(assorted(DType::f32, {5, 2, 6}, seed, true), {1, 2, 0}));
  }
  expect_near(lattice_logsumexp_primitive(), operands, ir::Attributes::of(LatticeAttributes{}), 4);
}

TEST_F(CudaLattices, LossesOfAlignmentsHaveTheHostsGradients) {
  const Tensor logits(cuda_test::numbers(DType::f32, {2, 9, 5}));
  const auto gradient = [](const Tensor& x) {
    const auto loss = [](const Tensor& y) {
      return mean(lattice_logsumexp({y, y * 0.5, y * 0.25, y - 1})) +
             mean(lattice_recurrence({y * 0.1, y * 0.05, y * 0.02, y}, true));
    };
    return grad(loss)(x);
  };
  const Tensor found = gradient(to_device(logits, there));
  EXPECT_EQ(found.device(), there);
  EXPECT_TRUE(allclose(to_device(found, Device()), gradient(logits), {.rtol = 1e-4, .atol = 1e-5})
                  .item<bool>());
}

}  // namespace
}  // namespace plait::cuda_lattice_test
