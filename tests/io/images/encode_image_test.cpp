#include "plait/io/images/encode_image.h"

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/io/images/decode_image.h"

#include "tests/io/images/image_samples.h"
#include "tests/io/temporary_folder.h"

namespace plait {
namespace {

class EncodeImage : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_encode()) GTEST_SKIP() << "this build has no image libraries";
  }
};

TEST_F(EncodeImage, TakesAnyLayout) {
  const Array image = sample_image(3, 9, 14);
  const int64_t axes[] = {2, 0, 1};
  const Array turned = image.view(image.layout().permuted(axes)).contiguous();
  const int64_t back[] = {1, 2, 0};
  const Array strided = turned.view(turned.layout().permuted(back));
  EXPECT_FALSE(strided.is_contiguous());
  EXPECT_EQ(encode_png(strided), encode_png(image));
  EXPECT_EQ(encode_jpeg(strided), encode_jpeg(image));
  EXPECT_EQ(encode_webp(strided), encode_webp(image));
  const Array grey = sample_image(1, 9, 14);
  EXPECT_EQ(encode_png(grey.reshaped({9, 14})), encode_png(grey));
}

TEST_F(EncodeImage, QualityChangesTheSize) {
  const Array image = sample_image(3, 60, 80);
  EXPECT_LT(encode_jpeg(image, {.quality = 20}).size(), encode_jpeg(image).size());
  EXPECT_LT(encode_jpeg(image).size(),
            encode_jpeg(image, {.sampling = ChromaSampling::s444}).size());
  EXPECT_LT(encode_webp(image, {.quality = 20}).size(), encode_webp(image).size());
  EXPECT_LT(encode_png(image).size(), encode_png(image, {.compression = 0}).size());
}

TEST_F(EncodeImage, RefusesArraysThatAreNoImages) {
  const auto refuse = [](const auto& encode) {
    EXPECT_THROW(encode(Array()), ValueError);
    EXPECT_THROW(encode(Array::empty(DType::f32, {3, 4, 5})), TypeError);
    EXPECT_THROW(encode(Array::empty(DType::u8, {5})), ShapeError);
    EXPECT_THROW(encode(Array::empty(DType::u8, {4, 5, 6, 7})), ShapeError);
    EXPECT_THROW(encode(Array::empty(DType::u8, {5, 6, 7})), ShapeError);
    EXPECT_THROW(encode(Array::empty(DType::u8, {3, 0, 7})), ShapeError);
  };
  refuse([](const Array& image) { return encode_jpeg(image); });
  refuse([](const Array& image) { return encode_png(image); });
  refuse([](const Array& image) { return encode_webp(image); });
  EXPECT_THROW(encode_jpeg(sample_image(2, 4, 4)), ShapeError);
  EXPECT_THROW(encode_jpeg(sample_image(4, 4, 4)), ShapeError);
  EXPECT_THROW(encode_webp(sample_image(1, 4, 4)), ShapeError);
  EXPECT_THROW(encode_jpeg(Array::empty(DType::u8, {1, 1, 65501})), ShapeError);
  EXPECT_THROW(encode_webp(Array::empty(DType::u8, {3, 1, 16384})), ShapeError);
}

TEST_F(EncodeImage, RefusesOptionsOutOfRange) {
  const Array image = sample_image(3, 4, 4);
  for (const int quality : {0, 101}) {
    EXPECT_THROW(encode_jpeg(image, {.quality = quality}), ValueError);
  }
  EXPECT_THROW(encode_png(image, {.compression = 10}), ValueError);
  EXPECT_THROW(encode_webp(image, {.quality = 101}), ValueError);
  EXPECT_THROW(encode_webp(image, {.quality = std::numeric_limits<double>::quiet_NaN()}),
               ValueError);
  EXPECT_THROW(encode_webp(image, {.effort = 7}), ValueError);
}

TEST_F(EncodeImage, WritesTheFormatOfTheName) {
  const TemporaryFolder folder;
  const Array image = sample_image(3, 8, 8);
  const std::pair<const char*, ImageFormat> cases[] = {{"a.jpg", ImageFormat::jpeg},
                                                       {"b.JPEG", ImageFormat::jpeg},
                                                       {"c.png", ImageFormat::png},
                                                       {"d.webp", ImageFormat::webp}};
  for (const auto& [name, format] : cases) {
    write_image(folder.path(name), image, {.webp = {.lossless = true}});
    const Array read = read_image(folder.path(name));
    EXPECT_EQ(greatest_difference(read, image) == 0, format != ImageFormat::jpeg) << name;
  }
  EXPECT_EQ(folder.file_count(), 4);
  EXPECT_THROW(write_image(folder.path("e.gif"), image), ValueError);
  EXPECT_THROW(write_image(folder.path("png"), image), ValueError);
  EXPECT_THROW(write_image(folder.path("no/f.png"), image), IoError);
  EXPECT_EQ(folder.file_count(), 4);
}

}  // namespace
}  // namespace plait
