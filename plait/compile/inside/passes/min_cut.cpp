// By Dinic's algorithm.
#include "plait/compile/inside/passes/min_cut.h"

#include <algorithm>

namespace plait::compile {

namespace {
constexpr uint32_t kUnreached = std::numeric_limits<uint32_t>::max();
}

void FlowNetwork::add_edge(Node from, Node to, int64_t capacity) {
  edges_of_[from].push_back(static_cast<uint32_t>(edges_.size()));
  edges_.push_back({to, capacity});
  edges_of_[to].push_back(static_cast<uint32_t>(edges_.size()));
  edges_.push_back({from, 0});
}

bool FlowNetwork::find_levels() {
  level_.assign(edges_of_.size(), kUnreached);
  level_[kSource] = 0;
  std::vector<Node> reached{kSource};
  for (size_t i = 0; i < reached.size(); ++i) {
    for (const uint32_t e : edges_of_[reached[i]]) {
      const Edge& edge = edges_[e];
      if (edge.left == 0 || level_[edge.to] != kUnreached) continue;
      level_[edge.to] = level_[reached[i]] + 1;
      reached.push_back(edge.to);
    }
  }
  return level_[kSink] != kUnreached;
}

// Sends what fits along one path of edges that lead a level further; 0 if there is none.
int64_t FlowNetwork::push_path() {
  std::vector<uint32_t> path;
  Node node = kSource;
  while (node != kSink) {
    uint32_t& next = next_[node];
    const auto leads_on = [&](uint32_t e) {
      return edges_[e].left > 0 && level_[edges_[e].to] == level_[node] + 1;
    };
    while (next < edges_of_[node].size() && !leads_on(edges_of_[node][next])) ++next;
    if (next < edges_of_[node].size()) {
      path.push_back(edges_of_[node][next]);
      node = edges_[path.back()].to;
      continue;
    }
    if (path.empty()) return 0;
    node = edges_[path.back() ^ 1].to;
    ++next_[node];
    path.pop_back();
  }
  int64_t most = kUnlimited;
  for (const uint32_t e : path) most = std::min(most, edges_[e].left);
  for (const uint32_t e : path) {
    edges_[e].left -= most;
    edges_[e ^ 1].left += most;
  }
  return most;
}

std::vector<bool> FlowNetwork::reaching_sink() const {
  std::vector<bool> reaches(edges_of_.size());
  reaches[kSink] = true;
  std::vector<Node> waiting{kSink};
  while (!waiting.empty()) {
    const Node node = waiting.back();
    waiting.pop_back();
    for (const uint32_t e : edges_of_[node]) {
      const Node from = edges_[e].to;
      if (reaches[from] || edges_[e ^ 1].left == 0) continue;
      reaches[from] = true;
      waiting.push_back(from);
    }
  }
  return reaches;
}

std::vector<bool> FlowNetwork::sink_side() {
  while (find_levels()) {
    next_.assign(edges_of_.size(), 0);
    while (push_path() > 0) {
    }
  }
  return reaching_sink();
}

}  // namespace plait::compile
