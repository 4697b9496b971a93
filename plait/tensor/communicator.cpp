#include "plait/tensor/communicator.h"

#include <ranges>
#include <utility>

#include "plait/core/ambient.h"
#include "plait/core/error.h"

namespace plait {

CommunicatorScope::CommunicatorScope(std::vector<AxisRanks> axes)
    : axes_(std::move(axes)), outer_(std::exchange(ambient.communicators, this)) {}

CommunicatorScope::~CommunicatorScope() { ambient.communicators = outer_; }

Communicator& ranks_along(std::string_view label) {
  for (const auto* scope = ambient.communicators; scope != nullptr; scope = scope->outer_) {
    for (const AxisRanks& axis : scope->axes_) {
      if (axis.label == label) return *axis.ranks;
    }
  }
  throw KeyError("axis `{}` has no ranks: a collective runs within vmap or shard_map", label)
      .at(Location::of_caller());
}

std::vector<Communicator*> ranks_along(const ir::AxisSet& labels) {
  std::vector<Communicator*> found;
  for (const auto* scope = ambient.communicators; scope != nullptr; scope = scope->outer_) {
    for (const AxisRanks& axis : std::views::reverse(scope->axes_)) {
      if (labels.contains(axis.label)) found.push_back(axis.ranks.get());
    }
  }
  if (found.size() != labels.size()) {
    for (const std::string& label : labels) ranks_along(label);
  }
  return found;
}

}  // namespace plait
