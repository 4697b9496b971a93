#include "plait/io/images/decode_image.h"

#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/io/images/encode_image.h"

#include "tests/io/images/image_samples.h"
#include "tests/io/temporary_folder.h"

namespace plait {
namespace {

class DecodeImage : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_encode()) GTEST_SKIP() << "this build has no image libraries";
  }
};

using Bytes = std::vector<std::byte>;

std::vector<Bytes> files_of_all_formats(int64_t height, int64_t width) {
  const Array image = sample_image(3, height, width), alpha = sample_image(4, height, width);
  return {encode_jpeg(image),
          encode_jpeg(image, {.progressive = true}),
          encode_jpeg(image, {.sampling = ChromaSampling::s444}),
          encode_jpeg(sample_image(1, height, width)),
          encode_png(image),
          encode_png(alpha),
          encode_webp(image),
          encode_webp(alpha, {.lossless = true})};
}

TEST_F(DecodeImage, ReturnsTheBitsThatWereWrittenWithoutLoss) {
  for (const int64_t channels : {1, 2, 3, 4}) {
    const Array image = sample_image(channels, 37, 53);
    EXPECT_EQ(greatest_difference(decode_image(encode_png(image)), image), 0);
    if (channels < 3) continue;
    const Bytes webp = encode_webp(image, {.lossless = true});
    EXPECT_EQ(greatest_difference(decode_image(webp), image), 0);
  }
}

TEST_F(DecodeImage, ReturnsNearlyTheSamePixelsFromLossyFormats) {
  const Array image = smooth_image(120, 201);
  for (const auto sampling : {ChromaSampling::s420, ChromaSampling::s422, ChromaSampling::s444}) {
    for (const bool progressive : {false, true}) {
      const Bytes file =
          encode_jpeg(image, {.quality = 95, .sampling = sampling, .progressive = progressive});
      EXPECT_LT(greatest_difference(decode_image(file), image), 40);
    }
  }
  EXPECT_LT(greatest_difference(decode_image(encode_webp(image, {.quality = 95})), image), 40);
}

TEST_F(DecodeImage, HasTheChannelsOfAPixelSideBySide) {
  const Array image = decode_image(encode_png(sample_image(3, 5, 7)));
  EXPECT_EQ(image.sizes(), (Sizes{3, 5, 7}));
  EXPECT_EQ(image.layout().strides, (Sizes{1, 21, 3}));
}

TEST_F(DecodeImage, ConvertsBetweenModes) {
  for (const Bytes& file : files_of_all_formats(20, 30)) {
    const ImageInfo info = image_info(file);
    const Array unchanged = decode_image(file);
    EXPECT_EQ(unchanged.sizes(), (Sizes{info.channels, 20, 30}));
    EXPECT_EQ(info.height, 20);
    EXPECT_EQ(info.width, 30);
    const Array rgb = decode_image(file, {.mode = ImageMode::rgb});
    EXPECT_EQ(rgb.sizes(), (Sizes{3, 20, 30}));
    EXPECT_EQ(decode_image(file, {.mode = ImageMode::grey}).sizes(), (Sizes{1, 20, 30}));
    const Array rgba = decode_image(file, {.mode = ImageMode::rgba});
    EXPECT_EQ(rgba.sizes(), (Sizes{4, 20, 30}));
    EXPECT_EQ(greatest_difference(rgba.view(rgba.layout().sliced(0, {0, 3})), rgb), 0);
    if (info.channels == 4) {
      EXPECT_EQ(greatest_difference(rgba, unchanged), 0);
    } else {
      const Array alpha = rgba.view(rgba.layout().picked(0, 3)).contiguous();
      for (const uint8_t each : alpha.elements<uint8_t>()) ASSERT_EQ(each, 255);
    }
  }
}

TEST_F(DecodeImage, ACropHasTheBitsOfTheWholeImage) {
  for (const Bytes& file : files_of_all_formats(61, 83)) {
    const Array whole = decode_image(file);
    for (const int64_t top : {0, 1, 7, 8, 15, 16, 17, 33, 60}) {
      for (const int64_t left : {0, 1, 8, 14, 15, 16, 17, 32, 49, 82}) {
        for (const int64_t size : {1, 2, 5, 16, 31, 83}) {
          const ImageBox crop{top, left, std::min(size, 61 - top), std::min(size, 83 - left)};
          const Array part = decode_image(file, {.crop = crop});
          ASSERT_EQ(
              greatest_difference(part, part_of_image(whole, top, left, crop.height, crop.width)),
              0)
              << top << ' ' << left << ' ' << size;
        }
      }
    }
  }
}

