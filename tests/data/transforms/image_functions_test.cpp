#include "plait/data/transforms/image_functions.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "plait/cpu/cpu_level.h"
#include "plait/data/transforms/color_functions.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/random/random.h"

#include "tests/support/errors.h"

namespace plait::data::transforms {
namespace {

struct CappedLevel {
  explicit CappedLevel(CpuLevel level) { setting::kCpu.set(level); }
  ~CappedLevel() { setting::kCpu.set(CpuLevel::best); }
};

Tensor bytes(std::vector<uint8_t> values, Sizes sizes) {
  return Tensor(Array::of(std::span<const uint8_t>(values), std::move(sizes)));
}

// Random bytes [channels, height, width]; interleaved, a view of [height, width, channels].
Tensor noise(int64_t channels, int64_t height, int64_t width, bool is_interleaved) {
  const Tensor key = random::key(3);
  return is_interleaved ? to_image(random::bits(key, {height, width, channels}, DType::u8))
                        : random::bits(key, {channels, height, width}, DType::u8);
}

std::vector<uint8_t> pixels_of(const Tensor& image) {
  const Array array = image.array().contiguous();
  const auto elements = array.elements<uint8_t>();
  return {elements.begin(), elements.end()};
}

// Bilinear, with the filter as wide as a pixel of the smaller grid, in f64.
std::vector<double> weights_of(int64_t from, int64_t to, int64_t i) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double width = std::max(scale, 1.), center = (static_cast<double>(i) + 0.5) * scale;
  std::vector<double> weights(static_cast<size_t>(from));
  double sum = 0;
  for (int64_t k = 0; k < from; ++k) {
    const double x = std::abs(static_cast<double>(k) + 0.5 - center) / width;
    sum += weights[static_cast<size_t>(k)] = std::max(0., 1 - x);
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

void expect_resized(const Tensor& image, const Tensor& result) {
  const Array from = image.array().contiguous(), to = result.array().contiguous();
  const auto& sizes = from.sizes();
  const ImageSize size = size_of_image(result);
  const auto pixels = from.elements<uint8_t>();
  const auto* found = to.elements<uint8_t>().data();
  for (int64_t c = 0; c < sizes[0]; ++c) {
    for (int64_t y = 0; y < size.height; ++y) {
      const std::vector<double> rows = weights_of(sizes[1], size.height, y);
      for (int64_t x = 0; x < size.width; ++x) {
        const std::vector<double> columns = weights_of(sizes[2], size.width, x);
        double sum = 0;
        for (int64_t i = 0; i < sizes[1]; ++i) {
          for (int64_t k = 0; k < sizes[2]; ++k) {
            sum += rows[static_cast<size_t>(i)] * columns[static_cast<size_t>(k)] *
                   pixels[static_cast<size_t>((c * sizes[1] + i) * sizes[2] + k)];
          }
        }
        ASSERT_NEAR(*found++, sum, 1.2) << c << ' ' << y << ' ' << x;
      }
    }
  }
}

TEST(Resize, IsTheWeightedMean) {
  for (const bool is_interleaved : {false, true}) {
    for (const int64_t channels : {1, 2, 3, 4, 6}) {
      const Tensor image = noise(channels, 11, 13, is_interleaved);
      for (const ImageSize size : {ImageSize{4, 5}, {17, 30}, {11, 6}, {3, 13}, {1, 1}}) {
        expect_resized(image, resize(image, size));
      }
    }
  }
}

// Each level computes the same bytes, also where rows end the memory.
TEST(Resize, IsTheSameForEachLevel) {
  for (const bool is_interleaved : {false, true}) {
    for (const int64_t channels : {1, 3, 4}) {
      const Tensor image = noise(channels, 37, 41, is_interleaved);
      for (const Interpolation how : {Interpolation::bilinear, Interpolation::bicubic}) {
        const Tensor best = resize(image, {16, 23}, {.interpolation = how});
        for (const CpuLevel level : {CpuLevel::sse4, CpuLevel::avx2}) {
          const CappedLevel capped(level);
          EXPECT_EQ(pixels_of(resize(image, {16, 23}, {.interpolation = how})), pixels_of(best));
        }
      }
    }
  }
}

TEST(Resize, KeepsTheOrderOfPixels) {
  EXPECT_EQ(resize(noise(3, 8, 8, true), {4, 4}).array().layout().strides, (Sizes{1, 12, 3}));
  EXPECT_EQ(resize(noise(3, 8, 8, false), {4, 4}).array().layout().strides, (Sizes{16, 4, 1}));
}

TEST(Resize, OfACropReadsOnlyTheCrop) {
  const Tensor image = noise(3, 30, 40, true);
  const ImageBox box{5, 7, 11, 13};
  const Tensor part(crop(image, box).array().copy());
  EXPECT_EQ(pixels_of(resized_crop(image, box, {8, 9})), pixels_of(resize(part, {8, 9})));
}

// With AddressSanitizer: an image whose memory ends with it.
TEST(Kernels, ReadNoByteOutsideOfTheImage) {
  const std::vector<double> zero = {0}, one = {1};
  for (const int64_t channels : {1, 2, 3, 4, 5}) {
    for (const int64_t height : {1, 2, 5, 9}) {
      for (const int64_t width : {1, 3, 8, 21}) {
        const auto count = static_cast<size_t>(channels * height * width);
        const auto memory = std::make_unique<uint8_t[]>(count);
        for (size_t i = 0; i < count; ++i) memory[i] = static_cast<uint8_t>(i * 37);
        for (const bool is_interleaved : {false, true}) {
          const Sizes sizes =
              is_interleaved ? Sizes{height, width, channels} : Sizes{channels, height, width};
          const Tensor given(Array::borrow(DType::u8, Layout::contiguous(sizes), memory.get(),
                                           static_cast<int64_t>(count), [] {}));
          const Tensor image = is_interleaved ? to_image(given) : given;
          for (const Tensor& view : {image, horizontal_flip(image), vertical_flip(image)}) {
            expect_resized(view, resize(view, {4, 6}));
            expect_resized(view, resize(view, {height, 2 * width}));
            const Tensor floats = scaled_and_normalized(view, zero, one);
            EXPECT_EQ(to_dtype(floats, DType::u8, true).array().literal(), view.array().literal());
            rotate(view, 30, {.interpolation = Interpolation::bilinear});
          }
        }
      }
    }
  }
}

TEST(ResizedSize, KeepsTheRatio) {
  EXPECT_EQ(resized_size({30, 40}, 15), (ImageSize{15, 20}));
  EXPECT_EQ(resized_size({40, 30}, 15, 18), (ImageSize{18, 13}));
  EXPECT_EQ(resized_size({30, 40}, {}, 20), (ImageSize{15, 20}));
  EXPECT_EQ(message_of<ValueError>([] { resized_size({3, 4}, 5, 5); }),
            "resize: max_size is 5, expected more than the size 5 of the shorter side");
}

TEST(Crop, IsAView) {
  const Tensor image = noise(1, 4, 5, false);
  const Tensor part = crop(image, {1, 2, 2, 3});
  EXPECT_EQ(part.array().buffer(), image.array().buffer());
  EXPECT_EQ(crop(bytes({1, 2, 3, 4}, {1, 2, 2}), {-1, 1, 2, 2}).text(),
            "[[[0 0]\n  [2 0]]] : u8[1, 2, 2]");
  EXPECT_EQ(center_crop(bytes({1, 2, 3}, {1, 1, 3}), {1, 1}).text(), "[[[2]]] : u8[1, 1, 1]");
}

TEST(Pad, HasFourModes) {
  const Tensor row = bytes({1, 2, 3}, {1, 1, 3});
  const Padding padding{2, 0, 2, 0};
  EXPECT_EQ(pad(row, padding, std::vector<double>{9}).text(), "[[[9 9 1 2 3 9 9]]] : u8[1, 1, 7]");
  EXPECT_EQ(pad(row, padding, {}, PaddingMode::edge).text(), "[[[1 1 1 2 3 3 3]]] : u8[1, 1, 7]");
  EXPECT_EQ(pad(row, padding, {}, PaddingMode::reflect).text(),
            "[[[3 2 1 2 3 2 1]]] : u8[1, 1, 7]");
  EXPECT_EQ(pad(row, padding, {}, PaddingMode::symmetric).text(),
            "[[[2 1 1 2 3 3 2]]] : u8[1, 1, 7]");
  EXPECT_EQ(message_of<ValueError>([&] { pad(row, {INT64_MAX, 0, 0, 0}); }),
            "pad: the padding has the number 9223372036854775807");
}

TEST(Numbers, AreScaledInOnePass) {
  const std::vector<double> mean = {0.5, 0.25, 0}, deviation = {0.5, 1, 0.1};
  for (const bool is_interleaved : {false, true}) {
    const Tensor image = horizontal_flip(noise(3, 7, 19, is_interleaved));
    const Tensor once = scaled_and_normalized(image, mean, deviation);
    const Tensor apart = normalize(to_dtype(image, DType::f32, true), mean, deviation);
    EXPECT_EQ(once.array().literal(), apart.array().literal());
    for (const CpuLevel level : {CpuLevel::sse4, CpuLevel::avx2}) {
      const CappedLevel capped(level);
      EXPECT_EQ(scaled_and_normalized(image, mean, deviation).array().literal(),
                once.array().literal());
    }
  }
  EXPECT_EQ(to_dtype(bytes({0, 255}, {1, 1, 2}), DType::f32, true).text(),
            "[[[0. 1.]]] : f32[1, 1, 2]");
}

TEST(Warps, TurnAndMove) {
  const Tensor image = bytes({1, 2, 3, 4}, {1, 2, 2});
  EXPECT_EQ(rotate(image, 90).text(), "[[[2 4]\n  [1 3]]] : u8[1, 2, 2]");
  EXPECT_EQ(rotate(image, -90).text(), "[[[3 1]\n  [4 2]]] : u8[1, 2, 2]");
  EXPECT_EQ(affine(image, {.translate = {1, 0}}, {.fill = {9}}).text(),
            "[[[9 1]\n  [9 3]]] : u8[1, 2, 2]");
}

TEST(Colors, OfBytes) {
  const Tensor image = bytes({10, 200}, {1, 1, 2});
  EXPECT_EQ(adjust_brightness(image, 2).text(), "[[[ 20 255]]] : u8[1, 1, 2]");
  EXPECT_EQ(invert(image).text(), "[[[245  55]]] : u8[1, 1, 2]");
  EXPECT_EQ(autocontrast(image).text(), "[[[  0 255]]] : u8[1, 1, 2]");
  EXPECT_EQ(rgb_to_grayscale(bytes({255, 0, 0}, {3, 1, 1})).text(), "[[[76]]] : u8[1, 1, 1]");
}

TEST(Images, AreRefusedWithAHint) {
  EXPECT_EQ(message_of<ShapeError>([] { resize(zeros({4, 4}), {2, 2}); }),
            "resize: the image is f32[4, 4], expected [..., channels, height, width]");
  expect_contains(what_of<TypeError>([] { normalize(noise(1, 2, 2, false), {}, {}); }),
                  {"ToDtype, of f32 and with scale"});
  EXPECT_EQ(message_of<ValueError>([] { resize(zeros({1, 4, 4}), {0, 2}); }),
            "resize: the size is [0, 2], expected 1 or more");
  EXPECT_EQ(message_of<ShapeError>([] { adjust_hue(zeros({4, 2, 2}), 0.1); }),
            "adjust_hue: the image [4, 2, 2] has 4 channels, expected 1 or 3");
}

}  // namespace
}  // namespace plait::data::transforms
