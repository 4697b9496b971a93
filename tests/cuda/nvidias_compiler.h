// NVIDIA's NVRTC, if this machine has it: what tests compile by it does not run.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "plait/core/error.h"
#include "plait/cuda/inside/kernels/nvrtc.h"

namespace plait::cuda_test {

// Also of the Python packages with which the tests compare.
inline std::vector<std::string> nvrtc_paths() {
  std::vector<std::string> paths = {"libnvrtc.so.12", "libnvrtc.so.13", "libnvrtc.so",
                                    "/usr/local/cuda/lib64/libnvrtc.so"};
  std::error_code none;
  using Files = std::filesystem::recursive_directory_iterator;
  for (const auto& python :
       std::filesystem::directory_iterator(PLAIT_SOURCE_DIR "/.venv/lib", none)) {
    for (const auto& file : Files(python.path() / "site-packages/nvidia", none)) {
      const std::string name = file.path().filename();
      if (name.starts_with("libnvrtc.so.")) paths.push_back(file.path());
    }
  }
  return paths;
}

inline std::optional<cuda::Nvrtc> nvidias_compiler() {
  for (const std::string& path : nvrtc_paths()) {
    try {
      return cuda::open_nvrtc(path);
    } catch (const DeviceError&) {
    }
  }
  return std::nullopt;
}

}  // namespace plait::cuda_test
