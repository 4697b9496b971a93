// Speed of decoding images: a JPEG of the size that is usual in ImageNet, whole, and what a random
// crop needs that is resized to 224 x 224.
#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include "plait/io/images/decode_image.h"
#include "plait/io/images/encode_image.h"

namespace plait {
namespace {

constexpr int64_t kHeight = 375, kWidth = 500;

// Waves of several lengths and some noise: about 110 KB at quality 90, as photographs have.
Array photograph() {
  Array image = Array::empty(DType::u8, {3, kHeight, kWidth});
  uint8_t* pixel = image.writable_elements<uint8_t>().data();
  uint32_t noise = 1;
  for (int64_t c = 0; c < 3; ++c) {
    for (int64_t y = 0; y < kHeight; ++y) {
      for (int64_t x = 0; x < kWidth; ++x) {
        noise = noise * 1664525 + 1013904223;
        const int64_t wave = (x * x / 37 + y * y / 53 + x * y / 71) % 256;
        const int64_t hill = wave < 128 ? wave : 255 - wave;
        *pixel++ = static_cast<uint8_t>(50 + 20 * c + hill / 2 + (noise >> 28));
      }
    }
  }
  return image;
}

void decode(benchmark::State& state, const std::vector<std::byte>& file,
            const DecodeOptions& options) {
  for (auto _ : state) benchmark::DoNotOptimize(decode_image(file, options).data());
  state.SetItemsProcessed(state.iterations());
  state.counters["bytes"] = static_cast<double>(file.size());
}

const std::vector<std::byte>& jpeg() {
  static const auto file = encode_jpeg(photograph(), {.quality = 90});
  return file;
}
const std::vector<std::byte>& progressive_jpeg() {
  static const auto file = encode_jpeg(photograph(), {.quality = 90, .progressive = true});
  return file;
}

void jpeg_whole(benchmark::State& state) { decode(state, jpeg(), {}); }
void jpeg_progressive(benchmark::State& state) { decode(state, progressive_jpeg(), {}); }
// The whole image for 224 x 224, and crops of a quarter and of half of its area.
void jpeg_to_224(benchmark::State& state) { decode(state, jpeg(), {.size = ImageSize{224, 224}}); }
void jpeg_quarter(benchmark::State& state) {
  decode(state, jpeg(), {.crop = ImageBox{90, 120, 187, 250}, .size = ImageSize{224, 224}});
}
void jpeg_half(benchmark::State& state) {
  decode(state, jpeg(), {.crop = ImageBox{50, 70, 265, 354}, .size = ImageSize{224, 224}});
}
void jpeg_scale(benchmark::State& state) {
  const int64_t scale = state.range(0);
  decode(state, jpeg(), {.size = ImageSize{kHeight * scale / 8, kWidth * scale / 8}});
}
void png_whole(benchmark::State& state) {
  static const auto file = encode_png(photograph());
  decode(state, file, {});
}
void webp_whole(benchmark::State& state) {
  static const auto file = encode_webp(photograph());
  decode(state, file, {});
}
void write_jpeg(benchmark::State& state) {
  const Array image = photograph();
  for (auto _ : state) benchmark::DoNotOptimize(encode_jpeg(image).data());
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK(jpeg_whole)->Unit(benchmark::kMillisecond);
BENCHMARK(jpeg_progressive)->Unit(benchmark::kMillisecond);
BENCHMARK(jpeg_to_224)->Unit(benchmark::kMillisecond);
BENCHMARK(jpeg_quarter)->Unit(benchmark::kMillisecond);
BENCHMARK(jpeg_half)->Unit(benchmark::kMillisecond);
BENCHMARK(jpeg_scale)->DenseRange(1, 8)->Unit(benchmark::kMillisecond);
BENCHMARK(png_whole)->Unit(benchmark::kMillisecond);
BENCHMARK(webp_whole)->Unit(benchmark::kMillisecond);
BENCHMARK(write_jpeg)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace plait
