#include "plait/cpu/inside/random/cpu_random.h"

#include <algorithm>
#include <cstring>

#include "plait/cpu/inside/random/random_kernels.h"
#include "plait/ops/inside/random/random_attempts.h"
#include "plait/ops/inside/random/random_primitives.h"

namespace plait {
namespace {

constexpr int64_t kPhiloxBytes = 16;
constexpr int64_t kBlocksTogether = cpu::kRandomPadding * 4 / kPhiloxBytes;

// The kernels of the current level.
cpu::RandomKernels kernels_now() {
  cpu::RandomKernels kernels;
  cpu::kRandomKernels[static_cast<size_t>(cpu_level()) - 1](kernels);
  return kernels;
}

// Buffers for a piece of the widest elements.
struct alignas(64) Words {
  uint32_t words[2 * kRandomPiece];
};
struct alignas(64) Values {
  float values[kRandomPiece];
};

int64_t round_up(int64_t count, int64_t step) { return (count + step - 1) / step * step; }

// `count` bytes of a stream from byte `first` on, which must be a multiple of the block size.
void fill_words(const cpu::RandomKernels& kernels, const KeyBits& key, int64_t first, int64_t count,
                uint32_t* out) {
  const int64_t blocks = round_up(round_up(count, kPhiloxBytes) / kPhiloxBytes, kBlocksTogether);
  kernels.words(key, static_cast<uint64_t>(first / kPhiloxBytes), blocks, out);
}

}  // namespace

void random_bits(KernelCall& call, const void*) {
  const cpu::RandomKernels kernels = kernels_now();
  const int64_t size = size_of(call.types[0].dtype);
  fill_random_pieces(call, [&](const KeyBits& key, int64_t first, int64_t count, std::byte* out) {
    const bool is_aligned = reinterpret_cast<uintptr_t>(out) % sizeof(uint64_t) == 0;
    if (count == kRandomPiece && is_aligned) {
      return fill_words(kernels, key, first * size, count * size, reinterpret_cast<uint32_t*>(out));
    }
    Words words;
    fill_words(kernels, key, first * size, count * size, words.words);
    std::memcpy(out, words.words, static_cast<size_t>(count * size));
  });
}

void random_values(KernelCall& call, const void*) {
  const cpu::RandomKernels kernels = kernels_now();
  const auto& a = call.attributes.as<RandomValuesAttributes>();
  const int64_t size = random_bytes(a.distribution, a.dtype);
  const auto values = kernels.values[static_cast<size_t>(a.distribution)];
  fill_random_pieces(call, [&](const KeyBits& key, int64_t first, int64_t count, std::byte* out) {
    Words words;
    fill_words(kernels, key, first * size, (count + count % 2) * size, words.words);
    if (a.dtype != DType::f32) {
      random_values(a.distribution, a.dtype, words.words, count, out);
    } else if (count == kRandomPiece) {
      values(words.words, reinterpret_cast<float*>(out), count);
    } else {
      Values whole;
      values(words.words, whole.values, round_up(count, cpu::kRandomPadding));
      std::memcpy(out, whole.values, static_cast<size_t>(count) * sizeof(float));
    }
  });
}

void draw_uniform(const KeyBits& key, int64_t first, int64_t count, float* out) {
  constexpr int64_t kWordsOfBlock = kPhiloxBytes / int64_t{sizeof(uint32_t)};
  const cpu::RandomKernels kernels = kernels_now();
  const auto values = kernels.values[static_cast<size_t>(Distribution::uniform)];
  Words words;
  Values whole;
  while (count > 0) {
    const int64_t before = first % kWordsOfBlock, some = std::min(count, kRandomPiece - before);
    const int64_t begin = first - before, computed = round_up(before + some, cpu::kRandomPadding);
    fill_words(kernels, key, begin * int64_t{sizeof(float)}, computed * int64_t{sizeof(float)},
               words.words);
    values(words.words, whole.values, computed);
    std::memcpy(out, whole.values + before, static_cast<size_t>(some) * sizeof(float));
    first += some;
    count -= some;
    out += some;
  }
}

void random_integers(KernelCall& call, const void*) {
  const cpu::RandomKernels kernels = kernels_now();
  const UniformIntegers even(static_cast<uint64_t>(integers_to_choose_from(call)));
  fill_random_pieces(call, [&](const KeyBits& key, int64_t first, int64_t count, std::byte* out) {
    Words words;
    fill_words(kernels, key, first * 8, count * 8, words.words);
    even.draw_all(key, first, count, reinterpret_cast<const uint64_t*>(words.words),
                  reinterpret_cast<int64_t*>(out));
  });
}

}  // namespace plait
