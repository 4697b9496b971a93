// MixUp (Zhang et al., 2017) and CutMix (Yun et al., 2019) of a batch: each image is mixed with the
// one before it, and labels become the shares of the classes. Batches are to be shuffled.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "plait/data/transforms/image_functions.h"
#include "plait/data/transforms/transform.h"

namespace plait::data::transforms {

using ImagesAndLabels = std::pair<Tensor, Tensor>;

// Images are floats, [batch, channels, height, width]. Labels are integers [batch], below
// `num_classes`, or shares [batch, classes].
struct MixUp {
  double alpha = 1;  // the share of the image itself has the distribution Beta(alpha, alpha)
  std::optional<int64_t> num_classes = {};

  ImagesAndLabels operator()(const Tensor& images, const Tensor& labels, const DrawKey& key) const;
  ImagesAndLabels operator()(const ImagesAndLabels& batch, const DrawKey& key) const {
    return (*this)(batch.first, batch.second, key);
  }
  double share(const DrawKey& key) const;
  void check() const;
};

// A box of each image is that of the other one. Images of any dtype.
struct CutMix {
  double alpha = 1;  // the share of the image's area that remains, before the box is cut off
  std::optional<int64_t> num_classes = {};

  ImagesAndLabels operator()(const Tensor& images, const Tensor& labels, const DrawKey& key) const;
  ImagesAndLabels operator()(const ImagesAndLabels& batch, const DrawKey& key) const {
    return (*this)(batch.first, batch.second, key);
  }
  ImageBox box(ImageSize image, const DrawKey& key) const;
  void check() const;
};

}  // namespace plait::data::transforms
