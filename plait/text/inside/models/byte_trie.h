// A prefix tree over bytes: finds the keys that a text begins with, shortest first.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace plait::text {

class ByteTrie {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  using Key = std::pair<std::string_view, uint32_t>;

  ByteTrie() = default;
  // The last one of several equal keys counts. Empty keys are ignored; values are below kNone.
  explicit ByteTrie(std::vector<Key> keys);

  // Calls found(size, value) for each key that `text` begins with.
  template <class Found>
  void for_each_prefix(std::string_view text, Found found) const {
    if (text.empty() || nodes_.empty()) return;
    uint32_t node = first_[static_cast<unsigned char>(text[0])];
    for (size_t size = 1; node != kNone; ++size) {
      if (nodes_[node].value != kNone) found(size, nodes_[node].value);
      if (size == text.size()) return;
      node = child(nodes_[node], static_cast<unsigned char>(text[size]));
    }
  }

 private:
  struct Node {
    uint32_t first_child = 0;
    uint32_t value = kNone;
    uint16_t children = 0;
    uint8_t label = 0;
  };

  uint32_t child(const Node& node, uint8_t label) const {
    uint32_t begin = node.first_child, count = node.children;
    while (count > 8) {  // halves, then one by one
      const uint32_t half = count / 2;
      if (nodes_[begin + half].label <= label) begin += half;
      count -= half;
    }
    for (uint32_t i = 0; i < count; ++i) {
      if (nodes_[begin + i].label == label) return begin + i;
    }
    return kNone;
  }

  std::vector<Node> nodes_;  // the children of each node are next to each other, by label
  std::array<uint32_t, 256> first_ = {};
};

}  // namespace plait::text
