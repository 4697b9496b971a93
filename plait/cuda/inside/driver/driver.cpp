#include "plait/cuda/inside/driver/driver.h"

#include <filesystem>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/core/device.h"
#include "plait/core/error.h"
#include "plait/core/log.h"

namespace plait {

namespace setting {
constinit Setting<std::string> kCuda(
    {.name = "cuda",
     .standard = "auto",
     .description = "the CUDA driver: auto, off, emulated, or the path of a library",
     .form = "auto, off, emulated or a path"});
namespace {
const ListedSettings cuda_settings{&kCuda};
}
}  // namespace setting

namespace cuda {
namespace {

constexpr const char* kEmulator = "libplait_cuda_emulator.so";

// Where the emulator may be in the build folder that this library, program or module is in.
std::vector<std::string> emulator_paths() {
  Dl_info own{};
  if (dladdr(reinterpret_cast<const void*>(&emulator_paths), &own) == 0) return {};
  const std::filesystem::path folder = std::filesystem::path(own.dli_fname).parent_path();
  std::vector<std::string> paths;
  for (const char* between : {"", "cuda_emulator", "tests/cuda_emulator", "../tests/cuda_emulator",
                              "../../tests/cuda_emulator"}) {
    paths.push_back((folder / between / kEmulator).lexically_normal());
  }
  return paths;
}

std::string emulator_path() {
  for (const std::string& path : emulator_paths()) {
    if (std::filesystem::exists(path)) return path;
  }
  return kEmulator;
}

std::string unless_it_is_the_default() {
  const Device device = default_device();
  if (device.is_cpu()) return "";
  return fmt::format(" ({} was chosen by device=, by a scope or by PLAIT_DEFAULT_DEVICE)",
                     text_of(device));
}

void* open_library() {
  const std::string& chosen = setting::kCuda.get();
  if (chosen == "off") {
    throw DeviceError("CUDA is turned off by the setting cuda: PLAIT_CUDA=off")
        .hint(fmt::format("use the device cpu{}; or unset PLAIT_CUDA", unless_it_is_the_default()));
  }
  const bool is_emulated = chosen == "emulated";
  const std::string path = chosen == "auto" ? "libcuda.so.1"
                           : is_emulated    ? emulator_path()
                                            : chosen;
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  const std::string why = dlerror();
  if (is_emulated) {
    throw DeviceError("the emulated GPUs of PLAIT_CUDA=emulated are not there: {}; looked for {}",
                      why, fmt::join(emulator_paths(), ", "))
        .hint(fmt::format("they are in the build folder of the tests: PLAIT_CUDA=/path/to/{}",
                          kEmulator));
  }
  throw DeviceError("there is no CUDA driver on this machine: {}", why)
      .hint(fmt::format("use the device cpu{}; or install NVIDIA's driver; or, to try a program "
                        "slowly, set PLAIT_CUDA=emulated",
                        unless_it_is_the_default()));
}

template <class Function>
void find(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) {
    throw DeviceError("the CUDA driver lacks {}", name).hint("install a driver for CUDA 12");
  }
}

void find_streams(void* library, Driver& d) {
  find(library, d.stream_create, "cuStreamCreate");
  find(library, d.stream_destroy, "cuStreamDestroy_v2");
  find(library, d.stream_synchronize, "cuStreamSynchronize");
  find(library, d.stream_wait_event, "cuStreamWaitEvent");
  find(library, d.event_create, "cuEventCreate");
  find(library, d.event_destroy, "cuEventDestroy_v2");
  find(library, d.event_record, "cuEventRecord");
  find(library, d.event_query, "cuEventQuery");
  find(library, d.event_synchronize, "cuEventSynchronize");
}

Driver opened_driver() {
  void* const library = driver_library();
  Driver d{};
  find_streams(library, d);
  find(library, d.init, "cuInit");
  find(library, d.get_error_name, "cuGetErrorName");
  find(library, d.get_error_string, "cuGetErrorString");
  find(library, d.device_get_count, "cuDeviceGetCount");
  find(library, d.device_get, "cuDeviceGet");
  find(library, d.device_get_attribute, "cuDeviceGetAttribute");
  find(library, d.device_primary_context_retain, "cuDevicePrimaryCtxRetain");
  find(library, d.context_set_current, "cuCtxSetCurrent");
  find(library, d.memory_get_info, "cuMemGetInfo_v2");
  find(library, d.pool_create, "cuMemPoolCreate");
  find(library, d.pool_set_attribute, "cuMemPoolSetAttribute");
  find(library, d.pool_trim_to, "cuMemPoolTrimTo");
  find(library, d.allocate_from_pool, "cuMemAllocFromPoolAsync");
  find(library, d.free_async, "cuMemFreeAsync");
  find(library, d.copy_to_device, "cuMemcpyHtoDAsync_v2");
  find(library, d.copy_to_host, "cuMemcpyDtoHAsync_v2");
  find(library, d.copy_on_device, "cuMemcpyDtoDAsync_v2");
  find(library, d.fill_bytes, "cuMemsetD8Async");
  find(library, d.fill_words, "cuMemsetD32Async");
  find(library, d.allocate_pinned, "cuMemHostAlloc");
  find(library, d.free_pinned, "cuMemFreeHost");
  find(library, d.device_address_of_pinned, "cuMemHostGetDevicePointer_v2");
  find(library, d.module_load, "cuModuleLoadData");
  find(library, d.module_unload, "cuModuleUnload");
  find(library, d.module_get_function, "cuModuleGetFunction");
  find(library, d.function_get_attribute, "cuFuncGetAttribute");
  find(library, d.function_set_attribute, "cuFuncSetAttribute");
  find(library, d.launch_kernel, "cuLaunchKernel");
  return d;
}

std::string words_of(const Driver& d, Result result) {
  const char *name = nullptr, *text = nullptr;
  d.get_error_name(result, &name);
  d.get_error_string(result, &text);
  if (name == nullptr || text == nullptr) return fmt::format("error {}", result);
  return fmt::format("{}: {}", name, text);
}

}  // namespace

void* driver_library() {
  static void* const library = open_library();
  return library;
}

const Driver& driver() {
  static const Driver driver = [] {
    const Driver opened = opened_driver();
    if (const Result result = opened.init(0); result != kSuccess) {
      throw DeviceError("the CUDA driver cannot be used: {}", words_of(opened, result))
          .hint("nvidia-smi shows whether the driver works and sees a GPU");
    }
    return opened;
  }();
  return driver;
}

int count_devices() {
  try {
    int count = 0;
    check(driver().device_get_count(&count), "cuDeviceGetCount");
    return count;
  } catch (const DeviceError& error) {
    log(LogArea::cuda, LogLevel::debug, "{}", error.message());
    return 0;
  }
}

void check(Result result, std::string_view call) {
  if (result == kSuccess) return;
  throw DeviceError("{}: {}", call, words_of(driver(), result));
}

}  // namespace cuda
}  // namespace plait
