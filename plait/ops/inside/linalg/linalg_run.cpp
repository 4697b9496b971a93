// Kernels of linear algebra: they apply routines for one matrix to stacks of matrices.
#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "plait/core/error.h"
#include "plait/ops/inside/linalg/linalg_primitives.h"
#include "plait/ops/inside/linalg/linalg_routines.h"

namespace plait {
namespace {

template <class T>
const MatrixRoutines<T>& routines_in(const void* data) {
  const auto& all = data ? *static_cast<const LinalgRoutines*>(data) : kReferenceRoutines;
  if constexpr (std::is_same_v<T, float>) return all.f32;
  if constexpr (std::is_same_v<T, double>) return all.f64;
  if constexpr (std::is_same_v<T, std::complex<float>>) return all.c64;
  if constexpr (std::is_same_v<T, std::complex<double>>) return all.c128;
}

// Calls run.operator()<T>(routines) with the C++ type of the first operand.
template <class Run>
void with_routines(KernelCall& call, const void* data, Run run) {
  switch (call.operands[0].dtype()) {
    case DType::f32: return run(routines_in<float>(data));
    case DType::f64: return run(routines_in<double>(data));
    case DType::c64: return run(routines_in<std::complex<float>>(data));
    case DType::c128: return run(routines_in<std::complex<double>>(data));
    default:
      throw TypeError("{}: {} is not supported", call.primitive.name,
                      name_of(call.operands[0].dtype()));
  }
}

// A stack of column-major matrices.
template <class T>
class Matrices {
 public:
  explicit Matrices(const Array& rows) : Matrices(rows.sizes(), with_room(rows.sizes())) {
    copy_elements(rows.view(rows.layout().transposed()), array_);
  }
  // Zeros of these sizes.
  explicit Matrices(const Sizes& sizes) : Matrices(sizes, with_room(sizes)) {
    std::fill_n(data_, array_.element_count(), T());
  }

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  int64_t least() const { return std::min(rows_, columns_); }
  int64_t count() const { return element_count_of(batch_); }
  const Sizes& batch() const { return batch_; }
  T* at(int64_t i) { return data_ + i * rows_ * columns_; }
  T& at(int64_t i, int64_t row, int64_t column) { return at(i)[row + column * rows_]; }

  void set_identity(int64_t i) {
    for (int64_t j = 0; j < least(); ++j) at(i, j, j) = 1;
  }
  // Converts to row-major order.
  Array array() const { return array_.view(array_.layout().transposed()).contiguous(); }
  // "the matrix", or "matrix [1, 0] of the batch"
  std::string name_of_matrix(int64_t i) const {
    if (batch_.empty()) return "the matrix";
    Sizes index(batch_.size());
    for (size_t axis = batch_.size(); axis-- > 0; i /= batch_[axis]) index[axis] = i % batch_[axis];
    return fmt::format("matrix {} of the batch", text_of_sizes(index));
  }

 private:
  Matrices(const Sizes& sizes, Array columns)
      : array_(std::move(columns)),
        data_(array_.writable_elements<T>().data()),
        batch_(std::span<const int64_t>(sizes).first(sizes.size() - 2)),
        rows_(sizes[sizes.size() - 2]),
        columns_(sizes[sizes.size() - 1]) {}
  // OpenBLAS 0.3.21 reads an element behind the end of a row (cgemv, 2 rows), and discards it.
  // Therefore there are two additional columns.
  static Array with_room(Sizes sizes) {
    std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
    const int64_t rows = sizes[sizes.size() - 1];
    Layout layout = Layout::contiguous(std::move(sizes));
    const int64_t elements = layout.element_count();
    if (elements == 0) return Array::empty(kDTypeOf<T>, layout.sizes);
    return Array::empty(kDTypeOf<T>, {elements / rows + 2, rows}).view(std::move(layout));
  }

  Array array_;
  T* data_;
  Sizes batch_;
  int64_t rows_, columns_;
};

// One number, or one vector of them, per matrix.
template <class T>
struct Numbers {
  Array array;
  T* data;
  int64_t each;

