// Linear algebra in plain loops, for builds without a library, and as a reference for its tests.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "plait/ops/inside/linalg/linalg_routines.h"

namespace plait {
namespace {

template <class T>
Real<T> squared(T x) {
  return std::norm(x);
}

template <class T>
T dot(const T* a, const T* b, int64_t n) {  // aᴴ b
  T sum{};
  for (int64_t i = 0; i < n; ++i) sum += conjugate(a[i]) * b[i];
  return sum;
}

template <class T>
int64_t cholesky(T* data, int64_t n) {
  const Columns<T> a{data, n};
  for (int64_t j = 0; j < n; ++j) {
    Real<T> pivot = std::real(a(j, j));
    for (int64_t k = 0; k < j; ++k) pivot -= squared(a(j, k));
    if (!(pivot > 0)) return j + 1;
    a(j, j) = std::sqrt(pivot);
    for (int64_t i = j + 1; i < n; ++i) {
      for (int64_t k = 0; k < j; ++k) a(i, j) -= a(i, k) * conjugate(a(j, k));
      a(i, j) /= a(j, j);
    }
  }
  return 0;
}

template <class T>
void lu(T* data, int64_t m, int64_t n, int32_t* pivots) {
  const Columns<T> a{data, m};
  for (int64_t j = 0; j < std::min(m, n); ++j) {
    const auto is_less = [](T x, T y) { return std::abs(x) < std::abs(y); };
    const int64_t p = std::max_element(a.column(j) + j, a.column(j) + m, is_less) - a.column(j);
    pivots[j] = static_cast<int32_t>(p);
    for (int64_t k = 0; k < n; ++k) std::swap(a(j, k), a(p, k));
    if (a(j, j) == T()) continue;
    for (int64_t i = j + 1; i < m; ++i) {
      a(i, j) /= a(j, j);
      for (int64_t k = j + 1; k < n; ++k) a(i, k) -= a(i, j) * a(j, k);
    }
  }
}

template <class T>
void triangular_solve(const T* data, T* b, int64_t n, int64_t columns, bool lower, bool unit) {
  const Columns<const T> a{data, n};
  for (T* x = b; x != b + n * columns; x += n) {
    for (int64_t step = 0; step < n; ++step) {
      const int64_t j = lower ? step : n - 1 - step;
      if (!unit) x[j] /= a(j, j);
      const int64_t begin = lower ? j + 1 : 0, end = lower ? n : j;
      for (int64_t i = begin; i < end; ++i) x[i] -= a(i, j) * x[j];
    }
  }
}

// x becomes x - tau v vᴴ x.
template <class T>
void reflect(const std::vector<T>& v, Real<T> tau, T* x) {
  const auto n = static_cast<int64_t>(v.size());
  const T factor = tau * dot(v.data(), x, n);
  for (int64_t i = 0; i < n; ++i) x[i] -= factor * v[static_cast<size_t>(i)];
}

// Householder reflections, each of which eliminates a column below the diagonal.
template <class T>
void qr(T* data, T* q_data, int64_t m, int64_t n, int64_t columns) {
  const Columns<T> a{data, m}, q{q_data, m};
  const int64_t k = std::min(m, n);
  std::vector<std::vector<T>> mirrors;
  std::vector<Real<T>> taus;
  for (int64_t j = 0; j < k; ++j) {
    std::vector<T> v(a.column(j) + j, a.column(j) + m);
    const Real<T> length = std::sqrt(std::real(dot(v.data(), v.data(), m - j)));
    const T phase = v[0] == T() ? T(1) : v[0] / std::abs(v[0]);
    v[0] += phase * length;
    const Real<T> square = std::real(dot(v.data(), v.data(), m - j));
    taus.push_back(square == 0 ? 0 : 2 / square);
    for (int64_t c = j; c < n; ++c) reflect(v, taus.back(), a.column(c) + j);
    mirrors.push_back(std::move(v));
  }
  std::fill_n(q_data, m * columns, T());
  for (int64_t j = 0; j < columns; ++j) {
    q(j, j) = 1;
    for (int64_t i = k; i-- > 0;) {
      reflect(mirrors[static_cast<size_t>(i)], taus[static_cast<size_t>(i)], q.column(j) + i);
    }
  }
  // Moves the phases of R's diagonal to Q.
  for (int64_t j = 0; j < k; ++j) {
    if (std::imag(a(j, j)) == 0) continue;
    const T phase = a(j, j) / std::abs(a(j, j));
    for (int64_t c = j; c < n; ++c) a(j, c) *= conjugate(phase);
    for (int64_t i = 0; i < m; ++i) q(i, j) *= phase;
  }
}

// The Jacobi rotation of two coordinates that makes [[p, x], [x̄, q]] diagonal.
template <class T>
struct Rotation {
  Real<T> c;
  T s;

