// Fourier transforms of columns, one per lane.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plait/cpu/inside/fourier/fourier_kernels.cpp"
#include "plait/cpu/inside/fourier/fourier_kernels.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "plait/cpu/inside/elementwise/lanes.inl"

HWY_BEFORE_NAMESPACE();
namespace plait::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
using Lane = hn::Vec<Tag<T>>;
template <class T>
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(Tag<T>()));
template <class T>
constexpr int64_t kElement = 2 * kLanes<T>;  // real parts, then imaginary parts

template <class T>
HWY_INLINE Lane<T> all(T value) {
  return hn::Set(Tag<T>(), value);
}

template <class T>
struct Numbers {
  Lane<T> re, im;

  friend HWY_INLINE Numbers operator+(Numbers a, Numbers b) { return {a.re + b.re, a.im + b.im}; }
  friend HWY_INLINE Numbers operator-(Numbers a, Numbers b) { return {a.re - b.re, a.im - b.im}; }
  friend HWY_INLINE Numbers operator*(Numbers a, Numbers b) {
    return {hn::NegMulAdd(a.im, b.im, a.re * b.re), hn::MulAdd(a.im, b.re, a.re * b.im)};
  }
};

template <class T>
HWY_INLINE Numbers<T> element(const T* at) {
  return {hn::LoadU(Tag<T>(), at), hn::LoadU(Tag<T>(), at + kLanes<T>)};
}
template <class T>
HWY_INLINE void put(Numbers<T> x, T* at) {
  hn::StoreU(x.re, Tag<T>(), at);
  hn::StoreU(x.im, Tag<T>(), at + kLanes<T>);
}

template <class T>
HWY_INLINE Numbers<T> numbers_at(const std::complex<T>* at) {
  Numbers<T> x;
  hn::LoadInterleaved2(Tag<T>(), reinterpret_cast<const T*>(at), x.re, x.im);
  return x;
}
template <class T>
HWY_INLINE void put_numbers(Numbers<T> x, std::complex<T>* at) {
  hn::StoreInterleaved2(x.re, x.im, Tag<T>(), reinterpret_cast<T*>(at));
}

template <class T>
HWY_INLINE Numbers<T> plus_i(Numbers<T> a, Numbers<T> b) {  // a + i b
  return {a.re - b.im, a.im + b.re};
}
template <class T>
HWY_INLINE Numbers<T> minus_i(Numbers<T> a, Numbers<T> b) {  // a - i b
  return {a.re + b.im, a.im - b.re};
}

// ---- Transforms of a few elements, in place.

template <class T>
HWY_INLINE void transform_of_4(Numbers<T>& a, Numbers<T>& b, Numbers<T>& c, Numbers<T>& d) {
  const Numbers<T> even = a + c, odd = a - c, sum = b + d, difference = b - d;
  a = even + sum;
  b = minus_i(odd, difference);
  c = even - sum;
  d = plus_i(odd, difference);
}

// Odd length: elements k and radix - k have the same cosines, and opposite sines.
template <class T, int most>
HWY_INLINE void transform_of_odd(Numbers<T>* x, int radix, const T* cosines) {
  const T* sines = cosines + radix;
  Numbers<T> sums[most / 2], differences[most / 2];
  const Numbers<T> first = x[0];
  const int half = radix / 2;
  for (int k = 0; k < half; ++k) {
    sums[k] = x[k + 1] + x[radix - 1 - k];
    differences[k] = x[k + 1] - x[radix - 1 - k];
    x[0] = x[0] + sums[k];
  }
  for (int j = 1; j <= half; ++j) {
    Numbers<T> same = first, opposite = {all<T>(0), all<T>(0)};
    int turn = 0;
    for (int k = 0; k < half; ++k) {
      turn += j;
      if (turn >= radix) turn -= radix;
      const Lane<T> cosine = all(cosines[turn]), sine = all(sines[turn]);
      same = {hn::MulAdd(cosine, sums[k].re, same.re), hn::MulAdd(cosine, sums[k].im, same.im)};
      opposite = {hn::MulAdd(sine, differences[k].re, opposite.re),
                  hn::MulAdd(sine, differences[k].im, opposite.im)};
    }
    x[j] = minus_i(same, opposite);
    x[radix - j] = plus_i(same, opposite);
  }
}

