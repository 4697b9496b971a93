#include "tests/cuda_emulator/libraries/host_convolution.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/cuda_emulator/device/findings.h"
#include "tests/cuda_emulator/device/memory.h"
#include "tests/cuda_emulator/driver/copies.h"
#include "tests/cuda_emulator/libraries/matmul.h"

namespace emulator {
namespace {

constexpr const char* kUser = "cudnnConvolution";

// Calls body(offset) for each element, in the order of its indices.
template <class F>
void for_each_offset(const TensorDescription& tensor, F&& body) {
  int64_t index[kMostRank] = {}, offset = 0;
  for (int64_t left = tensor.count(); left > 0; --left) {
    body(offset);
    for (int axis = tensor.rank - 1; axis >= 0; --axis) {
      offset += tensor.strides[axis];
      if (++index[axis] < tensor.sizes[axis]) break;
      offset -= index[axis] * tensor.strides[axis];
      index[axis] = 0;
    }
  }
}

char* reached(uint64_t address, size_t bytes) {
  char* const found = reachable_bytes(address, bytes, kUser);
  if (!found) throw Failure{CUDA_ERROR_ILLEGAL_ADDRESS};
  return found;
}

void require_written(uint64_t address, size_t bytes) {
  if (are_written(address, bytes)) return;
  const int device = device_with(address);
  note_finding(std::string(kUser) + ": unwritten: it reads " + std::to_string(bytes) +
               " bytes from " + (device >= 0 ? memory_of(device).place(address) : "a global") +
               ", which were not all written");
  throw Failure{CUDA_ERROR_LAUNCH_FAILED};
}

std::vector<double> values_of(const TensorDescription& tensor, uint64_t address, bool is_tf32) {
  const uint32_t type = number_type(tensor.type);
  const size_t each = bytes_of_type(type);
  const char* const from = reached(address, static_cast<size_t>(tensor.extent()) * each);
  const bool has_gaps = tensor.extent() != tensor.count();
  if (!has_gaps) require_written(address, static_cast<size_t>(tensor.count()) * each);
  std::vector<double> values;
  values.reserve(static_cast<size_t>(tensor.count()));
  for_each_offset(tensor, [&](int64_t offset) {
    const size_t at = static_cast<size_t>(offset) * each;
    if (has_gaps) require_written(address + at, each);
    const double value = loaded_number(from + at, type);
    values.push_back(is_tf32 ? rounded_to_tf32(static_cast<float>(value)) : value);
  });
  return values;
}

// Indices of two or three dimensions, as three.
struct Space {
  int64_t sizes[3] = {1, 1, 1};

  explicit Space(const TensorDescription& tensor) {
    for (int axis = 2; axis < tensor.rank; ++axis)
      sizes[axis + 3 - tensor.rank] = tensor.sizes[axis];
  }
  int64_t count() const { return sizes[0] * sizes[1] * sizes[2]; }
  void split(int64_t place, int64_t (&at)[3]) const {
    for (int axis = 2; axis >= 0; --axis) {
      at[axis] = place % sizes[axis];
      place /= sizes[axis];
    }
  }
};

class Convolver {
 public:
  explicit Convolver(const HostConvolution& c) : c_(c), in_(c.x), kernel_(c.w), out_(c.y) {
    for (int64_t place = 0; place < out_.count(); ++place) {
      for (int64_t tap = 0; tap < kernel_.count(); ++tap)
        inputs_.push_back(input_place(place, tap));
    }
  }

  // Calls body(x, w, y) with the numbers of the elements that are multiplied.
  template <class F>
  void for_each_product(F&& body) const {
    const int64_t outputs = c_.w.sizes[0] / c_.window.groups, inputs = c_.w.sizes[1];
    for (int64_t image = 0; image < c_.x.sizes[0]; ++image) {
      for (int64_t output = 0; output < c_.w.sizes[0]; ++output) {
        const int64_t y = (image * c_.w.sizes[0] + output) * out_.count();
        for (int64_t channel = 0; channel < inputs; ++channel) {
          const int64_t input = output / outputs * inputs + channel;
          const int64_t x = (image * c_.x.sizes[1] + input) * in_.count();
          for_each_pair(x, (output * inputs + channel) * kernel_.count(), y, body);
        }
      }
    }
  }

 private:
  template <class F>
  void for_each_pair(int64_t x, int64_t w, int64_t y, F&& body) const {
    const int64_t places = out_.count(), taps = kernel_.count();
    const int64_t* from = inputs_.data();
    for (int64_t place = 0; place < places; ++place) {
      for (int64_t tap = 0; tap < taps; ++tap, ++from) {
        if (*from >= 0)
          body(static_cast<size_t>(x + *from), static_cast<size_t>(w + tap),
               static_cast<size_t>(y + place));
      }
    }
  }

