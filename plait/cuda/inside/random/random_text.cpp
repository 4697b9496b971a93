#include "plait/cuda/inside/random/random_text.h"

#include <fmt/format.h>

#include "plait/cuda/inside/random/draws_text.h"
#include "plait/cuda/inside/random/philox_text.h"

namespace plait::cuda {
namespace {

// Thread i computes block i % blocks of the stream of key i / blocks.
constexpr std::string_view kBits = R"(
// The first `count` bytes of a block. `to` is a multiple of the size of a Unit.
INLINE void store_bytes(uint4 block, u8* to, i64 count) {
  if (count >= 16 && ((u64)to & 15) == 0) {
    *(uint4*)to = block;
    return;
  }
  const u64 words[2] = {first_word(block), second_word(block)};
  Unit* const units = (Unit*)to;
  #pragma unroll
  for (int i = 0; i < 16 / (int)sizeof(Unit); ++i) {
    constexpr int kEach = 8 / (int)sizeof(Unit);
    if (i * (int)sizeof(Unit) < count) units[i] = (Unit)(words[i / kEach] >> (i % kEach * 8 * (int)sizeof(Unit)));
  }
}

extern "C" __global__ void __launch_bounds__(256)
random_bits(Keys keys, u8* out, i64 bytes, i64 blocks, i64 total) {
  for (i64 i = blockIdx.x * 256ll + threadIdx.x; i < total; i += gridDim.x * 256ll) {
    const i64 key = i / blocks, block = i - key * blocks;
    store_bytes(stream_block(key_at(keys, key), block), out + key * bytes + block * 16, bytes - block * 16);
  }
}
)";

// Word: the bits of an element.
constexpr std::string_view kUniform = R"(
// Exact: a multiple of the spacing between 1/2 and 1.
INLINE void convert_bits(const Word* bits, double* values) {
  constexpr int kDropped = 8 * (int)sizeof(Word) - KEPT_BITS;
  #pragma unroll
  for (int i = 0; i < COUNT; ++i) values[i] = (double)(u64)(bits[i] >> kDropped) * UNIFORM_STEP;
}
)";
constexpr std::string_view kNormal = R"(
INLINE void convert_bits(const Word* bits, double* values) {
  #pragma unroll
  for (int i = 0; i < COUNT; i += 2) {
    const shared::NormalPair pair = shared::normal_pair(bits[i], bits[i + 1]);
    values[i] = pair.first;
    values[i + 1] = pair.second;
  }
}
)";
// OF_BITS: a number from one word.
constexpr std::string_view kOfBits = R"(
INLINE void convert_bits(const Word* bits, double* values) {
  #pragma unroll
  for (int i = 0; i < COUNT; ++i) values[i] = OF_BITS(bits[i]);
}
)";

// Thread i computes the COUNT elements of block i % blocks of the stream of key i / blocks.
constexpr std::string_view kValues = R"(
struct alignas(COUNT * sizeof(Out)) Together { Out values[COUNT]; };

extern "C" __global__ void __launch_bounds__(256)
random_values(Keys keys, Out* out, i64 each, i64 blocks, i64 total) {
  for (i64 i = blockIdx.x * 256ll + threadIdx.x; i < total; i += gridDim.x * 256ll) {
    const i64 key = i / blocks, first = (i - key * blocks) * COUNT;
    const uint4 block = stream_block(key_at(keys, key), i - key * blocks);
    const u64 words[2] = {first_word(block), second_word(block)};
    Word bits[COUNT];
    double values[COUNT];
    Together together;
    constexpr int kEach = COUNT / 2;
    #pragma unroll
    for (int k = 0; k < COUNT; ++k) bits[k] = (Word)(words[k / kEach] >> (k % kEach * 8 * (int)sizeof(Word)));
    convert_bits(bits, values);
    #pragma unroll
    for (int k = 0; k < COUNT; ++k) together.values[k] = Memory<Out>::write(convert<Out>(values[k]));
    Out* const to = out + key * each + first;
    if (first + COUNT <= each && (u64)to % sizeof(Together) == 0) {
      *(Together*)to = together;
    } else {
      #pragma unroll
      for (int k = 0; k < COUNT; ++k) {
        if (first + k < each) to[k] = together.values[k];
      }
    }
  }
}
)";

// Lemire's method, as UniformIntegers of ops/inside/random/random_attempts.h. Thread i computes the
// elements 2 i and 2 i + 1 of their key: a block has two words.
constexpr std::string_view kIntegers = R"(
INLINE i64 drawn(u64 own, Key key, u64 element, u64 count) {
  u64 word = own;
  for (u64 attempt = 1;; ++attempt) {
    const u64 low = word * count;
    if (low >= count || low >= (0 - count) % count) return (i64)__umul64hi(word, count);
    word = stream_word(folded_key(key, attempt), element);
  }
}