template <int radix, class T>
HWY_INLINE void transform(Numbers<T>* x, const T* cosines) {
  if constexpr (radix == 2) {
    const Numbers<T> sum = x[0] + x[1];
    x[1] = x[0] - x[1];
    x[0] = sum;
  } else if constexpr (radix == 4) {
    transform_of_4(x[0], x[1], x[2], x[3]);
  } else if constexpr (radix == 8) {
    transform_of_4(x[0], x[2], x[4], x[6]);
    transform_of_4(x[1], x[3], x[5], x[7]);
    const Lane<T> root = all(static_cast<T>(0.70710678118654752440));
    const Numbers<T> second = {(x[3].re + x[3].im) * root, (x[3].im - x[3].re) * root};
    const Numbers<T> fourth = {(x[7].im - x[7].re) * root, all<T>(0) - (x[7].re + x[7].im) * root};
    const Numbers<T> even[] = {x[0], x[2], x[4], x[6]};
    const Numbers<T> first = x[1], third = x[5];
    x[0] = even[0] + first;
    x[4] = even[0] - first;
    x[1] = even[1] + second;
    x[5] = even[1] - second;
    x[2] = minus_i(even[2], third);
    x[6] = plus_i(even[2], third);
    x[3] = even[3] + fourth;
    x[7] = even[3] - fourth;
  } else {
    transform_of_odd<T, radix>(x, radix, cosines);
  }
}

// ---- Passes. For p = 0 all twiddle factors are 1.

template <int radix, bool is_turned, class T>
HWY_INLINE void pass_at(const FourierPass<T>& pass, int64_t p, const T* from, T* to) {
  const T* turns = pass.turns + p * 2 * (radix - 1);
  const int64_t apart = pass.stride * pass.count * kElement<T>;
  from += p * pass.stride * kElement<T>;
  to += p * radix * pass.stride * kElement<T>;
  for (int64_t q = 0; q < pass.stride; ++q, from += kElement<T>, to += kElement<T>) {
    Numbers<T> x[radix];
    for (int k = 0; k < radix; ++k) x[k] = element(from + k * apart);
    transform<radix>(x, pass.cosines);
    put(x[0], to);
    for (int k = 1; k < radix; ++k) {
      if constexpr (is_turned) {
        x[k] = x[k] * Numbers<T>{all(turns[2 * k - 2]), all(turns[2 * k - 1])};
      }
      put(x[k], to + k * pass.stride * kElement<T>);
    }
  }
}

template <int radix, class T>
void run_pass(const FourierPass<T>& pass, const T* from, T* to) {
  pass_at<radix, false>(pass, 0, from, to);
  for (int64_t p = 1; p < pass.count; ++p) pass_at<radix, true>(pass, p, from, to);
}

template <class T>
void run_pass_of_any(const FourierPass<T>& pass, const T* from, T* to) {
  const auto radix = static_cast<int>(pass.radix);
  const int64_t apart = pass.stride * pass.count * kElement<T>;
  for (int64_t p = 0; p < pass.count; ++p) {
    const T* turns = pass.turns + p * 2 * (radix - 1);
    for (int64_t q = 0; q < pass.stride; ++q) {
      Numbers<T> x[kMostRadix];
      const T* first = from + (q + pass.stride * p) * kElement<T>;
      for (int k = 0; k < radix; ++k) x[k] = element(first + k * apart);
      transform_of_odd<T, kMostRadix>(x, radix, pass.cosines);
      T* out = to + (q + pass.stride * radix * p) * kElement<T>;
      put(x[0], out);
      for (int k = 1; k < radix; ++k) {
        put(x[k] * Numbers<T>{all(turns[2 * k - 2]), all(turns[2 * k - 1])},
            out + k * pass.stride * kElement<T>);
      }
    }
  }
}

template <class T>
void run(const FourierPass<T>& pass, const T* from, T* to) {
  switch (pass.radix) {
    case 2: return run_pass<2>(pass, from, to);
    case 3: return run_pass<3>(pass, from, to);
    case 4: return run_pass<4>(pass, from, to);
    case 5: return run_pass<5>(pass, from, to);
    case 7: return run_pass<7>(pass, from, to);
    case 8: return run_pass<8>(pass, from, to);
    default: return run_pass_of_any(pass, from, to);
  }
}

