#include "plait/core/device.h"

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/plait.h"
#include "plait/tensor/memory/device_memory.h"

#include "tests/support/errors.h"
#include "tests/tensor/fake_device.h"

namespace plait {
namespace {

const Device kFirst(Device::Kind::cuda, 0), kSecond(Device::Kind::cuda, 1);

Array numbers() { return Array::of<float>(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3}); }

class OnDevices : public testing::Test {
 protected:
  void SetUp() override { use_fake_devices(); }
  void TearDown() override { limit_fake_devices(-1); }
};

TEST(Device, HasANameThatReadsBack) {
  EXPECT_EQ(Device("cpu"), Device());
  EXPECT_EQ(Device("cuda"), kFirst);
  EXPECT_EQ(Device("gpu:1"), kSecond);
  EXPECT_EQ(text_of(Device("cuda:12")), "cuda:12");
  for (const char* name : {"", "cudo", "cuda:", "cuda:-1", "cuda:16", "cuda:1x", "cpu:1", "tpu"}) {
    EXPECT_THROW(Device{name}, DeviceError) << name;
  }
}

TEST(Device, IsThatOfTheInnermostScope) {
  EXPECT_EQ(default_device(), Device());
  const DeviceScope outer(kFirst);
  {
    const DeviceScope inner(kSecond);
    EXPECT_EQ(default_device(), kSecond);
  }
  EXPECT_EQ(default_device(), kFirst);
}

TEST_F(OnDevices, ArraysKeepTheirElements) {
  const Array host = numbers();
  const Array there = host.on(kFirst);
  EXPECT_EQ(there.device(), kFirst);
  EXPECT_EQ(there.on(kFirst).buffer(), there.buffer());
  EXPECT_EQ(text_of(there.on(kSecond)), text_of(host));
  const Array transposed = there.view(there.layout().permuted(std::vector<int64_t>{1, 0}));
  EXPECT_EQ(text_of(transposed.contiguous()), text_of(host.view(transposed.layout())));
  EXPECT_EQ(transposed.contiguous().device(), kFirst);
  EXPECT_EQ(there.literal(), host.literal());
  EXPECT_EQ(Array::of(7.f).on(kFirst).element().number.real(), 7);
  EXPECT_EQ(Array::empty(DType::f32, {0, 3}).on(kFirst).on_host().element_count(), 0);
}

TEST_F(OnDevices, HostCodeGetsNoBytesOfADevice) {
  const Array there = numbers().on(kFirst);
  expect_contains(message_of<DeviceError>([&] { (void)there.data(); }),
                  {"f32[2, 3] is on cuda:0, and host code cannot read it there"});
  EXPECT_THROW((void)there.elements<float>(), DeviceError);
  EXPECT_EQ(there.buffer().data(), there.device_data());
}

TEST_F(OnDevices, MemoryIsCountedByDeviceAndTag) {
  const int64_t host = memory_statistics().live_bytes;
  const MemoryTag tag("on a device");
  {
    const Array there = Array::empty_on(kSecond, DType::f32, {1000});
    EXPECT_EQ(memory_statistics(kSecond).live_bytes, 4000);
    EXPECT_EQ(memory_statistics_by_tag(kSecond).back().live_bytes, 4000);
    EXPECT_EQ(memory_statistics(kFirst).live_bytes, 0);
    EXPECT_EQ(memory_statistics().live_bytes, host);
  }
  EXPECT_EQ(memory_statistics(kSecond).live_bytes, 0);
  EXPECT_EQ(memory_statistics(kSecond).peak_bytes, 4000);
  reset_peak_memory(kFirst);
  EXPECT_EQ(memory_statistics(kSecond).peak_bytes, 4000);
  reset_peak_memory(kSecond);
  EXPECT_EQ(memory_statistics(kSecond).peak_bytes, 0);
}

TEST_F(OnDevices, OutOfMemoryNamesTheTagsThatHoldMost) {
  const MemoryTag tag("weights");
  const Array held = Array::empty_on(kFirst, DType::f32, {1000});
  limit_fake_devices(6000);
  expect_contains(
      message_of<MemoryError>([] { (void)Array::empty_on(kFirst, DType::f32, {1000}); }),
      {"cannot allocate 4000 bytes on cuda:0: 2000 bytes are free ('weights' "
       "holds 4000)"});
  EXPECT_EQ(memory_statistics(kFirst).live_bytes, 4000);
  limit_fake_devices(-1);
  set_setting("device_memory_limit", "5000");
  EXPECT_THROW((void)Array::empty_on(kFirst, DType::f32, {1000}), MemoryError);
  reset_setting("device_memory_limit");
}

TEST_F(OnDevices, AMissingDeviceIsNamed) {
  expect_contains(message_of<DeviceError>([] { (void)numbers().on(Device("cuda:5")); }),
                  {"unknown device 'cuda:5': the machine has 2 of this kind"});
}

TEST_F(OnDevices, OperationsComputeWhereTheirOperandsAre) {
  const Tensor x(numbers().on(kFirst));
  const Tensor on_host(numbers());
  const Tensor sum = x + x * 2.f;
  EXPECT_EQ(sum.array().device(), kFirst);
  EXPECT_EQ(sum.text(), (on_host + on_host * 2.f).text());
  const Tensor product = matmul(x, transpose(x));
  EXPECT_EQ(product.array().device(), kFirst);
  EXPECT_EQ(product.text(), matmul(on_host, transpose(on_host)).text());
  EXPECT_EQ(plait::sum(x).item<float>(), 21);
  EXPECT_TRUE((plait::sum(x) > 20.f).truth());
}

TEST_F(OnDevices, ViewsShareTheMemoryOfTheDevice) {
  const Tensor x(numbers().on(kFirst));
  const Buffer& memory = x.array().buffer();
  EXPECT_EQ(transpose(x).array().buffer(), memory);
  EXPECT_EQ(reshape(x, Shape{6}).array().buffer(), memory);
  EXPECT_EQ(x[1].array().buffer(), memory);
  EXPECT_EQ(broadcast_to(x, Shape{4, 2, 3}).array().buffer(), memory);
  const Tensor host(numbers());
  EXPECT_EQ(reshape(transpose(x), Shape{6}).text(), reshape(transpose(host), Shape{6}).text());
  const auto joined = [](const Tensor& each) {
    return pad(concat(std::vector{each, each}, 0), {{1, 0}, {0, 2}});
  };
  EXPECT_EQ(joined(x).array().device(), kFirst);
  EXPECT_EQ(joined(x).text(), joined(host).text());
}

TEST_F(OnDevices, OperandsOnDifferentDevicesAreRefused) {
  const Tensor x(numbers().on(kFirst)), y(numbers()), z(numbers().on(kSecond));
  expect_contains(
      what_of<DeviceError>([&] { (void)(x + y); }),
      {"add: the operands are on different devices: f32[2, 3] on cuda:0 and f32[2, 3] on cpu",
       "move the f32[2, 3] on cpu there: x.to(\"cuda:0\")"});
  EXPECT_THROW((void)(z * x), DeviceError);
  EXPECT_EQ((x + Tensor(Array::of(1.f))).array().device(), kFirst);
  const Tensor one(Array::of<float>(std::vector{1.f}, {1, 1}));
  EXPECT_THROW((void)(x + one), DeviceError);
  expect_contains(message_of<DeviceError>([&] {
                    (void)(x + Tensor(Array::of<float>(std::vector<float>{1, 2, 3}, {3})));
                  }),
                  {"f32[2, 3] on cuda:0 and f32[3] on cpu"});
}

TEST_F(OnDevices, WhatIsMadeOfConstantsGoesToWhatItMeets) {
  const Tensor x(numbers().on(kFirst)), there(numbers().on(kSecond));
  const Tensor places = astype(iota(3), DType::f32) * 2 + ones({3});
  EXPECT_TRUE(places.is_unplaced() && places[0].is_unplaced() && transpose(places).is_unplaced());
  for (const Tensor& placed : {x, there}) {
    const Tensor sum = placed + places;
    EXPECT_EQ(sum.device(), placed.device());
    EXPECT_FALSE(sum.is_unplaced());
    EXPECT_EQ(sum.text(), (Tensor(numbers()) + places).text());
  }
  EXPECT_THROW((void)(x + to_device(places, Device())), DeviceError);
  const Tensor draws = random::normal(random::key(1), Shape{2, 3});
  EXPECT_EQ(where(greater(draws, 0.f), x, draws).device(), kFirst);
}

TEST_F(OnDevices, UnplacedTensorsMeetOnAGpu) {
  const Tensor host = iota(3);
  const Tensor there = [] {
    const DeviceScope scope(kSecond);
    return iota(3);
  }();
  EXPECT_EQ(there.device(), kSecond);
  EXPECT_TRUE(there.is_unplaced());
  const Tensor sum = host + there;
  EXPECT_EQ(sum.device(), kSecond);
  EXPECT_TRUE(sum.is_unplaced());
  EXPECT_EQ((sum + to_device(sum, kFirst)).device(), kFirst);
  EXPECT_EQ((sum + Tensor(Array::of<int64_t>(std::vector<int64_t>{1, 2, 3}, {3}))).device(),
            Device());
}

TEST_F(OnDevices, ProgramsMoveWhatIsUnplaced) {
  const auto weighted = [](const Tensor& x) { return x * astype(iota(3), DType::f32) + 1; };
  const Tensor x(numbers().on(kSecond));
  auto jitted = jit(weighted);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(jitted(x).device(), kSecond);
    EXPECT_EQ(jitted(x).text(), weighted(Tensor(numbers())).text());
  }
  auto drawn = jit([](const Tensor& key, const Tensor& x) {
    return std::pair(random::normal(key, Shape{3}), x + 1);
  });
  const auto [draws, placed] = drawn(random::key(1), Tensor(numbers()));
  EXPECT_TRUE(draws.is_unplaced());
  EXPECT_FALSE(placed.is_unplaced());
}

