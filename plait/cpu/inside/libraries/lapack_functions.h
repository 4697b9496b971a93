// The functions of OpenBLAS that Plait calls: LAPACK and BLAS, under their Fortran names. Lengths
// of strings are the last arguments, as in gfortran's calling convention. Internal to plait/cpu.
#pragma once

#include <complex>
#include <cstddef>

namespace plait::lapack {

using Size = const int*;
using Text = const char*;
using Complex32 = std::complex<float>;
using Complex64 = std::complex<double>;

// NOLINTBEGIN(readability-identifier-naming): the library's names.
extern "C" {
int openblas_get_parallel();  // true if it has threads of its own
void openblas_set_num_threads(int count);

void spotrf_(Text uplo, Size n, float* a, Size lda, int* info, size_t);
void sgetrf_(Size m, Size n, float* a, Size lda, int* pivots, int* info);
void strsm_(Text side, Text uplo, Text trans, Text diag, Size m, Size n, const float* alpha,
            const float* a, Size lda, float* b, Size ldb, size_t, size_t, size_t, size_t);
void sgeqrf_(Size m, Size n, float* a, Size lda, float* tau, float* work, Size lwork, int* info);
void sorgqr_(Size m, Size n, Size k, float* a, Size lda, const float* tau, float* work, Size lwork,
             int* info);
void ssyevd_(Text jobz, Text uplo, Size n, float* a, Size lda, float* w, float* work, Size lwork,
             int* iwork, Size liwork, int* info, size_t, size_t);
void sgesdd_(Text jobz, Size m, Size n, float* a, Size lda, float* s, float* u, Size ldu, float* vt,
             Size ldvt, float* work, Size lwork, int* iwork, int* info, size_t);
void sgeev_(Text jobvl, Text jobvr, Size n, float* a, Size lda, float* wr, float* wi, float* vl,
            Size ldvl, float* vr, Size ldvr, float* work, Size lwork, int* info, size_t, size_t);
void sgees_(Text jobvs, Text sort, const void* select, Size n, float* a, Size lda, int* sdim,
            float* wr, float* wi, float* vs, Size ldvs, float* work, Size lwork, int* bwork,
            int* info, size_t, size_t);
void sgemm_(Text transa, Text transb, Size m, Size n, Size k, const float* alpha, const float* a,
            Size lda, const float* b, Size ldb, const float* beta, float* c, Size ldc, size_t,
            size_t);

void dpotrf_(Text uplo, Size n, double* a, Size lda, int* info, size_t);
void dgetrf_(Size m, Size n, double* a, Size lda, int* pivots, int* info);
void dtrsm_(Text side, Text uplo, Text trans, Text diag, Size m, Size n, const double* alpha,
            const double* a, Size lda, double* b, Size ldb, size_t, size_t, size_t, size_t);
void dgeqrf_(Size m, Size n, double* a, Size lda, double* tau, double* work, Size lwork, int* info);
void dorgqr_(Size m, Size n, Size k, double* a, Size lda, const double* tau, double* work,
             Size lwork, int* info);
void dsyevd_(Text jobz, Text uplo, Size n, double* a, Size lda, double* w, double* work, Size lwork,
             int* iwork, Size liwork, int* info, size_t, size_t);
void dgesdd_(Text jobz, Size m, Size n, double* a, Size lda, double* s, double* u, Size ldu,
             double* vt, Size ldvt, double* work, Size lwork, int* iwork, int* info, size_t);
void dgeev_(Text jobvl, Text jobvr, Size n, double* a, Size lda, double* wr, double* wi, double* vl,
            Size ldvl, double* vr, Size ldvr, double* work, Size lwork, int* info, size_t, size_t);
void dgees_(Text jobvs, Text sort, const void* select, Size n, double* a, Size lda, int* sdim,
            double* wr, double* wi, double* vs, Size ldvs, double* work, Size lwork, int* bwork,
            int* info, size_t, size_t);
void dgemm_(Text transa, Text transb, Size m, Size n, Size k, const double* alpha, const double* a,
            Size lda, const double* b, Size ldb, const double* beta, double* c, Size ldc, size_t,
            size_t);

void cpotrf_(Text uplo, Size n, Complex32* a, Size lda, int* info, size_t);
void cgetrf_(Size m, Size n, Complex32* a, Size lda, int* pivots, int* info);
void ctrsm_(Text side, Text uplo, Text trans, Text diag, Size m, Size n, const Complex32* alpha,
            const Complex32* a, Size lda, Complex32* b, Size ldb, size_t, size_t, size_t, size_t);
void cgeqrf_(Size m, Size n, Complex32* a, Size lda, Complex32* tau, Complex32* work, Size lwork,
             int* info);
void cungqr_(Size m, Size n, Size k, Complex32* a, Size lda, const Complex32* tau, Complex32* work,
             Size lwork, int* info);
void cheevd_(Text jobz, Text uplo, Size n, Complex32* a, Size lda, float* w, Complex32* work,
             Size lwork, float* rwork, Size lrwork, int* iwork, Size liwork, int* info, size_t,
             size_t);
void cgesdd_(Text jobz, Size m, Size n, Complex32* a, Size lda, float* s, Complex32* u, Size ldu,
             Complex32* vt, Size ldvt, Complex32* work, Size lwork, float* rwork, int* iwork,
             int* info, size_t);
void cgeev_(Text jobvl, Text jobvr, Size n, Complex32* a, Size lda, Complex32* w, Complex32* vl,
            Size ldvl, Complex32* vr, Size ldvr, Complex32* work, Size lwork, float* rwork,
            int* info, size_t, size_t);
void cgees_(Text jobvs, Text sort, const void* select, Size n, Complex32* a, Size lda, int* sdim,
            Complex32* w, Complex32* vs, Size ldvs, Complex32* work, Size lwork, float* rwork,
            int* bwork, int* info, size_t, size_t);
void cgemm_(Text transa, Text transb, Size m, Size n, Size k, const Complex32* alpha,
            const Complex32* a, Size lda, const Complex32* b, Size ldb, const Complex32* beta,
            Complex32* c, Size ldc, size_t, size_t);

void zpotrf_(Text uplo, Size n, Complex64* a, Size lda, int* info, size_t);
void zgetrf_(Size m, Size n, Complex64* a, Size lda, int* pivots, int* info);
void ztrsm_(Text side, Text uplo, Text trans, Text diag, Size m, Size n, const Complex64* alpha,
            const Complex64* a, Size lda, Complex64* b, Size ldb, size_t, size_t, size_t, size_t);
void zgeqrf_(Size m, Size n, Complex64* a, Size lda, Complex64* tau, Complex64* work, Size lwork,
             int* info);
void zungqr_(Size m, Size n, Size k, Complex64* a, Size lda, const Complex64* tau, Complex64* work,
             Size lwork, int* info);
void zheevd_(Text jobz, Text uplo, Size n, Complex64* a, Size lda, double* w, Complex64* work,
             Size lwork, double* rwork, Size lrwork, int* iwork, Size liwork, int* info, size_t,
             size_t);
void zgesdd_(Text jobz, Size m, Size n, Complex64* a, Size lda, double* s, Complex64* u, Size ldu,
             Complex64* vt, Size ldvt, Complex64* work, Size lwork, double* rwork, int* iwork,
             int* info, size_t);
void zgeev_(Text jobvl, Text jobvr, Size n, Complex64* a, Size lda, Complex64* w, Complex64* vl,
            Size ldvl, Complex64* vr, Size ldvr, Complex64* work, Size lwork, double* rwork,
            int* info, size_t, size_t);
void zgees_(Text jobvs, Text sort, const void* select, Size n, Complex64* a, Size lda, int* sdim,
            Complex64* w, Complex64* vs, Size ldvs, Complex64* work, Size lwork, double* rwork,
            int* bwork, int* info, size_t, size_t);
void zgemm_(Text transa, Text transb, Size m, Size n, Size k, const Complex64* alpha,
            const Complex64* a, Size lda, const Complex64* b, Size ldb, const Complex64* beta,
            Complex64* c, Size ldc, size_t, size_t);
}
// NOLINTEND(readability-identifier-naming)

// The functions for one element type.
template <class T>
struct Library;

template <>
struct Library<float> {
  static constexpr auto potrf = spotrf_;
  static constexpr auto getrf = sgetrf_;
  static constexpr auto trsm = strsm_;
  static constexpr auto geqrf = sgeqrf_;
  static constexpr auto orgqr = sorgqr_;
  static constexpr auto heevd = ssyevd_;
  static constexpr auto gesdd = sgesdd_;
  static constexpr auto geev = sgeev_;
  static constexpr auto gees = sgees_;
  static constexpr auto gemm = sgemm_;
};
template <>
struct Library<double> {
  static constexpr auto potrf = dpotrf_;
  static constexpr auto getrf = dgetrf_;
  static constexpr auto trsm = dtrsm_;
  static constexpr auto geqrf = dgeqrf_;
  static constexpr auto orgqr = dorgqr_;
  static constexpr auto heevd = dsyevd_;
  static constexpr auto gesdd = dgesdd_;
  static constexpr auto geev = dgeev_;
  static constexpr auto gees = dgees_;
  static constexpr auto gemm = dgemm_;
};
template <>
struct Library<Complex32> {
  static constexpr auto potrf = cpotrf_;
  static constexpr auto getrf = cgetrf_;
  static constexpr auto trsm = ctrsm_;
  static constexpr auto geqrf = cgeqrf_;
  static constexpr auto orgqr = cungqr_;
  static constexpr auto heevd = cheevd_;
  static constexpr auto gesdd = cgesdd_;
  static constexpr auto geev = cgeev_;
  static constexpr auto gees = cgees_;
  static constexpr auto gemm = cgemm_;
};
template <>
struct Library<Complex64> {
  static constexpr auto potrf = zpotrf_;
  static constexpr auto getrf = zgetrf_;
  static constexpr auto trsm = ztrsm_;
  static constexpr auto geqrf = zgeqrf_;
  static constexpr auto orgqr = zungqr_;
  static constexpr auto heevd = zheevd_;
  static constexpr auto gesdd = zgesdd_;
  static constexpr auto geev = zgeev_;
  static constexpr auto gees = zgees_;
  static constexpr auto gemm = zgemm_;
};

}  // namespace plait::lapack
