// On the emulated device (tests/cuda_emulator).
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/plait.h"
#include "plait/tensor/inside/device_calls.h"
#include "plait/tensor/memory/device_memory.h"

#include "tests/cuda/cuda_support.h"
#include "tests/support/errors.h"

namespace plait::cuda_device_test {
namespace {

using cuda_test::expect_same;

struct Pair {
  Tensor first, second;
};

const Device kFirst = cuda_test::kDevice, kSecond = cuda_test::kOtherDevice;

class CudaDevices : public cuda_test::CudaTest {};

Array numbers(Sizes sizes) {
  Array array = Array::empty(DType::f32, std::move(sizes));
  float next = 0;
  for (float& each : array.writable_elements<float>()) each = next += 1;
  return array;
}

Array transposed(const Array& array) {
  return array.view(array.layout().permuted(std::vector<int64_t>{1, 0}));
}

TEST_F(CudaDevices, ArraysKeepTheirElements) {
  EXPECT_EQ(device_count(Device::Kind::cuda), 2);
  const Array host = numbers({37, 53});
  const Array there = host.on(kFirst);
  EXPECT_EQ(there.device(), kFirst);
  EXPECT_EQ(there.literal(), host.literal());
  EXPECT_EQ(there.on(kSecond).literal(), host.literal());
  EXPECT_EQ(transposed(there).contiguous().literal(), transposed(host).literal());
  EXPECT_EQ(transposed(host).on(kFirst).literal(), transposed(host).literal());
  EXPECT_EQ(Array::empty(DType::f32, {0, 3}).on(kFirst).on_host().element_count(), 0);
  EXPECT_EQ(Array::of(7.f).on(kFirst).element().number.real(), 7);
}

// Larger than both pinned buffers, and not a multiple of one.
TEST_F(CudaDevices, LargeCopiesGoThroughPinnedMemory) {
  const Array host = numbers({(40 << 20) / 4 + 5});
  const Array there = host.on(kFirst);
  Array other = numbers({5 << 20}).on(kFirst);  // refills the first buffer
  expect_same(there, host, "all");
  const Array half = host.view(Layout{.sizes = {100'000}, .strides = {-3}, .offset = 900'000});
  expect_same(half.on(kFirst), half.contiguous(), "every third, reversed");
}

TEST_F(CudaDevices, ViewsAreWrittenInPlace) {
  const Array host = numbers({6, 5});
  Array whole = host.on(kFirst), expected = host.copy();
  const auto even = [](Array& array) {
    return array.view(array.layout().sliced(0, Slice{std::nullopt, std::nullopt, 2}));
  };
  Array part = even(whole), expected_part = even(expected);
  const Array ones = Array::filled(DType::f32, {3, 5}, Element::of(1.0));
  copy_elements(ones, part);
  copy_elements(ones, expected_part);
  EXPECT_EQ(whole.literal(), expected.literal());
}

TEST_F(CudaDevices, ElementsAreFilledOfEveryDType) {
  for (const DTypeInfo& info : kDTypes) {
    if (info.kind == DTypeKind::key) continue;
    const Element one = Element::of(true);
    EXPECT_EQ(Array::filled_on(kFirst, info.dtype, {3, 4}, one).literal(),
              Array::filled(info.dtype, {3, 4}, one).literal())
        << info.name;
  }
}

TEST_F(CudaDevices, HostCodeGetsNoBytes) {
  const Array there = numbers({2, 3}).on(kFirst);
  EXPECT_THROW((void)there.data(), DeviceError);
  EXPECT_DEATH(
      {
        volatile std::byte read = *there.device_data();
        (void)read;
      },
      "");
}

TEST_F(CudaDevices, OperationsAndGradientsEqualTheHost) {
  const auto loss = [](const Pair& p) {
    return mean(square(tanh(matmul(p.first, p.second)))) + max(p.first);
  };
  const Pair host{Tensor(numbers({4, 3})), Tensor(numbers({3, 5}))};
  const Pair there{Tensor(host.first.array().on(kSecond)), Tensor(host.second.array().on(kSecond))};
  const auto [value, gradients] = value_and_grad(loss)(host);
  const auto [value_there, gradients_there] = value_and_grad(loss)(there);
  EXPECT_EQ(value_there.array().device(), kSecond);
  EXPECT_EQ(value_there.text(), value.text());
  EXPECT_EQ(gradients_there.first.text(), gradients.first.text());
  EXPECT_EQ(gradients_there.second.text(), gradients.second.text());
  EXPECT_EQ(gradients_there.second.array().device(), kSecond);
}

TEST_F(CudaDevices, GradientsCrossDevices) {
  const auto loss = [](const Tensor& x) {
    const Tensor doubled = to_device(x, kFirst) * 2;
    return sum(exp(to_device(doubled, kSecond)));
  };
  const Tensor x(numbers({3}));
  const Tensor expected = 2 * exp(x * 2);
  const auto jitted = jit(grad(loss));
  for (const Tensor& found : {grad(loss)(x), jitted(x), jitted(x), jacrev(loss)(x)}) {
    EXPECT_EQ(found.device(), Device());
    EXPECT_TRUE(allclose(found, expected).item<bool>()) << found.text();
  }
  const Pair pair = to_device(Pair{x, x}, kSecond);
  EXPECT_EQ(pair.second.device(), kSecond);
  EXPECT_EQ(to_device(pair.first, kSecond).identity(), pair.first.identity());
  EXPECT_EQ(pair.first.identity(), pair.second.identity());  // tied tensors stay one
}

TEST_F(CudaDevices, TensorsAreMadeOnTheDefaultDevice) {
  const DeviceScope on(kSecond);
  for (const Tensor& made : {zeros({2}), full({2}, 3), iota(3), arange(4), linspace(0, 1, 3),
                             random::normal(random::key(1), {2}), eye(3)}) {
    EXPECT_EQ(made.device(), kSecond);
  }
  EXPECT_EQ(ones_like(Tensor(numbers({2}))).device(), Device());
}

// ctest runs each test in a process of its own.
TEST_F(CudaDevices, TheFirstCallOfAProcessRunsThere) {
  const DeviceScope on(kFirst);
  EXPECT_EQ((arange(3) * 2).text(), "[0 2 4] : i64[3]");
  for (const HostCalls& calls : host_calls()) ADD_FAILURE() << calls.primitive->name;
}

TEST_F(CudaDevices, MemoryIsCounted) {
  const int64_t before = memory_statistics(kFirst).live_bytes;
  {
    const Array there = Array::empty_on(kFirst, DType::f64, {1000});
    EXPECT_EQ(memory_statistics(kFirst).live_bytes, before + 8000);
  }
  EXPECT_EQ(memory_statistics(kFirst).live_bytes, before);
  expect_contains(message_of<MemoryError>(
                      [] { (void)Array::empty_on(kFirst, DType::f64, {int64_t{1} << 40}); }),
                  {"cannot allocate 8796093022208 bytes on cuda:0", "are free"});
}

TEST_F(CudaDevices, ThreadsUseADeviceConcurrently) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      const Device device = t % 2 == 0 ? kFirst : kSecond;
      const Array host = numbers({100, t + 1});
      for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(transposed(host.on(device)).contiguous().literal(), transposed(host).literal());
      }
    });
  }
  for (std::thread& each : threads) each.join();
}

TEST_F(CudaDevices, AMissingDeviceIsNamed) {
  expect_contains(message_of<DeviceError>([] { (void)numbers({2}).on(Device("cuda:7")); }),
                  {"unknown device 'cuda:7': the machine has 2 of this kind"});
}

}  // namespace
}  // namespace plait::cuda_device_test
