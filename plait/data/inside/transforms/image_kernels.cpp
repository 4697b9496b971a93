#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plait/data/inside/transforms/image_kernels.cpp"
#include "plait/data/inside/transforms/image_kernels.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "plait/cpu/cpu_level.h"
#include "plait/cpu/inside/elementwise/lanes.inl"

HWY_BEFORE_NAMESPACE();
namespace plait::data {
namespace HWY_NAMESPACE {
namespace {

float normalized_number(uint8_t x, float scale, float mean, float factor) {
  return (static_cast<float>(x) * scale - mean) * factor;
}

#ifdef PLAIT_HAVE_HIGHWAY

namespace hn = hwy::HWY_NAMESPACE;

using Bytes = hn::ScalableTag<uint8_t>;
using Words = hn::Repartition<int16_t, Bytes>;
using Sums = hn::Repartition<int32_t, Bytes>;
using BytesVector = hn::Vec<Bytes>;
using SumsVector = hn::Vec<Sums>;
constexpr auto kBlocks = static_cast<int64_t>(hn::MaxLanes(Bytes())) / 16;

using Indices = std::array<uint8_t, 16>;
// Lookups return 0 for it.
constexpr uint8_t kZero = 0x80;

HWY_INLINE BytesVector in_all_blocks(const Indices& indices) {
  return hn::LoadDup128(Bytes(), indices.data());
}

// Blocks of 16 bytes from these addresses.
template <class Address>
HWY_INLINE BytesVector blocks_at(Address address) {
  const hn::Full128<uint8_t> d;
  if constexpr (kBlocks == 1) {
    return hn::LoadU(d, address(0));
  } else if constexpr (kBlocks == 2) {
    return hn::Combine(Bytes(), hn::LoadU(d, address(1)), hn::LoadU(d, address(0)));
  } else {
    const hn::Half<Bytes> half;
    return hn::Combine(Bytes(),
                       hn::Combine(half, hn::LoadU(d, address(3)), hn::LoadU(d, address(2))),
                       hn::Combine(half, hn::LoadU(d, address(1)), hn::LoadU(d, address(0))));
  }
}

template <class Address>
HWY_INLINE void store_blocks(BytesVector v, Address address) {
  const hn::Full128<uint8_t> d;
  if constexpr (kBlocks == 1) {
    hn::StoreU(v, d, address(0));
  } else {
    alignas(64) uint8_t bytes[16 * kBlocks];
    hn::Store(v, Bytes(), bytes);
    for (int64_t i = 0; i < kBlocks; ++i) std::memcpy(address(i), bytes + 16 * i, 16);
  }
}

// Two numbers for each of four channels: pixels k and k + 1 of a block, as words.
constexpr Indices pair_of_pixels(int pixel, int k) {
  Indices indices{};
  for (int channel = 0; channel < 4; ++channel) {
    const bool is_used = channel < pixel;
    for (int i = 0; i < 2; ++i) {
      const int word = 4 * channel + 2 * i;
      indices[static_cast<size_t>(word)] =
          is_used ? static_cast<uint8_t>((k + i) * pixel + channel) : kZero;
      indices[static_cast<size_t>(word) + 1] = kZero;
    }
  }
  return indices;
}

// The place of words, two pixels of four, as bytes of the result: `part` 0 or 1 of four pixels.
constexpr Indices packed_words(int pixel, int part) {
  Indices indices{};
  for (auto& index : indices) index = kZero;
  for (int k = 0; k < 2; ++k) {
    for (int channel = 0; channel < pixel; ++channel) {
      const int place = (2 * part + k) * pixel + channel;
      indices[static_cast<size_t>(place)] = static_cast<uint8_t>(2 * (4 * k + channel));
    }
  }
  return indices;
}

// The bytes of four vectors of sums; within blocks, the order is that of the masks.
HWY_INLINE BytesVector bytes_of(SumsVector a, SumsVector b, SumsVector c, SumsVector d,
                                int precision, BytesVector first, BytesVector second) {
  const Words words;
  const auto low = hn::Zero(words), high = hn::Set(words, 255);
  const auto ab = hn::ReorderDemote2To(words, hn::ShiftRightSame(a, precision),
                                       hn::ShiftRightSame(b, precision));
  const auto cd = hn::ReorderDemote2To(words, hn::ShiftRightSame(c, precision),
                                       hn::ShiftRightSame(d, precision));
  const auto lower = hn::BitCast(Bytes(), hn::Min(hn::Max(ab, low), high));
  const auto upper = hn::BitCast(Bytes(), hn::Min(hn::Max(cd, low), high));
  return hn::TableLookupBytesOr0(lower, first) | hn::TableLookupBytesOr0(upper, second);
}

HWY_INLINE SumsVector with_products(SumsVector sum, BytesVector words, int32_t pair) {
  auto unused = hn::Zero(Sums());
  return hn::ReorderWidenMulAccumulate(Sums(), hn::BitCast(Words(), words),
                                       hn::BitCast(Words(), hn::Set(Sums(), pair)), sum, unused);
}

int32_t pair_at(const int16_t* weights) {
  int32_t pair;
  std::memcpy(&pair, weights, sizeof pair);
  return pair;
}

template <int pixel>
struct AlongRows {
  std::array<const uint8_t*, static_cast<size_t>(kBlocks)> rows;
  const FixedTaps& taps;
  BytesVector first_pair = in_all_blocks(pair_of_pixels(pixel, 0));
  BytesVector second_pair = in_all_blocks(pair_of_pixels(pixel, 2));

