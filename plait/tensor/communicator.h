// The ranks along a named axis, through which collectives of programs
// (ops/collectives/collective.h) exchange values. Implemented by `comm`, for groups of processes or
// threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plait/ir/mesh.h"
#include "plait/tensor/tensor.h"

namespace plait {

// All ranks make the same calls in the same order.
class Communicator {
 public:
  enum class Reduction : uint8_t { sum, product, maximum, minimum };

  virtual ~Communicator() = default;
  virtual int64_t size() const = 0;
  virtual int64_t place() const = 0;  // that of this rank along the axis

  virtual Tensor all_reduce(const Tensor& x, Reduction how) = 0;
  // The values of all ranks, along a new first dimension.
  virtual Tensor all_gather(const Tensor& x) = 0;
  // The tensor has a row for each rank: own row of the sum.
  virtual Tensor reduce_scatter(const Tensor& rows) = 0;
  // The same: row i of the result is the own row of rank i.
  virtual Tensor all_to_all(const Tensor& rows) = 0;
  virtual Tensor broadcast(const Tensor& x, int64_t source) = 0;
};

// The ranks along an axis, by its label in instructions.
struct AxisRanks {
  std::string label;
  std::shared_ptr<Communicator> ranks;
};

// Kernels of collectives ask these ranks, on this thread, as long as the object exists.
class CommunicatorScope {
 public:
  explicit CommunicatorScope(std::vector<AxisRanks> axes);
  ~CommunicatorScope();
  CommunicatorScope(const CommunicatorScope&) = delete;
  CommunicatorScope& operator=(const CommunicatorScope&) = delete;

 private:
  friend Communicator& ranks_along(std::string_view label);
  friend std::vector<Communicator*> ranks_along(const ir::AxisSet& labels);

  std::vector<AxisRanks> axes_;
  const CommunicatorScope* const outer_;
};

// KeyError if nothing runs the axis.
Communicator& ranks_along(std::string_view label);
// Those of the last axis of the mesh first, as lanes are combined.
std::vector<Communicator*> ranks_along(const ir::AxisSet& labels);

}  // namespace plait
