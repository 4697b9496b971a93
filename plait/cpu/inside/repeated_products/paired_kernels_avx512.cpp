#include <algorithm>
#include <cstring>

#include <immintrin.h>

#include "plait/cpu/inside/repeated_products/paired_kernels.h"

namespace plait {
namespace {

constexpr int64_t kSize = 2;    // bytes of a bf16
constexpr int64_t kLanes = 16;  // lanes of f32, and of pairs

__mmask16 first_of_16(int64_t count) {
  return count >= kLanes ? static_cast<__mmask16>(0xffff)
                         : static_cast<__mmask16>((1U << std::max<int64_t>(count, 0)) - 1);
}

const uint16_t* element(const Matrix& m, int64_t row, int64_t column) {
  return reinterpret_cast<const uint16_t*>(m.data) + row * m.row_stride + column * m.column_stride;
}

// Up to 16 words of elements that are adjacent in two lines.
__m512i pairs_of(const uint16_t* first, const uint16_t* second, __mmask16 there) {
  const __m512i low = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(there, first));
  if (second == nullptr) return low;
  const __m512i high = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(there, second));
  return _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
}

// Words [pairs][width] of the columns of m, whose rows are the steps.
void pack(const Matrix& m, int64_t width, uint32_t* words) {
  const int64_t steps = m.rows, pairs = (steps + 1) / 2;
  if (m.column_stride == 1) {
    for (int64_t p = 0; p < pairs; ++p) {
      const bool has_second = 2 * p + 1 < steps;
      for (int64_t k = 0; k < width; k += kLanes) {
        const __mmask16 there = first_of_16(m.columns - k);
        const uint16_t* const second = has_second ? element(m, 2 * p + 1, k) : nullptr;
        _mm512_mask_storeu_epi32(words + p * width + k, first_of_16(width - k),
                                 pairs_of(element(m, 2 * p, k), second, there));
      }
    }
    return;
  }
  for (int64_t k = 0; k < width; ++k) {
    for (int64_t p = 0; p < pairs; ++p) {
      const bool is_there = k < m.columns;
      const uint32_t low = is_there ? *element(m, 2 * p, k) : 0;
      const uint32_t high = is_there && 2 * p + 1 < steps ? *element(m, 2 * p + 1, k) : 0;
      words[p * width + k] = low | high << 16;
    }
  }
}

void pack_columns(const Matrix& b, uint32_t* words) { pack(b, kPairedColumns, words); }
void pack_rows(const Matrix& a, uint32_t* words) { pack(a.transposed(), a.rows, words); }

template <int rows>
void multiply_rows(const uint32_t* a, int64_t a_row, int64_t a_pair, const uint32_t* b,
                   int64_t pairs, float* c, int64_t c_row, bool accumulates) {
  __m512 sums[rows][2];
#pragma GCC unroll 12
  for (int i = 0; i < rows; ++i) {
    sums[i][0] = accumulates ? _mm512_loadu_ps(c + i * c_row) : _mm512_setzero_ps();
    sums[i][1] = accumulates ? _mm512_loadu_ps(c + i * c_row + kLanes) : _mm512_setzero_ps();
  }
  for (int64_t p = 0; p < pairs; ++p, a += a_pair, b += kPairedColumns) {
    const auto left = reinterpret_cast<__m512bh>(_mm512_loadu_si512(b));
    const auto right = reinterpret_cast<__m512bh>(_mm512_loadu_si512(b + kLanes));
#pragma GCC unroll 12
    for (int i = 0; i < rows; ++i) {
      uint32_t pair;
      std::memcpy(&pair, a + i * a_row, sizeof(pair));
      const auto both = reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(pair)));
      sums[i][0] = _mm512_dpbf16_ps(sums[i][0], both, left);
      sums[i][1] = _mm512_dpbf16_ps(sums[i][1], both, right);
    }
  }
#pragma GCC unroll 12
  for (int i = 0; i < rows; ++i) {
    _mm512_storeu_ps(c + i * c_row, sums[i][0]);
    _mm512_storeu_ps(c + i * c_row + kLanes, sums[i][1]);
  }
}

void multiply(const uint32_t* a, int64_t rows, int64_t a_row, int64_t a_pair, const uint32_t* b,
              int64_t pairs, float* c, int64_t c_row, bool accumulates) {
  if (rows == kPairedRows) {
    return multiply_rows<12>(a, a_row, a_pair, b, pairs, c, c_row, accumulates);
  }
  int64_t i = 0;
  const auto run = [&](auto kernel, int64_t height) {
    for (; i + height <= rows; i += height) {
      kernel(a + i * a_row, a_row, a_pair, b, pairs, c + i * c_row, c_row, accumulates);
    }
  };
  run(multiply_rows<8>, 8);
  run(multiply_rows<4>, 4);
  run(multiply_rows<1>, 1);
}

void round(const float* sums, int64_t sums_row, const TargetMatrix& out) {
  for (int64_t i = 0; i < out.rows; ++i) {
    for (int64_t k = 0; k < out.columns; k += kLanes) {
      const __mmask16 there = first_of_16(out.columns - k);
      const __m512 wide = _mm512_maskz_loadu_ps(there, sums + i * sums_row + k);
      const __m256bh narrow = _mm512_cvtneps_pbh(wide);
      _mm256_mask_storeu_epi16(out.data + (i * out.row_stride + k) * kSize, there,
                               reinterpret_cast<const __m256i&>(narrow));
    }
  }
}

}  // namespace

const PairedKernels kPairedKernels{pack_columns, pack_rows, multiply, round};

}  // namespace plait
