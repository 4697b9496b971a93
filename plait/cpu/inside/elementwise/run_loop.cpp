// Runs kernels, which need contiguous elements. Contiguous operands are passed as they are; others
// are copied, block by block, to buffers that stay in the nearest cache.
#include <algorithm>
#include <bit>
#include <cstring>

#include "plait/cpu/inside/elementwise/cpu_loops.h"

namespace plait::cpu {
namespace {

constexpr int64_t kBlockBytes = 2048;

struct alignas(64) Block {
  std::byte bytes[kBlockBytes];  // uninitialised
};

bool is_aligned(const std::byte* data, int64_t size) {
  // Complex numbers and keys are aligned like their parts.
  const auto alignment = static_cast<uintptr_t>(std::min<int64_t>(size, 8));
  return (std::bit_cast<uintptr_t>(data) & (alignment - 1)) == 0;
}

bool is_dense(const std::byte* data, int64_t stride, int64_t size) {
  return stride == size && is_aligned(data, size);
}

template <size_t size>
void move_elements(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride,
                   int64_t count) {
  if (from_stride == 0 && to_stride == size) {
    std::byte element[size];
    std::memcpy(element, from, size);
    for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * size, element, size);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * to_stride, from + i * from_stride, size);
  }
}

void move_elements(int64_t size, std::byte* to, int64_t to_stride, const std::byte* from,
                   int64_t from_stride, int64_t count) {
  if (to_stride == size && from_stride == size) {
    std::memcpy(to, from, static_cast<size_t>(count * size));
    return;
  }
  switch (size) {
    case 1: return move_elements<1>(to, to_stride, from, from_stride, count);
    case 2: return move_elements<2>(to, to_stride, from, from_stride, count);
    case 4: return move_elements<4>(to, to_stride, from, from_stride, count);
    case 8: return move_elements<8>(to, to_stride, from, from_stride, count);
    default: return move_elements<16>(to, to_stride, from, from_stride, count);
  }
}

// An operand, as contiguous blocks for a kernel.
class Operand {
 public:
  // `widen` is null if elements need no conversion.
  void begin(const std::byte* data, int64_t stride, int64_t size, DenseLoop widen) {
    data_ = data;
    stride_ = stride;
    size_ = size;
    widen_ = widen;
    filled_ = 0;
  }

  const std::byte* elements(int64_t first, int64_t count) {
    const std::byte* from = data_ + first * stride_;
    if (is_dense(from, stride_, size_)) return widened(from, count);
    if (stride_ == 0) {
      if (filled_ < count) fill(count);
      return widen_ != nullptr ? wide_.bytes : raw_.bytes;
    }
    move_elements(size_, raw_.bytes, size_, from, stride_, count);
    return widened(raw_.bytes, count);
  }

 private:
  const std::byte* widened(const std::byte* from, int64_t count) {
    if (widen_ == nullptr) return from;
    widen_(wide_.bytes, &from, count);
    return wide_.bytes;
  }
  // Fills the buffer with the single element, once for all blocks.
  void fill(int64_t count) {
    move_elements(size_, raw_.bytes, size_, data_, 0, count);
    if (widen_ != nullptr) widened(raw_.bytes, count);
    filled_ = count;
  }

  const std::byte* data_ = nullptr;
  int64_t stride_ = 0, size_ = 0, filled_ = 0;
  DenseLoop widen_ = nullptr;
  Block raw_, wide_;
};

int64_t block_count(const Loop& loop) {
  int64_t largest = loop.widens ? size_of(DType::f32) : loop.out_size;
  for (const int64_t size : loop.in_sizes) largest = std::max(largest, size);
  return kBlockBytes / largest;
}

void run_blocks(const Loop& loop, size_t level, std::byte* out, int64_t out_stride,
                const std::byte* const* in, const int64_t* in_strides, int64_t count) {
  Operand operands[kMostOperands];
  for (int i = 0; i < loop.arity; ++i) {
    operands[i].begin(in[i], in_strides[i], loop.in_sizes[static_cast<size_t>(i)],
                      loop.widens ? loop.widen[level] : nullptr);
  }
  Block result, narrowed;
  const int64_t block = block_count(loop);
  for (int64_t first = 0; first < count; first += block) {
    const int64_t n = std::min(block, count - first);
    const std::byte* elements[kMostOperands] = {};
    for (int i = 0; i < loop.arity; ++i) elements[i] = operands[i].elements(first, n);
    std::byte* to = out + first * out_stride;
    const bool dense = is_dense(to, out_stride, loop.out_size);
    std::byte* last = dense ? to : loop.narrows ? narrowed.bytes : result.bytes;
    std::byte* computed = loop.narrows ? result.bytes : last;
    loop.run[level](computed, elements, n);
    const std::byte* wide = computed;
    if (loop.narrows) loop.narrow[level](last, &wide, n);
    if (!dense) move_elements(loop.out_size, to, out_stride, last, loop.out_size, n);
  }
}

}  // namespace

void run_loop(const Loop& loop, std::byte* out, int64_t out_stride, const std::byte* const* in,
              const int64_t* in_strides, int64_t count) {
  if (count <= 0) return;
  const auto level = static_cast<size_t>(cpu_level()) - 1;
  bool dense = !loop.widens && is_dense(out, out_stride, loop.out_size);
  for (int i = 0; i < loop.arity; ++i) {
    dense = dense && is_dense(in[i], in_strides[i], loop.in_sizes[static_cast<size_t>(i)]);
  }
  if (dense) {
    loop.run[level](out, in, count);
  } else {
    run_blocks(loop, level, out, out_stride, in, in_strides, count);
  }
}

}  // namespace plait::cpu
