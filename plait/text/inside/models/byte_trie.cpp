#include "plait/text/inside/models/byte_trie.h"

#include <algorithm>

namespace plait::text {

// Level by level: a node stands for the keys that share its prefix.
ByteTrie::ByteTrie(std::vector<Key> keys) {
  first_.fill(kNone);
  std::ranges::stable_sort(keys, {}, &Key::first);
  struct Range {
    size_t begin, end;  // keys with the prefix
    uint32_t node;
  };
  std::vector<Range> level, next_level;
  const auto add_children = [&](size_t begin, size_t end, size_t depth, auto added) {
    while (begin < end && keys[begin].first.size() <= depth) ++begin;
    while (begin < end) {
      const auto label = static_cast<uint8_t>(keys[begin].first[depth]);
      size_t last = begin;
      Node node{.label = label};
      for (; last < end && static_cast<uint8_t>(keys[last].first[depth]) == label; ++last) {
        if (keys[last].first.size() == depth + 1) node.value = keys[last].second;
      }
      nodes_.push_back(node);
      const auto place = static_cast<uint32_t>(nodes_.size() - 1);
      next_level.push_back({begin, last, place});
      added(label, place);
      begin = last;
    }
  };
  add_children(0, keys.size(), 0, [&](uint8_t label, uint32_t place) { first_[label] = place; });
  for (size_t depth = 1; !next_level.empty(); ++depth) {
    level = std::exchange(next_level, {});
    for (const Range& range : level) {
      const auto first_child = static_cast<uint32_t>(nodes_.size());
      uint16_t children = 0;
      add_children(range.begin, range.end, depth, [&](uint8_t, uint32_t) { ++children; });
      nodes_[range.node].first_child = first_child;
      nodes_[range.node].children = children;
    }
  }
}

}  // namespace plait::text
