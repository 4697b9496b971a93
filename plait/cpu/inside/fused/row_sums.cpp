#include "plait/cpu/inside/fused/row_sums.h"

#include <cstring>

#include "plait/core/system/thread_team.h"
#include "plait/cpu/inside/elementwise/half_precision.h"
#include "plait/cpu/inside/repeated_products/repeated_product.h"

namespace plait::cpu {
namespace {

template <class T>
void add(const std::byte* more, std::byte* sums, int64_t count) {
  auto* const to = reinterpret_cast<T*>(sums);
  const auto* const from = reinterpret_cast<const T*>(more);
  for (int64_t i = 0; i < count; ++i) to[i] += from[i];
}

}  // namespace

RowSums::RowSums(Array& result, const RowBlocks& blocks)
    : result_(result.writable_data()),
      dtype_(result.dtype()),
      wide_(sum_dtype(dtype_)),
      parts_(blocks.parts),
      count_(result.element_count() / blocks.matrices) {
  if (parts_ > 1) {
    memory_ = Buffer::allocate_work(blocks.matrices * parts_ * bytes());
  } else if (is_rounded()) {
    memory_ = Buffer::allocate_work(thread_count() * bytes());
  }
}

std::byte* RowSums::place(int64_t matrix, int64_t part) const {
  if (parts_ > 1) return memory_.data() + (matrix * parts_ + part) * bytes();
  return is_rounded() ? memory_.data() + thread_index() * bytes() : result(matrix);
}

std::byte* RowSums::begin(int64_t matrix, int64_t part) const {
  std::byte* const sums = place(matrix, part);
  std::memset(sums, 0, static_cast<size_t>(bytes()));
  return sums;
}

void RowSums::write(int64_t matrix, const std::byte* sums) const {
  if (!is_rounded()) {
    std::memcpy(result(matrix), sums, static_cast<size_t>(bytes()));
    return;
  }
  const auto* const from = reinterpret_cast<const float*>(sums);
  if (dtype_ == DType::bf16) {
    auto* const to = reinterpret_cast<BFloat16*>(result(matrix));
    for (int64_t i = 0; i < count_; ++i) to[i] = narrowed_to_bf16(from[i]);
  } else {
    auto* const to = reinterpret_cast<Float16*>(result(matrix));
    for (int64_t i = 0; i < count_; ++i) to[i] = narrowed_to_f16(from[i]);
  }
}

void RowSums::end(int64_t matrix) const {
  if (parts_ == 1 && is_rounded()) write(matrix, place(matrix, 0));
}

void RowSums::join(int64_t matrix) const {
  std::byte* const sums = place(matrix, 0);
  for (int64_t part = 1; part < parts_; ++part) {
    const std::byte* const more = place(matrix, part);
    wide_ == DType::f64 ? add<double>(more, sums, count_) : add<float>(more, sums, count_);
  }
  write(matrix, sums);
}

}  // namespace plait::cpu
