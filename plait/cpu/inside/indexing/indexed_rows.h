// Places in memory of the rows of an array that integers select (ops/indexing/gather.h).
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "plait/ops/indexing/gather.h"
#include "plait/tensor/memory/array.h"

namespace plait {

class IndexedRows {
 public:
  static constexpr int64_t kNowhere = std::numeric_limits<int64_t>::min();

  // The arguments must outlive the object. Errors name the function.
  IndexedRows(std::string_view function, const Array& x, std::span<const Array> indices,
              const GatherAttributes& attributes);

  int64_t count() const { return count_; }  // number of points
  size_t point_rank() const { return indices_[0].rank(); }
  // Layout of a row in x, from its first element.
  const Layout& row() const { return row_; }
  // Writes the offsets from x.data(), in elements, of the rows of the points [begin, end) in
  // row-major order. For indices out of range it writes kNowhere if these are ignored, else it
  // throws IndexError.
  void find(int64_t begin, int64_t end, int64_t* offsets) const;

 private:
  // Consecutive points along the innermost dimension.
  struct Run {
    Sizes place;  // index of the first point, in the dimensions of joint_
    int64_t count;
    int64_t* offsets;
  };
  int64_t offset_of(const Run& run, size_t layout) const;
  bool add_axis(const Run& run, size_t i) const;  // true if an index is out of range
  void forget_outside(const Run& run, size_t i) const;
  [[noreturn]] void refuse(const Run& run, size_t i) const;
  template <class Visit>
  void for_each_index(const Run& run, size_t i, Visit visit) const;

  std::string_view function_;
  const Array& x_;
  std::span<const Array> indices_;
  const GatherAttributes& attributes_;
  Layout batch_;  // layout of the beginnings in x of each point's batch
  Layout row_;
  JointLayout joint_;  // layout of the indices, then of batch_
  int64_t count_;
};

}  // namespace plait