  // The place in x of an element of the kernel, at a place of y; -1 outside of x.
  int64_t input_place(int64_t place, int64_t tap) const {
    int64_t at[3], element[3], found = 0;
    out_.split(place, at);
    kernel_.split(tap, element);
    for (int axis = 3 - c_.window.length; axis < 3; ++axis) {
      const int own = axis - 3 + c_.window.length;
      if (c_.window.mode == CUDNN_CONVOLUTION)
        element[axis] = kernel_.sizes[axis] - 1 - element[axis];
      const int64_t in = at[axis] * c_.window.strides[own] - c_.window.padding[own] +
                         element[axis] * c_.window.dilation[own];
      if (in < 0 || in >= in_.sizes[axis]) return -1;
      found = found * in_.sizes[axis] + in;
    }
    return found;
  }

  const HostConvolution& c_;
  Space in_, kernel_, out_;
  std::vector<int64_t> inputs_;  // for each place and element of the kernel
};

std::vector<double> sums_of(const HostConvolution& c) {
  const bool is_tf32 = c.x.type == CUDNN_DATA_FLOAT && c.window.math != CUDNN_FMA_MATH;
  std::vector<double> sums(static_cast<size_t>(c.result().count()), 0.0), x, w, y;
  if (c.pass != ConvolutionPass::backward_data) x = values_of(c.x, c.x_address, is_tf32);
  if (c.pass != ConvolutionPass::backward_filter) w = values_of(c.w, c.w_address, is_tf32);
  if (c.pass != ConvolutionPass::forward) y = values_of(c.y, c.y_address, is_tf32);
  const Convolver all(c);
  switch (c.pass) {
    case ConvolutionPass::forward:
      all.for_each_product([&](size_t i, size_t k, size_t o) { sums[o] += x[i] * w[k]; });
      break;
    case ConvolutionPass::backward_data:
      all.for_each_product([&](size_t i, size_t k, size_t o) { sums[i] += y[o] * w[k]; });
      break;
    case ConvolutionPass::backward_filter:
      all.for_each_product([&](size_t i, size_t k, size_t o) { sums[k] += x[i] * y[o]; });
      break;
  }
  return sums;
}

void store(const HostConvolution& c, const std::vector<double>& sums) {
  const TensorDescription& tensor = c.result();
  const uint32_t type = number_type(tensor.type);
  const size_t each = bytes_of_type(type);
  const uint64_t address = c.result_address();
  char* const to = reached(address, static_cast<size_t>(tensor.extent()) * each);
  const bool has_gaps = tensor.extent() != tensor.count();
  size_t next = 0;
  for_each_offset(tensor, [&](int64_t offset) {
    const size_t at = static_cast<size_t>(offset) * each;
    double value = c.alpha * sums[next++];
    if (c.beta != 0) {
      require_written(address + at, each);
      value += c.beta * loaded_number(to + at, type);
    }
    store_number(to + at, type, value);
    if (c.is_inexact) to[at] = static_cast<char>(to[at] ^ 1);
    if (has_gaps) note_written(address + at, each);
  });
  if (!has_gaps) note_written(address, static_cast<size_t>(tensor.count()) * each);
}

}  // namespace

int64_t TensorDescription::count() const {
  int64_t count = 1;
  for (int axis = 0; axis < rank; ++axis) count *= sizes[axis];
  return count;
}

int64_t TensorDescription::extent() const {
  int64_t last = 0;
  for (int axis = 0; axis < rank; ++axis) last += (sizes[axis] - 1) * strides[axis];
  return last + 1;
}

bool TensorDescription::is_packed(bool has_channels_last) const {
  TensorDescription packed = *this;
  set_packed_strides(packed, has_channels_last);
  for (int axis = 0; axis < rank; ++axis) {
    if (sizes[axis] != 1 && strides[axis] != packed.strides[axis]) return false;
  }
  return true;
}

void set_packed_strides(TensorDescription& tensor, bool has_channels_last) {
  int64_t stride = 1;
  const auto place = [&](int axis) {
    tensor.strides[axis] = stride;
    stride *= tensor.sizes[axis];
  };
  if (has_channels_last) place(1);
  for (int axis = tensor.rank - 1; axis > 1; --axis) place(axis);
  if (!has_channels_last) place(1);
  place(0);
}

const TensorDescription& HostConvolution::result() const {
  if (pass == ConvolutionPass::forward) return y;
  return pass == ConvolutionPass::backward_data ? x : static_cast<const TensorDescription&>(w);
}

uint64_t HostConvolution::result_address() const {
  if (pass == ConvolutionPass::forward) return y_address;
  return pass == ConvolutionPass::backward_data ? x_address : w_address;
}

uint32_t number_type(int type) {
  switch (type) {
    case CUDNN_DATA_FLOAT: return CUDA_R_32F;
    case CUDNN_DATA_DOUBLE: return CUDA_R_64F;
    case CUDNN_DATA_HALF: return CUDA_R_16F;
    case CUDNN_DATA_BFLOAT16: return CUDA_R_16BF;
    default: throw CudnnFailure{CUDNN_STATUS_BAD_PARAM, "not a type of tensors here"};
  }
}

CUresult run_convolution(const HostConvolution& c) {
  try {
    if (c.workspace_bytes > 0)
      std::memset(reached(c.workspace, c.workspace_bytes), kPoisonByte, c.workspace_bytes);
    store(c, sums_of(c));
    return CUDA_SUCCESS;
  } catch (const Failure& failure) {
    return failure.result;
  }
}

}  // namespace emulator
