// Copies between arbitrary layouts. Dimensions are merged if possible. The dimension with the
// smallest stride in the target and the one with the smallest in the source are copied in tiles, so
// that both are accessed along cache lines.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <type_traits>

#include "plait/core/error.h"
#include "plait/core/system/thread_team.h"
#include "plait/tensor/memory/array.h"
#include "plait/tensor/memory/device_memory.h"

namespace plait {
namespace {

constexpr int64_t kTile = 32;
constexpr int64_t kShort = 8;    // elements of a row too short for a loop
constexpr int64_t kBlock = 256;  // rows whose columns are copied together
constexpr int64_t kGrainBytes = 1 << 16;

struct Word16 {
  uint64_t halves[2];
};

// One dimension in both layouts; strides are in elements.
struct Dimension {
  int64_t size, to, from;
};

struct Plan {
  std::vector<Dimension> outer;
  Dimension row{1, 0, 0};     // smallest stride in the source, unless that is `column`
  Dimension column{1, 1, 1};  // smallest stride in the target
  int64_t outer_count = 1;
};

Plan plan_of(const Layout& to, const Layout& from) {
  const Layout* both[] = {&to, &from};
  const JointLayout joint(both);
  std::vector<Dimension> dimensions;
  for (size_t i = 0; i < joint.sizes.size(); ++i) {
    dimensions.push_back({joint.sizes[i], joint.strides[0][i], joint.strides[1][i]});
  }
  std::ranges::sort(dimensions, std::ranges::greater(),
                    [](const Dimension& d) { return std::abs(d.to); });
  Plan plan;
  if (!dimensions.empty()) {
    plan.column = dimensions.back();
    dimensions.pop_back();
  }
  if (!dimensions.empty()) {
    const auto closest = std::ranges::min_element(dimensions, {}, [](const Dimension& d) {
      return d.from == 0 ? std::numeric_limits<int64_t>::max() : std::abs(d.from);
    });
    const bool is_transposed = std::abs(closest->from) < std::abs(plan.column.from);
    const auto row = is_transposed ? closest : std::prev(dimensions.end());
    plan.row = *row;
    dimensions.erase(row);
  }
  plan.outer = std::move(dimensions);
  for (const Dimension& d : plan.outer) plan.outer_count *= d.size;
  return plan;
}

template <class Word>
void copy_row(Word* to, int64_t to_stride, const Word* from, int64_t from_stride, int64_t count) {
  if (to_stride == 1 && from_stride == 1) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(Word));
  } else if (to_stride == 1 && from_stride == 0) {
    std::fill_n(to, count, *from);
  } else if (to_stride == 1 && from_stride == -1) {  // constant strides are vectorised
    for (int64_t i = 0; i < count; ++i) to[i] = from[-i];
  } else if (to_stride == 1 && from_stride == 2) {
    for (int64_t i = 0; i < count; ++i) to[i] = from[2 * i];
  } else if (to_stride == 2 && from_stride == 1) {
    for (int64_t i = 0; i < count; ++i) to[2 * i] = from[i];
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * to_stride] = from[i * from_stride];
  }
}

using Four [[gnu::vector_size(16)]] = uint32_t;

Four four_at(const uint32_t* from) {
  Four words;
  std::memcpy(&words, from, sizeof words);
  return words;
}

// Matrix transposition, to[row · to_stride + column] = from[column · from_stride + row], with 4 × 4
// blocks in registers.
void transpose(uint32_t* to, int64_t to_stride, const uint32_t* from, int64_t from_stride,
               int64_t rows, int64_t columns) {
  const auto one_by_one = [&](int64_t row_begin, int64_t column_begin, int64_t column_end) {
    for (int64_t i = row_begin; i < rows; ++i) {
      for (int64_t j = column_begin; j < column_end; ++j) {
        to[i * to_stride + j] = from[j * from_stride + i];
      }
    }
  };
  const int64_t whole_rows = rows / 4 * 4, whole_columns = columns / 4 * 4;
  for (int64_t i = 0; i < whole_rows; i += 4) {
    for (int64_t j = 0; j < whole_columns; j += 4) {
      const uint32_t* corner = from + j * from_stride + i;
      const Four a = four_at(corner), b = four_at(corner + from_stride);
      const Four c = four_at(corner + 2 * from_stride), d = four_at(corner + 3 * from_stride);
      const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
      const Four ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
      const Four cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
      const Four cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
      const Four lines[] = {__builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5),
                            __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7),
                            __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5),
                            __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)};
      for (int64_t k = 0; k < 4; ++k) {
        std::memcpy(to + (i + k) * to_stride + j, &lines[k], sizeof lines[k]);
      }
    }
  }
  one_by_one(whole_rows, 0, whole_columns);
  one_by_one(0, whole_columns, columns);
}

