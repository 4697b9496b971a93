// Common to the kernels for products of bf16 (bf16_kernels.h), which are compiled with AVX-512
// BF16.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <immintrin.h>

#include "plait/cpu/inside/products/bf16_kernels.h"

namespace plait {

inline __mmask32 first_of_32(int64_t count) {
  return count >= 32 ? ~__mmask32{0} : static_cast<__mmask32>((uint32_t{1} << count) - 1);
}

// Transposes 16 rows of 16 pairs.
inline void transpose(__m512i* rows) {
  __m512i t[16], u[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    for (int half = 0; half < 2; ++half) {
      u[i + 2 * half] = _mm512_unpacklo_epi64(t[i + half], t[i + 2 + half]);
      u[i + 2 * half + 1] = _mm512_unpackhi_epi64(t[i + half], t[i + 2 + half]);
    }
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(u[i], u[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_i32x4(u[i], u[i + 4], 0xdd);
    t[i + 8] = _mm512_shuffle_i32x4(u[i + 8], u[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_i32x4(u[i + 8], u[i + 12], 0xdd);
  }
  for (int i = 0; i < 4; ++i) {
    rows[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
    rows[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
    rows[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
    rows[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xdd);
  }
}

// The source of packing: the rows of a, or the columns of b.
struct Source {
  Matrix matrix;
  bool is_float = false;  // f32, to be rounded

  const std::byte* at(int64_t row, int64_t column) const {
    const int64_t place = row * matrix.row_stride + column * matrix.column_stride;
    return matrix.data + place * (is_float ? 4 : 2);
  }
  // Loads consecutive elements; 0 where the mask is false.
  __m512i load(const std::byte* from, __mmask32 there) const {
    if (!is_float) return _mm512_maskz_loadu_epi16(there, from);
    const __m512 low = _mm512_maskz_loadu_ps(static_cast<__mmask16>(there), from);
    const __m512 high = _mm512_maskz_loadu_ps(static_cast<__mmask16>(there >> 16), from + 64);
    const __m512bh rounded = _mm512_cvtne2ps_pbh(high, low);
    return reinterpret_cast<const __m512i&>(rounded);
  }
};

// 32 steps of up to 32 lines, in 32 registers: those of a line each, or, "in pairs", those of two
// steps, 16 lines in one register and 16 in another one, which is 16 places further.
using Square = __m512i[32];
constexpr int64_t kSquareSteps = 32, kSquarePairs = 16;

// The lines of a matrix whose steps are contiguous.
inline void load_lines(const Source& source, int64_t first, Square& square) {
  const Matrix& m = source.matrix;
  const __mmask32 there = first_of_32(m.columns - first);
  for (int64_t i = 0; i < 32; ++i) {
    square[i] = i < m.rows ? source.load(source.at(i, first), there) : _mm512_setzero_si512();
  }
}

// Pairs of steps of a matrix whose lines are contiguous, at each step.
inline void load_pairs(const Source& source, int64_t first, Square& square) {
  const Matrix& m = source.matrix;
  const __mmask32 there = first_of_32(m.rows);
  const auto step = [&](int64_t k) {
    return k < m.columns ? source.load(source.at(0, k), there) : _mm512_setzero_si512();
  };
  const __m512i low = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0);
  const __m512i high = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
  for (int64_t p = 0; p < kSquarePairs; ++p) {
    const __m512i a = step(first + 2 * p), b = step(first + 2 * p + 1);
    const __m512i even = _mm512_unpacklo_epi16(a, b), odd = _mm512_unpackhi_epi16(a, b);
    square[p] = _mm512_permutex2var_epi64(even, low, odd);
    square[kSquarePairs + p] = _mm512_permutex2var_epi64(even, high, odd);
  }
}

// The lines of a matrix with any strides.
inline void load_singly(const Source& source, int64_t first, Square& square) {
  const Matrix& m = source.matrix;
  alignas(64) uint16_t elements[32][kSquareSteps] = {};
  for (int64_t line = 0; line < m.rows; ++line) {
    for (int64_t k = 0; k < std::min(kSquareSteps, m.columns - first); ++k) {
      const __m512i element = source.load(source.at(line, first + k), 1);
      std::memcpy(&elements[line][k], &element, sizeof(uint16_t));
    }
  }
  for (int64_t i = 0; i < 32; ++i) square[i] = _mm512_load_si512(elements[i]);
}

// Calls store(first, square) for each 32 steps of up to 32 rows, padded with zeros.
template <class Store>
void pack(const Source& source, bool in_pairs, const Store& store) {
  const Matrix& m = source.matrix;
  for (int64_t first = 0; first < m.columns; first += kSquareSteps) {
    Square square;
    const bool is_in_pairs = m.column_stride != 1 && m.row_stride == 1;
    if (is_in_pairs) {
      load_pairs(source, first, square);
    } else if (m.column_stride == 1) {
      load_lines(source, first, square);
    } else {
      load_singly(source, first, square);
    }
    if (is_in_pairs != in_pairs) {
      transpose(square);
      transpose(square + kSquarePairs);
    }
    store(first, square);
  }
}

inline bool is_line(const std::byte* place) { return reinterpret_cast<uintptr_t>(place) % 64 == 0; }

// Writes one row of sums after the other.
inline void round_sums(const float* sums, const TargetMatrix& out, bool is_non_temporal) {
  const __mmask32 there = first_of_32(out.columns);
  for (int64_t i = 0; i < out.rows; ++i, sums += kBf16Columns) {
    const __m512bh row = _mm512_cvtne2ps_pbh(_mm512_load_ps(sums + 16), _mm512_load_ps(sums));
    const auto& words = reinterpret_cast<const __m512i&>(row);
    std::byte* const to = out.data + i * out.row_stride * 2;
    if (is_non_temporal && there == ~__mmask32{0} && is_line(to)) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(to), words);
    } else {
      _mm512_mask_storeu_epi16(to, there, words);
    }
  }
  if (is_non_temporal) _mm_sfence();
}

}  // namespace plait
