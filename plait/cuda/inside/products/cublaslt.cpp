#include "plait/cuda/inside/products/cublaslt.h"

#include <array>
#include <mutex>

#include "plait/core/device.h"
#include "plait/core/error.h"
#include "plait/core/inside/system/immortal.h"
#include "plait/cuda/inside/device/cuda_device.h"

namespace plait {

namespace setting {
constinit Setting<std::string> kCublaslt({.name = "cublaslt",
                                          .standard = "auto",
                                          .description = "the library cuBLASLt: auto, or a path",
                                          .form = "auto or a path"});
namespace {
const ListedSettings cublaslt_settings{&kCublaslt};
}
}  // namespace setting

namespace cuda {
namespace {

struct ProductHandles {
  std::mutex mutex;
  std::array<ProductHandle, Device::kMost> handles = {};
};

}  // namespace

LibraryNames cublaslt_names() {
  return {.title = "cuBLASLt",
          .files = {"libcublasLt.so.12", "libcublasLt.so.13"},
          .function = "cublasLtCreate",
          .folders = {"cublas", "cu13"},
          .package = "nvidia-cublas-cu12",
          .setting = "cublaslt"};
}

CublasLt open_cublaslt(const std::string& chosen) {
  const Library library = Library::open(cublaslt_names(), chosen);
  CublasLt lt{};
  library.find(lt.get_version, "cublasLtGetVersion");
  library.find(lt.get_status_name, "cublasLtGetStatusName");
  library.find(lt.create, "cublasLtCreate");
  library.find(lt.create_product, "cublasLtMatmulDescCreate");
  library.find(lt.destroy_product, "cublasLtMatmulDescDestroy");
  library.find(lt.set_product, "cublasLtMatmulDescSetAttribute");
  library.find(lt.create_matrix, "cublasLtMatrixLayoutCreate");
  library.find(lt.destroy_matrix, "cublasLtMatrixLayoutDestroy");
  library.find(lt.set_matrix, "cublasLtMatrixLayoutSetAttribute");
  library.find(lt.create_preference, "cublasLtMatmulPreferenceCreate");
  library.find(lt.destroy_preference, "cublasLtMatmulPreferenceDestroy");
  library.find(lt.set_preference, "cublasLtMatmulPreferenceSetAttribute");
  library.find(lt.find_algorithms, "cublasLtMatmulAlgoGetHeuristic");
  library.find(lt.multiply, "cublasLtMatmul");
  return lt;
}

const CublasLt& cublaslt() {
  static const CublasLt lt = open_cublaslt(setting::kCublaslt.get());
  return lt;
}

ProductHandle product_handle(const CudaDevice& device) {
  static Immortal<ProductHandles> made;
  device.enter();
  const std::lock_guard lock(made->mutex);
  ProductHandle& handle = made->handles.at(static_cast<size_t>(device.index()));
  if (handle == nullptr) {
    ProductHandle created = nullptr;
    check_product(cublaslt().create(&created), "cublasLtCreate");
    handle = created;
  }
  return handle;
}

void check_product(ProductStatus status, const char* call) {
  if (status == kProductSuccess) return;
  throw DeviceError("{}: {}", call, cublaslt().get_status_name(status));
}

}  // namespace cuda
}  // namespace plait
