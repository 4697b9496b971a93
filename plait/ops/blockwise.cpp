#include "plait/ops/blockwise.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "plait/core/thread_team.h"
#include "plait/tensor/autocast.h"
#include "plait/tensor/named_axes.h"
#include "plait/tensor/trace.h"

namespace plait {
namespace {

constexpr int64_t kBlock = 1 << 13;  // elements
constexpr int64_t kWorth = 2 * kBlock;

// Whether all lie in memory alike, without gaps, and nobody follows what is done.
bool can_be_cut(std::span<const Tensor> operands) {
  if (Trace::current() != nullptr || AutocastScope::current() != nullptr) return false;
  if (!NamedAxisScope::open().empty()) return false;
  const Sizes* sizes = nullptr;
  for (const Tensor& operand : operands) {
    if (operand.is_traced() || !operand.is_array() || operand.derivation()) return false;
    if (operand.rank() == 0) continue;
    const Array& array = operand.array();
    if (sizes == nullptr) sizes = &array.sizes();
    if (array.sizes() != *sizes || !array.is_contiguous()) return false;
  }
  return sizes != nullptr && element_count_of(*sizes) >= kWorth;
}

Tensor part_of(const Tensor& whole, int64_t begin, int64_t count) {
  if (whole.rank() == 0) return whole;
  Layout layout{{count}, {1}, whole.array().layout().offset + begin};
  return Tensor(whole.array().view(std::move(layout)));
}

}  // namespace

Tensor blockwise(std::span<const Tensor> operands, BlockFunction f) {
  if (!can_be_cut(operands)) return f(operands);
  const Sizes& sizes = std::ranges::max_element(operands, {}, &Tensor::rank)->array().sizes();
  const int64_t count = element_count_of(sizes), blocks = (count + kBlock - 1) / kBlock;
  const auto block = [&](int64_t number) {
    const int64_t begin = number * kBlock;
    std::vector<Tensor> parts;
    for (const Tensor& operand : operands) {
      parts.push_back(part_of(operand, begin, std::min(kBlock, count - begin)));
    }
    return f(parts);
  };
  // On the caller's thread, so that what f refuses it refuses there.
  const Tensor first = block(0);
  Array result = Array::empty(first.dtype(), sizes);
  const auto put = [&](int64_t number, const Tensor& part) {
    const Array numbers = part.array().contiguous();
    const auto bytes = static_cast<size_t>(numbers.element_count() * numbers.element_size());
    std::memcpy(result.writable_data() + number * kBlock * numbers.element_size(), numbers.data(),
                bytes);
  };
  put(0, first);
  parallel_for(blocks - 1, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) put(i + 1, block(i + 1));
  });
  return Tensor(std::move(result));
}

Tensor blockwise(std::initializer_list<Tensor> operands, BlockFunction f) {
  return blockwise(std::span(operands.begin(), operands.size()), f);
}

}  // namespace plait
