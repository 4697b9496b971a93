// A product as cuBLASLt describes it: sizes, layouts and types, without addresses.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "plait/core/hash.h"
#include "plait/cuda/inside/products/cublaslt.h"

namespace plait::cuda {

// A matrix in memory: its columns are contiguous, and `leading` elements apart.
struct MatrixDescription {
  int64_t leading = 0;
  bool is_transposed = false;  // the product takes its transpose
  int64_t batch_stride = 0;    // in elements
  int64_t alignment = 256;     // bytes that divide the address

  friend bool operator==(const MatrixDescription&, const MatrixDescription&) = default;
};

// out = op(a) · op(b) for `count` pairs, all by columns; out is not transposed.
struct ProductDescription {
  int device = 0;
  ElementType operands = ElementType::f32, result = ElementType::f32;
  ComputeType computes = ComputeType::f32;
  int64_t rows = 0, columns = 0, steps = 0, count = 1;
  MatrixDescription a, b, out;

  friend bool operator==(const ProductDescription&, const ProductDescription&) = default;
};

struct HashOfProduct {
  size_t operator()(const ProductDescription& d) const {
    uint64_t hash = 0;
    const auto add = [&](std::initializer_list<int64_t> words) {
      for (const int64_t word : words) hash = hash_combine(hash, static_cast<uint64_t>(word));
    };
    add({d.device, static_cast<int>(d.operands), static_cast<int>(d.result),
         static_cast<int>(d.computes), d.rows, d.columns, d.steps, d.count});
    for (const MatrixDescription* m : {&d.a, &d.b, &d.out}) {
      add({m->leading, m->is_transposed ? 1 : 0, m->batch_stride, m->alignment});
    }
    return hash;
  }
};

}  // namespace plait::cuda
