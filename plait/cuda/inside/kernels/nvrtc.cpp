#include "plait/cuda/inside/kernels/nvrtc.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <dlfcn.h>
#include <fmt/format.h>

#include "plait/cuda/inside/driver/library.h"

namespace plait {

namespace setting {
constinit Setting<std::string> kNvrtc({.name = "nvrtc",
                                       .standard = "auto",
                                       .description = "NVIDIA's compiler of CUDA kernels: auto, or "
                                                      "the path of a libnvrtc.so",
                                       .form = "auto or a path"});
namespace {
const ListedSettings nvrtc_settings{&kNvrtc};
}
}  // namespace setting

namespace cuda {
namespace {

const LibraryNames& nvrtc_names() {
  static const LibraryNames names = {.title = "NVRTC",
                                     .files = {"libnvrtc.so.12", "libnvrtc.so.13", "libnvrtc.so"},
                                     .function = "nvrtcCompileProgram",
                                     .folders = {"cuda_nvrtc", "cu13"},
                                     .package = "nvidia-cuda-nvrtc-cu12",
                                     .setting = "nvrtc"};
  return names;
}

// The file of the library, its size and its time, so that kept code of another one is not used.
std::string identity_of(const Nvrtc& nvrtc) {
  int major = 0, minor = 0;
  nvrtc.version(&major, &minor);
  Dl_info file{};
  if (dladdr(reinterpret_cast<const void*>(nvrtc.version), &file) == 0) file.dli_fname = "";
  std::error_code ignored;
  const auto bytes = std::filesystem::file_size(file.dli_fname, ignored);
  const auto time = std::filesystem::last_write_time(file.dli_fname, ignored);
  return fmt::format("{}.{} {} {} {}", major, minor, file.dli_fname, bytes,
                     time.time_since_epoch().count());
}

// The functions that say so exist since CUDA 11.2, and not on the emulated device.
std::vector<int> known_architectures(const Nvrtc& nvrtc) {
  Dl_info file{};
  if (dladdr(reinterpret_cast<const void*>(nvrtc.version), &file) == 0) return {};
  void* const library = dlopen(file.dli_fname, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (library == nullptr) return {};
  using Get = Nvrtc::Status (*)(int*);
  const auto count = reinterpret_cast<Get>(dlsym(library, "nvrtcGetNumSupportedArchs"));
  const auto list = reinterpret_cast<Get>(dlsym(library, "nvrtcGetSupportedArchs"));
  int size = 0;
  std::vector<int> known;
  if (count != nullptr && list != nullptr && count(&size) == 0) {
    known.resize(static_cast<size_t>(size));
    if (list(known.data()) != 0) known.clear();
    std::ranges::sort(known);
  }
  dlclose(library);  // only the count of this look-up
  return known;
}

}  // namespace

Nvrtc open_nvrtc(const std::string& chosen) {
  const Library library = Library::open(nvrtc_names(), chosen);
  Nvrtc n{};
  library.find(n.version, "nvrtcVersion");
  library.find(n.error_string, "nvrtcGetErrorString");
  library.find(n.create, "nvrtcCreateProgram");
  library.find(n.destroy, "nvrtcDestroyProgram");
  library.find(n.compile, "nvrtcCompileProgram");
  library.find(n.log_size, "nvrtcGetProgramLogSize");
  library.find(n.log, "nvrtcGetProgramLog");
  library.find(n.cubin_size, "nvrtcGetCUBINSize");
  library.find(n.cubin, "nvrtcGetCUBIN");
  library.find(n.ptx_size, "nvrtcGetPTXSize");
  library.find(n.ptx, "nvrtcGetPTX");
  n.identity = identity_of(n);
  n.architectures = known_architectures(n);
  return n;
}

const Nvrtc& nvrtc() {
  static const Nvrtc opened = open_nvrtc(setting::kNvrtc.get());
  return opened;
}

}  // namespace cuda
}  // namespace plait
