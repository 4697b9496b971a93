#include "plait/nn/sequences/positions.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <string_view>

#include "plait/core/error.h"
#include "plait/nn/inside/sequence_parts.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/reductions/reduce.h"

namespace plait::nn {
namespace {

void expect_above_0(std::string_view name, double value) {
  if (!(value > 0)) throw ValueError("{} is {}, expected a number above 0", name, value);
}

// base^(−2i / width)
std::vector<double> inverse_frequencies(int64_t width, double base) {
  std::vector<double> made;
  for (int64_t i = 0; i < width; i += 2) {
    made.push_back(1 / std::pow(base, static_cast<double>(i) / static_cast<double>(width)));
  }
  return made;
}

// ---- Scalings.

// How many times the angles of a frequency go round within the original context.
double rotations(const RoPE& rope, double frequency) {
  return rope.scaling.original_max_position_embeddings * frequency / (2 * std::numbers::pi);
}

double llama3_frequency(const RoPE& rope, double frequency) {
  const double low = rope.scaling.low_freq_factor, high = rope.scaling.high_freq_factor;
  const double kept = std::clamp((rotations(rope, frequency) - low) / (high - low), 0., 1.);
  return frequency * (kept + (1 - kept) / rope.scaling.factor);
}

// The dimension whose angles go round so many times within the original context.
double dimension_of(const RoPE& rope, double times) {
  const double ratio =
      rope.scaling.original_max_position_embeddings / (times * 2 * std::numbers::pi);
  return static_cast<double>(rope.width) * std::log(ratio) / (2 * std::log(rope.base));
}

double yarn_frequency(const RoPE& rope, size_t i, double frequency) {
  double low = dimension_of(rope, rope.scaling.beta_fast);
  double high = dimension_of(rope, rope.scaling.beta_slow);
  if (rope.scaling.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.);
  high = std::min(high, static_cast<double>(rope.width - 1));
  const double range = high == low ? 0.001 : high - low;
  const double interpolated = std::clamp((static_cast<double>(i) - low) / range, 0., 1.);
  return frequency * ((1 - interpolated) + interpolated / rope.scaling.factor);
}

double yarn_scale(double factor, double mscale = 1) {
  return factor > 1 ? 0.1 * mscale * std::log(factor) + 1 : 1;
}

double yarn_attention_factor(const RopeScaling& scaling) {
  if (scaling.attention_factor) return *scaling.attention_factor;
  const double mscale = scaling.mscale.value_or(0), all = scaling.mscale_all_dim.value_or(0);
  if (mscale == 0 || all == 0) return yarn_scale(scaling.factor);
  return yarn_scale(scaling.factor, mscale) / yarn_scale(scaling.factor, all);
}

double scaled_frequency(const RoPE& rope, size_t i, double frequency) {
  switch (rope.scaling.rope_type) {
    case RopeType::plain:
    case RopeType::dynamic: return frequency;
    case RopeType::linear: return frequency / rope.scaling.factor;
    case RopeType::llama3: return llama3_frequency(rope, frequency);
    case RopeType::yarn: return yarn_frequency(rope, i, frequency);
  }
  return frequency;
}

void check_scaling(const RoPE& rope) {
  const RopeScaling& scaling = rope.scaling;
  const RopeType type = scaling.rope_type;
  if (type == RopeType::plain) return;
  expect_above_0("factor", scaling.factor);
  if (type != RopeType::linear) {
    expect_above_0("original_max_position_embeddings", scaling.original_max_position_embeddings);
  }
  if (type == RopeType::llama3) {
    expect_above_0("low_freq_factor", scaling.low_freq_factor);
    if (!(scaling.low_freq_factor < scaling.high_freq_factor)) {
      throw ValueError("low_freq_factor is {}, expected less than high_freq_factor, {}",
                       scaling.low_freq_factor, scaling.high_freq_factor);
    }
  }
  if (type == RopeType::yarn) {
    expect_above_0("beta_fast", scaling.beta_fast);
    expect_above_0("beta_slow", scaling.beta_slow);
  }
  if (type == RopeType::dynamic && rope.width < 4) {
    throw ValueError("a dynamic scaling of a width of {}, expected 4 or more", rope.width);
  }
}

// ---- Pairs of numbers.

Tensor joined(const Tensor& first, const Tensor& second, bool is_interleaved) {
  const Tensor both[] = {first, second};
  if (!is_interleaved) return concat(both, -1);
  const Tensor pairs = stack(both, -1);
  Shape shape = first.shape();
  shape.set(-1, shape.at(-1) * 2);
  return reshape(pairs, shape);
}

Tensor rotated(const RoPE& rope, const Tensor& x, const RopeTables& by) {
  const auto part = [&](int64_t start) {
    return rope.is_interleaved ? slice_axis(x, -1, start, rope.width / 2, 2)
                               : slice_axis(x, -1, start * rope.width / 2, rope.width / 2);
  };
  const Tensor first = part(0), second = part(1);
  return joined(first * by.cosines - second * by.sines, second * by.cosines + first * by.sines,
                rope.is_interleaved);
}

}  // namespace

RoPE RoPE::init(int64_t head_dim, const RopeOptions& options) {
  const Call call("nn::RoPE");
  expect_whole("head_dim", head_dim);
  const RoPE made{.head_dim = head_dim,
                  .width = options.width.value_or(head_dim),
                  .base = options.base,
                  .is_interleaved = options.is_interleaved,
                  .scaling = options.scaling};
  if (made.width < 2 || made.width > head_dim || made.width % 2 != 0) {
    throw ValueError("a width of {} in heads of {}, expected an even one of 2 to {}", made.width,
                     head_dim, head_dim);
  }
  expect_above_0("base", made.base);
  check_scaling(made);
  return made;
}

double RoPE::attention_factor() const {
  return scaling.rope_type == RopeType::yarn ? yarn_attention_factor(scaling) : 1;
}

Tensor RoPE::frequencies(const std::optional<Tensor>& length) const {
  std::vector<double> made = inverse_frequencies(width, base);
  for (size_t i = 0; i < made.size(); ++i) made[i] = scaled_frequency(*this, i, made[i]);
  if (scaling.rope_type != RopeType::dynamic || !length) return constants(made);
  const Tensor share = astype(*length, DType::f64) / scaling.original_max_position_embeddings;
  const Tensor growth =
      maximum(scaling.factor * share - (scaling.factor - 1), 1.);  // growth of the base
  std::vector<double> exponents;
  for (int64_t i = 0; i < width; i += 2) {
    exponents.push_back(-static_cast<double>(i) / static_cast<double>(width - 2));
  }
  return constants(made) * power(growth, constants(exponents));
}

RopeTables RoPE::tables(const Tensor& positions, DType dtype) const {
  const Call call("nn::RoPE::tables", positions);
  std::optional<Tensor> length;
  if (scaling.rope_type == RopeType::dynamic) length = max(positions) + 1;
  const Tensor angles = expand_dims(astype(positions, DType::f64), -1) * frequencies(length);
  const double factor = attention_factor();
  return {.cosines = astype(cos(angles) * factor, dtype),
          .sines = astype(sin(angles) * factor, dtype)};
}

Tensor RoPE::operator()(const Tensor& x, const Tensor& positions, const Operand& offset) const {
  const Call call("nn::RoPE", x);
  if (x.rank() < 2 || differ(x.shape(-1), head_dim)) {
    throw ShapeError("x is {}, expected [..., length, {}]", x.type().text(), head_dim);
  }
  const RopeTables by = tables(positions ? positions : iota(x.shape(-2)) + offset, x.dtype());
  if (width == head_dim) return rotated(*this, x, by);
  const Tensor parts[] = {rotated(*this, slice_axis(x, -1, 0, width), by),
                          slice_axis(x, -1, width, head_dim - width)};
  return concat(parts, -1);
}

ALiBi ALiBi::init(int64_t num_heads) {
  const Call call("nn::ALiBi");
  expect_whole("num_heads", num_heads, 1);
  return {.num_heads = num_heads};
}

// Powers of 2^(−8 / n) for n heads, a power of two; further heads have every second one of those
// for 2n.
std::vector<double> ALiBi::slopes() const {
  const auto n = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(num_heads)));
  std::vector<double> made;
  for (int64_t i = 1; i <= n; ++i) {
    made.push_back(std::exp2(-8. * static_cast<double>(i) / static_cast<double>(n)));
  }
  for (int64_t i = 1; i < 2 * (num_heads - n); i += 2) {
    made.push_back(std::exp2(-4. * static_cast<double>(i) / static_cast<double>(n)));
  }
  return made;
}

