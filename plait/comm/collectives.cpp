#include "plait/comm/collectives.h"

#include <numeric>
#include <string_view>
#include <utility>

#include "plait/comm/inside/call_operand.h"
#include "plait/comm/inside/caller_scope.h"
#include "plait/comm/inside/lane.h"
#include "plait/comm/inside/reduction.h"
#include "plait/core/error.h"
#include "plait/ops/elementwise/elementwise.h"

namespace plait::dist {
namespace {

// A call with its buffers, and the tensor that this rank receives.
struct Prepared {
  Call call;
  Tensor result = {};
};

void check_root(std::string_view function, int root, const Group& group) {
  if (root >= 0 && root < group.size()) return;
  throw ValueError("{}: the root is rank {}, expected 0 to {}", function, root, group.size() - 1)
      .at(Location::of_caller());
}

// Sizes without the first one, which must be that of the group.
Sizes row_sizes(std::string_view function, const Array& x, const Group& group) {
  if (x.rank() == 0 || x.sizes()[0] != group.size()) {
    throw ShapeError("{}: the tensor is {}, expected {} rows, one for each rank", function,
                     Tensor(x).type().text(), group.size())
        .at(Location::of_caller());
  }
  Sizes sizes = x.sizes();
  sizes.erase(0);
  return sizes;
}

Sizes with_rows(const Array& x, const Group& group) {
  Sizes sizes = x.sizes();
  sizes.insert(0, group.size());
  return sizes;
}

int64_t product_of(const Sizes& sizes) {
  int64_t product = 1;
  for (const int64_t size : sizes) product *= size;
  return product;
}

Prepared prepared(CallKind kind, const Array& in, const std::optional<Sizes>& out_sizes,
                  int64_t count) {
  Prepared made{.call = {.kind = kind, .dtype = in.dtype(), .count = count}};
  Array out = out_sizes ? Array::empty_on(in.device(), in.dtype(), *out_sizes) : Array();
  made.call.in = in.device_data();
  if (out_sizes) made.call.out = out.device_data();
  made.call.keeps = std::make_shared<std::pair<Array, Array>>(in, out);
  made.call.where = Location::of_caller();
  if (out_sizes) made.result = Tensor(std::move(out));
  return made;
}

Prepared prepare_barrier() {
  refuse_recording("barrier");
  return {.call = {.kind = CallKind::barrier, .where = Location::of_caller()}};
}

Prepared prepare_broadcast(const Tensor& x, int root, const Group& group) {
  check_root("broadcast", root, group);
  const Array in = operand_of("broadcast", x, group);
  const bool is_root = root == group.rank();
  Prepared made = prepared(CallKind::broadcast, in,
                           is_root ? std::nullopt : std::optional(in.sizes()), in.element_count());
  made.call.root = root;
  if (is_root) made.result = x;
  return made;
}

// The operand of a reduction.
Array scaled(std::string_view function, const Tensor& x, const Group& group,
             const CallOptions& options) {
  if (options.scale == 1) return operand_of(function, x, group);
  if (!is_inexact(x.dtype())) {
    throw TypeError("{}: {} is not scaled, only floating and complex numbers", function,
                    x.type().text())
        .at(Location::of_caller());
  }
  return operand_of(function, x * options.scale, group);
}

Prepared prepare_reduction(std::string_view function, CallKind kind, const Tensor& x, ReduceOp op,
                           const Group& group, const CallOptions& options) {
  const Array in = scaled(function, x, group, options);
  check_reduction(function, op, in.dtype());
  Prepared made = prepared(kind, in, in.sizes(), in.element_count());
  made.call.reduction = op;
  return made;
}

Prepared prepare_reduce(const Tensor& x, int root, ReduceOp op, const Group& group,
                        const CallOptions& options) {
  check_root("reduce", root, group);
  Prepared made = prepare_reduction("reduce", CallKind::reduce, x, op, group, options);
  made.call.root = root;
  if (root != group.rank()) made.result = x;
  return made;
}

Prepared prepare_all_gather(const Tensor& x, const Group& group) {
  const Array in = operand_of("all_gather", x, group);
  return prepared(CallKind::all_gather, in, with_rows(in, group), in.element_count());
}

Prepared prepare_gather(const Tensor& x, int root, const Group& group) {
  check_root("gather", root, group);
  const Array in = operand_of("gather", x, group);
  const bool is_root = root == group.rank();
  Prepared made =
      prepared(CallKind::gather, in, is_root ? std::optional(with_rows(in, group)) : std::nullopt,
               in.element_count());
  made.call.root = root;
  return made;
}

Prepared prepare_scatter(const Tensor& rows, const Tensor& like, int root, const Group& group) {
  check_root("scatter", root, group);
  const Array row = operand_of("scatter", like, group);
  const bool is_root = root == group.rank();
  if (is_root != static_cast<bool>(rows)) {
    throw ValueError("scatter: rank {} passes {}, the root is rank {}", group.rank(),
                     is_root ? "no rows" : "rows", root)
        .at(Location::of_caller())
        .hint("the root passes the rows of all ranks, the others an empty tensor");
  }
  const Array in = is_root ? operand_of("scatter", rows, group) : row;
  if (is_root && (row_sizes("scatter", in, group) != row.sizes() || in.dtype() != row.dtype())) {
    throw ShapeError("scatter: rows of {} for {}", Tensor(in).type().text(), like.type().text())
        .at(Location::of_caller());
  }
  Prepared made = prepared(CallKind::scatter, in, row.sizes(), row.element_count());
  made.call.root = root;
  return made;
}

Prepared prepare_reduce_scatter(const Tensor& x, ReduceOp op, const Group& group,
                                const CallOptions& options) {
  const Array in = scaled("reduce_scatter", x, group, options);
  check_reduction("reduce_scatter", op, in.dtype());
  const Sizes row = row_sizes("reduce_scatter", in, group);
  Prepared made = prepared(CallKind::reduce_scatter, in, row, product_of(row));
  made.call.reduction = op;
  return made;
}

Prepared prepare_all_to_all(const Tensor& x, const Group& group) {
  const Array in = operand_of("all_to_all", x, group);
  const int64_t count = product_of(row_sizes("all_to_all", in, group));
  Prepared made = prepared(CallKind::all_to_all, in, in.sizes(), count);
  made.call.send_counts.assign(static_cast<size_t>(group.size()), count);
  made.call.receive_counts = made.call.send_counts;
  return made;
}

void check_parts(std::string_view function, std::string_view which,
                 const std::vector<int64_t>& counts, int64_t elements, const Group& group) {
  int64_t sum = 0;
  for (const int64_t count : counts) {
    if (count < 0) throw ValueError("{}: {} has {}, expected 0 or more", function, which, count);
    sum += count;
  }
  if (static_cast<int>(counts.size()) != group.size()) {
    throw ValueError("{}: {} has {} counts, expected {}, one for each rank", function, which,
                     counts.size(), group.size())
        .at(Location::of_caller());
  }
  if (sum == elements) return;
  throw ShapeError("{}: the sum of {} is {}, the tensor has {} elements", function, which, sum,
                   elements)
      .at(Location::of_caller());
}

int64_t sum_of(const std::vector<int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

Prepared prepare_all_gather_parts(const Tensor& x, const std::vector<int64_t>& counts,
                                  const Group& group) {
  const Array in = operand_of("all_gather_parts", x, group);
  check_parts("all_gather_parts", "counts", counts, sum_of(counts), group);
  const int64_t own = counts[static_cast<size_t>(group.rank())];
  if (own != in.element_count()) {
    throw ShapeError("all_gather_parts: counts has {} for rank {}, whose tensor has {} elements",
                     own, group.rank(), in.element_count())
        .at(Location::of_caller());
  }
  Prepared made = prepared(CallKind::all_gather, in, Sizes{sum_of(counts)}, 0);
  made.call.counts = counts;
  return made;
}

Prepared prepare_reduce_scatter_parts(const Tensor& x, const std::vector<int64_t>& counts,
                                      ReduceOp op, const Group& group, const CallOptions& options) {
  const Array in = scaled("reduce_scatter_parts", x, group, options);
  check_reduction("reduce_scatter_parts", op, in.dtype());
  check_parts("reduce_scatter_parts", "counts", counts, in.element_count(), group);
  Prepared made =
      prepared(CallKind::reduce_scatter, in, Sizes{counts[static_cast<size_t>(group.rank())]}, 0);
  made.call.counts = counts;
  made.call.reduction = op;
  return made;
}

Prepared prepare_all_to_all_parts(const Tensor& x, const std::vector<int64_t>& send_counts,
                                  const std::vector<int64_t>& receive_counts, const Group& group) {
  const Array in = operand_of("all_to_all_parts", x, group);
  check_parts("all_to_all_parts", "send_counts", send_counts, in.element_count(), group);
  check_parts("all_to_all_parts", "receive_counts", receive_counts, sum_of(receive_counts), group);
  Prepared made = prepared(CallKind::all_to_all, in, Sizes{sum_of(receive_counts)}, 0);
  made.call.send_counts = send_counts;
  made.call.receive_counts = receive_counts;
  return made;
}

Tensor run(Prepared made, const Group& group, const CallOptions& options) {
  group.lane()->run(std::move(made.call), options.timeout.value_or(group.timeout()));
  return std::move(made.result);
}

std::shared_ptr<Work> start(Prepared made, const Group& group, const CallOptions& options) {
  std::vector<Tensor> result;
  if (made.result) result.push_back(std::move(made.result));
  auto work = std::make_shared<Work>(std::move(result));
  group.lane()->start(std::move(made.call), options.timeout.value_or(group.timeout()), work);
  return work;
}

}  // namespace

void barrier(Group& group, const CallOptions& options) {
  const CallerScope caller;
  run(prepare_barrier(), group, options);
}

Tensor broadcast(const Tensor& x, int root, Group& group, const CallOptions& options) {
  const CallerScope caller;
  return run(prepare_broadcast(x, root, group), group, options);
}

Tensor all_reduce(const Tensor& x, ReduceOp op, Group& group, const CallOptions& options) {
  const CallerScope caller;
  return run(prepare_reduction("all_reduce", CallKind::all_reduce, x, op, group, options), group,
             options);
}

Tensor reduce(const Tensor& x, int root, ReduceOp op, Group& group, const CallOptions& options) {
  const CallerScope caller;
  return run(prepare_reduce(x, root, op, group, options), group, options);
}

Tensor all_gather(const Tensor& x, Group& group, const CallOptions& options) {
  const CallerScope caller;
  return run(prepare_all_gather(x, group), group, options);
}

Tensor gather(const Tensor& x, int root, Group& group, const CallOptions& options) {
  const CallerScope caller;
  return run(prepare_gather(x, root, group), group, options);
}

Tensor scatter(const Tensor& rows, const Tensor& like, int root, Group& group,
               const CallOptions& options) {
  const CallerScope caller;
  return run(prepare_scatter(rows, like, root, group), group, options);
}

Tensor reduce_scatter(const Tensor& x, ReduceOp op, Group& group, const CallOptions& options) {
  const CallerScope caller;
  return run(prepare_reduce_scatter(x, op, group, options), group, options);
}

Tensor all_to_all(const Tensor& x, Group& group, const CallOptions& options) {
  const CallerScope caller;
  return run(prepare_all_to_all(x, group), group, options);
}

Tensor all_gather_parts(const Tensor& x, const std::vector<int64_t>& counts, Group& group,
                        const CallOptions& options) {
  const CallerScope caller;
  return run(prepare_all_gather_parts(x, counts, group), group, options);
}

Tensor reduce_scatter_parts(const Tensor& x, const std::vector<int64_t>& counts, ReduceOp op,
                            Group& group, const CallOptions& options) {
  const CallerScope caller;
  return run(prepare_reduce_scatter_parts(x, counts, op, group, options), group, options);
}

Tensor all_to_all_parts(const Tensor& x, const std::vector<int64_t>& send_counts,
                        const std::vector<int64_t>& receive_counts, Group& group,
                        const CallOptions& options) {
  const CallerScope caller;
  return run(prepare_all_to_all_parts(x, send_counts, receive_counts, group), group, options);
}

namespace async {

std::shared_ptr<Work> barrier(Group& group, const CallOptions& options) {
  const CallerScope caller;
  return start(prepare_barrier(), group, options);
}

std::shared_ptr<Work> broadcast(const Tensor& x, int root, Group& group,
                                const CallOptions& options) {
  const CallerScope caller;
  return start(prepare_broadcast(x, root, group), group, options);
}

std::shared_ptr<Work> all_reduce(const Tensor& x, ReduceOp op, Group& group,
                                 const CallOptions& options) {
  const CallerScope caller;
  return start(prepare_reduction("all_reduce", CallKind::all_reduce, x, op, group, options), group,
               options);
}

std::shared_ptr<Work> reduce(const Tensor& x, int root, ReduceOp op, Group& group,
                             const CallOptions& options) {
  const CallerScope caller;
  return start(prepare_reduce(x, root, op, group, options), group, options);
}

std::shared_ptr<Work> all_gather(const Tensor& x, Group& group, const CallOptions& options) {
  const CallerScope caller;
  return start(prepare_all_gather(x, group), group, options);
}

std::shared_ptr<Work> gather(const Tensor& x, int root, Group& group, const CallOptions& options) {
  const CallerScope caller;
  return start(prepare_gather(x, root, group), group, options);
}

std::shared_ptr<Work> scatter(const Tensor& rows, const Tensor& like, int root, Group& group,
                              const CallOptions& options) {
  const CallerScope caller;
  return start(prepare_scatter(rows, like, root, group), group, options);
}

std::shared_ptr<Work> reduce_scatter(const Tensor& x, ReduceOp op, Group& group,
                                     const CallOptions& options) {
  const CallerScope caller;
  return start(prepare_reduce_scatter(x, op, group, options), group, options);
}

std::shared_ptr<Work> all_to_all(const Tensor& x, Group& group, const CallOptions& options) {
  const CallerScope caller;
  return start(prepare_all_to_all(x, group), group, options);
}

std::shared_ptr<Work> all_gather_parts(const Tensor& x, const std::vector<int64_t>& counts,
                                       Group& group, const CallOptions& options) {
  const CallerScope caller;
  return start(prepare_all_gather_parts(x, counts, group), group, options);
}

std::shared_ptr<Work> reduce_scatter_parts(const Tensor& x, const std::vector<int64_t>& counts,
                                           ReduceOp op, Group& group, const CallOptions& options) {
  const CallerScope caller;
  return start(prepare_reduce_scatter_parts(x, counts, op, group, options), group, options);
}

std::shared_ptr<Work> all_to_all_parts(const Tensor& x, const std::vector<int64_t>& send_counts,
                                       const std::vector<int64_t>& receive_counts, Group& group,
                                       const CallOptions& options) {
  const CallerScope caller;
  return start(prepare_all_to_all_parts(x, send_counts, receive_counts, group), group, options);
}

}  // namespace async

}  // namespace plait::dist
