// What is done with one matrix: the seam between the primitives of linear algebra and what computes
// them, the library of a backend or the loops of linalg_reference.cpp. Inside of ops and the
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

// The greatest sum of magnitudes down a column.
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

// Matrices lie column after column without gaps; sizes are above 0, numbers finite. An operand that
// is not const is overwritten. k is the lesser of m and n.
template <class T>
struct MatrixRoutines {
  // The lower triangle becomes L; what is above the diagonal is not looked at. 0, or the order of
  // the first leading minor that is not positive.
  int64_t (*cholesky)(T* a, int64_t n);
  // Row i was exchanged with pivots[i], for i = 0, 1, …, k - 1.
  void (*lu)(T* a, int64_t m, int64_t n, int32_t* pivots);
  // B (n × columns) becomes A⁻¹ B for a triangular A, whose other half is not looked at.
  void (*triangular_solve)(const T* a, T* b, int64_t n, int64_t columns, bool lower, bool unit);
  // A's upper triangle becomes R, whose diagonal is real; Q has `columns` columns, at least k.
  void (*qr)(T* a, T* q, int64_t m, int64_t n, int64_t columns);
  // Eigenvalues in ascending order; A, of which the lower triangle is looked at, becomes the
  // eigenvectors. False where it did not converge, as for the two below.
  bool (*eigh)(T* a, Real<T>* values, int64_t n);
  // Singular values in descending order; U is m × m and Vᴴ n × n where `full`, else m × k and k ×
  // n.
  bool (*svd)(T* a, T* u, Real<T>* values, T* vh, int64_t m, int64_t n, bool full);
  // Eigenvectors have the length 1.
  bool (*eig)(T* a, ComplexOf<T>* values, ComplexOf<T>* vectors, int64_t n);
  // A becomes T of A = Z T Zᴴ, an upper triangle; of real numbers with blocks of two on the
  // diagonal, whose eigenvalues are no real numbers.
  bool (*schur)(T* a, T* z, int64_t n);
  // C (m × columns) + A (m × n) B.
  void (*add_product)(const T* a, const T* b, T* c, int64_t m, int64_t n, int64_t columns);
};

struct LinalgRoutines {
  MatrixRoutines<float> f32;
  MatrixRoutines<double> f64;
  MatrixRoutines<std::complex<float>> c64;
  MatrixRoutines<std::complex<double>> c128;
};
extern const LinalgRoutines kReferenceRoutines;
// Of those, the two of linalg_reference_schur.cpp.
template <class T>
bool schur_by_rotations(T* a, T* z, int64_t n);
template <class T>
bool eig_by_rotations(T* a, ComplexOf<T>* values, ComplexOf<T>* vectors, int64_t n);

// e^A, or where there is a direction the derivative of e^A along that (linalg_exponential.cpp). Of
// f64 and c128.
template <class T>
void exponential(const MatrixRoutines<T>& routines, const T* a, const T* direction, T* result,
                 int64_t n);

// The kernels of the primitives; `routines` is a LinalgRoutines, null for those of the reference.
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
void expm_now(KernelCall& call, const void* routines);  // with a second operand the derivative

// Makes all of them use these routines from now on.
void use_linalg_routines(const LinalgRoutines& routines);

}  // namespace plait
