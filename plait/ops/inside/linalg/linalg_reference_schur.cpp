// Schur form in plain loops: reduction to Hessenberg form by rotations, then shifted QR steps that
// chase the bulge (Francis, 1961). Eigenvectors are computed from the triangular matrix.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "plait/ops/inside/linalg/linalg_routines.h"

namespace plait {
namespace {

constexpr int kMostStepsEach = 60;  // per eigenvalue

// The unitary [[c, s], [-s̄, c]] that maps (a, b) to (r, 0).
template <class T>
struct Turn {
  Real<T> c = 1;
  T s{};

  Turn(T a, T b) {
    const Real<T> first = std::abs(a), second = std::abs(b), length = std::hypot(first, second);
    if (second == 0) return;
    c = first / length;
    s = first == 0 ? conjugate(b) / second : (a / first) * (conjugate(b) / length);
  }
  void turn(T& x, T& y) const {
    const T before = x;
    x = c * before + s * y;
    y = c * y - conjugate(s) * before;
  }
};

template <class T>
class SchurForm {
 public:
  SchurForm(T* a, T* z, int64_t n) : a_{a, n}, z_{z, n}, n_(n) {}

  void set_identity() {
    std::fill_n(z_.data, n_ * n_, T());
    for (int64_t i = 0; i < n_; ++i) z_(i, i) = 1;
  }

  // Eliminates all elements below the first subdiagonal.
  void make_hessenberg() {
    for (int64_t j = 0; j + 2 < n_; ++j) {
      for (int64_t i = n_ - 1; i > j + 1; --i) clear(i, j);
    }
  }

  // From Hessenberg form to Schur form. Returns false if it does not converge.
  bool make_triangular() {
    Real<T> whole = 0;
    for (int64_t i = 0; i < n_ * n_; ++i) whole = std::max(whole, std::abs(a_.data[i]));
    least_ = whole * std::numeric_limits<Real<T>>::min() / std::numeric_limits<Real<T>>::epsilon();
    int64_t end = n_;  // rows and columns from here on are finished
    for (int step = 0; end > 0;) {
      int64_t begin = end - 1;
      while (begin > 0 && !is_cut(begin)) --begin;
      const int64_t size = end - begin;
      if (size == 1 || (kIsRealNumber<T> && size == 2)) {
        if constexpr (kIsRealNumber<T>) {
          if (size == 2) settle_block(begin);
        }
        end = begin;
        step = 0;
        continue;
      }
      if (++step > kMostStepsEach) return false;
      if constexpr (kIsRealNumber<T>) {
        chase_two(begin, end, step % 10 == 0);
      } else {
        chase_one(begin, end, step % 10 == 0);
      }
    }
    return true;
  }

 private:
  // A becomes G A Gᴴ for a rotation G of rows i and k.
  void turn(const Turn<T>& turn, int64_t i, int64_t k) {
    Turn<T> back = turn;
    back.s = conjugate(turn.s);
    for (int64_t j = 0; j < n_; ++j) turn.turn(a_(i, j), a_(k, j));
    for (int64_t j = 0; j < n_; ++j) back.turn(a_(j, i), a_(j, k));
    for (int64_t j = 0; j < n_; ++j) back.turn(z_(j, i), z_(j, k));
  }
  // Eliminates element (i, j) by a rotation with the row above.
  void clear(int64_t i, int64_t j) {
    if (a_(i, j) == T()) return;
    turn(Turn<T>(a_(i - 1, j), a_(i, j)), i - 1, i);
    a_(i, j) = 0;
  }

  // True if the subdiagonal element that connects row i to the one above is negligible; it is then
  // set to 0.
  bool is_cut(int64_t i) {
    const Real<T> around = std::abs(a_(i, i)) + std::abs(a_(i - 1, i - 1));
    const Real<T> size = std::abs(a_(i, i - 1));
    if (size > std::numeric_limits<Real<T>>::epsilon() * around && size > least_) return false;
    a_(i, i - 1) = 0;
    return true;
  }

  // A QR step shifted by the eigenvalue of the last 2 × 2 block that is nearer to the last diagonal
  // element.
  void chase_one(int64_t begin, int64_t end, bool otherwise) {
    const T p = a_(end - 2, end - 2), q = a_(end - 1, end - 1);
    T shift = q;
    if (otherwise) {
      shift += std::abs(a_(end - 1, end - 2));
    } else {
      const T half = (p - q) / Real<T>(2);
      const T product = a_(end - 2, end - 1) * a_(end - 1, end - 2);
      T root = std::sqrt(half * half + product);
      if (std::real(root * conjugate(half)) < 0) root = -root;
      if (half + root != T()) shift -= product / (half + root);
    }
    turn(Turn<T>(a_(begin, begin) - shift, a_(begin + 1, begin)), begin, begin + 1);
    for (int64_t j = begin; j + 2 < end; ++j) clear(j + 2, j);
  }

