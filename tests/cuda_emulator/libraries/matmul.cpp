#include "tests/cuda_emulator/libraries/matmul.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "tests/cuda_emulator/device/findings.h"
#include "tests/cuda_emulator/device/memory.h"
#include "tests/cuda_emulator/driver/copies.h"

namespace emulator {
namespace {

constexpr const char* kUser = "cublasLtMatmul";
constexpr CUresult kBad = CUDA_ERROR_ILLEGAL_ADDRESS;

// op(X) by columns.
template <class T>
std::vector<T> dense(const Matmul& matmul, int which, int64_t batch) {
  const MatrixLayout& layout = matmul.layouts[which];
  const bool transposed = which == 0   ? matmul.description.transpose_a
                          : which == 1 ? matmul.description.transpose_b
                                       : false;
  const bool tf32 = which < 2 && matmul.description.compute_type == CUBLAS_COMPUTE_32F_FAST_TF32;
  const auto rows = static_cast<int64_t>(layout.rows),
             columns = static_cast<int64_t>(layout.columns);
  std::vector<T> values(static_cast<size_t>(rows * columns));
  for (int64_t line = 0; line < layout.lines(); ++line) {
    const size_t bytes = static_cast<size_t>(layout.line_length()) * layout.element_bytes();
    const char* from =
        product_bytes(line_address(layout, matmul.matrices[which], batch, line), bytes, true);
    for (int64_t k = 0; k < layout.line_length(); ++k, from += layout.element_bytes()) {
      const int64_t row = layout.order ? line : k, column = layout.order ? k : line;
      const auto value = static_cast<T>(loaded_number(from, layout.type));
      values[static_cast<size_t>(transposed ? row * columns + column : column * rows + row)] =
          tf32 ? static_cast<T>(rounded_to_tf32(static_cast<float>(value))) : value;
    }
  }
  return values;
}

template <class T>
std::vector<T> product(const std::vector<T>& a, const std::vector<T>& b, int64_t m, int64_t n,
                       int64_t k) {
  std::vector<T> sums(static_cast<size_t>(m * n), T{0});
  for (int64_t column = 0; column < n; ++column) {
    T* const sum = sums.data() + column * m;
    for (int64_t inner = 0; inner < k; ++inner) {
      const T factor = b[static_cast<size_t>(column * k + inner)];
      const T* const from = a.data() + inner * m;
      for (int64_t row = 0; row < m; ++row) sum[row] += from[row] * factor;
    }
  }
  return sums;
}

// The approximation by tanh, which is cuBLASLt's GELU.
double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

double gelu_slope(double x) {
  const double t = std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
}

std::vector<double> vector_at(uint64_t address, uint32_t type, int64_t count) {
  const size_t each = bytes_of_type(type);
  const char* const from = product_bytes(address, static_cast<size_t>(count) * each, true);
  std::vector<double> values(static_cast<size_t>(count));
  for (size_t k = 0; k < values.size(); ++k) values[k] = loaded_number(from + k * each, type);
  return values;
}

void store_vector(uint64_t address, uint32_t type, const std::vector<double>& values) {
  const size_t each = bytes_of_type(type);
  char* const to = product_bytes(address, values.size() * each, false);
  for (size_t k = 0; k < values.size(); ++k) store_number(to + k * each, type, values[k]);
  note_written(address, values.size() * each);
}

double scalar(double on_host, uint64_t address, int32_t type) {
  return address ? vector_at(address, static_cast<uint32_t>(type), 1)[0] : on_host;
}

double scale_at(uint64_t address) { return address ? vector_at(address, CUDA_R_32F, 1)[0] : 1; }

template <class T>
class BatchProduct {
 public:
  BatchProduct(const Matmul& matmul, int64_t batch)
      : matmul_(matmul),
        asked_(matmul.description),
        batch_(batch),
        m_(matmul.m()),
        n_(matmul.n()),
        k_(matmul.k()) {}

  void run() {
    const std::vector<T> a = dense<T>(matmul_, 0, batch_), b = dense<T>(matmul_, 1, batch_);
    values_ = product(a, b, m_, n_, k_);
    add_c();
    if (asked_.epilogue == CUBLASLT_EPILOGUE_BGRADA) store_bias(sums(a, m_, k_, true));
    if (asked_.epilogue == CUBLASLT_EPILOGUE_BGRADB) store_bias(sums(b, k_, n_, false));
    if (has_bias(asked_.epilogue)) add_bias();
    if (has_auxiliary(asked_.epilogue)) use_auxiliary();
    if (asked_.epilogue & CUBLASLT_EPILOGUE_RELU) change([](double x) { return x > 0 ? x : 0; });
    if (asked_.epilogue & CUBLASLT_EPILOGUE_GELU) change(gelu);
    if (asked_.epilogue == CUBLASLT_EPILOGUE_DGELU_BGRAD) store_bias(sums(values_, m_, n_, true));
    store_result();
  }

 private:
  template <class F>
  void change(F&& f) {
    for (T& value : values_) value = static_cast<T>(f(static_cast<double>(value)));
  }