// ---- Columns. Contiguous columns are loaded and stored in pieces, for all lanes together.

template <class T>
constexpr int64_t kPiece = kLanes<T> / 2;  // complex numbers per vector

#ifdef PLAIT_HAVE_HIGHWAY

// Complex numbers as lanes: one of f32 takes 64 bits, one of f64 a block of 128 bits.
template <class T>
using NumberTag = hn::ScalableTag<std::conditional_t<std::is_same_v<T, float>, uint64_t, double>>;
template <class T>
using NumberLane = hn::Vec<NumberTag<T>>;

// Exchanges block i of vector j with block j of vector i.
template <class T>
HWY_INLINE void transpose_blocks(NumberLane<T>* x) {
  const NumberTag<T> d;
  constexpr size_t kBlocks = hn::MaxLanes(Tag<uint8_t>()) / 16;
  if constexpr (kBlocks == 2) {
    const NumberLane<T> first = x[0], second = x[1];
    x[0] = hn::ConcatLowerLower(d, second, first);
    x[1] = hn::ConcatUpperUpper(d, second, first);
  } else if constexpr (kBlocks == 4) {
    const NumberLane<T> low[] = {hn::ConcatLowerLower(d, x[2], x[0]),
                                 hn::ConcatLowerLower(d, x[3], x[1])};
    const NumberLane<T> high[] = {hn::ConcatUpperUpper(d, x[2], x[0]),
                                  hn::ConcatUpperUpper(d, x[3], x[1])};
    x[0] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(low[1]), low[0]);
    x[1] = hn::OddEvenBlocks(low[1], hn::SwapAdjacentBlocks(low[0]));
    x[2] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(high[1]), high[0]);
    x[3] = hn::OddEvenBlocks(high[1], hn::SwapAdjacentBlocks(high[0]));
  }
}

// Transposes as many vectors as each has complex numbers.
template <class T>
HWY_INLINE void transpose(NumberLane<T>* x) {
  if constexpr (std::is_same_v<T, double>) {
    transpose_blocks<T>(x);
  } else {
    const NumberTag<T> d;
    constexpr int64_t kHalf = kPiece<T> / 2;
    NumberLane<T> even[kHalf], odd[kHalf];
    for (int64_t i = 0; i < kHalf; ++i) {
      even[i] = hn::InterleaveLower(d, x[2 * i], x[2 * i + 1]);
      odd[i] = hn::InterleaveUpper(d, x[2 * i], x[2 * i + 1]);
    }
    transpose_blocks<T>(even);
    transpose_blocks<T>(odd);
    for (int64_t i = 0; i < kHalf; ++i) {
      x[2 * i] = even[i];
      x[2 * i + 1] = odd[i];
    }
  }
}

template <class T>
HWY_INLINE NumberLane<T> piece_at(const T* at) {
  return hn::BitCast(NumberTag<T>(), hn::LoadU(Tag<T>(), at));
}

// Loads kPiece elements of each column.
template <class T>
HWY_INLINE void load_pieces(const std::complex<T>* from, int64_t apart, bool is_swapped, T* to) {
  const Tag<T> d;
  NumberLane<T> low[kPiece<T>], high[kPiece<T>];
  for (int64_t i = 0; i < kPiece<T>; ++i) {
    low[i] = piece_at(reinterpret_cast<const T*>(from + i * apart));
    high[i] = piece_at(reinterpret_cast<const T*>(from + (kPiece<T> + i) * apart));
  }
  transpose<T>(low);
  transpose<T>(high);
  for (int64_t i = 0; i < kPiece<T>; ++i, to += kElement<T>) {
    const Lane<T> first = hn::BitCast(d, low[i]), second = hn::BitCast(d, high[i]);
    Numbers<T> x = {hn::ConcatEven(d, second, first), hn::ConcatOdd(d, second, first)};
    if (is_swapped) std::swap(x.re, x.im);
    put(x, to);
  }
}