  Numbers(const Sizes& sizes, int64_t each_matrix)
      : array(Array::empty(kDTypeOf<T>, sizes)),
        data(array.writable_elements<T>().data()),
        each(each_matrix) {}
  T* at(int64_t i) { return data + i * each; }
};

// Serialises all calls, since Debian's serial OpenBLAS returns wrong eigenvalues when several
// threads use it.
std::mutex one_caller;

// If all results are empty, the loop is skipped: there may be any number of matrices without
// elements.
template <class Body>
void for_each_matrix(const KernelCall& call, int64_t count, Body body) {
  const auto is_empty = [](const ArrayType& type) { return element_count_of(type.sizes) == 0; };
  if (std::ranges::all_of(call.types, is_empty)) return;
  const std::lock_guard lock(one_caller);
  for (int64_t i = 0; i < count; ++i) body(i);
}

template <class T>
void expect_finite(const KernelCall& call, Matrices<T>& a, int64_t i) {
  const T* const begin = a.at(i);
  const T* const end = begin + a.rows() * a.columns();
  const auto is_finite = [](T x) {
    return std::isfinite(std::real(x)) && std::isfinite(std::imag(x));
  };
  if (std::all_of(begin, end, is_finite)) return;
  throw ValueError("{}: {} contains NaN or infinity", call.primitive.name, a.name_of_matrix(i));
}

template <class T>
[[noreturn]] void fail_to_converge(const KernelCall& call, const Matrices<T>& a, int64_t i) {
  throw ValueError("{}: the iteration for {} did not converge", call.primitive.name,
                   a.name_of_matrix(i));
}

template <class T>
[[noreturn]] void refuse_singular(const KernelCall& call, const Matrices<T>& a, int64_t i,
                                  int64_t pivot) {
  throw ValueError("{}: {} is singular: pivot {} is 0", call.primitive.name, a.name_of_matrix(i),
                   pivot)
      .hint("linalg::lstsq and linalg::pinv accept such matrices too");
}

template <class T>
void zero_above(Matrices<T>& a, int64_t i) {
  for (int64_t j = 1; j < a.columns(); ++j) std::fill_n(&a.at(i, 0, j), std::min(j, a.rows()), T());
}

}  // namespace

void cholesky_now(KernelCall& call, const void* data) {
  with_routines(call, data, [&]<class T>(const MatrixRoutines<T>& routines) {
    Matrices<T> a(call.operands[0]);
    const int64_t n = a.rows();
    for_each_matrix(call, n ? a.count() : 0, [&](int64_t i) {
      expect_finite(call, a, i);
      if (const int64_t minor = routines.cholesky(a.at(i), n); minor != 0) {
        throw ValueError(
            "{}: {} is not positive definite: its leading minor of order {} is not "
            "positive",
            call.primitive.name, a.name_of_matrix(i), minor);
      }
      zero_above(a, i);
    });
    call.results[0] = a.array();
  });
}

namespace {

// Converts successive row exchanges to the order of the rows, and returns its sign.
int64_t order_of_rows(std::span<const int32_t> pivots, std::span<int64_t> order) {
  std::iota(order.begin(), order.end(), 0);
  int64_t sign = 1;
  for (size_t i = 0; i < pivots.size(); ++i) {
    const auto other = static_cast<size_t>(pivots[i]);
    if (other == i) continue;
    std::swap(order[i], order[other]);
    sign = -sign;
  }
  return sign;
}

}  // namespace

void lu_now(KernelCall& call, const void* data) {
  with_routines(call, data, [&]<class T>(const MatrixRoutines<T>& routines) {
    Matrices<T> a(call.operands[0]);
    const int64_t m = a.rows(), k = a.least();
    Numbers<int64_t> order(call.types[1].sizes, m), sign(call.types[2].sizes, 1);
    for_each_matrix(call, a.count(), [&](int64_t i) {
      expect_finite(call, a, i);
      std::vector<int32_t> pivots(static_cast<size_t>(k));
      if (k > 0) routines.lu(a.at(i), m, a.columns(), pivots.data());
      *sign.at(i) = order_of_rows(pivots, {order.at(i), static_cast<size_t>(m)});
    });
    call.results[0] = a.array();
    call.results[1] = order.array;
    call.results[2] = sign.array;
  });
}

void triangular_solve_now(KernelCall& call, const void* data) {
  const auto& kind = call.attributes.as<TriangularAttributes>();
  with_routines(call, data, [&]<class T>(const MatrixRoutines<T>& routines) {
    Matrices<T> a(call.operands[0]), b(call.operands[1]);
    const int64_t n = a.rows();
    for_each_matrix(call, b.columns() && n ? a.count() : 0, [&](int64_t i) {
      for (int64_t j = 0; j < n && !kind.unit_diagonal; ++j) {
        if (a.at(i, j, j) == T()) refuse_singular(call, a, i, j);
      }
      routines.triangular_solve(a.at(i), b.at(i), n, b.columns(), kind.lower, kind.unit_diagonal);
    });
    call.results[0] = b.array();
  });
}

void solve_now(KernelCall& call, const void* data) {
  with_routines(call, data, [&]<class T>(const MatrixRoutines<T>& routines) {
    Matrices<T> a(call.operands[0]), b(call.operands[1]);
    const int64_t n = a.rows(), columns = b.columns();
    for_each_matrix(call, n ? a.count() : 0, [&](int64_t i) {
      expect_finite(call, a, i);
      std::vector<int32_t> pivots(static_cast<size_t>(n));
      routines.lu(a.at(i), n, n, pivots.data());
      for (int64_t j = 0; j < n; ++j) {
        if (a.at(i, j, j) == T()) refuse_singular(call, a, i, j);
      }
      if (columns == 0) return;
      for (int64_t j = 0; j < n; ++j) {
        const int32_t other = pivots[static_cast<size_t>(j)];
        for (int64_t c = 0; c < columns && other != j; ++c) {
          std::swap(b.at(i, j, c), b.at(i, other, c));
        }
      }
      routines.triangular_solve(a.at(i), b.at(i), n, columns, true, true);
      routines.triangular_solve(a.at(i), b.at(i), n, columns, false, false);
    });
    call.results[0] = b.array();
  });
}

void qr_now(KernelCall& call, const void* data) {
  with_routines(call, data, [&]<class T>(const MatrixRoutines<T>& routines) {
    Matrices<T> a(call.operands[0]), q(call.types[0].sizes), r(call.types[1].sizes);
    const int64_t m = a.rows(), n = a.columns();
    for_each_matrix(call, a.count(), [&](int64_t i) {
      expect_finite(call, a, i);
      if (a.least() == 0) return q.set_identity(i);
      routines.qr(a.at(i), q.at(i), m, n, q.columns());
      for (int64_t j = 0; j < n; ++j) {
        std::copy_n(&a.at(i, 0, j), std::min(j + 1, a.least()), &r.at(i, 0, j));
      }
    });
    call.results[0] = q.array();
    call.results[1] = r.array();
  });
}

void eigh_now(KernelCall& call, const void* data) {
  with_routines(call, data, [&]<class T>(const MatrixRoutines<T>& routines) {
    Matrices<T> a(call.operands[0]);
    const int64_t n = a.rows();
    Numbers<Real<T>> values(call.types[0].sizes, n);
    for_each_matrix(call, n ? a.count() : 0, [&](int64_t i) {
      expect_finite(call, a, i);
      if (!routines.eigh(a.at(i), values.at(i), n)) fail_to_converge(call, a, i);
    });
    call.results[0] = values.array;
    call.results[1] = a.array();
  });
}

void svd_now(KernelCall& call, const void* data) {
  const bool full = call.attributes.as<SvdAttributes>().full;
  with_routines(call, data, [&]<class T>(const MatrixRoutines<T>& routines) {
    Matrices<T> a(call.operands[0]), u(call.types[0].sizes), vh(call.types[2].sizes);
    const int64_t m = a.rows(), n = a.columns(), k = a.least();
    Numbers<Real<T>> values(call.types[1].sizes, k);
    for_each_matrix(call, a.count(), [&](int64_t i) {
      expect_finite(call, a, i);
      if (k == 0) {
        u.set_identity(i);
        vh.set_identity(i);
      } else if (!routines.svd(a.at(i), u.at(i), values.at(i), vh.at(i), m, n, full)) {
        fail_to_converge(call, a, i);
      }
    });
    call.results[0] = u.array();
    call.results[1] = values.array;
    call.results[2] = vh.array();
  });
}

// V S⁻¹ Uᴴ, without the singular values that count as 0.
void pinv_now(KernelCall& call, const void* data) {
  const double tolerance = call.attributes.as<PinvAttributes>().tolerance;
  with_routines(call, data, [&]<class T>(const MatrixRoutines<T>& routines) {
    Matrices<T> a(call.operands[0]), inverse(call.types[0].sizes);
    const int64_t m = a.rows(), n = a.columns(), k = a.least();
    for_each_matrix(call, k ? a.count() : 0, [&](int64_t i) {
      expect_finite(call, a, i);
      std::vector<T> u(static_cast<size_t>(m * k)), vh(static_cast<size_t>(k * n));
      std::vector<Real<T>> values(static_cast<size_t>(k));
      if (!routines.svd(a.at(i), u.data(), values.data(), vh.data(), m, n, false)) {
        fail_to_converge(call, a, i);
      }
      for (int64_t s = 0; s < k; ++s) {
        const Real<T> value = values[static_cast<size_t>(s)];
        if (!(value > static_cast<Real<T>>(tolerance) * values[0])) continue;
        for (int64_t c = 0; c < m; ++c) {
          const T factor = u[static_cast<size_t>(c + s * m)] / value;
          for (int64_t r = 0; r < n; ++r) {
            inverse.at(i, r, c) += conjugate(vh[static_cast<size_t>(s + r * k)] * factor);
          }
        }
      }
    });
    call.results[0] = inverse.array();
  });
}

void eig_now(KernelCall& call, const void* data) {
  with_routines(call, data, [&]<class T>(const MatrixRoutines<T>& routines) {
    Matrices<T> a(call.operands[0]);
    Matrices<ComplexOf<T>> vectors(call.types[1].sizes);
    const int64_t n = a.rows();
    Numbers<ComplexOf<T>> values(call.types[0].sizes, n);
    for_each_matrix(call, n ? a.count() : 0, [&](int64_t i) {
      expect_finite(call, a, i);
      if (!routines.eig(a.at(i), values.at(i), vectors.at(i), n)) fail_to_converge(call, a, i);
    });
    call.results[0] = values.array;
    call.results[1] = vectors.array();
  });
}

void schur_now(KernelCall& call, const void* data) {
  with_routines(call, data, [&]<class T>(const MatrixRoutines<T>& routines) {
    Matrices<T> a(call.operands[0]), z(call.types[1].sizes);
    const int64_t n = a.rows();
    for_each_matrix(call, n ? a.count() : 0, [&](int64_t i) {
      expect_finite(call, a, i);
      if (!routines.schur(a.at(i), z.at(i), n)) fail_to_converge(call, a, i);
    });
    call.results[0] = a.array();
    call.results[1] = z.array();
  });
}

namespace {

// The determinant; the matrix is overwritten by its factors.
template <class T>
T determinant_by_lu(const MatrixRoutines<T>& routines, T* a, int64_t n,
                    std::vector<int32_t>& pivots) {
  pivots.resize(static_cast<size_t>(n));
  if (n > 0) routines.lu(a, n, n, pivots.data());
  T product = 1;
  for (int64_t j = 0; j < n; ++j) {
    product *= pivots[static_cast<size_t>(j)] == j ? a[j * (n + 1)] : -a[j * (n + 1)];
  }
  return product;
}

// det A · A⁻¹, if that is accurate enough.
template <class T>
bool adjugate_by_inverse(const MatrixRoutines<T>& routines, const T* a, T* result, int64_t n) {
  constexpr Real<T> kWorstCondition = 1000;
  std::vector<T> lu(a, a + n * n);
  std::vector<int32_t> pivots;
  const T determinant = determinant_by_lu(routines, lu.data(), n, pivots);
  if (!std::isnormal(std::abs(determinant))) return false;
  const Columns<T> x{result, n};
  for (int64_t j = 0; j < n; ++j) x(j, j) = 1;
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t c = 0; c < n; ++c) std::swap(x(j, c), x(pivots[static_cast<size_t>(j)], c));
  }
  routines.triangular_solve(lu.data(), result, n, n, true, true);
  routines.triangular_solve(lu.data(), result, n, n, false, false);
  const Real<T> condition = norm_of_columns(a, n) * norm_of_columns(result, n);
  for (int64_t i = 0; i < n * n; ++i) result[i] *= determinant;
  return condition <= kWorstCondition;
}

