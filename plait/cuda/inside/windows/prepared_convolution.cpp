#include "plait/cuda/inside/windows/prepared_convolution.h"

#include <initializer_list>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/core/hash.h"
#include "plait/core/inside/system/immortal.h"
#include "plait/core/inside/system/recent_cache.h"
#include "plait/core/log.h"
#include "plait/tensor/memory/buffer.h"

namespace plait::cuda {
namespace {

constexpr size_t kMostConvolutions = 1024;
constexpr size_t kMostAlgorithms = 16;  // more than there are for any result

struct HashOfConvolution {
  size_t operator()(const CudnnDescription& d) const {
    uint64_t hash = 0;
    const auto add = [&](const auto& numbers) {
      for (const int number : numbers) hash = hash_combine(hash, static_cast<uint64_t>(number));
    };
    add(std::initializer_list<int>{d.device, static_cast<int>(d.result), static_cast<int>(d.dtype),
                                   d.has_channels_last ? 1 : 0, d.may_use_tf32 ? 1 : 0, d.space,
                                   d.groups});
    for (const auto* sizes : {&d.x, &d.w, &d.out}) add(*sizes);
    for (const auto* numbers : {&d.padding, &d.strides, &d.dilation}) add(*numbers);
    return hash;
  }
};

CudnnType type_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return CudnnType::f64;
    case DType::f32: return CudnnType::f32;
    case DType::f16: return CudnnType::f16;
    case DType::bf16: return CudnnType::bf16;
    default: throw TypeError("cuDNN has no convolutions of {}", name_of(dtype));
  }
}

// Sums are f32, or f64.
CudnnType sum_type_of(DType dtype) { return dtype == DType::f64 ? CudnnType::f64 : CudnnType::f32; }

CudnnMath math_of(const CudnnDescription& d) {
  if (d.dtype == DType::f64) return CudnnMath::standard;
  if (d.dtype == DType::f32) return d.may_use_tf32 ? CudnnMath::standard : CudnnMath::ieee;
  return CudnnMath::tensor_cores;
}

// Fourier transforms and Winograd's algorithm: their errors are relative to the greatest element of
// a tile, and one NaN or infinity spoils a whole tile, also where no window meets it.
bool is_transform(ConvolutionResult result, int algorithm) {
  switch (result) {
    case ConvolutionResult::out: return algorithm >= 4;
    case ConvolutionResult::input_gradient: return algorithm >= 2;
    case ConvolutionResult::weight_gradient: return algorithm == 2 || algorithm >= 4;
  }
  return true;
}

// Between neighbours of arrays without gaps.
std::array<int, 5> strides_of(const std::array<int, 5>& sizes, int rank, bool has_channels_last) {
  std::array<int, 5> strides{};
  int stride = 1;
  const auto place = [&](int axis) {
    strides[static_cast<size_t>(axis)] = stride;
    stride *= sizes[static_cast<size_t>(axis)];
  };
  if (has_channels_last) place(1);
  for (int axis = rank - 1; axis > 1; --axis) place(axis);
  if (!has_channels_last) place(1);
  place(0);
  return strides;
}

template <class Descriptor>
OwnedConvolution<Descriptor> owned(const Cudnn& library, const char* call,
                                   CudnnStatus (*create)(Descriptor*)) {
  Descriptor descriptor = nullptr;
  check_cudnn(library, create(&descriptor), call);
  return OwnedConvolution<Descriptor>(descriptor, {&library});
}

OwnedConvolution<TensorDescriptor> tensor(const Cudnn& library, const CudnnDescription& d,
                                          const std::array<int, 5>& sizes) {
  auto made = owned(library, "cudnnCreateTensorDescriptor", library.create_tensor);
  const std::array<int, 5> strides = strides_of(sizes, d.space + 2, d.has_channels_last);
  check_cudnn(library,
              library.set_tensor(made.get(), static_cast<int>(type_of(d.dtype)), d.space + 2,
                                 sizes.data(), strides.data()),
              "cudnnSetTensorNdDescriptor");
  return made;
}