// The inverse; `from` holds as many elements, of interleaved numbers.
template <class T>
HWY_INLINE void store_pieces(const T* from, std::complex<T>* to, int64_t apart, int64_t skipped) {
  NumberLane<T> low[kPiece<T>], high[kPiece<T>];
  for (int64_t i = 0; i < kPiece<T>; ++i) {
    low[i] = piece_at(from + i * kElement<T>);
    high[i] = piece_at(from + i * kElement<T> + kLanes<T>);
  }
  transpose<T>(low);
  transpose<T>(high);
  const auto store_piece = [&](NumberLane<T> piece, int64_t column) HWY_ATTR {
    if (column < skipped) return;
    hn::StoreU(hn::BitCast(Tag<T>(), piece), Tag<T>(), reinterpret_cast<T*>(to + column * apart));
  };
  for (int64_t i = 0; i < kPiece<T>; ++i) {
    store_piece(low[i], i);
    store_piece(high[i], kPiece<T> + i);
  }
}

#else

template <class T>
void load_pieces(const std::complex<T>*, int64_t, bool, T*) {}
template <class T>
void store_pieces(const T*, std::complex<T>*, int64_t, int64_t) {}

#endif

template <class T>
void load(const FourierColumns<T>& job, T* to) {
  const auto& place = job.from;
  const bool is_full = job.columns == kLanes<T>;
  if (is_full && place.apart == 1) {
    for (int64_t j = 0; j < job.length; ++j) {
      Numbers<T> x = numbers_at(place.at + j * place.step);
      if (place.is_swapped) std::swap(x.re, x.im);
      put(x, to + j * kElement<T>);
    }
    return;
  }
  int64_t j = 0;
  if (is_full && place.step == 1 && kPiece<T> > 0) {
    for (; j + kPiece<T> <= job.length; j += kPiece<T>) {
      load_pieces(place.at + j, place.apart, place.is_swapped, to + j * kElement<T>);
    }
  }
  if (!is_full) std::fill_n(to, job.length * kElement<T>, T(0));
  for (; j < job.length; ++j) {
    const std::complex<T>* from = place.at + j * place.step;
    T* re = to + j * kElement<T> + (place.is_swapped ? kLanes<T> : 0);
    T* im = to + j * kElement<T> + (place.is_swapped ? 0 : kLanes<T>);
    for (int64_t c = 0; c < job.columns; ++c) {
      const std::complex<T> value = from[c * place.apart];
      re[c] = value.real();
      im[c] = value.imag();
    }
  }
}

template <class T>
HWY_INLINE Numbers<T> finished(const FourierColumns<T>& job, const T* from, int64_t k) {
  Numbers<T> x = element(from + k * kElement<T>);
  if (job.coarse) {
    x = x * (element(job.coarse + k / job.fine_count * kElement<T>) *
             element(job.fine + k % job.fine_count * kElement<T>));
  }
  const Lane<T> factor = all(job.factor);
  x = {x.re * factor, x.im * factor};
  if (job.to.is_swapped) std::swap(x.re, x.im);
  return x;
}

template <class T>
void store(const FourierColumns<T>& job, const T* from) {
  const auto& place = job.to;
  const bool is_full = job.columns == kLanes<T>;
  if (is_full && place.apart == 1 && job.skipped == 0) {
    for (int64_t k = 0; k < job.length; ++k) {
      put_numbers(finished(job, from, k), place.at + k * place.step);
    }
    return;
  }
  int64_t k = 0;
  if (is_full && place.step == 1 && kPiece<T> > 0) {
    for (; k + kPiece<T> <= job.length; k += kPiece<T>) {
      T piece[std::max<int64_t>(1, kPiece<T>) * kElement<T>];
      for (int64_t i = 0; i < kPiece<T>; ++i) {
        const Numbers<T> x = finished(job, from, k + i);
        hn::StoreInterleaved2(x.re, x.im, Tag<T>(), piece + i * kElement<T>);
      }
      store_pieces(piece, place.at + k, place.apart, job.skipped);
    }
  }
  for (; k < job.length; ++k) {
    const Numbers<T> x = finished(job, from, k);
    T lanes[kElement<T>];
    hn::StoreInterleaved2(x.re, x.im, Tag<T>(), lanes);
    std::complex<T>* to = place.at + k * place.step;
    for (int64_t c = job.skipped; c < job.columns; ++c) {
      to[c * place.apart] = {lanes[2 * c], lanes[2 * c + 1]};
    }
  }
}