  // A QR step shifted by both eigenvalues of the last 2 × 2 block, in real arithmetic.
  void chase_two(int64_t begin, int64_t end, bool otherwise) {
    const auto at = [&](int64_t i, int64_t j) { return a_(end - 2 + i, end - 2 + j); };
    T sum = at(0, 0) + at(1, 1), product = at(0, 0) * at(1, 1) - at(0, 1) * at(1, 0);
    if (otherwise) {
      const T size = std::abs(at(1, 0)) + std::abs(a_(end - 2, end - 3));
      sum = T(1.5) * size;
      product = size * size;
    }
    // The first column of (A - x)(A - y), for the two shifts x and y.
    const auto a = [&](int64_t i, int64_t j) { return a_(begin + i, begin + j); };
    const T first = a(0, 0) * a(0, 0) + a(0, 1) * a(1, 0) - sum * a(0, 0) + product;
    T second = a(1, 0) * (a(0, 0) + a(1, 1) - sum);
    const T third = a(1, 0) * a(2, 1);
    const Turn<T> lower(second, third);
    T rest = third;
    lower.turn(second, rest);
    turn(lower, begin + 1, begin + 2);
    turn(Turn<T>(first, second), begin, begin + 1);
    for (int64_t j = begin; j + 2 < end; ++j) {
      for (int64_t i = std::min(j + 3, end - 1); i > j + 1; --i) clear(i, j);
    }
  }

  // Standardises a 2 × 2 block: triangular for real eigenvalues, else with equal diagonal elements.
  void settle_block(int64_t i) {
    const T a = a_(i, i), b = a_(i, i + 1), c = a_(i + 1, i), d = a_(i + 1, i + 1);
    const T half = (a - d) / 2, inside = half * half + b * c;
    if (inside >= 0) {
      const T root = half + std::copysign(std::sqrt(inside), half);  // distance from d to the
                                                                     // farther eigenvalue
      turn(Turn<T>(root, c), i, i + 1);
      a_(i + 1, i) = 0;
      return;
    }
    const T angle = std::atan2(-(a - d), b + c) / 2;
    turn(Turn<T>(std::cos(angle), std::sin(angle)), i, i + 1);
    a_(i, i) = a_(i + 1, i + 1) = (a + d) / 2;
  }

  Columns<T> a_, z_;
  int64_t n_;
  Real<T> least_ = 0;
};

// The eigenvectors of A = Z T Zᴴ by backward substitution with T.
template <class T>
void find_vectors(const Columns<T>& t, const Columns<T>& z, T* vectors, int64_t n) {
  const Columns<T> v{vectors, n};
  Real<T> whole = 0;
  for (int64_t i = 0; i < n * n; ++i) whole = std::max(whole, std::abs(t.data[i]));
  const Real<T> least = std::max(whole * std::numeric_limits<Real<T>>::epsilon(),
                                 std::numeric_limits<Real<T>>::min());
  for (int64_t k = 0; k < n; ++k) {
    std::vector<T> x(static_cast<size_t>(k + 1));
    x.back() = 1;
    for (int64_t i = k; i-- > 0;) {
      T sum{};
      for (int64_t j = i + 1; j <= k; ++j) sum += t(i, j) * x[static_cast<size_t>(j)];
      T gap = t(k, k) - t(i, i);
      if (std::abs(gap) < least) gap = least;
      x[static_cast<size_t>(i)] = sum / gap;
    }
    std::fill_n(v.column(k), n, T());
    Real<T> square = 0;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j <= k; ++j) v(i, k) += z(i, j) * x[static_cast<size_t>(j)];
      square += std::norm(v(i, k));
    }
    for (int64_t i = 0; i < n; ++i) v(i, k) /= std::sqrt(square);
  }
}

}  // namespace

template <class T>
bool schur_by_rotations(T* a, T* z, int64_t n) {
  SchurForm<T> form(a, z, n);
  form.set_identity();
  form.make_hessenberg();
  return form.make_triangular();
}

// Real matrices are brought to real Schur form first, so that real eigenvalues are found to be
// real.
template <class T>
bool eig_by_rotations(T* a, ComplexOf<T>* values, ComplexOf<T>* vectors, int64_t n) {
  const auto count = static_cast<size_t>(n * n);
  std::vector<T> turns(count);
  if (!schur_by_rotations(a, turns.data(), n)) return false;
  std::vector<ComplexOf<T>> t(a, a + n * n), z(turns.begin(), turns.end());
  if (!SchurForm<ComplexOf<T>>(t.data(), z.data(), n).make_triangular()) return false;
  const Columns<ComplexOf<T>> triangle{t.data(), n};
  for (int64_t i = 0; i < n; ++i) values[i] = triangle(i, i);
  find_vectors(triangle, {z.data(), n}, vectors, n);
  return true;
}

template bool schur_by_rotations(float*, float*, int64_t);
template bool schur_by_rotations(double*, double*, int64_t);
template bool schur_by_rotations(std::complex<float>*, std::complex<float>*, int64_t);
template bool schur_by_rotations(std::complex<double>*, std::complex<double>*, int64_t);
template bool eig_by_rotations(float*, std::complex<float>*, std::complex<float>*, int64_t);
template bool eig_by_rotations(double*, std::complex<double>*, std::complex<double>*, int64_t);
template bool eig_by_rotations(std::complex<float>*, std::complex<float>*, std::complex<float>*,
                               int64_t);
template bool eig_by_rotations(std::complex<double>*, std::complex<double>*, std::complex<double>*,
                               int64_t);

}  // namespace plait
