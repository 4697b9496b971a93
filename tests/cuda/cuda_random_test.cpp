// Random numbers: the device's bits are the CPU's.
#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/inside/random/random_primitives.h"
#include "plait/ops/random/random.h"

#include "tests/cuda/both_devices.h"
#include "tests/support/errors.h"

namespace plait::cuda_random_test {
namespace {

class CudaRandom : public BothDevices {
 protected:
  static Array keys(int64_t count) {
    return random::split_key(random::key(uint64_t{7}), count).array();
  }
  static Array one_key() { return random::key(uint64_t{11}).array(); }
};

std::vector<Dim> dims(std::initializer_list<int64_t> sizes) { return {sizes.begin(), sizes.end()}; }

TEST_F(CudaRandom, BitsAreTheSame) {
  for (const DType dtype : {DType::u8, DType::u16, DType::u32, DType::u64}) {
    for (const auto& sizes : {dims({}), dims({0}), dims({1}), dims({3, 5}), dims({1030})}) {
      const auto attributes = ir::Attributes::of(RandomBitsAttributes{sizes, dtype});
      expect_same(random_primitives().bits, {one_key()}, attributes);
      expect_same(random_primitives().bits, {keys(3)}, attributes);
      expect_same(random_primitives().bits, {keys(0)}, attributes);
    }
  }
}

TEST_F(CudaRandom, UniformNumbersAreTheSame) {
  for (const DType dtype :
       {DType::f64, DType::f32, DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2}) {
    for (const auto& sizes : {dims({}), dims({0}), dims({37}), dims({2, 64})}) {
      const auto attributes =
          ir::Attributes::of(RandomValuesAttributes{Distribution::uniform, sizes, dtype});
      expect_same(random_primitives().values, {one_key()}, attributes);
      expect_same(random_primitives().values, {keys(3)}, attributes);
    }
  }
}

TEST_F(CudaRandom, OtherDistributionsAreNear) {
  for (const Distribution distribution : {Distribution::normal, Distribution::exponential,
                                          Distribution::laplace, Distribution::gumbel}) {
    for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::f8e4m3}) {
      if (size_of(dtype) < 4 && distribution != Distribution::normal) continue;
      for (const auto& sizes : {dims({}), dims({5, 61})}) {
        const auto attributes =
            ir::Attributes::of(RandomValuesAttributes{distribution, sizes, dtype});
        expect_near(random_primitives().values, {one_key()}, attributes, 4,
                    std::string(name_of(dtype)));
        expect_near(random_primitives().values, {keys(2)}, attributes, 4,
                    std::string(name_of(dtype)));
      }
    }
  }
}

TEST_F(CudaRandom, IntegersAreTheSame) {
  for (const int64_t count : {int64_t{1}, int64_t{6}, int64_t{1000}, (int64_t{3} << 60) + 1}) {
    for (const auto& sizes : {dims({}), dims({0}), dims({3, 5}), dims({1025})}) {
      const auto attributes = ir::Attributes::of(RandomIntegersAttributes{sizes, count});
      expect_same(random_primitives().integers, {one_key()}, attributes);
      expect_same(random_primitives().integers, {keys(3)}, attributes);
    }
  }
}

TEST_F(CudaRandom, TruncatedNormalsAreNear) {
  for (const auto& [low, high] : {std::pair{-1., 2.}, {-3., 3.}, {2., 2.5}, {4., 9.}, {-9., -5.}}) {
    for (const DType dtype : {DType::f64, DType::f32, DType::f16}) {
      const auto attributes =
          ir::Attributes::of(TruncatedNormalAttributes{dims({2, 70}), low, high, dtype});
      expect_near(random_primitives().truncated_normal, {keys(2)}, attributes, 8);
    }
  }
}

TEST_F(CudaRandom, NothingToChooseFromIsRefused) {
  const DeviceScope scope(there);
  EXPECT_THROW((void)random::randint(random::key(uint64_t{3}), {4}, 5, 5), ValueError);
}

}  // namespace
}  // namespace plait::cuda_random_test
