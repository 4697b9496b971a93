// Operations on the host and on the emulated device: the same results, in two orders of threads,
// without a finding of its checker.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/ir/attributes.h"
#include "plait/ir/primitive.h"
#include "plait/tensor/memory/array.h"

#include "tests/cuda/cuda_support.h"

namespace plait {

class BothDevices : public cuda_test::CudaTest {
 protected:
  void TearDown() override;

  const Device there{"cuda:0"};

  Array on_device(const Array& operand) const;
  // Runs the primitive on the host and there. Keys stay on the host.
  struct Results {
    std::vector<Array> host, device;  // `device`: on the host again
  };
  Results run(const ir::Primitive& primitive, const std::vector<Array>& operands,
              const ir::Attributes& attributes);
  // Expects the same bits.
  void expect_same(const ir::Primitive& primitive, const std::vector<Array>& operands,
                   const ir::Attributes& attributes, const std::string& name = {});
  // Expects the same up to `ulps` of the dtype, relative to the greatest element.
  void expect_near(const ir::Primitive& primitive, const std::vector<Array>& operands,
                   const ir::Attributes& attributes, double ulps, const std::string& name = {});
};

// Numbers that repeat, with zeros of both signs, infinities and NaN where the dtype has them.
Array assorted(DType dtype, const Sizes& sizes, int64_t seed = 1, bool finite = false);
// Integers from `least` to before `end`.
Array indices_between(DType dtype, const Sizes& sizes, int64_t least, int64_t end,
                      int64_t seed = 1);
// Views: with the axes in another order; of each `step`-th element along an axis, from the second
// on.
Array permuted(const Array& x, const std::vector<int64_t>& axes);
Array stepped(const Array& x, int64_t axis, int64_t step);
bool same_bits(const Array& a, const Array& b);

}  // namespace plait
