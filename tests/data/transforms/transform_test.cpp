#include "plait/data/transforms/transform.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "plait/data/dataset.h"
#include "plait/data/loader.h"
#include "plait/data/transforms/augment.h"
#include "plait/data/transforms/color_functions.h"
#include "plait/data/transforms/image_transforms.h"
#include "plait/data/transforms/mixing.h"
#include "plait/io/images/encode_image.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"

#include "tests/io/images/image_samples.h"
#include "tests/support/errors.h"

namespace plait::data::transforms {
namespace {

Tensor picture(int64_t count = 1) {
  return random::bits(random::key(1), {count, 3, 20, 24}, DType::u8);
}

Compose usual() {
  return Compose({RandomResizedCrop{{8, 8}}, RandomHorizontalFlip{}, ToDtype{DType::f32, true},
                  Normalize{{0.5, 0.5, 0.5}, {0.2, 0.2, 0.2}}});
}

TEST(Compose, GivesEachTransformItsKey) {
  const DrawKey key(random::key(4));
  const Tensor image = picture();
  Tensor expected = image;
  int64_t number = 0;
  const Compose whole = usual();
  for (const Transform& each : whole.transforms()) expected = each(expected, key.part(number++));
  EXPECT_EQ(whole(image, key).array().literal(), expected.array().literal());
}

TEST(Compose, TakesFunctionsAndSamples) {
  const Compose both({[](const Tensor& image) { return invert(image); },
                      [](const Tensor& image, const DrawKey& key) {
                        return Draws(key).chance(1) ? image : picture();
                      }});
  EXPECT_TRUE(both.is_random());
  EXPECT_FALSE(Compose({Normalize{{0}, {1}}}).is_random());
  const auto [image, label] = both(std::pair(full({1, 1, 1}, 5, DType::u8), 7), random::key(0));
  EXPECT_EQ(image.text(), "[[[250]]] : u8[1, 1, 1]");
  EXPECT_EQ(label, 7);
}

TEST(Compose, InALoaderDependsOnSeedEpochAndPlaceOnly) {
  const auto batches = [](int workers) {
    const auto dataset = mapped(TensorDataset(picture(10), full({10}, 1)), usual());
    Loader loader(dataset, {.batch_size = 4, .shuffle = true, .seed = 3, .workers = workers});
    std::vector<Literal> all;
    for (int epoch = 0; epoch < 2; ++epoch) {
      for (const auto& batch : loader) all.push_back(std::get<0>(batch).array().literal());
    }
    return all;
  };
  const auto one = batches(0);
  ASSERT_EQ(one.size(), 6U);
  EXPECT_FALSE(one[0] == one[3]);
  EXPECT_EQ(batches(2), one);
}

TEST(Transform, WithTheNextKeyOfTheStream) {
  random::seed(5);
  const Tensor key = random::draw_key();
  random::seed(5);
  const Transform erase = RandomErasing{.p = 1};
  const Tensor image = picture();
  EXPECT_EQ(erase.with_next_key(image).array().literal(), erase(image, key).array().literal());
}

TEST(Transform, ChecksItsFields) {
  EXPECT_EQ(message_of<ValueError>([] { Transform(RandomHorizontalFlip{2}); }),
            "RandomHorizontalFlip: p is 2, expected 0 to 1");
  EXPECT_EQ(message_of<ValueError>([] { Transform(RandomApply{{}}); }),
            "RandomApply: there are no transforms");
  EXPECT_EQ(message_of<ValueError>([] { Transform(GaussianBlur{{4, 3}}); }),
            "GaussianBlur: kernel_size is 4, expected an odd number above 0");
  EXPECT_EQ(message_of<ValueError>([] { Transform(AugMix{.severity = 0}); }),
            "AugMix: severity is 0, expected 1 to 10");
  EXPECT_EQ(message_of<ValueError>([] { RandomCrop{{30, 3}}(picture(), random::key(0)); }),
            "RandomCrop: the size is [30, 3], larger than the image [20, 24]");
}

TEST(RandomResizedCrop, DecodesThePartOfAFileThatItNeeds) {
  if (!can_encode()) GTEST_SKIP() << "this build has no image libraries";
  const Tensor x = reshape(arange(500.0), {1, 500}), y = reshape(arange(400.0), {400, 1});
  const Tensor wave = sin(x / 20) * cos(y / 30) * 100 + 128;
  const Tensor image = astype(stack(std::array{wave, wave / 2, wave * 0 + 90}), DType::u8);
  const std::vector<std::byte> file = encode_jpeg(image.array(), {.quality = 95});
  const Tensor whole(decode_image(file, {.mode = ImageMode::rgb}));
  const RandomResizedCrop crop{{40, 30}, {0.3, 1}};
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const DrawKey key(random::key(seed));
    const Tensor expected = crop(whole, key);
    const Tensor same = crop.decode(file, key, ImageMode::rgb, false);
    ASSERT_EQ(same.array().literal(), expected.array().literal());
    const Tensor reduced = astype(crop.decode(file, key), DType::f32);
    EXPECT_LT(mean(absolute(reduced - astype(expected, DType::f32))).item<float>(), 6);
  }
  EXPECT_THROW(crop.decode({}, DrawKey(random::key(0))), ParseError);
  EXPECT_THROW(crop.read("none.jpg", DrawKey(random::key(0))), IoError);
}

TEST(Combinations, ApplyTheirParts) {
  const Tensor image = full({1, 1, 1}, 100, DType::u8);
  const Transform inverts = [](const Tensor& x) { return invert(x); };
  const Transform halves = [](const Tensor& x) { return adjust_brightness(x, 0.5); };
  int applied = 0, first = 0, inverted_first = 0;
  for (int64_t i = 0; i < 400; ++i) {
    const DrawKey key = DrawKey(random::key(7)).part(i);
    applied += RandomApply{{inverts}, 0.25}(image, key).text() != image.text();
    first += RandomChoice{{inverts, halves}, {3, 1}}(image, key).text()[3] == '1';
    inverted_first += RandomOrder{{inverts, halves}}(image, key).text()[3] == '7';
  }
  EXPECT_NEAR(applied, 100, 35);
  EXPECT_NEAR(first, 300, 35);
  EXPECT_NEAR(inverted_first, 200, 40);
}

TEST(Draws, HaveTheirMoments) {
  Draws draws(random::key(2));
  const int count = 40000;
  double normal = 0, square = 0, gamma = 0, small = 0, beta = 0;
  for (int i = 0; i < count; ++i) {
    const double x = draws.normal();
    normal += x;
    square += x * x;
    gamma += draws.gamma(2.5);
    small += draws.gamma(0.3);
    beta += draws.beta(2, 6);
  }
  EXPECT_NEAR(normal / count, 0, 0.02);
  EXPECT_NEAR(square / count, 1, 0.03);
  EXPECT_NEAR(gamma / count, 2.5, 0.04);
  EXPECT_NEAR(small / count, 0.3, 0.015);
  EXPECT_NEAR(beta / count, 0.25, 0.005);
  std::vector<int64_t> order = draws.permutation(9);
  std::ranges::sort(order);
  EXPECT_EQ(order, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(Mixing, MixesEachImageWithTheOneBefore) {
  const Tensor images = to_dtype(picture(3), DType::f32, true);
  const Tensor labels = tensor<int64_t>({0, 2, 1});
  const MixUp mix{.alpha = 0.5, .num_classes = 3};
  const DrawKey key(random::key(9));
  const auto [mixed, shares] = mix(images, labels, key);
  const auto share = static_cast<float>(mix.share(key));
  const auto x = images.array().elements<float>(), y = mixed.array().elements<float>();
  const size_t length = x.size() / 3;
  EXPECT_FLOAT_EQ(y[length + 5], share * x[length + 5] + (1 - share) * x[5]);
  EXPECT_FLOAT_EQ(shares.array().elements<float>()[3], 1 - share);
  EXPECT_FLOAT_EQ(shares.array().elements<float>()[5], share);
  const CutMix cut{.num_classes = 3};
  const ImageBox box = cut.box({20, 24}, key);
  const auto [pasted, parts] = cut(picture(3), labels, key);
  EXPECT_EQ(crop(pasted, box)[1].array().literal(), crop(picture(3), box)[0].array().literal());
  EXPECT_NEAR(parts.array().elements<float>()[3], static_cast<double>(box.height * box.width) / 480,
              1e-6);
}

TEST(Policies, ApplyTheirSteps) {
  const Tensor image = picture();
  const DrawKey key(random::key(3));
  const RandAugment policy{.num_ops = 3};
  Tensor expected = image;
  for (const AugmentStep& step : policy.steps({20, 24}, key)) expected = augment(expected, step);
  EXPECT_EQ(policy(image, key).array().literal(), expected.array().literal());
  EXPECT_EQ(Transform(policy).parameters(image, key).size(), 3U);
}

}  // namespace
}  // namespace plait::data::transforms