OwnedConvolution<FilterDescriptor> filter(const Cudnn& library, const CudnnDescription& d) {
  auto made = owned(library, "cudnnCreateFilterDescriptor", library.create_filter);
  const FilterOrder order =
      d.has_channels_last ? FilterOrder::channels_last : FilterOrder::channels_first;
  check_cudnn(library,
              library.set_filter(made.get(), static_cast<int>(type_of(d.dtype)),
                                 static_cast<int>(order), d.space + 2, d.w.data()),
              "cudnnSetFilterNdDescriptor");
  return made;
}

// Calls with the functions and descriptors of the result.
template <class Call>
CudnnStatus call_for(ConvolutionResult result, const Cudnn& library, TensorDescriptor x,
                     FilterDescriptor w, TensorDescriptor out, Call&& call) {
  switch (result) {
    case ConvolutionResult::out: return call(library.forward, x, w, out);
    case ConvolutionResult::input_gradient: return call(library.input_gradient, w, out, x);
    case ConvolutionResult::weight_gradient: return call(library.weight_gradient, x, out, w);
  }
  throw ValueError("an unknown result of a convolution");
}

}  // namespace

void DestroyConvolution::operator()(TensorDescriptor descriptor) const noexcept {
  library->destroy_tensor(descriptor);
}
void DestroyConvolution::operator()(FilterDescriptor descriptor) const noexcept {
  library->destroy_filter(descriptor);
}
void DestroyConvolution::operator()(ConvolutionDescriptor descriptor) const noexcept {
  library->destroy_convolution(descriptor);
}

PreparedConvolution::PreparedConvolution(const Cudnn& library, const CudaDevice& device,
                                         const CudnnDescription& description)
    : library_(library), device_(device), description_(description) {
  const CudnnDescription& d = description_;
  x_ = tensor(library, d, d.x);
  out_ = tensor(library, d, d.out);
  w_ = filter(library, d);
  convolution_ = owned(library, "cudnnCreateConvolutionDescriptor", library.create_convolution);
  check_cudnn(library,
              library.set_convolution(convolution_.get(), d.space, d.padding.data(),
                                      d.strides.data(), d.dilation.data(), kCrossCorrelation,
                                      static_cast<int>(sum_type_of(d.dtype))),
              "cudnnSetConvolutionNdDescriptor");
  check_cudnn(library, library.set_groups(convolution_.get(), d.groups),
              "cudnnSetConvolutionGroupCount");
  check_cudnn(library, library.set_math(convolution_.get(), static_cast<int>(math_of(d))),
              "cudnnSetConvolutionMathType");
}

CudnnStatus PreparedConvolution::find(CudnnHandle handle, std::span<FoundConvolution> found,
                                      int& count) const {
  return call_for(description_.result, library_, x_.get(), w_.get(), out_.get(),
                  [&](const auto& functions, auto first, auto second, auto result) {
                    return functions.find(handle, first, second, convolution_.get(), result,
                                          static_cast<int>(found.size()), &count, found.data());
                  });
}

CudnnStatus PreparedConvolution::find_workspace(CudnnHandle handle, size_t& bytes) const {
  return call_for(description_.result, library_, x_.get(), w_.get(), out_.get(),
                  [&](const auto& functions, auto first, auto second, auto result) {
                    return functions.workspace(handle, first, second, convolution_.get(), result,
                                               algorithm_, &bytes);
                  });
}

