#include "plait/ir/analysis/call_graph.h"

#include <algorithm>
#include <limits>

namespace plait::ir {
namespace {

constexpr uint32_t kUnseen = std::numeric_limits<uint32_t>::max();

// Tarjan's algorithm without recursion: the path from the root is kept in `path_`.
class ComponentFinder {
 public:
  explicit ComponentFinder(const NumberLists& successors)
      : successors_(successors), order_(successors.size(), kUnseen), low_(successors.size()) {}

  NumberLists find() {
    for (uint32_t root = 0; root < successors_.size(); ++root)
      if (order_[root] == kUnseen) walk_from(root);
    return std::move(components_);
  }

 private:
  struct Step {
    uint32_t node;
    size_t next;  // index of the next successor to visit
  };
  static constexpr uint32_t kDone = kUnseen - 1;  // its component is complete

  void enter(uint32_t node) {
    order_[node] = low_[node] = entered_++;
    open_.push_back(node);
    path_.push_back({node, 0});
  }

  void walk_from(uint32_t root) {
    enter(root);
    while (!path_.empty()) {
      auto& [node, next] = path_.back();
      std::span<const uint32_t> successors = successors_[node];
      if (next == successors.size()) {
        leave(node);
        continue;
      }
      uint32_t successor = successors[next++];
      if (order_[successor] == kUnseen) {
        enter(successor);
      } else if (order_[successor] != kDone) {
        low_[node] = std::min(low_[node], order_[successor]);
      }
    }
  }

  void leave(uint32_t node) {
    path_.pop_back();
    if (!path_.empty()) {
      uint32_t parent = path_.back().node;
      low_[parent] = std::min(low_[parent], low_[node]);
    }
    if (low_[node] == order_[node]) close_component(node);
  }

  void close_component(uint32_t root) {
    auto first = std::find(open_.rbegin(), open_.rend(), root).base() - 1;
    std::sort(first, open_.end());
    for (auto member = first; member != open_.end(); ++member) {
      components_.append(*member);
      order_[*member] = kDone;
    }
    components_.end_list();
    open_.erase(first, open_.end());
  }

  const NumberLists& successors_;
  NumberLists components_;
  std::vector<uint32_t> order_, low_;
  std::vector<uint32_t> open_;  // visited, but not yet in a component
  std::vector<Step> path_;
  uint32_t entered_ = 0;
};

NumberLists reversed(const NumberLists& successors) {
  std::vector<uint32_t> place(successors.size() + 1,
                              0);  // where each node's list of sources begins
  for (size_t node = 0; node < successors.size(); ++node)
    for (uint32_t successor : successors[node]) ++place[successor + 1];
  for (size_t node = 0; node < successors.size(); ++node) place[node + 1] += place[node];
  std::vector<uint32_t> sources(place.back());
  std::vector<uint32_t> next(place.begin(), place.end() - 1);
  for (uint32_t node = 0; node < successors.size(); ++node)
    for (uint32_t successor : successors[node]) sources[next[successor]++] = node;
  NumberLists lists;
  for (size_t node = 0; node < successors.size(); ++node) {
    for (uint32_t i = place[node]; i < place[node + 1]; ++i) lists.append(sources[i]);
    lists.end_list();
  }
  return lists;
}

}  // namespace

NumberLists strongly_connected_components(const NumberLists& successors) {
  return ComponentFinder(successors).find();
}

CallGraph::CallGraph(const Program& program) {
  size_t count = program.functions().size();
  std::vector<uint32_t> last_caller(count, kUnseen);
  for (uint32_t function = 0; function < count; ++function) {
    for_each_callee(program, function, [&](const Instruction&, size_t, uint32_t callee) {
      if (last_caller[callee] == function) return;
      last_caller[callee] = function;
      callees_.append(callee);
    });
    callees_.end_list();
  }
  callers_ = reversed(callees_);
  components_ = strongly_connected_components(callees_);
  component_of_.resize(count);
  for (uint32_t i = 0; i < components_.size(); ++i)
    for (uint32_t function : components_[i]) component_of_[function] = i;
}

bool CallGraph::is_recursive(size_t component) const {
  std::span<const uint32_t> members = components_[component];
  if (members.size() > 1) return true;
  return std::ranges::find(callees_[members[0]], members[0]) != callees_[members[0]].end();
}

std::vector<uint32_t> CallGraph::reachable_from(size_t first) const {
  std::vector<bool> seen(callees_.size(), false);
  std::vector<uint32_t> reached{static_cast<uint32_t>(first)};
  seen[first] = true;
  for (size_t i = 0; i < reached.size(); ++i) {
    for (uint32_t callee : callees_[reached[i]]) {
      if (seen[callee]) continue;
      seen[callee] = true;
      reached.push_back(callee);
    }
  }
  std::ranges::sort(reached);
  return reached;
}

}  // namespace plait::ir
