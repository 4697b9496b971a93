#include "plait/ops/inside/blockwise.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "plait/core/anomaly.h"
#include "plait/core/inside/sizes/integer_arithmetic.h"
#include "plait/core/system/thread_team.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/tensor/autocast_policy.h"
#include "plait/tensor/inside/row_recorder.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/named_axes.h"

namespace plait {
namespace {

constexpr int64_t kBlock = 1 << 13;  // elements
constexpr int64_t kWorth = 2 * kBlock;
constexpr int64_t kNoted = 64;
constexpr int64_t kLeastReduced = 1 << 13, kMostReduced = 1 << 15, kLeastRows = 32;

// True if all operands are contiguous with equal sizes, and nothing records the operations.
bool can_be_cut(std::span<const Tensor> operands) {
  if (Trace::current() != nullptr || AutocastScope::current() != nullptr) return false;
  if (detects_anomaly()) return false;  // observes this thread only
  if (has_open_axes()) return false;
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

// The results of f for all blocks, concatenated; only the last block may be shorter.
Tensor concatenated(int64_t blocks, const Sizes& sizes, FunctionRef<Tensor(int64_t)> f) {
  // The first block runs on the caller's thread, so that errors of f are thrown there.
  const Tensor first = f(0);
  Array result = Array::empty(first.dtype(), sizes);
  const int64_t step = first.array().element_count() * result.element_size();
  const auto put = [&](int64_t block, const Tensor& part) {
    const Array numbers = part.array().contiguous();
    const int64_t bytes = numbers.element_count() * numbers.element_size();
    std::memcpy(result.writable_data() + block * step, numbers.data(), static_cast<size_t>(bytes));
  };
  put(0, first);
  parallel_for(blocks - 1, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin + 1; i <= end; ++i) put(i, f(i));
  });
  return Tensor(std::move(result));
}

// Calls f with the beginning of each operand, records its operations on rows, and repeats them for
// the whole rows. Returns an empty tensor if f does anything else.
Tensor by_rows(std::span<const Tensor> operands, const Sizes& sizes, BlockFunction f) {
  std::vector<Array> rows, beginnings;
  std::vector<Tensor> given;
  const int64_t count = element_count_of(sizes);
  for (const Tensor& operand : operands) {
    const Array& x = operand.array();
    const int64_t step = x.rank() == 0 ? 0 : 1;
    rows.push_back(x.view({{count}, {step}, x.layout().offset}));
    beginnings.push_back(x.view({{kNoted}, {step}, x.layout().offset}));
    given.push_back(Tensor(beginnings.back()));
  }
  RowRecorder notes(beginnings);
  const Tensor beginning = f(given);
  if (!notes.lead_to(beginning.array())) return {};
  Array result = Array::empty(beginning.dtype(), sizes);
  notes.repeat(rows, result);
  return Tensor(std::move(result));
}

// ---- Reductions. Adjacent reduced axes are joined: x is `outer` × `length` × `inner`.

struct Reduction3 {
  int64_t outer = 1, length = 1, inner = 1;

  // Elements per block, such that there are several blocks per thread.
  int64_t block() const {
    return std::clamp(outer * length * inner / 64, kLeastReduced, kMostReduced);
  }
};

std::optional<Reduction3> seen_as_three(const Sizes& sizes, std::span<const int64_t> axes) {
  if (axes.empty()) return std::nullopt;
  if (axes.back() - axes.front() + 1 != static_cast<int64_t>(axes.size())) return std::nullopt;
  Reduction3 x;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto axis = static_cast<int64_t>(i);
    (axis < axes.front() ? x.outer : axis > axes.back() ? x.inner : x.length) *= sizes[i];
  }
  return x;
}

// x as rows of `width` elements.
Tensor as_rows(const Tensor& x, int64_t first, int64_t count, int64_t width) {
  Layout layout{{count, width}, {width, 1}, x.array().layout().offset + first * width};
  return Tensor(x.array().view(std::move(layout)));
}

// Reductions of the last axis: blocks of whole rows.
Tensor rows_reduced(const Tensor& x, const Reduction3& seen, BlockReduction f) {
  const int64_t each = std::max<int64_t>(seen.block() / seen.length, 1);
  return concatenated(quotient_up(seen.outer, each), {seen.outer}, [&](int64_t block) {
    const int64_t first = block * each;
    return f(as_rows(x, first, std::min(each, seen.outer - first), seen.length), 1);
  });
}

// Reductions of the first axis: blocks of rows, whose results are then joined.
Tensor columns_reduced(const Tensor& x, const Reduction3& seen, BlockReduction f,
                       BlockReduction join) {
  const int64_t each = std::max(seen.block() / seen.inner, kLeastRows);
  const int64_t blocks = quotient_up(seen.length, each);
  const Tensor parts = concatenated(blocks, {blocks, seen.inner}, [&](int64_t block) {
    const int64_t first = block * each;
    return f(as_rows(x, first, std::min(each, seen.length - first), seen.inner), 0);
  });
  return join(parts, 0);
}

Tensor reduced(const Tensor& x, const Axes& axes, BlockReduction f, const BlockReduction* join) {
  if (!can_be_cut({&x, 1})) return f(x, axes);
  const std::vector<int64_t> within = axes.within(x.rank());
  const Sizes& sizes = x.array().sizes();
  const std::optional<Reduction3> seen = seen_as_three(sizes, within);
  if (!seen) return f(x, axes);
  Shape kept;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!std::ranges::binary_search(within, static_cast<int64_t>(i))) kept.append(sizes[i]);
  }
  if (seen->inner == 1 && seen->length <= kMostReduced) {
    return reshape(rows_reduced(x, *seen, f), kept);
  }
  if (join != nullptr && seen->outer == 1 && seen->inner <= kMostReduced) {
    return reshape(columns_reduced(x, *seen, f, *join), kept);
  }
  return f(x, axes);
}

Tensor with_axes(const Tensor& reduced, const Tensor& x, const Axes& axes, bool keepdims) {
  if (!keepdims) return reduced;
  Shape shape = x.shape();
  for (const int64_t axis : axes.within(x.rank())) shape.set(axis, 1);
  return reshape(reduced, shape);
}

}  // namespace

Tensor blockwise(std::span<const Tensor> operands, BlockFunction f) {
  if (!can_be_cut(operands)) return f(operands);
  const Sizes& sizes = std::ranges::max_element(operands, {}, &Tensor::rank)->array().sizes();
  const int64_t count = element_count_of(sizes);
  if (Tensor result = by_rows(operands, sizes, f)) return result;
  return concatenated(quotient_up(count, kBlock), sizes, [&](int64_t block) {
    const int64_t begin = block * kBlock;
    std::vector<Tensor> parts;
    for (const Tensor& operand : operands) {
      parts.push_back(part_of(operand, begin, std::min(kBlock, count - begin)));
    }
    return f(parts);
  });
}

Tensor blockwise(std::initializer_list<Tensor> operands, BlockFunction f) {
  return blockwise(std::span(operands.begin(), operands.size()), f);
}

Tensor reduce_blockwise(const Tensor& x, const Axes& axes, bool keepdims, BlockReduction f) {
  return with_axes(reduced(x, axes, f, nullptr), x, axes, keepdims);
}
Tensor reduce_blockwise(const Tensor& x, const Axes& axes, bool keepdims, BlockReduction f,
                        BlockReduction join) {
  return with_axes(reduced(x, axes, f, &join), x, axes, keepdims);
}

}  // namespace plait
