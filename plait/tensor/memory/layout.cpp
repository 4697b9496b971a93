#include "plait/tensor/memory/layout.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/core/error.h"

namespace plait {

std::string text_of_sizes(std::span<const int64_t> sizes) {
  return fmt::format("[{}]", fmt::join(sizes, ", "));
}

int64_t element_count_of(std::span<const int64_t> sizes) {
  bool is_empty = false;
  for (const int64_t size : sizes) {
    if (size < 0) throw ShapeError("a negative size: {}", text_of_sizes(sizes));
    is_empty = is_empty || size == 0;
  }
  if (is_empty) return 0;
  int64_t count = 1;
  for (const int64_t size : sizes) {
    if (__builtin_mul_overflow(count, size, &count)) {
      throw MemoryError("{}: the number of elements exceeds 63 bits", text_of_sizes(sizes));
    }
  }
  return count;
}

size_t axis_of(int64_t axis, size_t rank) {
  const auto signed_rank = static_cast<int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) {
    if (rank == 0) throw IndexError("axis {} is out of range: the array is a scalar", axis);
    throw IndexError("axis {} is out of range for {} dimensions", axis, rank)
        .hint(fmt::format("axes go from {} to {}", -signed_rank, signed_rank - 1));
  }
  return static_cast<size_t>(axis < 0 ? axis + signed_rank : axis);
}

Slice::Range Slice::within(int64_t size) const {
  if (step == 0) throw ValueError("the step of a slice is 0");
  // Valid ends of a slice: 0 to size if the step is positive, -1 to size - 1 if negative.
  const int64_t least = step > 0 ? 0 : -1, most = step > 0 ? size : size - 1;
  const auto place = [&](const std::optional<int64_t>& given, int64_t standard) {
    if (!given) return standard;
    return std::clamp(*given < 0 ? *given + size : *given, least, most);
  };
  const int64_t first = place(start, step > 0 ? least : most);
  const int64_t last = place(stop, step > 0 ? most : least);
  const int64_t distance = step > 0 ? last - first : first - last;
  if (distance <= 0) return {first, 0, step};
  const uint64_t stride =
      step > 0 ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
  return {first, static_cast<int64_t>((static_cast<uint64_t>(distance) - 1) / stride) + 1, step};
}

Layout Layout::contiguous(Sizes sizes) {
  const bool is_empty = element_count_of(sizes) == 0;  // then strides are arbitrary
  Sizes strides(sizes.size(), 1);
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0 && !is_empty;) {
    strides[i] = stride;
    stride *= sizes[i];
  }
  return {.sizes = std::move(sizes), .strides = std::move(strides)};
}

int64_t Layout::element_count() const {
  uint64_t count = 1;  // may wrap around before a size of 0
  for (const int64_t size : sizes) count *= static_cast<uint64_t>(size);
  return static_cast<int64_t>(count);
}

bool Layout::is_contiguous() const {
  int64_t stride = 1;
  if (element_count() == 0) return true;
  for (size_t i = rank(); i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (strides[i] != stride) return false;
    stride *= sizes[i];
  }
  return true;
}

bool Layout::repeats() const {
  for (size_t i = 0; i < rank(); ++i) {
    if (strides[i] == 0 && sizes[i] > 1) return true;
  }
  return false;
}

Layout Layout::sliced(int64_t axis, const Slice& slice) const {
  const size_t at = axis_of(axis, rank());
  const Slice::Range range = slice.within(sizes[at]);
  Layout result = *this;
  result.sizes[at] = range.count;
  if (range.count > 0) result.offset += range.start * strides[at];
  // The stride of a dimension with at most one element is never used, and could overflow.
  result.strides[at] = range.count > 1 ? strides[at] * range.step : strides[at];
  return result;
}

Layout Layout::picked(int64_t axis, int64_t index) const {
  const size_t at = axis_of(axis, rank());
  const int64_t size = sizes[at];
  if (index < -size || index >= size) {
    throw IndexError("index {} is out of range for dimension {} of {}", index, at,
                     text_of_sizes(sizes));
  }
  Layout result = *this;
  result.offset += (index < 0 ? index + size : index) * strides[at];
  result.sizes.erase(at);
  result.strides.erase(at);
  return result;
}

