// A convolution with the algorithm that was chosen among those of cuDNN.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "plait/core/numbers/dtype.h"
#include "plait/cuda/inside/device/cuda_device.h"
#include "plait/cuda/inside/windows/cudnn.h"

namespace plait::cuda {

enum class ConvolutionResult : int { out, input_gradient, weight_gradient };

// Sizes and types, without addresses. All arrays are without gaps, in row-major order, or with the
// channels last. Two or three spatial dimensions; the last entries are unused with two.
struct CudnnDescription {
  int device = 0;
  ConvolutionResult result = ConvolutionResult::out;
  DType dtype = DType::f32;  // f64, f32, f16 or bf16
  bool has_channels_last = false;
  bool may_use_tf32 = false;  // for f32
  int space = 2;
  std::array<int, 5> x = {}, w = {}, out = {};  // sizes
  std::array<int, 3> padding = {}, strides = {}, dilation = {};
  int groups = 1;

  friend bool operator==(const CudnnDescription&, const CudnnDescription&) = default;
};

// As much as columns take (cuda_patches.h).
inline constexpr int64_t kMostConvolutionWorkspace = int64_t{256} << 20;

struct DestroyConvolution {
  const Cudnn* library = nullptr;

  void operator()(TensorDescriptor descriptor) const noexcept;
  void operator()(FilterDescriptor descriptor) const noexcept;
  void operator()(ConvolutionDescriptor descriptor) const noexcept;
};
template <class Descriptor>
using OwnedConvolution = std::unique_ptr<std::remove_pointer_t<Descriptor>, DestroyConvolution>;

class PreparedConvolution {
 public:
  // From a cache, since the choice takes longer than a small convolution. Null if cuDNN does not
  // work on the device, or declines, or has no algorithm that may be chosen. The device is that of
  // the description.
  static std::shared_ptr<const PreparedConvolution> of(const Cudnn& library,
                                                       const CudaDevice& device,
                                                       const CudnnDescription& description);
  PreparedConvolution(const Cudnn& library, const CudaDevice& device,
                      const CudnnDescription& description);

  // Queues the convolution. The operands of the result, in the order x, w, out; their addresses are
  // aligned to 16 bytes. False if cuDNN declines: then the result is undefined. Called by several
  // threads concurrently.
  bool run(const std::byte* first, const std::byte* second, std::byte* result) const;

  int algorithm() const { return algorithm_; }
  int64_t workspace_bytes() const { return workspace_bytes_; }

 private:
  bool find_algorithm(CudnnHandle handle);
  CudnnStatus find(CudnnHandle handle, std::span<FoundConvolution> found, int& count) const;
  CudnnStatus find_workspace(CudnnHandle handle, size_t& bytes) const;
  CudnnStatus queue(CudnnHandle handle, const std::byte* first, const std::byte* second,
                    std::byte* result, void* workspace) const;

  const Cudnn& library_;
  const CudaDevice& device_;
  const CudnnDescription description_;
  OwnedConvolution<TensorDescriptor> x_, out_;
  OwnedConvolution<FilterDescriptor> w_;
  OwnedConvolution<ConvolutionDescriptor> convolution_;
  int algorithm_ = 0;
  int64_t workspace_bytes_ = 0;
};

}  // namespace plait::cuda
