// Nests of eager operations: one instruction over arrays, with sizes and strides as symbols. Equal
// patterns of dtypes, ranks and strides share one kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plait/cuda/inside/nests/nest_kernel.h"

namespace plait::cuda {

// A dimension of the loops, with the strides of all ports: the parameters in memory, then the
// result. Strides are in elements.
struct LoopDimension {
  int64_t size = 1;
  std::vector<int64_t> strides;
};

// Makes nests whose sizes are symbols, and says what their values are.
class NestPattern {
 public:
  // `dimensions` are those of the loops, the columns last.
  explicit NestPattern(std::span<const LoopDimension> dimensions) : dimensions_(dimensions) {}

  // Says which strides are 0 and 1, and nothing else of the sizes.
  std::string key() const;
  // Extents of loops, and the places of a port.
  std::vector<Dim> outer() const;
  Dim columns() const;
  compile::Affine place(size_t port) const;
  // The values of the symbols among `sizes`.
  std::vector<int64_t> values(std::span<const Dim> sizes) const;

 private:
  Dim extent(size_t dimension) const;
  Dim stride(size_t port, size_t dimension) const;

  std::span<const LoopDimension> dimensions_;
};

// The kernel of this key; made by `make` if it is the first. Lives as long as the process.
const NestKernel& eager_kernel(const std::string& key, const std::function<NestKernel()>& make);

}  // namespace plait::cuda
