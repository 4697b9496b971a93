// Layers whose weights are integers of 8 or 4 bits, with scales and zero points. Nothing of the
// weights is trained.
//
//   const auto small = nn::QuantizedLinear::from_linear(layer, {.bits = 4, .group_size = 32});
#pragma once

#include <cstdint>
#include <optional>

#include "plait/core/trees/reflect.h"
#include "plait/nn/buffers.h"
#include "plait/nn/layers/embedding_layers.h"
#include "plait/nn/layers/linear_layers.h"
#include "plait/tensor/tensor.h"

namespace plait::nn {

struct QuantizationOptions {
  int64_t bits = 8;  // or 4: two codes in a byte
  // Columns with one scale and zero point; by default all of a row.
  std::optional<int64_t> group_size = {};
};
// A matrix [rows, width] as codes: weight = (codes − zero_points) · scales.
struct QuantizedMatrix {
  Buffer codes;        // i8[rows, width]; of 4 bits u8, the first of two codes in the low half
  Buffer scales;       // [rows, groups]
  Buffer zero_points;  // [rows, groups]
  int64_t bits = 8;
  std::optional<int64_t> group_size = {};
  int64_t width = 0;

  // The error of an element is about half a scale at most, and 0 stays 0.
  static QuantizedMatrix of(const Tensor& weight, const QuantizationOptions& options = {});
  Tensor weight() const;  // as floats
  // For models whose weights are computed (by_path.h).
  Tensor value() const { return weight(); }
  const QuantizedMatrix& next() const { return *this; }
  Tensor weight_of(const Tensor& ids) const;  // weights of rows
};

struct QuantizedLinearOptions {
  bool bias = true;
  int64_t bits = 8;
  std::optional<int64_t> group_size = {};
  DType dtype = DType::f32;
};
// A Linear whose weight is a QuantizedMatrix.
struct QuantizedLinear : QuantizedMatrix {
  std::optional<Buffer> bias;

  static constexpr auto fields() {
    return plait::fields<QuantizedLinear>(plait::fields_of_base<QuantizedMatrix>(), "bias",
                                          &QuantizedLinear::bias);
  }
  static QuantizedLinear init(const Tensor& key, int64_t inputs, int64_t outputs,
                              const QuantizedLinearOptions& options = {});
  static QuantizedLinear from_linear(const Linear& layer, const QuantizationOptions& options = {});
  [[nodiscard]] Linear dequantized() const;  // to be trained
  Tensor operator()(const Tensor& x) const;
};

struct QuantizedEmbeddingOptions {
  int64_t bits = 8;
  std::optional<int64_t> group_size = {};
  DType dtype = DType::f32;
};
// An Embedding whose table is a QuantizedMatrix; a call computes the rows that it looks up.
struct QuantizedEmbedding : QuantizedMatrix {
  static constexpr auto fields() {
    return plait::fields<QuantizedEmbedding>(plait::fields_of_base<QuantizedMatrix>());
  }
  static QuantizedEmbedding init(const Tensor& key, int64_t rows, int64_t width,
                                 const QuantizedEmbeddingOptions& options = {});
  static QuantizedEmbedding from_embedding(const Embedding& layer,
                                           const QuantizationOptions& options = {});
  Tensor operator()(const Tensor& ids) const;
};

}  // namespace plait::nn
