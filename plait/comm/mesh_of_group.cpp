#include "plait/comm/mesh_of_group.h"

#include "plait/comm/collectives.h"
#include "plait/core/error.h"
#include "plait/ops/elementwise/elementwise.h"

namespace plait::dist {
namespace {

ReduceOp op_of(Communicator::Reduction how) {
  switch (how) {
    case Communicator::Reduction::sum: return ReduceOp::sum;
    case Communicator::Reduction::product: return ReduceOp::product;
    case Communicator::Reduction::maximum: return ReduceOp::max;
    case Communicator::Reduction::minimum: return ReduceOp::min;
  }
  return ReduceOp::sum;
}

class GroupCommunicator final : public Communicator {
 public:
  explicit GroupCommunicator(std::shared_ptr<Group> group) : group_(std::move(group)) {}

  int64_t size() const override { return group_->size(); }
  int64_t place() const override { return group_->rank(); }
  Tensor all_reduce(const Tensor& x, Reduction how) override {
    return dist::all_reduce(x, op_of(how), *group_);
  }
  Tensor all_gather(const Tensor& x) override { return dist::all_gather(x, *group_); }
  Tensor reduce_scatter(const Tensor& rows) override {
    return dist::reduce_scatter(rows, ReduceOp::sum, *group_);
  }
  Tensor all_to_all(const Tensor& rows) override { return dist::all_to_all(rows, *group_); }
  Tensor broadcast(const Tensor& x, int64_t source) override {
    return dist::broadcast(x, static_cast<int>(source), *group_);
  }

 private:
  std::shared_ptr<Group> group_;
};

// The ranks that share the places of this rank along all other axes, in order.
std::vector<int> ranks_along(const std::vector<std::pair<std::string, int64_t>>& axes, size_t axis,
                             int rank) {
  int stride = 1;
  for (size_t i = axes.size(); i-- > axis + 1;) stride *= static_cast<int>(axes[i].second);
  const int size = static_cast<int>(axes[axis].second), place = rank / stride % size;
  std::vector<int> ranks;
  for (int i = 0; i < size; ++i) ranks.push_back(rank + (i - place) * stride);
  return ranks;
}

}  // namespace

std::shared_ptr<Communicator> communicator_of(std::shared_ptr<Group> group) {
  return std::make_shared<GroupCommunicator>(std::move(group));
}

Mesh mesh_of(std::shared_ptr<Group> group,
             const std::vector<std::pair<std::string, int64_t>>& axes) {
  int64_t places = 1;
  for (const auto& [name, size] : axes) {
    if (size < 1) {
      throw ValueError("mesh: axis `{}` has a size of {}, expected 1 or more", name, size)
          .at(Location::of_caller());
    }
    places *= size;
  }
  if (places != group->size()) {
    throw ValueError("mesh: {} places for a group of {} ranks", places, group->size())
        .at(Location::of_caller());
  }
  Mesh mesh;
  for (size_t i = 0; i < axes.size(); ++i) {
    std::shared_ptr<Group> along = group;
    if (axes.size() > 1) {
      along = group->subgroup(ranks_along(axes, i, group->rank()), {.by_members = true});
    }
    mesh.axes.push_back({axes[i].first, axes[i].second, communicator_of(std::move(along))});
  }
  return mesh;
}

}  // namespace plait::dist