  Rotation(Real<T> p, T x, Real<T> q) {
    const Real<T> size = std::abs(x), ratio = (q - p) / (2 * size);
    const Real<T> t = std::copysign(1, ratio) / (std::abs(ratio) + std::hypot(ratio, Real<T>(1)));
    c = 1 / std::hypot(t, Real<T>(1));
    s = t * c * (x / size);
  }
  void turn(T& a, T& b) const {
    const T before = a;
    a = c * before - conjugate(s) * b;
    b = s * before + c * b;
  }
};

constexpr int kMostSweeps = 60;

template <class T>
std::vector<int64_t> order_of(const std::vector<Real<T>>& values, bool descending) {
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](int64_t i, int64_t j) {
    const Real<T> a = values[static_cast<size_t>(i)], b = values[static_cast<size_t>(j)];
    return a == b ? i < j : (a > b) == descending;
  });
  return order;
}

// Jacobi's method: rotates until the off-diagonal elements are negligible.
template <class T>
bool eigh(T* data, Real<T>* values, int64_t n) {
  const Columns<T> a{data, n};
  std::vector<T> vectors(static_cast<size_t>(n * n));
  const Columns<T> v{vectors.data(), n};
  Real<T> whole = 0;
  for (int64_t j = 0; j < n; ++j) {
    v(j, j) = 1;
    a(j, j) = std::real(a(j, j));
    for (int64_t i = 0; i < j; ++i) a(i, j) = conjugate(a(j, i));
    for (int64_t i = 0; i < n; ++i) whole = std::max(whole, std::abs(a(i, j)));
  }
  const Real<T> least = whole * std::numeric_limits<Real<T>>::epsilon() / 8;
  bool turned = true;
  for (int sweep = 0; turned && sweep < kMostSweeps; ++sweep) {
    turned = false;
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        if (std::abs(a(p, q)) <= least) continue;
        turned = true;
        const Rotation<T> rotation(std::real(a(p, p)), a(p, q), std::real(a(q, q)));
        for (int64_t i = 0; i < n; ++i) rotation.turn(a(i, p), a(i, q));
        for (int64_t i = 0; i < n; ++i) {
          T x = conjugate(a(p, i)), y = conjugate(a(q, i));
          rotation.turn(x, y);
          a(p, i) = conjugate(x);
          a(q, i) = conjugate(y);
        }
        for (int64_t i = 0; i < n; ++i) rotation.turn(v(i, p), v(i, q));
      }
    }
  }
  std::vector<Real<T>> found;
  for (int64_t j = 0; j < n; ++j) found.push_back(std::real(a(j, j)));
  const std::vector<int64_t> order = order_of<T>(found, false);
  for (int64_t j = 0; j < n; ++j) {
    const int64_t from = order[static_cast<size_t>(j)];
    values[j] = found[static_cast<size_t>(from)];
    std::copy_n(v.column(from), n, a.column(j));
  }
  return !turned;
}