template <class Word>
void copy_rows(const Plan& plan, Word* to, const Word* from, int64_t begin, int64_t end) {
  const Dimension row = plan.row, column = plan.column;
  if (column.size < kShort && end - begin > kShort) {
    // Loop along columns, which are longer.
    for (int64_t i = begin; i < end; i += kBlock) {
      for (int64_t at = 0; at < column.size; ++at) {
        copy_row(to + i * row.to + at * column.to, row.to, from + i * row.from + at * column.from,
                 row.from, std::min(kBlock, end - i));
      }
    }
    return;
  }
  const bool tiled = std::abs(row.from) < std::abs(column.from) && row.from != 0;
  const int64_t width = tiled ? kTile : column.size;
  for (int64_t at = 0; at < column.size; at += width) {
    const int64_t count = std::min(width, column.size - at);
    if constexpr (std::is_same_v<Word, uint32_t>) {
      if (tiled && row.from == 1 && column.to == 1) {
        transpose(to + begin * row.to + at, row.to, from + begin + at * column.from, column.from,
                  end - begin, count);
        continue;
      }
    }
    for (int64_t i = begin; i < end; ++i) {
      copy_row(to + i * row.to + at * column.to, column.to, from + i * row.from + at * column.from,
               column.from, count);
    }
  }
}

template <class Word>
void copy_words(const Plan& plan, std::byte* to_bytes, const std::byte* from_bytes) {
  auto* to = reinterpret_cast<Word*>(to_bytes);
  const auto* from = reinterpret_cast<const Word*>(from_bytes);
  if (plan.outer.empty() && plan.row.size == 1) {
    const Dimension d = plan.column;
    parallel_for(d.size, kGrainBytes / sizeof(Word), [&](int64_t begin, int64_t end) {
      copy_row(to + begin * d.to, d.to, from + begin * d.from, d.from, end - begin);
    });
    return;
  }
  // The work is split into runs of rows, so that one large matrix is shared among threads too.
  const int64_t row_bytes = plan.column.size * static_cast<int64_t>(sizeof(Word));
  const int64_t rows = std::clamp(kGrainBytes / std::max<int64_t>(row_bytes, 1), kTile,
                                  std::max(plan.row.size, kTile));
  const int64_t runs = (plan.row.size + rows - 1) / rows;
  const int64_t grain = std::max<int64_t>(kGrainBytes / std::max<int64_t>(rows * row_bytes, 1), 1);
  parallel_for(plan.outer_count * runs, grain, [&](int64_t first, int64_t last) {
    for (int64_t unit = first; unit < last; ++unit) {
      int64_t rest = unit / runs, to_offset = 0, from_offset = 0;
      for (size_t i = plan.outer.size(); i-- > 0;) {
        const Dimension& d = plan.outer[i];
        to_offset += rest % d.size * d.to;
        from_offset += rest % d.size * d.from;
        rest /= d.size;
      }
      const int64_t begin = unit % runs * rows;
      copy_rows(plan, to + to_offset, from + from_offset, begin,
                std::min(begin + rows, plan.row.size));
    }
  });
}

// Between two devices through the host.
void copy_with_device(const Array& from, Array& to) {
  if (from.is_on_host()) return device_memory(to.device()).copy(from, to);
  if (to.is_on_host() || to.device() == from.device()) {
    return device_memory(from.device()).copy(from, to);
  }
  device_memory(to.device()).copy(from.on_host(), to);
}

}  // namespace

void copy_elements(const Array& from, Array& to) {
  if (from.dtype() != to.dtype() || from.sizes() != to.sizes()) {
    throw ShapeError("{}{} cannot be copied into {}{}", name_of(from.dtype()),
                     text_of_sizes(from.sizes()), name_of(to.dtype()), text_of_sizes(to.sizes()));
  }
  const int64_t count = to.element_count();
  if (count == 0) return;
  if (!from.is_on_host() || !to.is_on_host()) return copy_with_device(from, to);
  std::byte* target = to.writable_data();
  const std::byte* source = from.data();
  const int64_t bytes = count * to.element_size();
  if (bytes <= kGrainBytes && from.is_contiguous() && to.is_contiguous()) {
    std::memcpy(target, source, static_cast<size_t>(bytes));
    return;
  }
  const Plan plan = plan_of(to.layout(), from.layout());
  switch (to.element_size()) {
    case 1: return copy_words<uint8_t>(plan, target, source);
    case 2: return copy_words<uint16_t>(plan, target, source);
    case 4: return copy_words<uint32_t>(plan, target, source);
    case 8: return copy_words<uint64_t>(plan, target, source);
    default: return copy_words<Word16>(plan, target, source);
  }
}

}  // namespace plait
