// Where the rows of an array lie that integers name (ops/indexing/gather.h).
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

  // What is given must outlive it. Errors name the function.
  IndexedRows(std::string_view function, const Array& x, std::span<const Array> indices,
              const GatherAttributes& attributes);

  int64_t count() const { return count_; }  // of the points
  size_t point_rank() const { return indices_[0].rank(); }
  // How a row lies in x, from where it begins.
  const Layout& row() const { return row_; }
  // Where the rows of the points [begin, end) begin, in elements from x.data(), in row-major order
  // of the points; kNowhere where the indices lead outside and that is ignored, else IndexError.
  void find(int64_t begin, int64_t end, int64_t* offsets) const;

 private:
  // Points that follow each other along the innermost dimension.
  struct Run {
    Sizes place;  // of the first, in the dimensions of joint_
    int64_t count;
    int64_t* offsets;
  };
  int64_t offset_of(const Run& run, size_t layout) const;
  bool add_axis(const Run& run, size_t i) const;  // whether an index leads outside
  void forget_outside(const Run& run, size_t i) const;
  [[noreturn]] void refuse(const Run& run, size_t i) const;
  template <class Visit>
  void for_each_index(const Run& run, size_t i, Visit visit) const;

  std::string_view function_;
  const Array& x_;
  std::span<const Array> indices_;
  const GatherAttributes& attributes_;
  Layout batch_;  // of where in x each point's batch begins
  Layout row_;
  JointLayout joint_;  // of the indices, then of batch_
  int64_t count_;
};

}  // namespace plait