TEST_F(OnDevices, LengthsOfSequencesMayBeOnTheHost) {
  const nn::LSTM lstm = nn::LSTM::init(random::key(1), 3, 4);
  const Tensor x = random::normal(random::key(2), Shape{5, 2, 3});
  const Tensor lengths(Array::of<int64_t>(std::vector<int64_t>{5, 3}, {2}));
  const Tensor host = lstm(x, {}, {.lengths = lengths}).first;
  const nn::LSTM there = to_device(lstm, kSecond);
  for (const Tensor& each : {lengths, to_device(lengths, kSecond)}) {
    const Tensor found = there(to_device(x, kSecond), {}, {.lengths = each}).first;
    EXPECT_EQ(found.device(), kSecond);
    EXPECT_EQ(found.text(), host.text());
  }
}

TEST_F(OnDevices, GradientsAreWhereTheirArgumentsAre) {
  const auto loss = [](const Tensor& x) { return sum(tanh(x) * x) + max(x); };
  const Tensor host = grad(loss)(Tensor(numbers()));
  const Tensor there = grad(loss)(Tensor(numbers().on(kSecond)));
  EXPECT_EQ(there.array().device(), kSecond);
  EXPECT_EQ(there.text(), host.text());
}

TEST_F(OnDevices, DrawsAreMadeOnTheDefaultDevice) {
  const Tensor host = random::normal(random::key(3), Shape{4});
  const DeviceScope on(kFirst);
  const Tensor there = random::normal(random::key(3), Shape{4});
  EXPECT_EQ(there.array().device(), kFirst);
  EXPECT_EQ(there.text(), host.text());
}

}  // namespace
}  // namespace plait
