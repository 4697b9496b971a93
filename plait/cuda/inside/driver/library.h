// Libraries of NVIDIA besides the driver, opened when they are first needed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plait::cuda {

struct LibraryNames {
  std::string_view title;                 // "cuBLASLt"
  std::vector<std::string_view> files;    // "libcublasLt.so.12"; the first one that is found
  std::string_view function;              // one that it exports: "cublasLtCreate"
  std::vector<std::string_view> folders;  // of pip's packages, below site-packages/nvidia: "cublas"
  std::string_view package;               // "nvidia-cublas-cu12"
  std::string_view setting;               // the setting that names another library
};

// An open library; never closed.
class Library {
 public:
  // `chosen` is the value of the setting: a path, or "auto". Automatically: that of the emulated
  // device, if it is in use; else one that the system finds (it may be loaded already, or be in
  // LD_LIBRARY_PATH), one of the toolkit, one that pip has installed beside Plait or beside the
  // Python in use. DeviceError that says what to install if there is none.
  static Library open(const LibraryNames& names, const std::string& chosen);

  // DeviceError if the library lacks the function.
  template <class Function>
  void find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(address_of(name));
  }
  const std::string& path() const { return path_; }

 private:
  Library(void* handle, std::string path, std::string_view title)
      : handle_(handle), path_(std::move(path)), title_(title) {}
  void* address_of(const char* name) const;

  void* handle_;
  std::string path_;
  std::string title_;
};

// The paths at which Library::open looks after the system's own search, in order; for messages and
// tests.
std::vector<std::string> library_paths(const LibraryNames& names);

}  // namespace plait::cuda