TEST_F(DecodeImage, RefusesCropsOutsideOfTheImage) {
  for (const Bytes& file : files_of_all_formats(10, 20)) {
    for (const ImageBox crop : {ImageBox{-1, 0, 2, 2}, ImageBox{0, -1, 2, 2}, ImageBox{9, 0, 2, 2},
                                ImageBox{0, 19, 2, 2}, ImageBox{0, 0, 0, 1}, ImageBox{0, 0, 1, 0},
                                ImageBox{1, 1, INT64_MAX, 1}, ImageBox{10, 0, 1, 1}}) {
      EXPECT_THROW(decode_image(file, {.crop = crop}), ValueError);
    }
    EXPECT_THROW(decode_image(file, {.size = ImageSize{0, 5}}), ValueError);
  }
}

TEST_F(DecodeImage, ChoosesTheSmallestScaleThatIsLargeEnough) {
  const Bytes file = encode_jpeg(smooth_image(160, 320));
  const auto sizes = [&](int64_t height, int64_t width) {
    const Array image = decode_image(file, {.size = ImageSize{height, width}});
    return Sizes{image.sizes()[1], image.sizes()[2]};
  };
  EXPECT_EQ(sizes(20, 40), (Sizes{20, 40}));
  EXPECT_EQ(sizes(21, 40), (Sizes{40, 80}));
  EXPECT_EQ(sizes(20, 81), (Sizes{80, 160}));
  EXPECT_EQ(sizes(70, 10), (Sizes{80, 160}));
  EXPECT_EQ(sizes(81, 10), (Sizes{160, 320}));
  EXPECT_EQ(sizes(500, 500), (Sizes{160, 320}));
}

// The mean of the pixels of each block, for scales 1 / factor.
Array block_means(const Array& image, int64_t factor) {
  const int64_t height = image.sizes()[1] / factor, width = image.sizes()[2] / factor;
  const Array from = image.contiguous();
  const auto given = from.elements<uint8_t>();
  Array means = Array::empty(DType::u8, {3, height, width});
  auto to = means.writable_elements<uint8_t>();
  for (int64_t c = 0, i = 0; c < 3; ++c) {
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x, ++i) {
        int64_t sum = factor * factor / 2;
        for (int64_t k = 0; k < factor * factor; ++k) {
          const int64_t row = y * factor + k / factor, column = x * factor + k % factor;
          sum +=
              given[static_cast<size_t>((c * image.sizes()[1] + row) * image.sizes()[2] + column)];
        }
        to[static_cast<size_t>(i)] = static_cast<uint8_t>(sum / (factor * factor));
      }
    }
  }
  return means;
}

TEST_F(DecodeImage, ScaledPixelsAreTheMeansOfTheirPlaces) {
  const Bytes file = encode_jpeg(smooth_image(160, 320), {.quality = 95});
  const Array whole = decode_image(file);
  for (const int64_t factor : {2, 4, 8}) {
    const DecodeOptions options{.size = ImageSize{160 / factor, 320 / factor}};
    EXPECT_LE(greatest_difference(decode_image(file, options), block_means(whole, factor)), 8);
    DecodeOptions part = options;
    part.crop = {.top = 40, .left = 80, .height = 64, .width = 128};
    part.size = {64 / factor, 128 / factor};
    const Array expected = part_of_image(decode_image(file, options), 40 / factor, 80 / factor,
                                         64 / factor, 128 / factor);
    EXPECT_EQ(greatest_difference(decode_image(file, part), expected), 0);
  }
}

TEST_F(DecodeImage, ScaledCropsAreInsideAtEachPlace) {
  const Array image = sample_image(3, 19, 13);
  for (const Bytes& file : {encode_jpeg(image), encode_jpeg(image, {.progressive = true}),
                            encode_jpeg(image, {.sampling = ChromaSampling::s422})}) {
    for (int64_t top = 0; top < 19; ++top) {
      for (int64_t left = 0; left < 13; ++left) {
        for (const int64_t size : {1, 2, 4, 7}) {
          const ImageBox crop{top, left, 19 - top, 13 - left};
          const Array part = decode_image(file, {.crop = crop, .size = ImageSize{size, size}});
          ASSERT_GE(part.sizes()[1], std::min(size, crop.height));
          ASSERT_LE(part.sizes()[1], std::max<int64_t>(1, crop.height));
          ASSERT_LE(part.sizes()[2], std::max<int64_t>(1, crop.width));
        }
      }
    }
  }
}

// ---- Bad input.

TEST_F(DecodeImage, RefusesFilesThatEndEarly) {
  for (const Bytes& file : files_of_all_formats(40, 50)) {
    for (size_t size = 0; size < file.size(); ++size) {
      EXPECT_THROW(decode_image(std::span(file).first(size)), ParseError)
          << size << " of " << file.size();
    }
  }
}