  // Pixel i of the results, as sums of four channels in each block.
  HWY_INLINE SumsVector sums_at(int64_t i) const {
    auto sum = hn::Set(Sums(), 1 << (taps.precision - 1));
    const int16_t* weights = taps.weights + i * taps.groups * 4;
    int64_t at = int64_t{taps.first[i]} * pixel;
    for (int64_t group = 0; group < taps.groups; ++group, at += 4 * pixel, weights += 4) {
      const auto pixels = blocks_at([&](size_t block) HWY_ATTR { return rows[block] + at; });
      sum = with_products(sum, hn::TableLookupBytesOr0(pixels, first_pair), pair_at(weights));
      sum = with_products(sum, hn::TableLookupBytesOr0(pixels, second_pair), pair_at(weights + 2));
    }
    return sum;
  }

  void write(int64_t count, uint8_t* const* results) const {
    const auto first = in_all_blocks(packed_words(pixel, 0));
    const auto second = in_all_blocks(packed_words(pixel, 1));
    for (int64_t i = 0; i < count; i += 4) {
      const int64_t last = count - 1;
      const auto bytes =
          bytes_of(sums_at(i), sums_at(std::min(i + 1, last)), sums_at(std::min(i + 2, last)),
                   sums_at(std::min(i + 3, last)), taps.precision, first, second);
      store_blocks(bytes, [&](int64_t block) HWY_ATTR { return results[block] + i * pixel; });
    }
  }
};

// Each block of a vector has pixels of another row. If fewer rows are left, the last is computed
// again.
template <int pixel>
void along_rows_of(const uint8_t* const* rows, int64_t row_count, const FixedTaps& taps,
                   int64_t count, uint8_t* const* results) {
  for (int64_t row = 0; row < row_count; row += kBlocks) {
    AlongRows<pixel> some{{}, taps};
    std::array<uint8_t*, static_cast<size_t>(kBlocks)> to;
    for (int64_t block = 0; block < kBlocks; ++block) {
      const int64_t number = std::min(row + block, row_count - 1);
      some.rows[static_cast<size_t>(block)] = rows[number];
      to[static_cast<size_t>(block)] = results[number];
    }
    some.write(count, to.data());
  }
}

// Interleaved with 0, the bytes of two rows are pairs of words; packing their sums undoes that.
void row_of_rows(const uint8_t* const* rows, int64_t row_count, const int16_t* weights,
                 int precision, int64_t count, uint8_t* result) {
  constexpr Indices kLower = {0,     2,     4,     6,     8,     10,    12,    14,
                              kZero, kZero, kZero, kZero, kZero, kZero, kZero, kZero};
  constexpr Indices kUpper = {kZero, kZero, kZero, kZero, kZero, kZero, kZero, kZero,
                              0,     2,     4,     6,     8,     10,    12,    14};
  const auto lower = in_all_blocks(kLower), upper = in_all_blocks(kUpper);
  const Bytes bytes;
  const auto zero = hn::Zero(bytes);
  const auto half = hn::Set(Sums(), 1 << (precision - 1));
  for (int64_t i = 0; i < count; i += 16 * kBlocks) {
    auto a = half, b = half, c = half, d = half;
    for (int64_t row = 0; row < row_count; row += 2) {
      const auto one = hn::LoadU(bytes, rows[row] + i), other = hn::LoadU(bytes, rows[row + 1] + i);
      const auto low = hn::InterleaveLower(bytes, one, other);
      const auto high = hn::InterleaveUpper(bytes, one, other);
      const int32_t pair = pair_at(weights + row);
      a = with_products(a, hn::InterleaveLower(bytes, low, zero), pair);
      b = with_products(b, hn::InterleaveUpper(bytes, low, zero), pair);
      c = with_products(c, hn::InterleaveLower(bytes, high, zero), pair);
      d = with_products(d, hn::InterleaveUpper(bytes, high, zero), pair);
    }
    hn::StoreU(bytes_of(a, b, c, d, precision, lower, upper), bytes, result + i);
  }
}

// Four bytes of each block, `step` bytes apart, as u32. Backwards, the last one is the first.
constexpr Indices spread(int64_t step) {
  Indices indices{};
  for (auto& index : indices) index = kZero;
  for (int64_t k = 0; k < 4; ++k) {
    indices[static_cast<size_t>(4 * k)] =
        static_cast<uint8_t>(step > 0 ? k * step : (3 - k) * -step);
  }
  return indices;
}

int64_t normalized_vectors(const uint8_t* row, int64_t step, int64_t count, const uint8_t* end,
                           float scale, float mean, float factor, float* result) {
  const hn::Repartition<float, Bytes> floats;
  const auto indices = in_all_blocks(spread(step));
  const auto scales = hn::Set(floats, scale), means = hn::Set(floats, mean);
  const auto factors = hn::Set(floats, factor);
  const int64_t lowest =
      step > 0 ? 0 : 3 * step;  // offset of the lowest of four bytes from the first one
  const int64_t reach = std::max(lowest, (kBlocks - 1) * 4 * step + lowest) + 16;
  int64_t i = 0;
  for (; i + 4 * kBlocks <= count && row + i * step + reach <= end; i += 4 * kBlocks) {
    const auto bytes =
        blocks_at([&](int64_t block) HWY_ATTR { return row + (i + 4 * block) * step + lowest; });
    const auto numbers =
        hn::ConvertTo(floats, hn::BitCast(Sums(), hn::TableLookupBytesOr0(bytes, indices)));
    hn::StoreU((numbers * scales - means) * factors, floats, result + i);
  }
  return i;
}

int64_t places_of_vectors(const float* columns, int64_t count, const AxisPlaces<float>& axis,
                          float* result) {
  if (!HWY_NATIVE_FMA) return 0;
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto first = hn::Set(d, axis.m[0]), second = hn::Set(d, axis.m[1]);
  const auto offset = hn::Set(d, axis.m[2]), row = hn::Set(d, axis.row);
  const auto one = hn::Set(d, 1.f), half = hn::Set(d, axis.half), middle = hn::Set(d, 0.5f);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto sum = hn::MulAdd(row, second, hn::LoadU(d, columns + i) * first) + offset;
    hn::StoreU((sum + one) * half - middle, d, result + i);
  }
  return i;
}

#else

uint8_t to_byte(int32_t sum, int precision) {
  return static_cast<uint8_t>(std::clamp(sum >> precision, 0, 255));
}

template <int pixel>
void along_rows_of(const uint8_t* const* rows, int64_t row_count, const FixedTaps& taps,
                   int64_t count, uint8_t* const* results) {
  for (int64_t row = 0; row < row_count; ++row) {
    for (int64_t i = 0; i < count; ++i) {
      const uint8_t* from = rows[row] + int64_t{taps.first[i]} * pixel;
      const int16_t* weights = taps.weights + i * taps.groups * 4;
      for (int channel = 0; channel < pixel; ++channel) {
        int32_t sum = 1 << (taps.precision - 1);
        for (int64_t k = 0; k < taps.groups * 4; ++k) {
          sum += weights[k] == 0 ? 0 : from[k * pixel + channel] * weights[k];
        }
        results[row][i * pixel + channel] = to_byte(sum, taps.precision);
      }
    }
  }
}

void row_of_rows(const uint8_t* const* rows, int64_t row_count, const int16_t* weights,
                 int precision, int64_t count, uint8_t* result) {
  for (int64_t i = 0; i < count; ++i) {
    int32_t sum = 1 << (precision - 1);
    for (int64_t row = 0; row < row_count; ++row) sum += rows[row][i] * weights[row];
    result[i] = to_byte(sum, precision);
  }
}

int64_t normalized_vectors(const uint8_t*, int64_t, int64_t, const uint8_t*, float, float, float,
                           float*) {
  return 0;
}

int64_t places_of_vectors(const float*, int64_t, const AxisPlaces<float>&, float*) { return 0; }

#endif

void along_rows(const uint8_t* const* rows, int64_t row_count, int pixel, const FixedTaps& taps,
                int64_t count, uint8_t* const* results) {
  const auto run = pixel == 3 ? along_rows_of<3> : along_rows_of<4>;
  run(rows, row_count, taps, count, results);
}

void normalized(const uint8_t* row, int64_t step, int64_t count, const uint8_t* end, float scale,
                float mean, float factor, float* result) {
  int64_t i = 0;
  if (step != 0 && step >= -5 && step <= 5) {  // else four bytes are not in one block
    i = normalized_vectors(row, step, count, end, scale, mean, factor, result);
  }
  for (; i < count; ++i) result[i] = normalized_number(row[i * step], scale, mean, factor);
}

void places(const float* columns, int64_t count, const AxisPlaces<float>& axis, float* result) {
  const int64_t done = places_of_vectors(columns, count, axis, result);
  row_places(columns + done, count - done, axis, result + done);
}

}  // namespace

void set_image_kernels(ImageKernels& kernels) {
  kernels = {along_rows, row_of_rows, normalized, places};
}

}  // namespace HWY_NAMESPACE
}  // namespace plait::data
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::data {

constinit const cpu::EachLevel<ImageKernels> kImageKernels = {PLAIT_EACH_LEVEL(set_image_kernels)};

ImageKernels image_kernels() {
  ImageKernels kernels;
  kImageKernels[static_cast<size_t>(cpu_level()) - static_cast<size_t>(CpuLevel::sse4)](kernels);
  return kernels;
}

}  // namespace plait::data
#endif
