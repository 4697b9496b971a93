// The kernels behind fourier.h: as many transforms side by side as a vector has elements.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <span>

#include "plait/cpu/cpu_level.h"

namespace plait::cpu {

inline constexpr int64_t kMostRadix = 31;
inline constexpr int64_t kFoldBlock = 64;

// One of a transform's passes, in Stockham's way, which leaves the elements in order: for each p
// below `count` and q below `stride` the transform of the `radix` elements
// q + stride (p + count k) goes to q + stride (radix p + k), turned by e^(-2πi p k / (count
// radix)).
template <class T>
struct FourierPass {
  int64_t radix = 1, count = 1, stride = 1;
  const T* turns = nullptr;    // for each p, for k from 1 on: the real part, the imaginary one
  const T* cosines = nullptr;  // of 2π k / radix for each k, and the sines behind; of odd ones
};

// Element j of column c is at[j * step + c * apart].
template <class Element>
struct FourierPlace {
  Element* at = nullptr;
  int64_t step = 1, apart = 1;
  bool is_swapped = false;  // the real part and the imaginary one change places
};

// Columns are transformed, and element k of each is multiplied by `factor`, and by
// coarse[k / fine_count] fine[k % fine_count] where there are any.
template <class T>
struct FourierColumns {
  std::span<const FourierPass<T>> passes;
  int64_t length = 1;
  int64_t columns = 1;  // no more than `lanes`
  int64_t skipped = 0;  // so many of them, the first ones, are not written
  FourierPlace<const std::complex<T>> from;
  FourierPlace<std::complex<T>> to;
  T factor = 1;
  const T* coarse = nullptr;  // each a vector of real parts, and one of imaginary ones
  const T* fine = nullptr;
  int64_t fine_count = 1;
  T* work = nullptr;  // 4 length lanes
};

// Between the transform Z of `half` complex numbers and that of twice as many real ones, X, which
// has half + 1: what Z[k] and the conjugate of Z[half - k] have in common, and their difference
// turned by -i e^(-πi k / half), or back. With k = 1 + kFoldBlock b + i that is coarse[b] fine[i].
template <class T>
struct FourierFold {
  int64_t half = 1;
  const std::complex<T>* coarse = nullptr;
  const T* fine = nullptr;  // kFoldBlock real parts, and the imaginary ones behind
};

template <class T>
struct FourierKernels {
  int64_t lanes = 1;
  void (*columns)(const FourierColumns<T>&) = nullptr;
  // X of Z; may be in place.
  void (*unfold)(const FourierFold<T>&, const std::complex<T>* z, std::complex<T>* x,
                 T factor) = nullptr;
  // Z of X, twice as great; not in place.
  void (*fold)(const FourierFold<T>&, const std::complex<T>* x, std::complex<T>* z) = nullptr;
};

struct AllFourierKernels {
  FourierKernels<float> f32;
  FourierKernels<double> f64;
};

// One function a level, as those of cpu_kernels.h.
extern const std::array<void (*)(AllFourierKernels&), kCpuLevelCount> kFourierKernels;

}  // namespace plait::cpu
