// Products of complex matrices.
#include <complex>
#include <cstring>
#include <vector>

#include "tests/cuda_emulator/driver/copies.h"
#include "tests/cuda_emulator/libraries/matmul.h"

namespace emulator {
namespace {

// op(X) by columns.
template <class T>
std::vector<T> values_of(const Matmul& matmul, int which, int64_t batch) {
  const MatrixLayout& layout = matmul.layouts[which];
  const int operation = which == 0   ? matmul.description.transpose_a
                        : which == 1 ? matmul.description.transpose_b
                                     : CUBLAS_OP_N;
  const auto rows = static_cast<int64_t>(layout.rows),
             columns = static_cast<int64_t>(layout.columns);
  std::vector<T> values(static_cast<size_t>(rows * columns)),
      elements(static_cast<size_t>(layout.line_length()));
  const size_t bytes = elements.size() * sizeof(T);
  for (int64_t line = 0; line < layout.lines(); ++line) {
    const uint64_t address = line_address(layout, matmul.matrices[which], batch, line);
    std::memcpy(elements.data(), product_bytes(address, bytes, true), bytes);
    for (int64_t k = 0; k < layout.line_length(); ++k) {
      const int64_t row = layout.order ? line : k, column = layout.order ? k : line;
      const int64_t at = operation == CUBLAS_OP_N ? column * rows + row : row * columns + column;
      const T value = elements[static_cast<size_t>(k)];
      values[static_cast<size_t>(at)] = operation == CUBLAS_OP_C ? std::conj(value) : value;
    }
  }
  return values;
}

template <class T>
void store(const Matmul& matmul, int64_t batch, const std::vector<T>& values) {
  const MatrixLayout& layout = matmul.layouts[3];
  std::vector<T> elements(static_cast<size_t>(layout.line_length()));
  const size_t bytes = elements.size() * sizeof(T);
  for (int64_t line = 0; line < layout.lines(); ++line) {
    for (int64_t k = 0; k < layout.line_length(); ++k) {
      const int64_t row = layout.order ? line : k, column = layout.order ? k : line;
      elements[static_cast<size_t>(k)] = values[static_cast<size_t>(column * matmul.m() + row)];
    }
    const uint64_t address = line_address(layout, matmul.matrices[3], batch, line);
    std::memcpy(product_bytes(address, bytes, false), elements.data(), bytes);
    note_written(address, bytes);
  }
}

template <class T>
void multiply(const Matmul& matmul, int64_t batch) {
  using Real = typename T::value_type;
  const std::vector<T> a = values_of<T>(matmul, 0, batch), b = values_of<T>(matmul, 1, batch);
  const T alpha(static_cast<Real>(matmul.alpha), static_cast<Real>(matmul.imaginary_alpha));
  const T beta(static_cast<Real>(matmul.beta), static_cast<Real>(matmul.imaginary_beta));
  const int64_t m = matmul.m(), n = matmul.n(), k = matmul.k();
  std::vector<T> sums(static_cast<size_t>(m * n));
  for (int64_t column = 0; column < n; ++column) {
    for (int64_t inner = 0; inner < k; ++inner) {
      const T factor = b[static_cast<size_t>(column * k + inner)];
      for (int64_t row = 0; row < m; ++row)
        sums[static_cast<size_t>(column * m + row)] +=
            a[static_cast<size_t>(inner * m + row)] * factor;
    }
  }
  for (T& sum : sums) sum *= alpha;
  if (matmul.needs_c()) {
    const std::vector<T> c = values_of<T>(matmul, 2, batch);
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += beta * c[i];
  }
  store(matmul, batch, sums);
}

}  // namespace

void run_complex_product(const Matmul& matmul, int64_t batch) {
  if (matmul.layouts[3].type == CUDA_C_64F) {
    multiply<std::complex<double>>(matmul, batch);
  } else {
    multiply<std::complex<float>>(matmul, batch);
  }
}

}  // namespace emulator
