// The cheapest set of edges whose removal separates a sink from a source.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace plait::compile {

class FlowNetwork {
 public:
  using Node = uint32_t;
  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max() / 4;
  static constexpr Node kSource = 0, kSink = 1;

  Node add_node() {
    edges_of_.emplace_back();
    return static_cast<Node>(edges_of_.size() - 1);
  }
  void add_edge(Node from, Node to, int64_t capacity);

  // By node: true on the side of the sink. Of all cheapest cuts, the one with the fewest such
  // nodes.
  std::vector<bool> sink_side();

 private:
  struct Edge {
    Node to;
    int64_t left;  // the capacity that is not used; edge e ^ 1 leads back
  };

  bool find_levels();
  int64_t push_path();
  std::vector<bool> reaching_sink() const;

  std::vector<Edge> edges_;
  std::vector<std::vector<uint32_t>> edges_of_{2};
  std::vector<uint32_t> level_, next_;
};

}  // namespace plait::compile
