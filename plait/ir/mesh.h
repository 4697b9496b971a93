// Named axes of a device mesh or of a vmap, and the sharding of a value over them. Plain data.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "plait/core/sizes/dim.h"

namespace plait::ir {

// A sorted set of axis names; usually empty.
class AxisSet {
 public:
  AxisSet() = default;
  AxisSet(std::initializer_list<std::string_view> names);

  void insert(std::string_view name);
  void insert(const AxisSet& other);
  void erase(std::string_view name);
  bool contains(std::string_view name) const;
  bool contains(const AxisSet& other) const;
  bool intersects(const AxisSet& other) const;
  bool empty() const { return names_.empty(); }
  size_t size() const { return names_.size(); }
  auto begin() const { return names_.begin(); }
  auto end() const { return names_.end(); }
  std::string text() const;  // "{data, model}"

  friend bool operator==(const AxisSet&, const AxisSet&) = default;

 private:
  std::vector<std::string> names_;
};

// The axes that a function may use, with their sizes.
struct Mesh {
  struct Axis {
    std::string name;
    Dim size;
    friend bool operator==(const Axis& a, const Axis& b) {
      return a.name == b.name && same(a.size, b.size);
    }
  };
  std::vector<Axis> axes;

  const Axis* find(std::string_view name) const;
  friend bool operator==(const Mesh&, const Mesh&) = default;
};

// The axes that split each dimension (major axis first), and the axes over which the value is a
// partial sum. An annotation of an array's type: it says where the shards are stored, not what the
// value is.
struct Sharding {
  std::vector<std::vector<std::string>> splits;  // one list per dimension; empty if not specified
  AxisSet partial;

  bool said() const { return !splits.empty() || !partial.empty(); }
  friend bool operator==(const Sharding&, const Sharding&) = default;
};

}  // namespace plait::ir