// The rest of the file is not read.
TEST_F(DecodeImage, ACropOfAJpegMayEndBeforeTheFileDoes) {
  const Array image = sample_image(3, 400, 200);
  const ImageBox above{.top = 0, .left = 8, .height = 90, .width = 50};
  const ImageBox below{.top = 300, .left = 8, .height = 90, .width = 50};
  const Bytes file = encode_jpeg(image, {.quality = 95});
  const auto begin = std::span(file).first(file.size() / 2);
  EXPECT_THROW(decode_image(begin), ParseError);
  EXPECT_EQ(greatest_difference(decode_image(begin, {.crop = above}),
                                decode_image(file, {.crop = above})),
            0);
  EXPECT_NO_THROW(decode_image(begin, {.crop = above, .size = ImageSize{9, 9}}));
  EXPECT_THROW(decode_image(begin, {.crop = below}), ParseError);
  EXPECT_THROW(decode_image(begin, {.crop = below, .size = ImageSize{9, 9}}), ParseError);
  for (const Bytes& other : {encode_jpeg(image, {.quality = 95, .progressive = true}),
                             encode_png(image), encode_webp(image)}) {
    const auto part = std::span(other).first(other.size() / 2);
    EXPECT_THROW(decode_image(part, {.crop = above}), ParseError);
  }
}

TEST_F(DecodeImage, AcceptsAJpegThatEndsEarlyIfAsked) {
  const Array image = smooth_image(200, 64);
  for (const bool progressive : {false, true}) {
    const Bytes file = encode_jpeg(image, {.quality = 95, .progressive = progressive});
    const auto part = std::span(file).first(file.size() * 2 / 3);
    const Array decoded = decode_image(part, {.accept_truncated = true});
    EXPECT_EQ(decoded.sizes(), (Sizes{3, 200, 64}));
    EXPECT_LT(greatest_difference(part_of_image(decoded, 0, 0, 16, 64),
                                  part_of_image(image, 0, 0, 16, 64)),
              60);
  }
}

TEST_F(DecodeImage, GivesPixelsOrAnErrorForAnyDamage) {
  uint32_t random = 7;
  const auto next = [&] { return random = random * 1664525 + 1013904223, random >> 8; };
  for (const Bytes& file : files_of_all_formats(24, 31)) {
    for (int i = 0; i < 400; ++i) {
      Bytes damaged = file;
      for (uint32_t count = 1 + next() % 4; count > 0; --count) {
        damaged[next() % damaged.size()] = static_cast<std::byte>(next());
      }
      DecodeOptions options{.accept_truncated = next() % 2 == 0, .most_pixels = 100'000};
      if (next() % 2 == 0) options.size = ImageSize{8, 8};
      try {
        decode_image(damaged, options);
      } catch (const ParseError&) {
      }
    }
  }
}

// A JPEG or PNG of this size with almost no data.
Bytes with_size(Bytes file, std::string_view mark, size_t offset, std::string_view size) {
  std::string text(reinterpret_cast<const char*>(file.data()), file.size());
  text.replace(text.find(mark) + offset, size.size(), size);
  std::memcpy(file.data(), text.data(), text.size());
  return file;
}

TEST_F(DecodeImage, ChecksSizesBeforeItAllocates) {
  const Bytes jpeg = encode_jpeg(sample_image(3, 16, 16));
  const Bytes progressive = encode_jpeg(sample_image(3, 16, 16), {.progressive = true});
  for (const std::string_view size :
       {std::string_view("\xFD\xE8\xFD\xE8", 4), std::string_view("\x20\x00\x20\x00", 4)}) {
    EXPECT_THROW(decode_image(with_size(jpeg, "\xFF\xC0", 5, size)), ParseError);
    EXPECT_THROW(decode_image(with_size(progressive, "\xFF\xC2", 5, size)), ParseError);
  }
  try {
    decode_image(encode_png(sample_image(1, 20, 30)), {.most_pixels = 599});
    FAIL();
  } catch (const ParseError& error) {
    EXPECT_EQ(error.message(), "the image has 30 x 20 pixels, more than the limit of 599");
  }
  EXPECT_NO_THROW(decode_image(encode_png(sample_image(1, 20, 30)), {.most_pixels = 600}));
}

TEST_F(DecodeImage, RefusesOtherFiles) {
  for (const std::string_view text : {"", "GIF89a", "RIFF....WAVE", "\xFF\xD8", "\xFF\xD8\xFF"}) {
    EXPECT_THROW(decode_image(std::as_bytes(std::span(text))), ParseError);
    EXPECT_THROW(image_info(std::as_bytes(std::span(text))), ParseError);
  }
}

TEST_F(DecodeImage, NamesTheFile) {
  const TemporaryFolder folder;
  const std::string path = folder.path("cat.PNG");
  write_image(path, sample_image(3, 4, 5));
  EXPECT_EQ(greatest_difference(read_image(path), sample_image(3, 4, 5)), 0);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 5);
  try {
    read_image(path);
    FAIL();
  } catch (const ParseError& error) {
    EXPECT_NE(error.message().find(path + ": byte "), std::string::npos) << error.message();
  }
  EXPECT_THROW(read_image(folder.path("dog.png")), IoError);
}

}  // namespace
}  // namespace plait