// One-sided Jacobi method (Hestenes): rotates the columns of A (m ≥ n) until they are orthogonal;
// their norms are then the singular values. U, m × columns, is completed by columns orthogonal to
// the range of A.
template <class T>
bool tall_svd(T* data, T* u_data, Real<T>* values, T* v_data, int64_t m, int64_t n,
              int64_t columns) {
  const Columns<T> a{data, m}, u{u_data, m}, v{v_data, n};
  std::vector<T> turns(static_cast<size_t>(n * n));
  const Columns<T> turn{turns.data(), n};
  for (int64_t j = 0; j < n; ++j) turn(j, j) = 1;
  const Real<T> epsilon = std::numeric_limits<Real<T>>::epsilon();
  bool turned = true;
  for (int sweep = 0; turned && sweep < kMostSweeps; ++sweep) {
    turned = false;
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        const T x = dot(a.column(p), a.column(q), m);
        const Real<T> pp = std::real(dot(a.column(p), a.column(p), m));
        const Real<T> qq = std::real(dot(a.column(q), a.column(q), m));
        if (std::abs(x) <= 4 * epsilon * std::sqrt(pp) * std::sqrt(qq)) continue;
        turned = true;
        const Rotation<T> rotation(pp, x, qq);
        for (int64_t i = 0; i < m; ++i) rotation.turn(a(i, p), a(i, q));
        for (int64_t i = 0; i < n; ++i) rotation.turn(turn(i, p), turn(i, q));
      }
    }
  }
  std::vector<Real<T>> lengths;
  for (int64_t j = 0; j < n; ++j) {
    lengths.push_back(std::sqrt(std::real(dot(a.column(j), a.column(j), m))));
  }
  const std::vector<int64_t> order = order_of<T>(lengths, true);
  const Real<T> least = lengths[static_cast<size_t>(order[0])] * epsilon;
  int64_t rank = 0;
  std::vector<T> units(static_cast<size_t>(m * n));
  for (int64_t j = 0; j < n; ++j) {
    const int64_t from = order[static_cast<size_t>(j)];
    values[j] = lengths[static_cast<size_t>(from)];
    std::copy_n(turn.column(from), n, v.column(j));
    if (values[j] <= least) continue;
    for (int64_t i = 0; i < m; ++i) u(i, j) = a(i, from) / values[j];
    ++rank;
  }
  if (rank == columns) return !turned;
  std::copy_n(u_data, m * rank, units.data());
  std::vector<T> whole(static_cast<size_t>(m * columns));
  qr(units.data(), whole.data(), m, rank, columns);
  std::copy(whole.begin() + m * rank, whole.end(), u.column(rank));
  return !turned;
}

template <class T>
std::vector<T> adjoint(const T* data, int64_t m, int64_t n) {
  std::vector<T> result(static_cast<size_t>(m * n));
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < m; ++i) {
      result[static_cast<size_t>(j + i * n)] = conjugate(data[i + j * m]);
    }
  }
  return result;
}

template <class T>
bool svd(T* a, T* u, Real<T>* values, T* vh, int64_t m, int64_t n, bool full) {
  const int64_t most = std::max(m, n), least = std::min(m, n), columns = full ? most : least;
  std::vector<T> left(static_cast<size_t>(most * columns)),
      right(static_cast<size_t>(least * least));
  std::vector<T> flipped;
  if (m < n) flipped = adjoint(a, m, n);
  const bool done =
      tall_svd(m < n ? flipped.data() : a, left.data(), values, right.data(), most, least, columns);
  // A = L S Rᴴ if A is tall, else Aᴴ is, and A = R S Lᴴ.
  const std::vector<T>& first = m < n ? right : left;
  const std::vector<T> second =
      m < n ? adjoint(left.data(), most, columns) : adjoint(right.data(), least, least);
  std::ranges::copy(first, u);
  std::ranges::copy(second, vh);
  return done;
}

template <class T>
void add_product(const T* a_data, const T* b_data, T* c_data, int64_t m, int64_t n,
                 int64_t columns) {
  const Columns<const T> a{a_data, m}, b{b_data, n};
  const Columns<T> c{c_data, m};
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t k = 0; k < n; ++k) {
      for (int64_t i = 0; i < m; ++i) c(i, j) += a(i, k) * b(k, j);
    }
  }
}

template <class T>
constexpr MatrixRoutines<T> kRoutines{
    cholesky<T>,   lu<T>,  triangular_solve<T>, qr<T>,
    eigh<T>,       svd<T>, eig_by_rotations<T>, schur_by_rotations<T>,
    add_product<T>};

}  // namespace

constinit const LinalgRoutines kReferenceRoutines{kRoutines<float>, kRoutines<double>,
                                                  kRoutines<std::complex<float>>,
                                                  kRoutines<std::complex<double>>};

}  // namespace plait
