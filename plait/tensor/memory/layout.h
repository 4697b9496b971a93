// Which element of a buffer each index of an array means: sizes, and how far apart neighbours along
// each dimension lie. Everything that only looks at an array differently is a new layout.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "plait/tensor/sizes.h"

namespace plait {

// One dimension of an index as in NumPy: start, start + step, … while before stop.
struct Slice {
  std::optional<int64_t> start = {};  // negative: from the end
  std::optional<int64_t> stop = {};
  int64_t step = 1;  // negative: backwards

  // Where it begins in a dimension of `size`, and how many elements it has: cut off at the ends.
  // ValueError for a step of 0.
  struct Range {
    int64_t start, count, step;
  };
  Range within(int64_t size) const;
};

struct Layout {
  Sizes sizes = {};
  Sizes strides = {};  // in elements; negative for what runs backwards, 0 for what repeats
  int64_t offset = 0;  // of the element with all indices 0

  static Layout contiguous(Sizes sizes);  // row-major; MemoryError beyond 2^63 bytes of elements

  size_t rank() const { return sizes.size(); }
  int64_t element_count() const;
  bool is_contiguous() const;  // row-major without gaps, wherever it begins
  // Whether two indices mean the same element (a stride of 0).
  bool repeats() const;

  // Each is a view: the same elements, looked at otherwise. Axes may be negative. IndexError for an
  // axis that is not there, ShapeError for sizes that do not fit.
  Layout sliced(int64_t axis, const Slice& slice) const;
  Layout picked(int64_t axis, int64_t index) const;  // without the axis
  Layout permuted(std::span<const int64_t> axes) const;
  Layout expanded(int64_t axis) const;  // with a dimension of size 1 there
  Layout squeezed(int64_t axis) const;
  Layout reversed(int64_t axis) const;
  Layout broadcast_to(std::span<const int64_t> to) const;  // sizes of 1 repeat
  // Nothing where the elements would have to move.
  std::optional<Layout> reshaped(const Sizes& to) const;

  friend bool operator==(const Layout&, const Layout&) = default;
};

// MemoryError when the product is beyond 63 bits.
int64_t element_count_of(std::span<const int64_t> sizes);
// "[2, 3]"
std::string text_of_sizes(std::span<const int64_t> sizes);
// The axis from the beginning, where `axis` may count from the end; else an IndexError that says
// what for.
size_t axis_of(int64_t axis, size_t rank);

// Goes through the indices of several layouts of the same sizes at once, as few as possible loops:
// neighbouring dimensions that lie alike in all of them become one, and dimensions of size one
// vanish. The last dimension is the innermost.
struct JointLayout {
  Sizes sizes;
  std::vector<Sizes> strides;  // of each layout

  explicit JointLayout(std::span<const Layout* const> layouts);
};

}  // namespace plait