// For A = U S Vᴴ: adj(A) = det(U Vᴴ) V adj(S) Uᴴ, where the diagonal of adj(S) holds the products
// of all singular values but one. This holds for matrices of any rank.
template <class T>
bool adjugate_by_svd(const MatrixRoutines<T>& routines, T* a, T* result, int64_t n) {
  const auto count = static_cast<size_t>(n * n);
  std::vector<T> u(count), vh(count), turn(count), product(count);
  std::vector<Real<T>> s(static_cast<size_t>(n)), others(s.size(), 1);
  if (!routines.svd(a, u.data(), s.data(), vh.data(), n, n, false)) return false;
  routines.add_product(u.data(), vh.data(), turn.data(), n, n, n);
  std::vector<int32_t> pivots;
  const T phase = determinant_by_lu(routines, turn.data(), n, pivots);
  for (size_t j = 0; j < s.size(); ++j) {
    for (size_t k = 0; k < s.size(); ++k) others[j] *= k == j ? 1 : s[k];
    for (int64_t i = 0; i < n; ++i) u[static_cast<size_t>(i) + j * s.size()] *= others[j];
  }
  routines.add_product(u.data(), vh.data(), product.data(), n, n, n);
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < n; ++i) {
      result[j + i * n] = phase * conjugate(product[static_cast<size_t>(i + j * n)]);
    }
  }
  return true;
}

}  // namespace

