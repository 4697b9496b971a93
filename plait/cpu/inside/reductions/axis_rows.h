// Access to an array as contiguous rows along an axis, whatever its layout.
#pragma once

#include <cstdint>

#include "plait/tensor/memory/array.h"

namespace plait {

// Moves the axis to the end.
inline Layout with_axis_last(const Layout& layout, int64_t axis) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < static_cast<int64_t>(layout.rank()); ++i) {
    if (i != axis) order.push_back(i);
  }
  order.push_back(axis);
  return layout.permuted(order);
}

inline Array dense_rows(const Array& x, int64_t axis) {
  return x.view(with_axis_last(x.layout(), axis)).contiguous();
}

// Destination of result rows: `out` itself if its axis is the last one, else a temporary array that
// is copied into it at the end.
class ResultRows {
 public:
  ResultRows(Array& out, int64_t axis)
      : place_(out.view(with_axis_last(out.layout(), axis))),
        rows_(place_.is_contiguous() ? place_ : Array::empty(out.dtype(), place_.sizes())) {}

  template <class T>
  T* data() {
    return reinterpret_cast<T*>(rows_.writable_data());
  }
  void finish() {
    if (rows_.data() != place_.data()) copy_elements(rows_, place_);
  }

 private:
  Array place_, rows_;
};

}  // namespace plait
