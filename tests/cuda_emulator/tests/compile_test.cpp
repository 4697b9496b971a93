// The emulated NVRTC.
#include <chrono>
#include <thread>

#include "tests/cuda_emulator/tests/gpu.h"

namespace emulator_test {
namespace {

class Compile : public Gpu {};

TEST_F(Compile, ErrorsHaveTheLinesOfTheText) {
  const CompiledText compiled = compile(
      "#define TWO 2\n\nextern \"C\" __global__ void k(float* y) {\n  y[0] = unknown_name;\n}\n");
  EXPECT_EQ(compiled.result, NVRTC_ERROR_COMPILATION);
  EXPECT_EQ(compiled.log.find("kernel.cu(4): error: "), 0u) << compiled.log;
  EXPECT_NE(compiled.log.find("unknown_name"), std::string::npos);
  EXPECT_NE(compile("#if 1\n#error no way\n#endif").log.find("kernel.cu(2): "), std::string::npos);
  EXPECT_EQ(compile("void f() { ").result, NVRTC_ERROR_COMPILATION);
}

TEST_F(Compile, OptionsAreKnownOrRefused) {
  const std::string text = "extern \"C\" __global__ void k() { static_assert(N == 3); }";
  EXPECT_EQ(compile(text, {"--gpu-architecture=sm_90", "-default-device", "--std=c++17",
                           "--fmad=false", "--use_fast_math", "-lineinfo", "-DN=3"})
                .result,
            NVRTC_SUCCESS);
  const CompiledText unknown = compile(text, {"--gpu-architecture=sm_90", "--no-such-option"});
  EXPECT_EQ(unknown.result, NVRTC_ERROR_INVALID_OPTION);
  EXPECT_NE(unknown.log.find("--no-such-option"), std::string::npos);
  EXPECT_EQ(compile(text, {"--gpu-architecture=what"}).result, NVRTC_ERROR_INVALID_OPTION);
  EXPECT_TRUE(compile(text, {"--gpu-architecture=compute_90", "-DN=3"})
                  .image.empty());  // no cubin of a virtual architecture
}

TEST_F(Compile, CodeForOtherDevicesIsNotLoaded) {
  CUmodule module = nullptr;
  const CompiledText old =
      compile("extern \"C\" __global__ void k() {}", {"--gpu-architecture=sm_80"});
  EXPECT_EQ(library().cuModuleLoadData(&module, old.image.data()), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

TEST_F(Compile, OnlyKernelsWithNamesOfCAreFound) {
  const CompiledText compiled =
      compile("__global__ void mangled() {}\nextern \"C\" __global__ void k() { }");
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  expect_success(library().cuModuleLoadData(&module, compiled.image.data()));
  expect_success(library().cuModuleGetFunction(&function, module, "k"));
  EXPECT_EQ(library().cuModuleGetFunction(&function, module, "mangled"), CUDA_ERROR_NOT_FOUND);
  expect_success(library().cuModuleUnload(module));
}

TEST_F(Compile, HeadersAndNames) {
  nvrtcProgram program = nullptr;
  const char* texts[] = {"#define HALF 0.5f\n"};
  const char* names[] = {"own/numbers.h"};
  ASSERT_EQ(
      library().nvrtcCreateProgram(
          &program,
          "#include \"own/numbers.h\"\nextern \"C\" __global__ void k(float* y) { *y = HALF; }",
          nullptr, 1, texts, names),
      NVRTC_SUCCESS);
  EXPECT_EQ(library().nvrtcAddNameExpression(program, "k"), NVRTC_SUCCESS);
  const char* lowered = nullptr;
  EXPECT_EQ(library().nvrtcGetLoweredName(program, "k", &lowered),
            NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION);
  EXPECT_EQ(library().nvrtcCompileProgram(program, 0, nullptr), NVRTC_SUCCESS);
  EXPECT_EQ(library().nvrtcGetLoweredName(program, "k", &lowered), NVRTC_SUCCESS);
  EXPECT_STREQ(lowered, "k");
  EXPECT_EQ(library().nvrtcDestroyProgram(&program), NVRTC_SUCCESS);
  EXPECT_EQ(library().nvrtcDestroyProgram(&program), NVRTC_ERROR_INVALID_PROGRAM);
}

TEST_F(Compile, SharedMemoryInMacrosAndFunctions) {
  const CUfunction function = kernel(R"(
#define SHARED __shared__
#define KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads)
__device__ int* place() { SHARED int common[2]; return common; }
KERNEL(32 * 2) first(int* y) { SHARED int s[4]; s[threadIdx.x] = 1; __syncthreads(); y[threadIdx.x] = s[threadIdx.x ^ 1]; }
KERNEL(64) k(int* y) {
  SHARED int s[64];  // a comment with __global__ void other(int) { " in it
  s[threadIdx.x] = threadIdx.x;
  if (threadIdx.x == 0) place()[1] = 7;
  __syncthreads();
  y[threadIdx.x] = s[63 - threadIdx.x] + place()[1];
}
)");
  int bytes = 0;
  expect_success(
      library().cuFuncGetAttribute(&bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function));
  EXPECT_EQ(bytes, 64 * 4 + 8);
  const CUdeviceptr y = allocate(256);
  expect_success(launch(function, 1, 64, nullptr, y));
  EXPECT_EQ(download<int>(y, 64)[0], 70);
}

TEST_F(Compile, TakesLessThanASecond) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(
      compile("extern \"C\" __global__ void k(float* y) { y[threadIdx.x] = expf(y[threadIdx.x]); }")
          .result,
      NVRTC_SUCCESS);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf("compiling a kernel: %.2f s\n", took.count());
}

TEST_F(Compile, SeveralThreadsCompileTogether) {
  std::vector<std::thread> threads;
  std::vector<nvrtcResult> results(6, NVRTC_ERROR_INTERNAL_ERROR);
  for (size_t k = 0; k < results.size(); ++k) {
    threads.emplace_back([&results, k] {
      results[k] =
          compile("extern \"C\" __global__ void k(int* y) { *y = " + std::to_string(k) + "; }")
              .result;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const nvrtcResult result : results) EXPECT_EQ(result, NVRTC_SUCCESS);
}

}  // namespace
}  // namespace emulator_test
