// The routines of ops/inside/linalg/linalg_routines.h by LAPACK. They run on the calling thread,
// one call at a time.
#include <algorithm>
#include <cmath>
#include <vector>

#include "plait/cpu/inside/libraries/lapack.h"
#include "plait/cpu/inside/libraries/lapack_functions.h"
#include "plait/ops/inside/linalg/linalg_routines.h"

namespace plait {
namespace {

using lapack::Library;

// LAPACK uses int; larger matrices do not fit into any memory.
int whole(int64_t n) { return static_cast<int>(n); }

// Work memory. A query with length -1 writes the required size to the first element.
template <class T>
class Work {
 public:
  T* data() { return memory_.data(); }
  const int* length() const { return &length_; }
  void make() {
    length_ = std::max(1, static_cast<int>(std::ceil(std::real(memory_[0]))));
    memory_.resize(static_cast<size_t>(length_));
  }

 private:
  std::vector<T> memory_ = std::vector<T>(1);
  int length_ = -1;
};

template <class T>
int64_t cholesky(T* a, int64_t n) {
  const int size = whole(n);
  int info = 0;
  Library<T>::potrf("L", &size, a, &size, &info, 1);
  return info;
}

template <class T>
void lu(T* a, int64_t m, int64_t n, int32_t* pivots) {
  const int rows = whole(m), columns = whole(n);
  int info = 0;
  Library<T>::getrf(&rows, &columns, a, &rows, pivots, &info);
  std::for_each(pivots, pivots + std::min(m, n), [](int32_t& pivot) { --pivot; });
}

template <class T>
void triangular_solve(const T* a, T* b, int64_t n, int64_t columns, bool lower, bool unit) {
  const int size = whole(n), count = whole(columns);
  const T one = 1;
  Library<T>::trsm("L", lower ? "L" : "U", "N", unit ? "U" : "N", &size, &count, &one, a, &size, b,
                   &size, 1, 1, 1, 1);
}

template <class T>
void qr(T* a, T* q, int64_t m, int64_t n, int64_t columns) {
  const int rows = whole(m), all = whole(n), wanted = whole(columns), k = whole(std::min(m, n));
  std::vector<T> tau(static_cast<size_t>(k));
  int info = 0;
  Work<T> first, second;
  for (int pass = 0; pass < 2; ++pass) {
    if (pass == 1) first.make();
    Library<T>::geqrf(&rows, &all, a, &rows, tau.data(), first.data(), first.length(), &info);
  }
  std::copy_n(a, m * k, q);
  for (int pass = 0; pass < 2; ++pass) {
    if (pass == 1) second.make();
    Library<T>::orgqr(&rows, &wanted, &k, q, &rows, tau.data(), second.data(), second.length(),
                      &info);
  }
}

template <class T>
bool eigh(T* a, Real<T>* values, int64_t n) {
  const int size = whole(n);
  int info = 0;
  Work<T> work;
  Work<Real<T>> real_work;
  Work<int> integers;
  for (int pass = 0; pass < 2; ++pass) {
    if (pass == 1) {
      work.make();
      real_work.make();
      integers.make();
    }
    if constexpr (kIsRealNumber<T>) {
      Library<T>::heevd("V", "L", &size, a, &size, values, work.data(), work.length(),
                        integers.data(), integers.length(), &info, 1, 1);
    } else {
      Library<T>::heevd("V", "L", &size, a, &size, values, work.data(), work.length(),
                        real_work.data(), real_work.length(), integers.data(), integers.length(),
                        &info, 1, 1);
    }
  }
  return info == 0;
}

template <class T>
bool svd(T* a, T* u, Real<T>* values, T* vh, int64_t m, int64_t n, bool full) {
  const int rows = whole(m), columns = whole(n), least = std::min(rows, columns);
  const int most = std::max(rows, columns), vh_rows = full ? columns : least;
  const char* job = full ? "A" : "S";
  int info = 0;
  std::vector<int> integers(static_cast<size_t>(8 * least));
  // The size that the documentation of cgesdd requires.
  std::vector<Real<T>> real_work(
      kIsRealNumber<T>
          ? 0
          : static_cast<size_t>(least) *
                static_cast<size_t>(std::max(5 * least + 7, 2 * most + 2 * least + 1)));
  Work<T> work;
  for (int pass = 0; pass < 2; ++pass) {
    if (pass == 1) work.make();
    if constexpr (kIsRealNumber<T>) {
      Library<T>::gesdd(job, &rows, &columns, a, &rows, values, u, &rows, vh, &vh_rows, work.data(),
                        work.length(), integers.data(), &info, 1);
    } else {
      Library<T>::gesdd(job, &rows, &columns, a, &rows, values, u, &rows, vh, &vh_rows, work.data(),
                        work.length(), real_work.data(), integers.data(), &info, 1);
    }
  }
  return info == 0;
}

// LAPACK returns a pair of conjugate vectors as the real and the imaginary part of the first one.
template <class T>
void join_pairs(const std::vector<T>& parts, const std::vector<T>& imaginary, int64_t n,
                std::complex<T>* vectors) {
  for (int64_t j = 0; j < n; ++j) {
    const bool is_pair = imaginary[static_cast<size_t>(j)] != 0;
    for (int64_t i = 0; i < n; ++i) {
      const T real = parts[static_cast<size_t>(i + j * n)];
      const T other = is_pair ? parts[static_cast<size_t>(i + (j + 1) * n)] : 0;
      vectors[i + j * n] = {real, other};
      if (is_pair) vectors[i + (j + 1) * n] = {real, -other};
    }
    if (is_pair) ++j;
  }
}

template <class T>
bool eig(T* a, ComplexOf<T>* values, ComplexOf<T>* vectors, int64_t n) {
  const int size = whole(n), one = 1;
  int info = 0;
  Work<T> work;
  std::vector<Real<T>> real(static_cast<size_t>(2 * n)), imaginary(static_cast<size_t>(n));
  std::vector<T> parts(static_cast<size_t>(kIsRealNumber<T> ? n * n : 0));
  for (int pass = 0; pass < 2; ++pass) {
    if (pass == 1) work.make();
    if constexpr (kIsRealNumber<T>) {
      Library<T>::geev("N", "V", &size, a, &size, real.data(), imaginary.data(), nullptr, &one,
                       parts.data(), &size, work.data(), work.length(), &info, 1, 1);
    } else {
      Library<T>::geev("N", "V", &size, a, &size, values, nullptr, &one, vectors, &size,
                       work.data(), work.length(), real.data(), &info, 1, 1);
    }
  }
  if constexpr (kIsRealNumber<T>) {
    for (size_t i = 0; i < imaginary.size(); ++i) values[i] = {real[i], imaginary[i]};
    join_pairs(parts, imaginary, n, vectors);
  }
  return info == 0;
}

template <class T>
bool schur(T* a, T* z, int64_t n) {
  const int size = whole(n);
  int info = 0, sorted = 0;
  Work<T> work;
  std::vector<Real<T>> real(static_cast<size_t>(n)), imaginary(static_cast<size_t>(n));
  std::vector<T> values(static_cast<size_t>(kIsRealNumber<T> ? 0 : n));
  for (int pass = 0; pass < 2; ++pass) {
    if (pass == 1) work.make();
    if constexpr (kIsRealNumber<T>) {
      Library<T>::gees("V", "N", nullptr, &size, a, &size, &sorted, real.data(), imaginary.data(),
                       z, &size, work.data(), work.length(), nullptr, &info, 1, 1);
    } else {
      Library<T>::gees("V", "N", nullptr, &size, a, &size, &sorted, values.data(), z, &size,
                       work.data(), work.length(), real.data(), nullptr, &info, 1, 1);
    }
  }
  return info == 0;
}

template <class T>
void add_product(const T* a, const T* b, T* c, int64_t m, int64_t n, int64_t columns) {
  const int rows = whole(m), inner = whole(n), count = whole(columns);
  const T one = 1;
  Library<T>::gemm("N", "N", &rows, &count, &inner, &one, a, &rows, b, &inner, &one, c, &rows, 1,
                   1);
}

template <class T>
constexpr MatrixRoutines<T> kRoutines{cholesky<T>, lu<T>,    triangular_solve<T>,
                                      qr<T>,       eigh<T>,  svd<T>,
                                      eig<T>,      schur<T>, add_product<T>};

constinit const LinalgRoutines kLapackRoutines{kRoutines<float>, kRoutines<double>,
                                               kRoutines<std::complex<float>>,
                                               kRoutines<std::complex<double>>};

}  // namespace

void register_lapack() {
  // OpenBLAS's own threads are disabled; the process has one thread team.
  if (lapack::openblas_get_parallel() != 0) lapack::openblas_set_num_threads(1);
  use_linalg_routines(kLapackRoutines);
}

}  // namespace plait
