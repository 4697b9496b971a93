// Tests on the emulated device (tests/cuda_emulator), compared with the CPU. With PLAIT_TEST_GPU=1
// they run on the first GPU of the machine (scripts/gpu_check.sh).
#pragma once

#include <cmath>
#include <complex>
#include <cstdlib>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "plait/core/settings.h"
#include "plait/tensor/memory/array.h"
#include "plait/tensor/memory/device_memory.h"

namespace plait::cuda_test {

inline const bool kOnGpu = std::getenv("PLAIT_TEST_GPU") != nullptr;
inline const Device kDevice("cuda:0"), kOtherDevice(kOnGpu ? "cuda:0" : "cuda:1");

#ifdef PLAIT_EMULATOR_LIBRARY
inline constexpr const char* kEmulator = PLAIT_EMULATOR_LIBRARY;
#else
inline constexpr const char* kEmulator = nullptr;
#endif

// Uses the emulated device, whose findings are errors, or a GPU, which has none.
class CudaTest : public testing::Test {
 protected:
  void SetUp() override {
    if (kOnGpu) {
      ASSERT_GT(device_count(Device::Kind::cuda), 0);
      return;
    }
    if (kEmulator == nullptr) GTEST_SKIP() << "the emulated device was not built";
    set_setting("cuda", kEmulator);
    ASSERT_GT(device_count(Device::Kind::cuda), 1);
  }
  void TearDown() override {
    if (kEmulator == nullptr || kOnGpu) return;
    EXPECT_EQ(findings(), "");
  }

  static std::string findings() {
    return kOnGpu ? "" : find<const char* (*)()>("plait_emulator_findings")();
  }
  // The legal order of blocks, warps and lanes: 0 as they are numbered, 1 reversed, or a seed.
  static void set_order(int order) {
    device_memory(kDevice).synchronize();
    if (kOnGpu) return;
    setenv("PLAIT_EMULATED_ORDER", std::to_string(order).c_str(), 1);
    find<void (*)()>("plait_emulator_reset")();
  }

 private:
  template <class Function>
  static Function find(const char* name) {
    void* const library = dlopen(kEmulator, RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<Function>(dlsym(library, name));
  }
};

// The same bits in each element.
inline void expect_same(const Array& actual, const Array& expected, const std::string& what) {
  ASSERT_EQ(actual.dtype(), expected.dtype()) << what;
  ASSERT_EQ(actual.sizes(), expected.sizes()) << what;
  const Array here = actual.on_host();
  EXPECT_TRUE(here.literal() == expected.literal())
      << what << ": " << text_of(here) << " instead of " << text_of(expected);
}

inline bool is_close(double a, double b, double tolerance, double near_zero) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return true;
  if (std::isinf(a) || std::isinf(b)) return false;
  return std::abs(a - b) <= tolerance * std::abs(b) + near_zero;
}

// Integers exactly; floats up to so many units in the last place of their dtype, where numbers
// smaller than `near_zero` are compared with it.
inline void expect_close(const Array& actual, const Array& expected, double units,
                         const std::string& what, double near_zero = 0) {
  if (!is_inexact(expected.dtype())) return expect_same(actual, expected, what);
  ASSERT_EQ(actual.dtype(), expected.dtype()) << what;
  ASSERT_EQ(actual.sizes(), expected.sizes()) << what;
  const Array here = actual.on_host().contiguous(), there = expected.contiguous();
  const FloatLimits limits = float_limits(real_dtype(expected.dtype()));
  const double tolerance = units * limits.epsilon;
  const double least = near_zero * limits.epsilon + limits.smallest_subnormal;
  const int64_t size = here.element_size();
  for (int64_t i = 0; i < here.element_count(); ++i) {
    const std::complex<double> a = load_element(here.dtype(), here.data() + i * size).number;
    const std::complex<double> b = load_element(here.dtype(), there.data() + i * size).number;
    ASSERT_TRUE(is_close(a.real(), b.real(), tolerance, least) &&
                is_close(a.imag(), b.imag(), tolerance, least))
        << what << ": element " << i << " is " << a << ", expected " << b;
  }
}

// Numbers of a dtype that repeat after `count`, of both signs.
inline Array numbers(DType dtype, Sizes sizes, uint64_t seed = 1) {
  Array array = Array::empty(dtype, std::move(sizes));
  uint64_t state = seed * 0x9e3779b97f4a7c15;
  for (int64_t i = 0; i < array.element_count(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto whole = static_cast<int64_t>(state >> 40) % 2001 - 1000;
    const Element element =
        is_inexact(dtype)
            ? Element::of(std::complex<double>(static_cast<double>(whole) / 256,
                                               static_cast<double>(i % 7)))
            : Element::of_signed(is_signed(dtype) ? whole / 10 : std::abs(whole) / 10);
    store_element(dtype, element, array.writable_data() + i * array.element_size());
  }
  return array;
}

}  // namespace plait::cuda_test
