// Attention, and positions as angles.
#pragma once

#include <optional>

#include "plait/tensor/tensor.h"

namespace plait {

struct AttentionOptions {
  // Of what stretches to [..., heads, queries, keys]: where a query may look, or what is added to
  // the scores.
  Tensor attn_mask = {};
  bool is_causal = false;            // the i-th query sees the first i + 1 keys only
  std::optional<double> scale = {};  // of the scores; 1/√width where not given
};

// softmax(scale · q k^T + mask) v, with q [..., heads, queries, width], k [..., heads, keys, width]
// and v [..., heads, keys, values]. Keys and values may have fewer heads, of which each then serves
// as many neighbouring heads of q. A query that may look nowhere gets zeros.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options = {});

struct RopeOptions {
  double base = 10000;
  // What is turned: the numbers 2i and 2i + 1 together, or i and i + half of them.
  bool is_interleaved = false;
  Tensor positions = {};  // stretches to x without its last dimension; 0, 1, … where not given
  Dim offset = 0;         // is added to the positions
  double scale = 1;       // of positions
  std::optional<int64_t> width = {};  // how many of the last dimension are turned: all
};

// Rotary position embedding of x [..., length, width]: the i-th pair is turned by
// position · base^(−2i / width).
Tensor rope(const Tensor& x, const RopeOptions& options = {});

}  // namespace plait
