// Fourier transforms of one length on the CPU. Inside of plait/cpu.
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "plait/cpu/inside/fourier/fourier_kernels.h"
#include "plait/tensor/memory/array.h"

namespace plait {

// How transforms of `length` numbers, 1 or more, are computed. Nothing changes once it is made; any
// threads may use one.
//
// Columns are transformed side by side, one in each lane (fourier_kernels.h). A row is laid out as
// a matrix of which the columns are transformed, then the rows, which are the columns of what was
// written down transposed; it is as one of several columns where it is short; and a convolution
// where its length has a great prime factor.
template <class T>
class Fourier {
 public:
  explicit Fourier(int64_t length);
  ~Fourier();
  Fourier(const Fourier&) = delete;
  Fourier& operator=(const Fourier&) = delete;

  // Whether transform_columns may be asked.
  bool has_columns() const { return whole_ != nullptr; }
  int64_t lanes() const { return kernels_.lanes; }
  // Of a matrix with so many columns those of one group of lanes().
  void transform_columns(const std::complex<T>* from, std::complex<T>* to, int64_t columns,
                         int64_t group, bool inverse, T factor) const;

  // How many rows are best done in one call.
  int64_t rows_at_once() const {
    if (!whole_ || length_ > kShort) return 1;
    return std::max<int64_t>(1, kNumbersAtOnce / (length_ * lanes())) * lanes();
  }
  // `count` rows, no more than rows_at_once(); `from_apart` and `to_apart` elements lie between the
  // beginnings of two.
  void transform_rows(const std::complex<T>* from, int64_t from_apart, std::complex<T>* to,
                      int64_t to_apart, int64_t count, bool inverse, T factor) const;

  // Between the transform of `length` complex numbers and that of twice as many real ones, see
  // FourierKernels.
  void unfold(const std::complex<T>* z, std::complex<T>* x, T factor) const;
  void fold(const std::complex<T>* x, std::complex<T>* z) const;

  // As many rows are worth a thread.
  int64_t least_rows() const;

 private:
  struct Whole;
  struct Split;
  struct Chirp;
  static constexpr int64_t kShort = 2048, kNumbersAtOnce = 1 << 13;

  int64_t cost() const;

  int64_t length_;
  const cpu::FourierKernels<T>& kernels_;
  std::unique_ptr<Whole> whole_;
  std::unique_ptr<Split> split_;
  std::unique_ptr<Chirp> chirp_;
  std::vector<std::complex<T>> coarse_turns_;
  std::vector<T> fine_turns_;
};

// Made before, or now.
template <class T>
std::shared_ptr<const Fourier<T>> fourier_of(int64_t length);

}  // namespace plait