Tensor ALiBi::operator()(Dim queries, std::optional<Dim> keys, const Operand& offset,
                         DType dtype) const {
  const Call call("nn::ALiBi");
  const Tensor places = expand_dims(iota(queries), 1) + offset;
  const Tensor distance = absolute(places - iota(keys.value_or(queries)));
  const Tensor by_head = reshape(astype(constants(slopes()), dtype), {num_heads, 1, 1});
  return by_head * astype(negative(distance), dtype);
}

SinusoidalEmbedding SinusoidalEmbedding::init(int64_t embedding_dim,
                                              const SinusoidalEmbeddingOptions& options) {
  const Call call("nn::SinusoidalEmbedding");
  if (embedding_dim < 2 || embedding_dim % 2 != 0) {
    throw ValueError("embedding_dim is {}, expected an even number of 2 or more", embedding_dim);
  }
  expect_above_0("base", options.base);
  return {.embedding_dim = embedding_dim,
          .base = options.base,
          .is_interleaved = options.is_interleaved,
          .dtype = options.dtype};
}

Tensor SinusoidalEmbedding::operator()(const Tensor& positions) const {
  const Call call("nn::SinusoidalEmbedding", positions);
  const Tensor angles = expand_dims(astype(positions, DType::f64), -1) *
                        constants(inverse_frequencies(embedding_dim, base));
  return astype(joined(sin(angles), cos(angles), is_interleaved), dtype);
}

}  // namespace plait::nn