void determinant_now(KernelCall& call, const void* data) {
  with_routines(call, data, [&]<class T>(const MatrixRoutines<T>& routines) {
    Matrices<T> a(call.operands[0]);
    Numbers<T> determinants(call.types[0].sizes, 1);
    std::vector<int32_t> pivots;
    for_each_matrix(call, a.count(), [&](int64_t i) {
      expect_finite(call, a, i);
      *determinants.at(i) = determinant_by_lu(routines, a.at(i), a.rows(), pivots);
    });
    call.results[0] = determinants.array;
  });
}

void adjugate_now(KernelCall& call, const void* data) {
  with_routines(call, data, [&]<class T>(const MatrixRoutines<T>& routines) {
    Matrices<T> a(call.operands[0]), result(call.types[0].sizes);
    const int64_t n = a.rows();
    for_each_matrix(call, n ? a.count() : 0, [&](int64_t i) {
      expect_finite(call, a, i);
      if (adjugate_by_inverse(routines, a.at(i), result.at(i), n)) return;
      if (!adjugate_by_svd(routines, a.at(i), result.at(i), n)) fail_to_converge(call, a, i);
    });
    call.results[0] = result.array();
  });
}

// f32 and c64 are computed in f64 and c128, and rounded once.
void expm_now(KernelCall& call, const void* data) {
  with_routines(call, data, [&]<class T>(const MatrixRoutines<T>&) {
    using Wide = std::conditional_t<kIsRealNumber<T>, double, std::complex<double>>;
    Matrices<T> a(call.operands[0]), result(call.types[0].sizes);
    std::optional<Matrices<T>> direction;
    if (call.operands.size() > 1) direction.emplace(call.operands[1]);
    const int64_t n = a.rows(), count = n * n;
    for_each_matrix(call, n ? a.count() : 0, [&](int64_t i) {
      expect_finite(call, a, i);
      const std::vector<Wide> at(a.at(i), a.at(i) + count);
      std::vector<Wide> along, found(at.size());
      if (direction) along.assign(direction->at(i), direction->at(i) + count);
      exponential(routines_in<Wide>(data), at.data(), direction ? along.data() : nullptr,
                  found.data(), n);
      std::ranges::transform(found, result.at(i), [](const Wide& x) { return static_cast<T>(x); });
    });
    call.results[0] = result.array();
  });
}

void quotient_or_zero_now(KernelCall& call, const void* data) {
  with_routines(call, data, [&]<class T>(const MatrixRoutines<T>&) {
    const Array x = call.operands[0].contiguous(), d = call.operands[1].contiguous();
    Array quotients = Array::empty(kDTypeOf<T>, call.types[0].sizes);
    const auto over = [](T a, T b) {
      if (a == T()) return T();
      return b == T() ? T(std::numeric_limits<Real<T>>::quiet_NaN()) : a / b;
    };
    std::ranges::transform(x.elements<T>(), d.elements<T>(),
                           quotients.writable_elements<T>().begin(), over);
    call.results[0] = std::move(quotients);
  });
}

}  // namespace plait
