#include "plait/cpu/inside/indexing/cpu_gather.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "plait/core/system/thread_team.h"
#include "plait/cpu/inside/indexing/indexed_rows.h"

namespace plait {
namespace {

constexpr int64_t kBlock = 512;                 // points per batch of row lookups
constexpr int64_t kGrainBytes = 1 << 16;        // worth a thread
constexpr int64_t kLongRow = int64_t{1} << 20;  // bytes of a row that several threads copy together

struct Word16 {
  uint64_t halves[2];
};

// Layout of a row with adjacent dimensions joined; rows of the result are contiguous.
struct Row {
  Sizes sizes, strides;
  int64_t count;

  explicit Row(const Layout& layout) : count(layout.element_count()) {
    const Layout* one[] = {&layout};
    JointLayout joint(one);
    sizes = std::move(joint.sizes);
    strides = std::move(joint.strides[0]);
  }
  bool is_contiguous() const { return sizes.empty() || (sizes.size() == 1 && strides[0] == 1); }
};

template <class Word>
Word* copy_row(const Row& row, size_t axis, const Word* from, Word* to) {
  const int64_t size = row.sizes[axis], stride = row.strides[axis];
  if (axis + 1 < row.sizes.size()) {
    for (int64_t i = 0; i < size; ++i) to = copy_row(row, axis + 1, from + i * stride, to);
    return to;
  }
  if (stride == 1) {
    std::memcpy(to, from, static_cast<size_t>(size) * sizeof(Word));
  } else {
    for (int64_t i = 0; i < size; ++i) to[i] = from[i * stride];
  }
  return to + size;
}

template <class Word>
void copy_found(const Row& row, const Word* from, std::span<const int64_t> offsets, Word* to) {
  if (row.count == 1) {
    for (size_t i = 0; i < offsets.size(); ++i) {
      to[i] = offsets[i] == IndexedRows::kNowhere ? Word{} : from[offsets[i]];
    }
    return;
  }
  const bool is_contiguous = row.is_contiguous();
  const size_t bytes = static_cast<size_t>(row.count) * sizeof(Word);
  for (const int64_t offset : offsets) {
    if (offset == IndexedRows::kNowhere)
      std::memset(static_cast<void*>(to), 0, bytes);
    else if (is_contiguous)
      std::memcpy(static_cast<void*>(to), from + offset, bytes);
    else
      copy_row(row, 0, from + offset, to);
    to += row.count;
  }
}

template <class Word>
void read_words(const IndexedRows& rows, const std::byte* x, std::byte* result) {
  const Row row(rows.row());
  const int64_t grain = std::max<int64_t>(kGrainBytes / (row.count * int64_t{sizeof(Word)}), 1);
  parallel_for(rows.count(), grain, [&](int64_t begin, int64_t end) {
    std::array<int64_t, kBlock> offsets;
    for (int64_t at = begin; at < end; at += kBlock) {
      const int64_t count = std::min(kBlock, end - at);
      rows.find(at, at + count, offsets.data());
      copy_found(row, reinterpret_cast<const Word*>(x),
                 std::span(offsets).first(static_cast<size_t>(count)),
                 reinterpret_cast<Word*>(result) + at * row.count);
    }
  });
}

void read_long_rows(const IndexedRows& rows, const Array& x, Array& result) {
  const int64_t count = rows.row().element_count();
  for (int64_t point = 0; point < rows.count(); ++point) {
    int64_t offset = 0;
    rows.find(point, point + 1, &offset);
    Layout to = Layout::contiguous(rows.row().sizes);
    to.offset = result.layout().offset + point * count;
    Array place = result.view(std::move(to));
    if (offset == IndexedRows::kNowhere) {
      std::memset(place.writable_data(), 0, static_cast<size_t>(count * x.element_size()));
      continue;
    }
    Layout from = rows.row();
    from.offset = x.layout().offset + offset;
    copy_elements(x.view(std::move(from)), place);
  }
}

}  // namespace

void read_rows(const Array& x, std::span<const Array> indices, const GatherAttributes& attributes,
               Array& result) {
  const IndexedRows rows("gather", x, indices, attributes);
  const int64_t count = rows.row().element_count();
  if (rows.count() == 0) return;
  if (count == 0) {  // nothing to copy, but the indices must be valid
    int64_t offset = 0;
    for (int64_t point = 0; point < rows.count(); ++point) rows.find(point, point + 1, &offset);
    return;
  }
  if (count * x.element_size() >= kLongRow) return read_long_rows(rows, x, result);
  switch (x.element_size()) {
    case 1: return read_words<uint8_t>(rows, x.data(), result.writable_data());
    case 2: return read_words<uint16_t>(rows, x.data(), result.writable_data());
    case 4: return read_words<uint32_t>(rows, x.data(), result.writable_data());
    case 8: return read_words<uint64_t>(rows, x.data(), result.writable_data());
    default: return read_words<Word16>(rows, x.data(), result.writable_data());
  }
}

}  // namespace plait