  void add_c() {
    const double scale = scale_at(asked_.scales[0]) * scale_at(asked_.scales[1]);
    const double alpha = scalar(matmul_.alpha, matmul_.alpha_address, asked_.scale_type) * scale;
    const double beta = scalar(matmul_.beta, matmul_.beta_address, asked_.scale_type);
    change([&](double x) { return alpha * x; });
    if (beta == 0) return;
    const double c_scale = beta * scale_at(asked_.scales[2]);
    const std::vector<T> c = dense<T>(matmul_, 2, batch_);
    for (size_t k = 0; k < values_.size(); ++k)
      values_[k] += static_cast<T>(c_scale * static_cast<double>(c[k]));
  }

  uint64_t bias_address() const {
    return asked_.bias + static_cast<uint64_t>(batch_ * asked_.bias_batch_stride) *
                             bytes_of_type(matmul_.type_of_bias());
  }

  void add_bias() {
    const std::vector<double> bias = vector_at(bias_address(), matmul_.type_of_bias(), m_);
    for (int64_t column = 0; column < n_; ++column) {
      for (int64_t row = 0; row < m_; ++row)
        values_[static_cast<size_t>(column * m_ + row)] +=
            static_cast<T>(bias[static_cast<size_t>(row)]);
    }
  }

  void store_bias(const std::vector<double>& sums) {
    store_vector(bias_address(), matmul_.type_of_bias(), sums);
  }

  // Sums of a matrix by columns: of its rows or of its columns.
  static std::vector<double> sums(const std::vector<T>& values, int64_t rows, int64_t columns,
                                  bool of_rows) {
    std::vector<double> result(static_cast<size_t>(of_rows ? rows : columns), 0);
    for (int64_t column = 0; column < columns; ++column) {
      for (int64_t row = 0; row < rows; ++row) {
        result[static_cast<size_t>(of_rows ? row : column)] +=
            static_cast<double>(values[static_cast<size_t>(column * rows + row)]);
      }
    }
    return result;
  }

  // Forward, the argument of GELU is stored; backward, its slope there is a factor.
  void use_auxiliary() {
    const uint32_t type = matmul_.type_of_auxiliary();
    const bool backward = asked_.epilogue & 64;
    for (int64_t column = 0; column < n_; ++column) {
      const int64_t offset =
          batch_ * asked_.auxiliary_batch_stride + column * asked_.auxiliary_leading;
      const uint64_t address =
          asked_.auxiliary + static_cast<uint64_t>(offset) * bytes_of_type(type);
      T* const line = values_.data() + column * m_;
      if (backward) {
        const std::vector<double> arguments = vector_at(address, type, m_);
        for (int64_t row = 0; row < m_; ++row)
          line[row] = static_cast<T>(static_cast<double>(line[row]) *
                                     gelu_slope(arguments[static_cast<size_t>(row)]));
      } else {
        store_vector(address, type, std::vector<double>(line, line + m_));
      }
    }
  }

  void store_result() {
    const MatrixLayout& layout = matmul_.layouts[3];
    const double scale = is_eight_bits(layout.type) ? scale_at(asked_.scales[3]) : 1;
    double most = 0;
    for (int64_t line = 0; line < layout.lines(); ++line) {
      std::vector<double> values(static_cast<size_t>(layout.line_length()));
      for (size_t k = 0; k < values.size(); ++k) {
        const auto row = layout.order ? line : static_cast<int64_t>(k),
                   column = layout.order ? static_cast<int64_t>(k) : line;
        const auto value = static_cast<double>(values_[static_cast<size_t>(column * m_ + row)]);
        most = std::max(most, std::fabs(value));
        values[k] = value * scale;
      }
      store_vector(line_address(layout, matmul_.matrices[3], batch_, line), layout.type, values);
    }
    if (asked_.most_of_d) store_vector(asked_.most_of_d, CUDA_R_32F, {most});
  }

  const Matmul& matmul_;
  const MatmulDescription& asked_;
  int64_t batch_, m_, n_, k_;
  std::vector<T> values_;
};

void scribble(const Matmul& matmul) {
  if (!matmul.workspace_bytes) return;
  std::memset(product_bytes(matmul.workspace, matmul.workspace_bytes, false), kPoisonByte,
              matmul.workspace_bytes);
}

}  // namespace

char* product_bytes(uint64_t address, size_t bytes, bool reads) {
  char* const found = reachable_bytes(address, bytes, kUser);
  if (!found) throw Failure{kBad};
  if (reads && !are_written(address, bytes)) {
    const int device = device_with(address);
    note_finding(std::string(kUser) + ": unwritten: it reads " + std::to_string(bytes) +
                 " bytes from " + (device >= 0 ? memory_of(device).place(address) : "a global") +
                 ", which were not all written");
    throw Failure{CUDA_ERROR_LAUNCH_FAILED};
  }
  return found;
}

uint64_t line_address(const MatrixLayout& layout, uint64_t matrix, int64_t batch, int64_t line) {
  return matrix + static_cast<uint64_t>(batch * layout.batch_stride + line * layout.leading) *
                      layout.element_bytes();
}

CUresult run_matmul(const Matmul& matmul) {
  try {
    scribble(matmul);
    for (int64_t batch = 0; batch < matmul.layouts[3].batches; ++batch) {
      if (is_complex(matmul.layouts[3].type)) {
        run_complex_product(matmul, batch);
      } else if (matmul.description.scale_type == CUDA_R_64F) {
        BatchProduct<double>(matmul, batch).run();
      } else {
        BatchProduct<float>(matmul, batch).run();
      }
    }
    return CUDA_SUCCESS;
  } catch (const Failure& failure) {
    return failure.result;
  }
}

}  // namespace emulator
