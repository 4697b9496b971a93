// The search for NVIDIA's libraries.
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "plait/cuda/inside/driver/library.h"

#include "tests/support/errors.h"

namespace plait::cuda::library_test {
namespace {

using Path = std::filesystem::path;

const LibraryNames kNames{.title = "Example",
                          .files = {"libexample.so.2", "libexample.so.1"},
                          .function = "example_create",
                          .folders = {"example"},
                          .package = "nvidia-example",
                          .setting = "example"};

// Sets a variable of the environment while it exists.
class Variable {
 public:
  Variable(const char* name, const Path& value) : name_(name) {
    const char* const before = std::getenv(name);
    had_ = before != nullptr;
    if (had_) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { had_ ? setenv(name_, before_.c_str(), 1) : unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  bool had_ = false;
  std::string before_;
};

TEST(CudaLibrary, TheToolkitComesBeforePipsPackages) {
  const Path folder = Path(testing::TempDir()) / "cuda_library";
  const Path site = folder / "venv/lib/python3.11/site-packages";
  std::filesystem::create_directories(site);
  const Variable toolkit("CUDA_HOME", folder / "toolkit"), venv("VIRTUAL_ENV", folder / "venv");
  const std::vector<std::string> paths = library_paths(kNames);
  const auto place = [&](const Path& path) { return std::ranges::find(paths, path.string()); };
  const auto of_toolkit = place(folder / "toolkit/lib64/libexample.so.2");
  const auto of_pip = place(site / "nvidia/example/lib/libexample.so.2");
  const auto older = place(site / "nvidia/example/lib/libexample.so.1");
  ASSERT_NE(older, paths.end());
  EXPECT_LT(of_toolkit, of_pip);
  EXPECT_LT(of_pip, older);
  std::filesystem::remove_all(folder);
}

TEST(CudaLibrary, ErrorsSayWhatToInstall) {
  expect_contains(what_of<DeviceError>([] { (void)Library::open(kNames, "/nowhere/example.so"); }),
                  {"Example for CUDA devices cannot be loaded", "/nowhere/example.so",
                   "pip install nvidia-example", "the setting example"});
}

TEST(CudaLibrary, AMissingFunctionIsNamed) {
  const Library c = Library::open(kNames, "libc.so.6");
  int (*function)() = nullptr;
  expect_contains(message_of<DeviceError>([&] { c.find(function, "example_create"); }),
                  {"Example lacks example_create: libc.so.6"});
}

}  // namespace
}  // namespace plait::cuda::library_test
