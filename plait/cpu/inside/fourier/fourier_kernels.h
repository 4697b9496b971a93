// Kernels of fourier.h: as many transforms in parallel as a vector has lanes.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <span>

#include "plait/cpu/cpu_level.h"

namespace plait::cpu {

inline constexpr int64_t kMostRadix = 31;
inline constexpr int64_t kFoldBlock = 64;

// One pass of Stockham's algorithm, which needs no bit reversal. For each p below `count` and q
// below `stride` it transforms the `radix` elements q + stride (p + count k), multiplies them by
// the twiddle factors e^(-2πi p k / (count radix)), and stores them at q + stride (radix p + k).
template <class T>
struct FourierPass {
  int64_t radix = 1, count = 1, stride = 1;
  const T* turns = nullptr;  // twiddle factors for each p and k ≥ 1: real part, imaginary part
  const T* cosines =
      nullptr;  // cosines of 2π k / radix for each k, then the sines; for odd radices
};

// Element j of column c is at[j * step + c * apart].
template <class Element>
struct FourierPlace {
  Element* at = nullptr;
  int64_t step = 1, apart = 1;
  bool is_swapped = false;  // exchanges real and imaginary parts
};

// Transforms columns, and multiplies element k of each by `factor` and, if given, by coarse[k /
// fine_count] fine[k % fine_count].
template <class T>
struct FourierColumns {
  std::span<const FourierPass<T>> passes;
  int64_t length = 1;
  int64_t columns = 1;  // at most `lanes`
  int64_t skipped = 0;  // number of first columns that are not written
  FourierPlace<const std::complex<T>> from;
  FourierPlace<std::complex<T>> to;
  T factor = 1;
  const T* coarse = nullptr;  // each a vector of real and one of imaginary parts
  const T* fine = nullptr;
  int64_t fine_count = 1;
  T* work = nullptr;  // 4 · length · lanes elements
};

// Conversion between the transform Z of `half` complex numbers and the transform X, of half + 1
// elements, of twice as many real ones. It combines the sum of Z[k] and conj(Z[half - k]) with
// their difference, rotated by -i e^(-πi k / half). With k = 1 + kFoldBlock b + i that factor is
// coarse[b] fine[i].
template <class T>
struct FourierFold {
  int64_t half = 1;
  const std::complex<T>* coarse = nullptr;
  const T* fine = nullptr;  // kFoldBlock real parts, then the imaginary parts
};

template <class T>
struct FourierKernels {
  int64_t lanes = 1;
  void (*columns)(const FourierColumns<T>&) = nullptr;
  // X from Z; may be in place.
  void (*unfold)(const FourierFold<T>&, const std::complex<T>* z, std::complex<T>* x,
                 T factor) = nullptr;
  // 2 Z from X; not in place.
  void (*fold)(const FourierFold<T>&, const std::complex<T>* x, std::complex<T>* z) = nullptr;
};

struct AllFourierKernels {
  FourierKernels<float> f32;
  FourierKernels<double> f64;
};

// One function per level, as in cpu_kernels.h.
extern const std::array<void (*)(AllFourierKernels&), kCpuLevelCount> kFourierKernels;

}  // namespace plait::cpu