extern "C" __global__ void __launch_bounds__(256)
random_integers(Keys keys, i64* out, i64 each, i64 blocks, i64 total, u64 count) {
  for (i64 i = blockIdx.x * 256ll + threadIdx.x; i < total; i += gridDim.x * 256ll) {
    const i64 number = i / blocks, block = i - number * blocks;
    const Key key = key_at(keys, number);
    const uint4 words = stream_block(key, block);
    i64* const to = out + number * each + 2 * block;
    to[0] = drawn(first_word(words), key, 2 * block, count);
    if (2 * block + 1 < each) to[1] = drawn(second_word(words), key, 2 * block + 1, count);
  }
}
)";

// TruncatedNormal of ops/inside/random/random_rejection.cpp.
constexpr std::string_view kTruncated = R"(
struct Range { double low, high, rate; int proposal, is_mirrored; };

__device__ double drawn(const Range& range, Key key, u64 element) {
  for (u64 attempt = 0;; ++attempt) {
    const shared::TwoUnits units(key, element, attempt);
    const double first = units.first, second = units.second;
    double x, least;  // taken with probability `least`
    if (range.proposal == NORMAL) {
      x = sqrt(-2 * log(first)) * cos(6.283185307179586 * second);
      least = 1;
    } else if (range.proposal == UNIFORM) {
      const double nearest = range.low > 0 ? range.low : 0;
      x = range.low + (range.high - range.low) * first;
      least = exp((nearest - x) * (nearest + x) / 2);
    } else {
      x = range.low - log(first) / range.rate;
      least = exp(-(x - range.rate) * (x - range.rate) / 2);
    }
    if (x >= range.low && x <= range.high && second <= least) return range.is_mirrored ? -x : x;
  }
}

extern "C" __global__ void __launch_bounds__(256)
truncated_normal(Keys keys, Out* out, i64 each, i64 total, Range range) {
  for (i64 i = blockIdx.x * 256ll + threadIdx.x; i < total; i += gridDim.x * 256ll) {
    const i64 key = i / each;
    out[i] = Memory<Out>::write(convert<Out>(drawn(range, key_at(keys, key), i - key * each)));
  }
}
)";

const char* unsigned_type(int64_t bytes) {
  return bytes == 1 ? "u8" : bytes == 2 ? "u16" : bytes == 4 ? "u32" : "u64";
}

// Out: the type in memory.
std::string result_text(DType dtype) { return fmt::format("typedef {} Out;\n", name_of(dtype)); }

std::string convert_text(Distribution distribution, DType dtype) {
  const int kept = info_of(dtype).format.mantissa_bits + 1;
  switch (distribution) {
    case Distribution::uniform:
      return fmt::format("#define KEPT_BITS {0}\n#define UNIFORM_STEP 0x1p-{0}\n{1}", kept,
                         kUniform);
    case Distribution::normal: return std::string(kNormal);
    case Distribution::exponential:
      return fmt::format("#define OF_BITS(x) (-log(shared::open_unit(x)))\n{}", kOfBits);
    case Distribution::laplace:
      return fmt::format(
          "#define OF_BITS(x) (x % 2 == 0 ? shared::laplace_size(x) : "
          "-shared::laplace_size(x))\n{}",
          kOfBits);
    case Distribution::gumbel:
      return fmt::format("#define OF_BITS(x) (-log(-log(shared::open_unit(x))))\n{}", kOfBits);
  }
  return {};
}

}  // namespace

std::string random_bits_text(int64_t element_size) {
  return fmt::format("{}typedef {} Unit;\n{}", kPhiloxText, unsigned_type(element_size), kBits);
}

std::string random_values_text(Distribution distribution, DType dtype) {
  const int64_t bytes = random_bytes(distribution, dtype);
  return fmt::format("{}{}typedef {} Word;\n{}#define COUNT {}\n{}{}", kPhiloxText,
                     random_units_text(), unsigned_type(bytes), result_text(dtype), 16 / bytes,
                     convert_text(distribution, dtype), kValues);
}

std::string random_integers_text() { return fmt::format("{}{}", kPhiloxText, kIntegers); }

std::string truncated_normal_text(DType dtype) {
  return fmt::format("{}{}{}#define NORMAL 0\n#define UNIFORM 1\n{}", kPhiloxText,
                     random_units_text(), result_text(dtype), kTruncated);
}

}  // namespace plait::cuda
