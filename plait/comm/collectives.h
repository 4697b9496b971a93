// Calls that the ranks of a group make together. Each is an ordinary function, outside of
// transforms: within jit, grad or vmap it is a TypeError.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "plait/comm/group.h"
#include "plait/comm/reduce_op.h"
#include "plait/comm/work.h"
#include "plait/tensor/tensor.h"

namespace plait::dist {

struct CallOptions {
  std::optional<Duration> timeout = {};  // that of the group by default
  // A reduction multiplies the operand of this rank by it before.
  double scale = 1;
};

// Returns when all ranks have called it.
void barrier(Group& group, const CallOptions& options = {});

// The tensor of the root, on all ranks, where x has its type.
Tensor broadcast(const Tensor& x, int root, Group& group, const CallOptions& options = {});
// The sum of all ranks' tensors, or another reduction, in the order of the ranks.
Tensor all_reduce(const Tensor& x, ReduceOp op, Group& group, const CallOptions& options = {});
// The same for the root alone; elsewhere x.
Tensor reduce(const Tensor& x, int root, ReduceOp op, Group& group,
              const CallOptions& options = {});
// The tensors of all ranks, along a new first dimension.
Tensor all_gather(const Tensor& x, Group& group, const CallOptions& options = {});
// The same for the root alone; elsewhere an empty tensor.
Tensor gather(const Tensor& x, int root, Group& group, const CallOptions& options = {});
// Row `rank` of the root's tensor. Other ranks pass none, but all a tensor of the type of a row.
Tensor scatter(const Tensor& rows, const Tensor& like, int root, Group& group,
               const CallOptions& options = {});
// Row `rank` of the reduction of all ranks' tensors, which have a row for each rank.
Tensor reduce_scatter(const Tensor& x, ReduceOp op, Group& group, const CallOptions& options = {});
// Row i of the result is row `rank` of the tensor of rank i.
Tensor all_to_all(const Tensor& x, Group& group, const CallOptions& options = {});

// The same with parts of different sizes instead of rows: one after another in a tensor of one
// dimension. The counts of elements are the same on all ranks, but for all_to_all.
Tensor all_gather_parts(const Tensor& x, const std::vector<int64_t>& counts, Group& group,
                        const CallOptions& options = {});
Tensor reduce_scatter_parts(const Tensor& x, const std::vector<int64_t>& counts, ReduceOp op,
                            Group& group, const CallOptions& options = {});
// This rank sends send_counts[i] elements to rank i, and receives receive_counts[i] from it.
Tensor all_to_all_parts(const Tensor& x, const std::vector<int64_t>& send_counts,
                        const std::vector<int64_t>& receive_counts, Group& group,
                        const CallOptions& options = {});

// The same, but they return as soon as the call is begun: the tensor is the result of the Work.
namespace async {

std::shared_ptr<Work> barrier(Group& group, const CallOptions& options = {});
std::shared_ptr<Work> broadcast(const Tensor& x, int root, Group& group,
                                const CallOptions& options = {});
std::shared_ptr<Work> all_reduce(const Tensor& x, ReduceOp op, Group& group,
                                 const CallOptions& options = {});
std::shared_ptr<Work> reduce(const Tensor& x, int root, ReduceOp op, Group& group,
                             const CallOptions& options = {});
std::shared_ptr<Work> all_gather(const Tensor& x, Group& group, const CallOptions& options = {});
std::shared_ptr<Work> gather(const Tensor& x, int root, Group& group,
                             const CallOptions& options = {});
std::shared_ptr<Work> scatter(const Tensor& rows, const Tensor& like, int root, Group& group,
                              const CallOptions& options = {});
std::shared_ptr<Work> reduce_scatter(const Tensor& x, ReduceOp op, Group& group,
                                     const CallOptions& options = {});
std::shared_ptr<Work> all_to_all(const Tensor& x, Group& group, const CallOptions& options = {});
std::shared_ptr<Work> all_gather_parts(const Tensor& x, const std::vector<int64_t>& counts,
                                       Group& group, const CallOptions& options = {});
std::shared_ptr<Work> reduce_scatter_parts(const Tensor& x, const std::vector<int64_t>& counts,
                                           ReduceOp op, Group& group,
                                           const CallOptions& options = {});
std::shared_ptr<Work> all_to_all_parts(const Tensor& x, const std::vector<int64_t>& send_counts,
                                       const std::vector<int64_t>& receive_counts, Group& group,
                                       const CallOptions& options = {});

}  // namespace async

}  // namespace plait::dist
