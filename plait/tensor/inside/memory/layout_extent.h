// The part of a buffer that a layout refers to.
#pragma once

#include "plait/tensor/memory/layout.h"

namespace plait {

// The least and the greatest offset of an element; for layouts with elements.
struct LayoutExtent {
  int64_t least, greatest;
  int64_t count() const { return greatest - least + 1; }
};
inline LayoutExtent extent_of(const Layout& layout) {
  LayoutExtent extent{layout.offset, layout.offset};
  for (size_t i = 0; i < layout.rank(); ++i) {
    const int64_t span = (layout.sizes[i] - 1) * layout.strides[i];
    (span < 0 ? extent.least : extent.greatest) += span;
  }
  return extent;
}

// True if all indices refer to the same element, as in a broadcast scalar.
inline bool repeats_one_element(const Layout& layout) {
  for (size_t i = 0; i < layout.rank(); ++i) {
    if (layout.strides[i] != 0 && layout.sizes[i] != 1) return false;
  }
  return true;
}

}  // namespace plait
