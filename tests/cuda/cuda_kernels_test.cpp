// Kernels on the emulated device: compiled, kept in the cache folder, launched.
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "plait/core/error.h"
#include "plait/core/settings.h"
#include "plait/cuda/inside/device/device_address.h"
#include "plait/cuda/inside/kernels/launch.h"
#include "plait/tensor/memory/array.h"
#include "plait/tensor/memory/device_memory.h"

#include "tests/cuda/cuda_support.h"
#include "tests/support/errors.h"

namespace plait::cuda_kernels_test {
namespace {

namespace fs = std::filesystem;

using cuda_test::kDevice;

class CudaKernels : public cuda_test::CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (IsSkipped()) return;
    folder_ = testing::TempDir() + fmt::format("plait_kernels_{}", ::getpid());
    fs::remove_all(folder_);
    set_setting("cache", folder_);
  }
  void TearDown() override {
    CudaTest::TearDown();
    reset_setting("cache");
    fs::remove_all(folder_);
  }

  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder_, none)) found.push_back(entry.path());
    return found;
  }

  std::string folder_;
};

constexpr const char* kTwice = R"(
extern "C" __global__ void twice(const f16* x, f32* y, i64 count) {
  const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = 2 * read(x[i]);
}
)";

std::string twice_of(int64_t count) {
  cuda::CudaDevice& device = cuda::cuda_device(0);
  const Array x = Array::filled_on(kDevice, DType::f16, {count}, Element::of(1.5));
  const Array y = Array::empty_on(kDevice, DType::f32, {count});
  cuda::launch(device, cuda::kernel(device, "twice", kTwice), {(count + 63) / 64}, 64, 0,
               cuda::address_of(x), cuda::address_of(y), count);
  return text_of(y.on_host());
}

TEST_F(CudaKernels, RunAndAreKept) {
  EXPECT_EQ(twice_of(3), text_of(Array::of<float>(std::vector<float>{3, 3, 3}, {3})));
  EXPECT_EQ(twice_of(0), text_of(Array::empty(DType::f32, {0})));
  const size_t kept = files().size();
  ASSERT_GT(kept, 0u);
  cuda::CudaDevice& device = cuda::cuda_device(0);
  EXPECT_EQ(&cuda::kernel(device, "twice", kTwice), &cuda::kernel(device, "twice", kTwice));
  EXPECT_NE(&cuda::kernel(device, "twice", kTwice),
            &cuda::kernel(cuda::cuda_device(1), "twice", kTwice));
  EXPECT_EQ(files().size(), kept);
}

TEST_F(CudaKernels, KeptCodeIsRead) {
  const cuda::KernelText text{"twice", kTwice};
  const std::string code = cuda::cached_code(text, 90);
  ASSERT_EQ(files().size(), 1u);
  const auto size = fs::file_size(files()[0]);
  EXPECT_EQ(cuda::cached_code(text, 90), code);
  fs::resize_file(files()[0], size / 2);
  EXPECT_FALSE(cuda::cached_code(text, 90).empty());  // compiled again
  EXPECT_EQ(fs::file_size(files()[0]), size);
  cuda::cached_code(text, 80);
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(CudaKernels, ErrorsNameTheKernel) {
  const std::string message = message_of<CompileError>([] {
    cuda::kernel(cuda::cuda_device(0), "broken",
                 "extern \"C\" __global__ void broken() {\n  missing();\n}\n");
  });
  EXPECT_NE(message.find("broken"), std::string::npos) << message;
  EXPECT_NE(message.find("broken(2)"), std::string::npos) << message;
  EXPECT_NE(message.find("missing"), std::string::npos) << message;
}

TEST_F(CudaKernels, AreCompiledByThreads) {
  std::vector<cuda::KernelText> texts;
  for (int k = 0; k < 4; ++k) {
    const std::string name = fmt::format("each{}", k);
    texts.push_back({name, fmt::format("extern \"C\" __global__ void {}() {{}}", name)});
  }
  cuda::CudaDevice& device = cuda::cuda_device(0);
  std::vector<std::vector<const cuda::KernelFunction*>> found(2);
  std::vector<std::thread> threads;
  for (auto& each : found) threads.emplace_back([&] { each = cuda::kernels(device, texts); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(found[0], found[1]);
  EXPECT_EQ(found[0].size(), 4u);
  EXPECT_EQ(files().size(), 4u);
}

TEST_F(CudaKernels, LaunchesAreChecked) {
  cuda::CudaDevice& device = cuda::cuda_device(0);
  const cuda::KernelFunction& kernel = cuda::kernel(device, "twice", kTwice);
  EXPECT_THROW(cuda::launch(device, kernel, {.x = 1, .y = 65536}, 64, 0), DeviceError);
  EXPECT_THROW(cuda::launch(device, kernel, {}, 64, int64_t{1} << 20), DeviceError);
  EXPECT_EQ(twice_of(1), text_of(Array::of<float>(std::vector<float>{3}, {1})));
}

}  // namespace
}  // namespace plait::cuda_kernels_test
