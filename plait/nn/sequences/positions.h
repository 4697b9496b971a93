// Positions in attention: rotary embeddings with the scalings of long contexts, ALiBi, sinusoids.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plait/ops/operand.h"
#include "plait/tensor/tensor.h"

namespace plait::nn {

// Changes of the frequencies for contexts longer than those of training.
enum class RopeType : uint8_t {
  plain,
  linear,  // divides them by the factor
  // Raises the base as the sequence grows beyond the original context. Keys in a cache keep the
  // frequencies that they were rotated with, so there it differs from the whole sequence.
  dynamic,
  llama3,  // divides low ones, keeps high ones, and mixes those between
  yarn,    // the same by a ramp over dimensions, and scales sines and cosines
};

// The fields of rope_scaling in configurations of Hugging Face. Those that are not of the type are
// ignored.
struct RopeScaling {
  RopeType rope_type = RopeType::plain;
  double factor = 0;  // needed by all but plain
  // The length of training, needed by dynamic, llama3 and yarn.
  double original_max_position_embeddings = 0;
  double low_freq_factor = 0, high_freq_factor = 0;  // for llama3
  std::optional<double> attention_factor = {};       // from here on of yarn
  double beta_fast = 32, beta_slow = 1;
  std::optional<double> mscale = {}, mscale_all_dim = {};
  bool truncate = true;  // rounds the bounds of the ramp
};

struct RopeOptions {
  double base = 10000;
  bool is_interleaved = false;
  std::optional<int64_t> width = {};
  RopeScaling scaling = {};
};
struct RopeTables {
  Tensor cosines, sines;
};
// Rotary position embedding of x [..., length, head_dim]: rotates pairs of numbers by position ·
// frequency. The pairs are (i, i + width / 2), as in Llama and GPT-NeoX, or if interleaved (2i, 2i
// + 1). Numbers behind the first `width`, by default all, stay. Frequencies are powers of the base.
//
//   const auto rope = nn::RoPE::init(64, {.base = 5e5});
//   const Tensor turned = rope(q, {}, cache.position);
struct RoPE {
  int64_t head_dim = 0, width = 0;
  double base = 10000;
  bool is_interleaved = false;
  RopeScaling scaling;

  static RoPE init(int64_t head_dim, const RopeOptions& options = {});
  // Positions broadcast to x without its last dimension; by default they are offset, offset + 1, …
  Tensor operator()(const Tensor& x, const Tensor& positions = {}, const Operand& offset = 0) const;
  // For these positions: [positions…, width / 2].
  RopeTables tables(const Tensor& positions, DType dtype = DType::f32) const;
  // The angle per position of each pair: f64[width / 2]. Dynamic ones depend on the length of the
  // sequence.
  Tensor frequencies(const std::optional<Tensor>& length = {}) const;
  double attention_factor() const;  // factor of sines and cosines: yarn's, else 1
};

// Attention with linear biases (Press et al., 2022): numbers [num_heads, queries, keys] to add to
// the scores, −slope · distance. The slopes are powers of two for each head.
struct ALiBi {
  int64_t num_heads = 1;

  static ALiBi init(int64_t num_heads);
  // For numbers of positions, of which the first query is at the key `offset`. As many keys as
  // queries by default.
  Tensor operator()(Dim queries, std::optional<Dim> keys = {}, const Operand& offset = 0,
                    DType dtype = DType::f32) const;
  std::vector<double> slopes() const;
};

struct SinusoidalEmbeddingOptions {
  double base = 10000;
  bool is_interleaved = true;
  DType dtype = DType::f32;
};
// Sines and cosines of positions, of any shape, at frequencies from 1 to 1 / base: [...,
// embedding_dim]. They alternate, as in the first transformer, or all sines come first.
struct SinusoidalEmbedding {
  int64_t embedding_dim = 2;
  double base = 10000;
  bool is_interleaved = true;
  DType dtype = DType::f32;

  static SinusoidalEmbedding init(int64_t embedding_dim,
                                  const SinusoidalEmbeddingOptions& options = {});
  Tensor operator()(const Tensor& positions) const;
};

}  // namespace plait::nn
