// Microkernels of a matrix product: a few rows times a few vectors of columns, held in registers.
// They are compiled once per instruction set level.
#pragma once

#include <cstdint>

namespace plait {

// Types of the computation. Integers wrap, so their signedness does not matter; complex numbers are
// stored as separate real and imaginary parts.
enum class ProductType : uint8_t { f32, f64, u32, u64, boolean, c64, c128 };
inline constexpr int kProductTypeCount = 7;

// c[i][j] (+)= Σ_p a[i][p] · b[p][j] for a fixed number of rows i and of vectors of columns j.
// Strides are in numbers (a complex number is two). For complex numbers, a has each imaginary part
// behind its real part; b and c have them behind all real parts of the row.
using ProductTile = void (*)(const void* a, int64_t a_row, int64_t a_step, const void* b,
                             int64_t b_step, void* c, int64_t c_row, int64_t steps,
                             bool accumulates);

struct ProductTiles {
  static constexpr int kChoices = 5;
  int lanes = 0;                        // columns of one vector
  int vectors = 0;                      // at most
  int rows[kChoices] = {};              // the choices, descending to 1; then 0
  ProductTile tiles[kChoices][2] = {};  // [choice of rows][vectors - 1]

  int columns() const { return lanes * vectors; }
};

struct ProductKernels {
  ProductTiles of[kProductTypeCount];
};

extern const ProductKernels kProductKernels;      // for any processor of the build's architecture
extern const ProductKernels kProductKernelsAvx2;  // this and the next one: x86-64 only
extern const ProductKernels kProductKernelsAvx512;

// The kernels for this processor and the setting `cpu`.
const ProductKernels& product_kernels();

}  // namespace plait
