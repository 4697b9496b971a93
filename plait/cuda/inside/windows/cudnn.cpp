#include "plait/cuda/inside/windows/cudnn.h"

#include <array>

#include "plait/core/device.h"
#include "plait/core/error.h"
#include "plait/core/inside/system/immortal.h"
#include "plait/core/log.h"
#include "plait/cuda/inside/device/cuda_device.h"

namespace plait {

namespace setting {
constinit Setting<std::string> kCudnn(
    {.name = "cudnn",
     .standard = "auto",
     .description = "the library of convolutions on CUDA devices: auto, off, or a path",
     .form = "auto, off or a path"});
namespace {
const ListedSettings cudnn_settings{&kCudnn};
}
}  // namespace setting

namespace cuda {
namespace {

// The handle of one device. A library that does not work there is not tried again.
struct DeviceHandle {
  std::mutex mutex;
  CudnnHandle handle = nullptr;
  bool is_refused = false;
};

DeviceHandle& handle_of(const CudaDevice& device) {
  static Immortal<std::array<DeviceHandle, Device::kMost>> handles;
  return handles->at(static_cast<size_t>(device.index()));
}

CudnnHandle new_handle(const Cudnn& library, const CudaDevice& device) {
  CudnnHandle handle = nullptr;
  check_cudnn(library, library.create(&handle), "cudnnCreate");
  check_cudnn(library, library.set_stream(handle, device.stream()), "cudnnSetStream");
  return handle;
}

template <class Functions>
void find_operation(const Library& library, Functions& functions, const std::string& name) {
  library.find(functions.find, ("cudnnGetConvolution" + name + "Algorithm_v7").c_str());
  library.find(functions.workspace, ("cudnnGetConvolution" + name + "WorkspaceSize").c_str());
  library.find(functions.run, ("cudnnConvolution" + name).c_str());
}

Cudnn functions_of(const Library& library) {
  Cudnn c{};
  library.find(c.get_version, "cudnnGetVersion");
  library.find(c.get_error_string, "cudnnGetErrorString");
  library.find(c.get_last_error, "cudnnGetLastErrorString");
  library.find(c.create, "cudnnCreate");
  library.find(c.set_stream, "cudnnSetStream");
  library.find(c.create_tensor, "cudnnCreateTensorDescriptor");
  library.find(c.destroy_tensor, "cudnnDestroyTensorDescriptor");
  library.find(c.set_tensor, "cudnnSetTensorNdDescriptor");
  library.find(c.create_filter, "cudnnCreateFilterDescriptor");
  library.find(c.destroy_filter, "cudnnDestroyFilterDescriptor");
  library.find(c.set_filter, "cudnnSetFilterNdDescriptor");
  library.find(c.create_convolution, "cudnnCreateConvolutionDescriptor");
  library.find(c.destroy_convolution, "cudnnDestroyConvolutionDescriptor");
  library.find(c.set_convolution, "cudnnSetConvolutionNdDescriptor");
  library.find(c.set_groups, "cudnnSetConvolutionGroupCount");
  library.find(c.set_math, "cudnnSetConvolutionMathType");
  find_operation(library, c.forward, "Forward");
  find_operation(library, c.input_gradient, "BackwardData");
  find_operation(library, c.weight_gradient, "BackwardFilter");
  return c;
}

void log_missing(const DeviceError& error) {
  log(LogArea::cuda, LogLevel::warning, "convolutions run without cuDNN: {}; {}", error.message(),
      error.hint());
}

}  // namespace

LibraryNames cudnn_names() {
  return {.title = "cuDNN",
          .files = {"libcudnn.so.9"},
          .function = "cudnnCreate",
          .folders = {"cudnn"},
          .package = "nvidia-cudnn-cu12",
          .setting = "cudnn"};
}

std::optional<Cudnn> open_cudnn(const LibraryNames& names, const std::string& chosen) {
  try {
    return functions_of(Library::open(names, chosen));
  } catch (const DeviceError& error) {
    if (chosen != "auto") throw;
    log_missing(error);
    return std::nullopt;
  }
}

const Cudnn* cudnn() {
  const std::string& chosen = setting::kCudnn.get();
  if (chosen == "off") return nullptr;
  static const std::optional<Cudnn> opened = open_cudnn(cudnn_names(), chosen);
  return opened ? &*opened : nullptr;
}

LockedCudnn::LockedCudnn(const Cudnn& library, const CudaDevice& device) {
  DeviceHandle& own = handle_of(device);
  device.enter();
  lock_ = std::unique_lock(own.mutex);
  if (own.handle == nullptr && !own.is_refused) {
    try {
      own.handle = new_handle(library, device);
    } catch (const DeviceError& error) {
      if (setting::kCudnn.get() != "auto") throw;
      own.is_refused = true;
      log_missing(error);
    }
  }
  handle_ = own.handle;
}

void check_cudnn(const Cudnn& library, CudnnStatus status, const char* call) {
  if (status == kCudnnSuccess) return;
  std::array<char, 512> words{};
  library.get_last_error(words.data(), words.size());
  words.back() = 0;
  const char* const between = words[0] == 0 ? "" : ": ";
  throw DeviceError("{}: {}{}{}", call, library.get_error_string(status), between, words.data())
      .hint("the setting cudnn=off computes convolutions without cuDNN");
}

}  // namespace cuda
}  // namespace plait