Layout Layout::transposed() const {
  if (rank() < 2) throw ShapeError("{} has no two dimensions", text_of_sizes(sizes));
  Layout result = *this;
  std::swap(result.sizes[rank() - 1], result.sizes[rank() - 2]);
  std::swap(result.strides[rank() - 1], result.strides[rank() - 2]);
  return result;
}

Layout Layout::permuted(std::span<const int64_t> axes) const {
  if (axes.size() != rank()) {
    throw ShapeError("{} axes for {}, which has {} dimensions", axes.size(), text_of_sizes(sizes),
                     rank());
  }
  Layout result{Sizes(rank()), Sizes(rank()), offset};
  std::vector<bool> seen(rank());
  for (size_t i = 0; i < rank(); ++i) {
    const size_t from = axis_of(axes[i], rank());
    if (seen[from]) throw ValueError("axis {} appears twice in {}", from, text_of_sizes(axes));
    seen[from] = true;
    result.sizes[i] = sizes[from];
    result.strides[i] = strides[from];
  }
  return result;
}

Layout Layout::expanded(int64_t axis) const {
  const size_t at = axis_of(axis, rank() + 1);
  Layout result = *this;
  result.strides.insert(at, at < rank() ? sizes[at] * strides[at] : 1);
  result.sizes.insert(at, 1);
  return result;
}

Layout Layout::reversed(int64_t axis) const { return sliced(axis, {.step = -1}); }

Layout Layout::broadcast_to(std::span<const int64_t> to) const {
  const size_t added = to.size() - rank();
  bool fits = to.size() >= rank();
  Layout result{Sizes(to), Sizes(to.size()), offset};
  for (size_t i = 0; fits && i < rank(); ++i) {
    const int64_t wanted = to[added + i];
    fits = sizes[i] == wanted || sizes[i] == 1;
    result.strides[added + i] = sizes[i] == wanted ? strides[i] : 0;
  }
  if (!fits) {
    throw ShapeError("{} does not broadcast to {}", text_of_sizes(sizes), text_of_sizes(to));
  }
  element_count_of(to);
  return result;
}

std::optional<Layout> Layout::reshaped(const Sizes& to) const {
  const int64_t count = element_count();
  if (element_count_of(to) != count) {
    throw ShapeError("{} has {} elements, {} has {}", text_of_sizes(sizes), count,
                     text_of_sizes(to), element_count_of(to));
  }
  Layout result{to, Sizes(to.size(), 1), offset};
  if (count == 0) return Layout::contiguous(to);
  // Old dimensions are taken in contiguous runs; each run is split again.
  size_t begin = 0, made = 0;
  while (begin < rank() || made < to.size()) {
    size_t end = begin, next = made;
    int64_t old_count = 1, new_count = 1;
    do {
      if (old_count <= new_count && end < rank())
        old_count *= sizes[end++];
      else if (next < to.size())
        new_count *= to[next++];
      else
        old_count *= sizes[end++];
    } while (old_count != new_count);
    int64_t stride = 1, within = 1;
    for (size_t i = end, below = rank(); i-- > begin;) {
      if (sizes[i] == 1) continue;
      if (below == rank())
        stride = strides[i];
      else if (strides[i] != strides[below] * sizes[below])
        return std::nullopt;
      below = i;
    }
    for (size_t i = next; i-- > made;) {
      result.strides[i] = stride * within;
      within *= to[i];
    }
    begin = end;
    made = next;
  }
  return result;
}

JointLayout::JointLayout(std::span<const Layout* const> layouts) : strides(layouts.size()) {
  const Layout& first = *layouts[0];
  for (size_t axis = 0; axis < first.rank(); ++axis) {
    const int64_t size = first.sizes[axis];
    if (size == 1) continue;
    const auto goes_on = [&] {
      for (size_t i = 0; i < layouts.size(); ++i) {
        if (strides[i].back() != layouts[i]->strides[axis] * size) return false;
      }
      return true;
    };
    if (!sizes.empty() && goes_on()) {
      sizes[sizes.size() - 1] *= size;
      for (size_t i = 0; i < layouts.size(); ++i) {
        strides[i][sizes.size() - 1] = layouts[i]->strides[axis];
      }
      continue;
    }
    sizes.push_back(size);
    for (size_t i = 0; i < layouts.size(); ++i) strides[i].push_back(layouts[i]->strides[axis]);
  }
}

}  // namespace plait
