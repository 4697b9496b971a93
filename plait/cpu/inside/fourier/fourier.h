// Fourier transforms of one length on the CPU. Internal to plait/cpu.
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "plait/cpu/inside/fourier/fourier_kernels.h"
#include "plait/tensor/memory/array.h"

namespace plait {

// A plan for transforms of a positive length. It is immutable; several threads may use it.
//
// Columns are transformed in parallel, one per vector lane (fourier_kernels.h). A row is reshaped
// to a matrix whose columns are transformed, then its rows, which become columns because the
// intermediate result is stored transposed. Short rows are transformed several at a time, as
// columns. Lengths with a large prime factor use Bluestein's convolution.
template <class T>
class Fourier {
 public:
  explicit Fourier(int64_t length);
  ~Fourier();
  Fourier(const Fourier&) = delete;
  Fourier& operator=(const Fourier&) = delete;

  // True if transform_columns is available.
  bool has_columns() const { return whole_ != nullptr; }
  int64_t lanes() const { return kernels_.lanes; }
  // Transforms one group of lanes() columns of a matrix with `columns` columns.
  void transform_columns(const std::complex<T>* from, std::complex<T>* to, int64_t columns,
                         int64_t group, bool inverse, T factor) const;

  // The number of rows that one call of transform_rows should transform.
  int64_t batch_rows() const {
    if (!whole_ || length_ > kShort) return 1;
    return std::max<int64_t>(1, kBatchElements / (length_ * lanes())) * lanes();
  }
  // Transforms `count` ≤ batch_rows() rows. `from_apart` and `to_apart` are the distances between
  // the beginnings of rows, in elements.
  void transform_rows(const std::complex<T>* from, int64_t from_apart, std::complex<T>* to,
                      int64_t to_apart, int64_t count, bool inverse, T factor) const;

  // Conversion between the transform of `length` complex numbers and that of twice as many real
  // ones; see FourierKernels.
  void unfold(const std::complex<T>* z, std::complex<T>* x, T factor) const;
  void fold(const std::complex<T>* x, std::complex<T>* z) const;

  // The least number of rows that is worth a thread.
  int64_t least_rows() const;

 private:
  struct Whole;
  struct Split;
  struct Chirp;
  static constexpr int64_t kShort = 2048, kBatchElements = 1 << 13;

  int64_t cost() const;

  int64_t length_;
  const cpu::FourierKernels<T>& kernels_;
  std::unique_ptr<Whole> whole_;
  std::unique_ptr<Split> split_;
  std::unique_ptr<Chirp> chirp_;
  std::vector<std::complex<T>> coarse_turns_;
  std::vector<T> fine_turns_;
};

// Returns the plan from a cache, or makes it.
template <class T>
std::shared_ptr<const Fourier<T>> fourier_of(int64_t length);

}  // namespace plait