template <class T>
void columns(const FourierColumns<T>& job) {
  T* from = job.work;
  T* to = job.work + job.length * kElement<T>;
  load(job, from);
  for (const FourierPass<T>& pass : job.passes) {
    run(pass, from, to);
    std::swap(from, to);
  }
  store(job, from);
}

// ---- Transforms of real numbers.

template <class T>
HWY_INLINE Numbers<T> reversed_conjugate(Numbers<T> x) {
  const Tag<T> d;
  return {hn::Reverse(d, x.re), hn::Reverse(d, all<T>(0) - x.im)};
}

template <class T>
std::complex<T> product(std::complex<T> a, std::complex<T> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// Combines elements k and half - k, for all k ≥ 1.
template <bool is_back, class T>
void fold_pairs(const FourierFold<T>& fold, const std::complex<T>* from, std::complex<T>* to,
                T factor) {
  const int64_t half = fold.half;
  const Lane<T> factors = all(factor), sign = all<T>(is_back ? -1 : 1);
  for (int64_t block = 0; 1 + block * kFoldBlock <= half / 2; ++block) {
    const std::complex<T> coarse = fold.coarse[block];
    const Numbers<T> turn = {all(coarse.real()), all(coarse.imag())};
    const int64_t begin = 1 + block * kFoldBlock;
    const int64_t end = std::min(begin + kFoldBlock, half / 2 + 1);
    int64_t k = begin;
    for (; k + kLanes<T> <= end && k + kLanes<T> <= half - k - kLanes<T> + 1; k += kLanes<T>) {
      const int64_t mirrored = half - k - kLanes<T> + 1;
      const T* fine = fold.fine + (k - begin);
      Numbers<T> turns =
          turn * Numbers<T>{hn::LoadU(Tag<T>(), fine), hn::LoadU(Tag<T>(), fine + kFoldBlock)};
      turns.im = turns.im * sign;
      const Numbers<T> here = numbers_at(from + k);
      const Numbers<T> there = reversed_conjugate(numbers_at(from + mirrored));
      const Numbers<T> common = here + there, turned = (here - there) * turns;
      const Numbers<T> sum = common + turned, difference = common - turned;
      put_numbers<T>({sum.re * factors, sum.im * factors}, to + k);
      put_numbers(reversed_conjugate<T>({difference.re * factors, difference.im * factors}),
                  to + mirrored);
    }
    for (; k < end; ++k) {
      std::complex<T> turned =
          product(coarse, {fold.fine[k - begin], fold.fine[k - begin + kFoldBlock]});
      if (is_back) turned = std::conj(turned);
      const std::complex<T> here = from[k], there = std::conj(from[half - k]);
      const std::complex<T> common = here + there;
      turned = product(here - there, turned);
      to[half - k] = std::conj(common - turned) * factor;
      to[k] = (common + turned) * factor;  // written last, so that the middle element has no -0
    }
  }
}

template <class T>
void unfold(const FourierFold<T>& fold, const std::complex<T>* z, std::complex<T>* x, T factor) {
  const std::complex<T> first = z[0];
  fold_pairs<false>(fold, z, x, factor / 2);
  x[0] = (first.real() + first.imag()) * factor;
  x[fold.half] = (first.real() - first.imag()) * factor;
}

template <class T>
void fold(const FourierFold<T>& fold, const std::complex<T>* x, std::complex<T>* z) {
  const T first = x[0].real(), last = x[fold.half].real();
  z[0] = {first + last, first - last};
  fold_pairs<true>(fold, x, z, T(1));
}

}  // namespace

void add_fourier_kernels(AllFourierKernels& kernels) {
  kernels.f32 = {kLanes<float>, columns<float>, unfold<float>, fold<float>};
  kernels.f64 = {kLanes<double>, columns<double>, unfold<double>, fold<double>};
}

}  // namespace HWY_NAMESPACE
}  // namespace plait::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::cpu {

constinit const std::array<void (*)(AllFourierKernels&), kCpuLevelCount> kFourierKernels = {
    PLAIT_EACH_LEVEL(add_fourier_kernels)};

}  // namespace plait::cpu
#endif
