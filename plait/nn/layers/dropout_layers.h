// Dropout: random parts of a tensor become zeros in training. Without a key, the next key of the
// default stream is drawn.
#pragma once

#include "plait/ops/neural/dropout.h"
#include "plait/tensor/tensor.h"

namespace plait::nn {

using KeyedDropout = Tensor(const Tensor& x, double p, const Tensor& key);
using UnkeyedDropout = Tensor(const Tensor& x, double p);

// Drops with probability p, by one of the functions of ops/neural/dropout.h.
template <KeyedDropout* by_key, UnkeyedDropout* by_next_key>
struct DropoutBy {
  double p = 0.5;
  bool training = true;

  Tensor operator()(const Tensor& x, const Tensor& key) const {
    return drops() ? by_key(x, p, key) : x;
  }
  Tensor operator()(const Tensor& x) const { return drops() ? by_next_key(x, p) : x; }

 private:
  bool drops() const { return training && p != 0; }
};

// Sets elements to 0, and divides the others by 1 − p.
using Dropout = DropoutBy<dropout, dropout>;
// The same for whole channels: of [batch, channels, length] or [channels, length]; of [batch,
// channels, height, width] or [batch, channels, length]; of [batch, channels, depth, height, width]
// or the same without a batch.
using Dropout1d = DropoutBy<dropout1d, dropout1d>;
using Dropout2d = DropoutBy<dropout2d, dropout2d>;
using Dropout3d = DropoutBy<dropout3d, dropout3d>;
// Keeps mean 0 and variance 1, for SELU: sets elements to the limit of SELU at −∞, then scales and
// shifts all.
using AlphaDropout = DropoutBy<alpha_dropout, alpha_dropout>;
// The same for whole channels.
using FeatureAlphaDropout = DropoutBy<feature_alpha_dropout, feature_alpha_dropout>;

// Sets whole samples of [batch, …] to 0 with probability drop_prob, usually the results of a
// residual branch. Divides the others by 1 − drop_prob if scale_by_keep.
struct DropPath {
  double drop_prob = 0;
  bool scale_by_keep = true;
  bool training = true;

  Tensor operator()(const Tensor& x, const Tensor& key) const;
  Tensor operator()(const Tensor& x) const;
};

}  // namespace plait::nn