// The first algorithm, since they are ordered by the expected time, that is deterministic and fits
// the workspace. The kind of arithmetic is the one that the library proposes for it, except that
// f32 in IEEE's arithmetic stays that.
bool PreparedConvolution::find_algorithm(CudnnHandle handle) {
  std::array<FoundConvolution, kMostAlgorithms> found{};
  int count = 0;
  const CudnnStatus status = find(handle, found, count);
  if (is_declined(status)) return false;
  check_cudnn(library_, status, "the choice of a convolution's algorithm by cuDNN");
  for (const FoundConvolution& each : std::span(found).first(static_cast<size_t>(count))) {
    if (each.status != kCudnnSuccess || each.determinism != kDeterministic) continue;
    if (is_transform(description_.result, each.algorithm)) continue;
    const CudnnMath wanted = math_of(description_);
    const CudnnMath math = wanted == CudnnMath::ieee ? wanted : each.math;
    check_cudnn(library_, library_.set_math(convolution_.get(), static_cast<int>(math)),
                "cudnnSetConvolutionMathType");
    algorithm_ = each.algorithm;
    size_t bytes = 0;
    if (find_workspace(handle, bytes) != kCudnnSuccess) continue;
    if (bytes > static_cast<size_t>(kMostConvolutionWorkspace)) continue;
    workspace_bytes_ = static_cast<int64_t>(bytes);
    return true;
  }
  return false;
}

std::shared_ptr<const PreparedConvolution> PreparedConvolution::of(
    const Cudnn& library, const CudaDevice& device, const CudnnDescription& description) {
  static Immortal<RecentCache<CudnnDescription, const PreparedConvolution, HashOfConvolution>>
      cache(kMostConvolutions);
  return cache->find_or_make(
      description,
      [&](const CudnnDescription& wanted) -> std::shared_ptr<const PreparedConvolution> {
        const LockedCudnn locked(library, device);
        if (!locked) return nullptr;
        const auto made = std::make_shared<PreparedConvolution>(library, device, wanted);
        if (made->find_algorithm(locked.handle())) return made;
        log(LogArea::cuda, LogLevel::debug, "cuDNN declines [{}] by a kernel [{}] in {} groups",
            fmt::join(wanted.x, ", "), fmt::join(wanted.w, ", "), wanted.groups);
        return nullptr;
      });
}

CudnnStatus PreparedConvolution::queue(CudnnHandle handle, const std::byte* first,
                                       const std::byte* second, std::byte* result,
                                       void* workspace) const {
  static constexpr double kOne = 1, kZero = 0;
  static constexpr float kNarrowOne = 1, kNarrowZero = 0;
  const bool is_wide = description_.dtype == DType::f64;
  const void* const one = is_wide ? static_cast<const void*>(&kOne) : &kNarrowOne;
  const void* const zero = is_wide ? static_cast<const void*>(&kZero) : &kNarrowZero;
  return call_for(description_.result, library_, x_.get(), w_.get(), out_.get(),
                  [&](const auto& functions, auto of_first, auto of_second, auto of_result) {
                    return functions.run(handle, one, of_first, first, of_second, second,
                                         convolution_.get(), algorithm_, workspace,
                                         static_cast<size_t>(workspace_bytes_), zero, of_result,
                                         result);
                  });
}

// Work memory is freed in the order of the stream: after the convolution.
bool PreparedConvolution::run(const std::byte* first, const std::byte* second,
                              std::byte* result) const {
  Buffer workspace;
  if (workspace_bytes_ > 0) {
    const Device device(Device::Kind::cuda, static_cast<uint8_t>(device_.index()));
    workspace = Buffer::allocate_on(device, workspace_bytes_);
  }
  log(LogArea::cuda, LogLevel::trace, "cuDNN's algorithm {} with {} bytes of work memory",
      algorithm_, workspace_bytes_);
  const LockedCudnn locked(library_, device_);
  if (!locked) return false;
  const CudnnStatus status =
      queue(locked.handle(), first, second, result, workspace ? workspace.data() : nullptr);
  if (is_declined(status)) return false;
  check_cudnn(library_, status, "a convolution by cuDNN");
  return true;
}

}  // namespace plait::cuda
