// The fixture of all tests of the emulator: a device with a current context, memory, compiled
// kernels.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cuda_emulator/tests/library.h"

namespace emulator_test {

inline void expect_success(CUresult result) {
  EXPECT_EQ(result, CUDA_SUCCESS) << library().plait_emulator_findings();
}

// Sets a variable of the environment, and has the emulator read it; restores it in the end.
class WithSetting {
 public:
  WithSetting(std::string name, const std::string& value);
  WithSetting(const WithSetting&) = delete;
  ~WithSetting();

 private:
  std::string name_;
};

struct CompiledText {
  nvrtcResult result = NVRTC_SUCCESS;
  std::string log;
  std::vector<char> image;
};

CompiledText compile(const std::string& text,
                     const std::vector<std::string>& options = {"--gpu-architecture=sm_90"});

// Each test begins without findings, errors and queued work, with the context of device 0.
class Gpu : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  void use_device(int device);
  // A kernel of a text that compiles; loaded into the current context.
  CUfunction kernel(const std::string& text, const std::string& name = "k");
  CUstream stream(unsigned flags = CU_STREAM_NON_BLOCKING);
  CUevent event();
  CUdeviceptr allocate(size_t bytes);
  void* allocate_pinned(size_t bytes);
  std::string findings() const { return library().plait_emulator_findings(); }

  template <class T>
  CUdeviceptr upload(const std::vector<T>& values) {
    const CUdeviceptr address = allocate(values.size() * sizeof(T));
    expect_success(library().cuMemcpyHtoD_v2(address, values.data(), values.size() * sizeof(T)));
    return address;
  }
  template <class T>
  std::vector<T> download(CUdeviceptr address, size_t count) {
    std::vector<T> values(count);
    expect_success(library().cuMemcpyDtoH_v2(values.data(), address, count * sizeof(T)));
    return values;
  }
  // Launches with a grid of one dimension.
  template <class... A>
  CUresult launch(CUfunction function, unsigned blocks, unsigned threads, CUstream stream,
                  A... arguments) {
    void* parameters[] = {&arguments..., nullptr};
    return library().cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, parameters,
                                    nullptr);
  }
  CUresult synchronize() { return library().cuCtxSynchronize(); }
  // Expects that the work so far fails with this result and a finding that has this text.
  void expect_finding(CUresult result, const std::string& text);

 private:
  CUcontext contexts_[2] = {};
  std::vector<CUmodule> modules_;
  std::vector<CUstream> streams_;
  std::vector<CUevent> events_;
  std::vector<CUdeviceptr> memory_;
  std::vector<void*> pinned_;
};

}  // namespace emulator_test
