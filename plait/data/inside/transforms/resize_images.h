// Resizes strided image views; only the pixels of the view are read.
#pragma once

#include "plait/data/inside/transforms/image_view.h"
#include "plait/data/transforms/interpolation.h"

namespace plait::data {

struct ResizeTo {
  int64_t height, width;
  transforms::Interpolation interpolation;
  bool antialias;
};

// `to` has the sizes of the result.
void resize_bytes(const ImageView& from, const ResizeTo& to, Array& result);
// T is float or double.
template <class T>
void resize_floats(const ImageView& from, const ResizeTo& to, Array& result);
template <class T>
void resize_to_nearest(const ImageView& from, const ResizeTo& to, Array& result);

}  // namespace plait::data
