// The innermost loops of a matrix product: a few rows times a few vectors, held in registers. They
// are compiled once for each level of the instruction set.
#pragma once

#include <cstdint>

namespace plait {

// What the kernels compute in. Whole numbers wrap, so their sign does not matter; complex numbers
// lie in two parts, real and imaginary.
enum class ProductType : uint8_t { f32, f64, u32, u64, boolean, c64, c128 };
inline constexpr int kProductTypeCount = 7;

// c[i][j] (+)= Σ_p a[i][p] · b[p][j] for a fixed number of rows i and vectors of columns j; the
// strides are in numbers (a complex number is two). Complex: a has the imaginary part behind the
// real one, b and c behind all the real parts of their row.
using ProductTile = void (*)(const void* a, int64_t a_row, int64_t a_step, const void* b,
                             int64_t b_step, void* c, int64_t c_row, int64_t steps,
                             bool accumulates);

struct ProductTiles {
  static constexpr int kChoices = 5;
  int lanes = 0;                        // columns of one vector
  int vectors = 0;                      // at most
  int rows[kChoices] = {};              // of the choices, descending, down to 1; then 0
  ProductTile tiles[kChoices][2] = {};  // [choice of rows][vectors - 1]

  int columns() const { return lanes * vectors; }
};

struct ProductKernels {
  ProductTiles of[kProductTypeCount];
};

extern const ProductKernels kProductKernels;      // for any processor that this is built for
extern const ProductKernels kProductKernelsAvx2;  // x86-64 only, as is the next
extern const ProductKernels kProductKernelsAvx512;

// Those for this processor and the setting `cpu`.
const ProductKernels& product_kernels();

}  // namespace plait
