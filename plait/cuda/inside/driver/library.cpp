#include "plait/cuda/inside/driver/library.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <dlfcn.h>
#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/core/log.h"
#include "plait/cuda/inside/driver/driver.h"

namespace plait::cuda {
namespace {

using Path = std::filesystem::path;
using Paths = std::vector<Path>;

Path environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? Path() : Path(value);
}

// The library or program that has this code.
Path own_file() {
  Dl_info own{};
  if (dladdr(reinterpret_cast<const void*>(&own_file), &own) == 0) return {};
  return own.dli_fname;
}

// The program as it was called: Python's in a virtual environment is a link, whose target is
// elsewhere.
Path called_program() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string first;
  std::getline(file, first, '\0');
  return first.find('/') == std::string::npos ? Path() : Path(first);
}

// Folders that may have `lib/python3.…/site-packages`.
Paths prefixes() {
  std::error_code ignored;
  Paths found = {
      environment("VIRTUAL_ENV"), environment("CONDA_PREFIX"),
      called_program().parent_path().parent_path(),
      std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path().parent_path()};
  std::erase_if(found, [](const Path& each) { return each.empty(); });
  return found;
}

// The versions of Python below a prefix, in the order of their names.
Paths site_packages(const Path& prefix) {
  Paths found;
  std::error_code error;
  for (std::filesystem::directory_iterator each(prefix / "lib", error), end; !error && each != end;
       each.increment(error)) {
    if (each->path().filename().string().starts_with("python3")) {
      found.push_back(each->path() / "site-packages");
    }
  }
  std::ranges::sort(found);
  return found;
}

Paths toolkit_folders() {
  Paths found;
  for (const Path& root : {environment("CUDA_HOME"), environment("CUDA_PATH"),
                           Path("/usr/local/cuda"), Path("/opt/cuda")}) {
    if (root.empty()) continue;
    found.push_back(root / "lib64");
    found.push_back(root / "lib");
  }
  return found;
}

Paths pip_folders(const LibraryNames& names) {
  Paths packages = {own_file().parent_path().parent_path()};  // beside plait/_core.so
  Paths found;
  for (const Path& prefix : prefixes()) {
    for (Path& folder : site_packages(prefix)) packages.push_back(std::move(folder));
  }
  for (const Path& each : packages) {
    for (const std::string_view folder : names.folders) {
      found.push_back(each / "nvidia" / folder / "lib");
    }
  }
  for (const Path& prefix : prefixes()) found.push_back(prefix / "lib");  // conda's packages
  return found;
}

void* opened(const std::string& path) { return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); }

DeviceError missing(const LibraryNames& names, const std::string& why) {
  return DeviceError("{} for CUDA devices cannot be loaded: {}", names.title, why)
      .hint(fmt::format("pip install {}; or name the library by the setting {}", names.package,
                        names.setting));
}

}  // namespace

std::vector<std::string> library_paths(const LibraryNames& names) {
  Paths folders = toolkit_folders();
  for (Path& each : pip_folders(names)) folders.push_back(std::move(each));
  std::vector<std::string> paths;
  for (const Path& folder : folders) {
    for (const std::string_view file : names.files) paths.push_back(folder / file);
  }
  return paths;
}

Library Library::open(const LibraryNames& names, const std::string& chosen) {
  const auto kept = [&](void* handle, std::string path) {
    log(LogArea::cuda, LogLevel::debug, "{} is {}", names.title, path);
    return Library(handle, std::move(path), names.title);
  };
  if (chosen != "auto") {
    if (void* const handle = opened(chosen)) return kept(handle, chosen);
    throw missing(names, dlerror());
  }
  void* const of_driver = driver_library();
  if (dlsym(of_driver, std::string(names.function).c_str()) != nullptr) {
    return kept(of_driver, "a part of the emulated device");
  }
  std::string why;
  for (const std::string_view file : names.files) {
    if (void* const handle = opened(std::string(file))) return kept(handle, std::string(file));
    if (why.empty()) why = dlerror();
  }
  for (const std::string& path : library_paths(names)) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) continue;
    if (void* const handle = opened(path)) return kept(handle, path);
    why = dlerror();  // says more, since the library is there
  }
  throw missing(names, why);
}

void* Library::address_of(const char* name) const {
  void* const found = dlsym(handle_, name);
  if (found == nullptr) {
    throw DeviceError("{} lacks {}: {}", title_, name, path_)
        .hint("install a version for CUDA 12.4 or newer");
  }
  return found;
}

}  // namespace plait::cuda
