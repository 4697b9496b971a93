// Operations on a single matrix: the interface between the primitives of linear algebra and their
// implementation, a backend's library or the loops of linalg_reference.cpp. Internal to ops and the
// backends.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>

#include "plait/tensor/kernels.h"

namespace plait {

template <class T>
struct RealOf {
  using Type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using Type = T;
};
template <class T>
using Real = typename RealOf<T>::Type;
template <class T>
using ComplexOf = std::complex<Real<T>>;
template <class T>
constexpr bool kIsRealNumber = std::is_same_v<T, Real<T>>;

template <class T>
T conjugate(T x) {
  if constexpr (kIsRealNumber<T>) {
    return x;
  } else {
    return std::conj(x);
  }
}

// Columns of a matrix in memory.
template <class T>
struct Columns {
  T* data;
  int64_t rows;

  T& operator()(int64_t i, int64_t j) const { return data[i + j * rows]; }
  T* column(int64_t j) const { return data + j * rows; }
};

// The matrix 1-norm: the greatest column sum of magnitudes.
template <class T>
Real<T> norm_of_columns(const T* a, int64_t n) {
  Real<T> greatest = 0;
  for (int64_t j = 0; j < n; ++j) {
    Real<T> sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += std::abs(a[i + j * n]);
    greatest = std::max(greatest, sum);
  }
  return greatest;
}

// Matrices are column-major and contiguous; sizes are positive, and numbers finite. Operands that
// are not const are overwritten. k = min(m, n).
template <class T>
struct MatrixRoutines {
  // The lower triangle becomes L; the part above the diagonal is not read. Returns 0, or the order
  // of the first leading minor that is not positive.
  int64_t (*cholesky)(T* a, int64_t n);
  // Row i was exchanged with pivots[i], for i = 0, 1, …, k - 1.
  void (*lu)(T* a, int64_t m, int64_t n, int32_t* pivots);
  // B (n × columns) becomes A⁻¹ B for a triangular A, whose other triangle is not read.
  void (*triangular_solve)(const T* a, T* b, int64_t n, int64_t columns, bool lower, bool unit);
  // The upper triangle of A becomes R, with a real diagonal. Q has `columns` columns, at least k.
  void (*qr)(T* a, T* q, int64_t m, int64_t n, int64_t columns);
  // Eigenvalues in ascending order. A, of which only the lower triangle is read, becomes the
  // eigenvectors. Returns false if it did not converge; so do the two below.
  bool (*eigh)(T* a, Real<T>* values, int64_t n);
  // Singular values in descending order. U is m × m and Vᴴ n × n if `full`, else m × k and k × n.
  bool (*svd)(T* a, T* u, Real<T>* values, T* vh, int64_t m, int64_t n, bool full);
  // Eigenvectors have norm 1.
  bool (*eig)(T* a, ComplexOf<T>* values, ComplexOf<T>* vectors, int64_t n);
  // A becomes T of the Schur decomposition A = Z T Zᴴ: upper triangular, for real numbers with 2 ×
  // 2 blocks on the diagonal for complex conjugate pairs of eigenvalues.
  bool (*schur)(T* a, T* z, int64_t n);
  // C += A B for C (m × columns) and A (m × n).
  void (*add_product)(const T* a, const T* b, T* c, int64_t m, int64_t n, int64_t columns);
};

struct LinalgRoutines {
  MatrixRoutines<float> f32;
  MatrixRoutines<double> f64;
  MatrixRoutines<std::complex<float>> c64;
  MatrixRoutines<std::complex<double>> c128;
};
extern const LinalgRoutines kReferenceRoutines;
// Two of these routines, in linalg_reference_schur.cpp.
template <class T>
bool schur_by_rotations(T* a, T* z, int64_t n);
template <class T>
bool eig_by_rotations(T* a, ComplexOf<T>* values, ComplexOf<T>* vectors, int64_t n);

// e^A or, if a direction is given, the derivative of e^A in that direction
// (linalg_exponential.cpp). For f64 and c128.
template <class T>
void exponential(const MatrixRoutines<T>& routines, const T* a, const T* direction, T* result,
                 int64_t n);

// Kernels of the primitives; `routines` is a LinalgRoutines, or null for the reference.
void cholesky_now(KernelCall& call, const void* routines);
void lu_now(KernelCall& call, const void* routines);
void triangular_solve_now(KernelCall& call, const void* routines);
void solve_now(KernelCall& call, const void* routines);
void qr_now(KernelCall& call, const void* routines);
void eigh_now(KernelCall& call, const void* routines);
void svd_now(KernelCall& call, const void* routines);
void pinv_now(KernelCall& call, const void* routines);
void eig_now(KernelCall& call, const void* routines);
void schur_now(KernelCall& call, const void* routines);
void determinant_now(KernelCall& call, const void* routines);
void adjugate_now(KernelCall& call, const void* routines);
void expm_now(KernelCall& call, const void* routines);  // with a second operand, the derivative
void quotient_or_zero_now(KernelCall& call, const void* routines);

// Registers these routines for all kernels.
void use_linalg_routines(const LinalgRoutines& routines);

}  // namespace plait
