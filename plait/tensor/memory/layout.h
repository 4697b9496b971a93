// Maps indices of an array to elements of a buffer: sizes, and the stride of each dimension. All
// view operations only make a new layout.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "plait/tensor/sizes.h"

namespace plait {

// A slice of one dimension, as in NumPy: start, start + step, … before stop.
struct Slice {
  std::optional<int64_t> start = {};  // negative: from the end
  std::optional<int64_t> stop = {};
  int64_t step = 1;  // negative: backwards

  // First index and number of elements in a dimension of `size`; out-of-range ends are clipped.
  // ValueError for a step of 0.
  struct Range {
    int64_t start, count, step;
  };
  Range within(int64_t size) const;
};

struct Layout {
  Sizes sizes = {};
  Sizes strides = {};  // in elements; negative if reversed, 0 if broadcast
  int64_t offset = 0;  // offset of the element with all indices 0

  static Layout contiguous(Sizes sizes);  // row-major; MemoryError beyond 2^63 bytes of elements

  size_t rank() const { return sizes.size(); }
  int64_t element_count() const;
  bool is_contiguous() const;  // row-major without gaps, at any offset
  // True if two indices map to the same element (a stride of 0).
  bool repeats() const;

  // Each returns a view of the same elements. Axes may be negative. IndexError for an axis out of
  // range, ShapeError for sizes that do not fit.
  Layout sliced(int64_t axis, const Slice& slice) const;
  Layout picked(int64_t axis, int64_t index) const;  // drops the axis
  Layout permuted(std::span<const int64_t> axes) const;
  Layout transposed() const;            // the last two dimensions swapped
  Layout expanded(int64_t axis) const;  // inserts a dimension of size 1
  Layout reversed(int64_t axis) const;
  Layout broadcast_to(std::span<const int64_t> to) const;  // dimensions of size 1 get stride 0
  // Empty if a view is not possible.
  std::optional<Layout> reshaped(const Sizes& to) const;

  friend bool operator==(const Layout&, const Layout&) = default;
};

// MemoryError if the product exceeds 63 bits.
int64_t element_count_of(std::span<const int64_t> sizes);
// "[2, 3]"
std::string text_of_sizes(std::span<const int64_t> sizes);
// Normalises an axis that may be negative; IndexError if it is out of range.
size_t axis_of(int64_t axis, size_t rank);

// Iterates over several layouts of the same sizes with as few loops as possible: adjacent
// dimensions that can be merged in all layouts are merged, and dimensions of size 1 are dropped.
// The last dimension is the innermost.
struct JointLayout {
  Sizes sizes;
  std::vector<Sizes> strides;  // one per layout

  explicit JointLayout(std::span<const Layout* const> layouts);
};

}  // namespace plait
