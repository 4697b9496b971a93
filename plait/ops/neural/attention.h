// Attention and rotary position embedding.
#pragma once

#include <optional>

#include "plait/tensor/tensor.h"

namespace plait {

struct AttentionOptions {
  // Broadcast to [..., heads, queries, keys]. For bool, true where a query attends to a key; else
  // added to the scores.
  Tensor attn_mask = {};
  bool is_causal = false;            // query i attends to keys 0 to i only
  std::optional<double> scale = {};  // scale of the scores; 1/√width by default
};

// softmax(scale · q k^T + mask) v, with q [..., heads, queries, width], k [..., heads, keys, width]
// and v [..., heads, keys, values]. Keys and values may have fewer heads; each is then shared by
// equally many consecutive heads of q. A query that attends to no key gets zeros.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options = {});

struct RopeOptions {
  double base = 10000;
  // Pairs that are rotated together: elements 2i and 2i + 1 if true, else i and i + half.
  bool is_interleaved = false;
  Tensor positions = {};  // broadcast to x without its last dimension; 0, 1, … by default
  Dim offset = 0;         // added to the positions
  double scale = 1;       // factor of the positions
  std::optional<int64_t> width = {};  // number of rotated elements; all by default
};

// Rotary position embedding of x [..., length, width]: rotates the i-th pair by the angle position
// · base^(−2i / width).
Tensor rope(const Tensor& x, const RopeOptions& options = {});

}  // namespace plait
