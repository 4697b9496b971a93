#include "tests/cuda_emulator/tests/gpu.h"

#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>

namespace emulator_test {

void* find_function(const char* name) {
  static void* const opened = dlopen(PLAIT_EMULATOR_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  void* const function = opened ? dlsym(opened, name) : nullptr;
  if (!function) {
    std::fprintf(stderr, "%s: %s\n", name, dlerror());
    std::abort();
  }
  return function;
}

const Library& library() {
  static const Library all;
  return all;
}

WithSetting::WithSetting(std::string name, const std::string& value) : name_(std::move(name)) {
  setenv(name_.c_str(), value.c_str(), 1);
  library().plait_emulator_reset();
}

WithSetting::~WithSetting() {
  unsetenv(name_.c_str());
  library().plait_emulator_reset();
}

CompiledText compile(const std::string& text, const std::vector<std::string>& options) {
  CompiledText compiled;
  nvrtcProgram program = nullptr;
  EXPECT_EQ(library().nvrtcCreateProgram(&program, text.c_str(), "kernel.cu", 0, nullptr, nullptr),
            NVRTC_SUCCESS);
  std::vector<const char*> words;
  for (const std::string& option : options) words.push_back(option.c_str());
  compiled.result =
      library().nvrtcCompileProgram(program, static_cast<int>(words.size()), words.data());
  size_t bytes = 0;
  EXPECT_EQ(library().nvrtcGetProgramLogSize(program, &bytes), NVRTC_SUCCESS);
  compiled.log.resize(bytes);
  EXPECT_EQ(library().nvrtcGetProgramLog(program, compiled.log.data()), NVRTC_SUCCESS);
  compiled.log.resize(bytes - 1);
  if (compiled.result == NVRTC_SUCCESS) {
    EXPECT_EQ(library().nvrtcGetCUBINSize(program, &bytes), NVRTC_SUCCESS);
    compiled.image.resize(bytes);
    if (bytes) {
      EXPECT_EQ(library().nvrtcGetCUBIN(program, compiled.image.data()), NVRTC_SUCCESS);
    }
  }
  EXPECT_EQ(library().nvrtcDestroyProgram(&program), NVRTC_SUCCESS);
  return compiled;
}

void Gpu::SetUp() {
  expect_success(library().cuInit(0));
  library().plait_emulator_reset();
  for (int device = 0; device < 2; ++device)
    expect_success(library().cuDevicePrimaryCtxRetain(&contexts_[device], device));
  use_device(0);
}

void Gpu::TearDown() {
  library().plait_emulator_reset();
  for (const CUevent event : events_) library().cuEventDestroy_v2(event);
  for (const CUstream stream : streams_) library().cuStreamDestroy_v2(stream);
  for (const CUmodule module : modules_) library().cuModuleUnload(module);
  for (const CUdeviceptr address : memory_) library().cuMemFree_v2(address);
  for (void* address : pinned_) library().cuMemFreeHost(address);
  for (int device = 0; device < 2; ++device) library().cuDevicePrimaryCtxRelease_v2(device);
}

void Gpu::use_device(int device) { expect_success(library().cuCtxSetCurrent(contexts_[device])); }

CUfunction Gpu::kernel(const std::string& text, const std::string& name) {
  static std::map<std::string, std::vector<char>> compiled_before;
  std::vector<char>& image = compiled_before[text];
  if (image.empty()) {
    const CompiledText compiled = compile(text);
    EXPECT_EQ(compiled.result, NVRTC_SUCCESS) << compiled.log;
    image = compiled.image;
    if (image.empty()) return nullptr;
  }
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  expect_success(library().cuModuleLoadData(&module, image.data()));
  modules_.push_back(module);
  expect_success(library().cuModuleGetFunction(&function, module, name.c_str()));
  return function;
}

CUstream Gpu::stream(unsigned flags) {
  CUstream made = nullptr;
  expect_success(library().cuStreamCreate(&made, flags));
  streams_.push_back(made);
  return made;
}

CUevent Gpu::event() {
  CUevent made = nullptr;
  expect_success(library().cuEventCreate(&made, 0));
  events_.push_back(made);
  return made;
}

CUdeviceptr Gpu::allocate(size_t bytes) {
  CUdeviceptr address = 0;
  expect_success(library().cuMemAlloc_v2(&address, bytes));
  memory_.push_back(address);
  return address;
}

void* Gpu::allocate_pinned(size_t bytes) {
  void* address = nullptr;
  expect_success(library().cuMemHostAlloc(&address, bytes, 0));
  pinned_.push_back(address);
  return address;
}

void Gpu::expect_finding(CUresult result, const std::string& text) {
  EXPECT_EQ(synchronize(), result);
  EXPECT_NE(findings().find(text), std::string::npos) << "findings: " << findings();
  library().plait_emulator_reset();
}

}  // namespace emulator_test
