#include "plait/cpu/inside/reductions/cpu_reduce.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include "plait/core/error.h"
#include "plait/core/inside/sizes/integer_arithmetic.h"
#include "plait/core/system/thread_team.h"
#include "plait/cpu/inside/reductions/reduce_kernels.h"
#include "plait/tensor/memory/buffer.h"

namespace plait {
namespace {

using cpu::ReduceKernel;

constexpr int64_t kRow = 1 << 12;          // elements of a row per call of a kernel
constexpr int64_t kMostRows = 256;         // per block
constexpr int64_t kBelow = 64;             // rows that are added to columns together
constexpr int64_t kColumnBytes = 1 << 14;  // bytes of the totals of columns, which stay in the
                                           // first-level cache
constexpr int64_t kFolded = 512;           // least number of columns if rows are contiguous
constexpr int64_t kUnits = 16;             // units that are added to one total sequentially
constexpr int64_t kWork = 1 << 15;         // elements worth a thread
constexpr int64_t kPiece = 1 << 16;        // elements of a long reduction per task of a thread
constexpr int64_t kManyBlocks = 64;        // from this number on, threads share whole blocks
constexpr int64_t kPackedBytes = 1 << 14;

struct Dimension {
  int64_t size = 1;
  int64_t stride = 0, out_stride = 0;  // in elements
};

int64_t count_of(std::span<const Dimension> dimensions) {
  int64_t count = 1;
  for (const Dimension& d : dimensions) count *= d.size;
  return count;
}

struct Place {
  int64_t x = 0, out = 0;  // in elements
};

Place place_of(std::span<const Dimension> dimensions, int64_t index) {
  Place place;
  for (size_t i = dimensions.size(); i-- > 0;) {
    const Dimension& d = dimensions[i];
    place.x += index % d.size * d.stride;
    place.out += index % d.size * d.out_stride;
    index /= d.size;
  }
  return place;
}

// Joins adjacent dimensions, and removes those of size 1.
void join(std::vector<Dimension>& dimensions) {
  std::vector<Dimension> joined;
  for (const Dimension& d : dimensions) {
    if (d.size == 1) continue;
    if (!joined.empty() && joined.back().stride == d.stride * d.size &&
        joined.back().out_stride == d.out_stride * d.size) {
      joined.back() = {joined.back().size * d.size, d.stride, d.out_stride};
    } else {
      joined.push_back(d);
    }
  }
  dimensions = std::move(joined);
}

// Execution plan of a reduction: for each block of results, one unit after another.
//
// A block is a part of `line`, a dimension of the results. A unit is a part of `inner`, the reduced
// dimension with the smallest stride. If the stride of the line is smaller, units are added to
// columns; else they are rows, one per result.
struct Plan {
  Place first;
  std::vector<Dimension> kept, outer;  // dimensions around line and inner
  Dimension line, inner;
  bool is_columns = false;
  int64_t width = 1;   // results of a block
  int64_t folded = 1;  // rows of inner that are joined into one row, whose columns are folded at
                       // the end
  int64_t unit = 1;    // elements of inner in a unit
  int64_t line_parts = 1, inner_parts = 1;

  int64_t blocks() const { return count_of(kept) * line_parts; }
  int64_t units() const { return count_of(outer) * inner_parts; }
  int64_t unit_work() const { return std::clamp<int64_t>(inner.size, 1, unit) * width; }
};

// The stride for ordering dimensions; broadcast dimensions come last.
int64_t distance(const Dimension& d) {
  return d.stride == 0 ? std::numeric_limits<int64_t>::max() : d.stride;
}

// The dimensions of x, with positive strides.
void find_dimensions(const Layout& x, std::span<const int64_t> axes, Plan& plan) {
  int64_t out_stride = 1;
  for (size_t i = x.rank(); i-- > 0;) {
    const bool is_reduced = std::ranges::binary_search(axes, static_cast<int64_t>(i));
    Dimension d{x.sizes[i], x.strides[i], is_reduced ? 0 : out_stride};
    if (!is_reduced) out_stride *= d.size;
    if (d.stride < 0) {
      plan.first.x += (d.size - 1) * d.stride;
      plan.first.out += (d.size - 1) * d.out_stride;
      d.stride = -d.stride;
      d.out_stride = -d.out_stride;
    }
    (is_reduced ? plan.outer : plan.kept).push_back(d);
  }
  std::ranges::reverse(plan.kept);
  std::ranges::sort(plan.outer, std::ranges::greater(), distance);
  join(plan.kept);
  join(plan.outer);
}

void choose_line_and_inner(Plan& plan) {
  if (!plan.outer.empty()) {
    plan.inner = plan.outer.back();
    plan.outer.pop_back();
  }
  const auto closest = std::ranges::min_element(plan.kept, {}, distance);
  if (closest != plan.kept.end()) {
    plan.line = *closest;
    plan.kept.erase(closest);
  }
  plan.is_columns = plan.inner.size == 1 || distance(plan.line) < distance(plan.inner);
}

// A function of the sizes only, so that results do not depend on the number of threads.
void cut(Plan& plan, int64_t total_size) {
  if (plan.is_columns) {
    plan.line_parts = quotient_up(plan.line.size, kColumnBytes / total_size);
    plan.width = quotient_up(plan.line.size, plan.line_parts);
    const bool is_dense = plan.line.stride == 1 && plan.inner.stride == plan.line.size;
    if (is_dense && 2 * plan.width < kFolded) {
      plan.folded = std::clamp<int64_t>(plan.inner.size / 8, 1, kFolded / plan.width);
    }
    plan.unit = kBelow * plan.folded;
  } else {
    plan.unit = std::clamp<int64_t>(plan.inner.size, 1, kRow);
    plan.width = std::clamp<int64_t>(kWork / plan.unit, 1, std::min(plan.line.size, kMostRows));
    plan.line_parts = quotient_up(plan.line.size, plan.width);
  }
  plan.inner_parts = quotient_up(plan.inner.size, plan.unit);
}

Plan plan_of(const Layout& x, std::span<const int64_t> axes, int64_t total_size) {
  Plan plan;
  if (axes.size() == x.rank() && x.is_contiguous()) {  // no analysis needed
    plan.inner = {x.element_count(), 1};
  } else {
    find_dimensions(x, axes, plan);
    choose_line_and_inner(plan);
  }
  cut(plan, total_size);
  return plan;
}

template <size_t size>
void pack(const std::byte* from, int64_t rows, int64_t row_stride, int64_t count, int64_t stride,
          std::byte* to) {
  for (int64_t r = 0; r < rows; ++r) {
    const std::byte* row = from + r * row_stride * static_cast<int64_t>(size);
    for (int64_t i = 0; i < count; ++i, to += size) {
      std::memcpy(to, row + i * stride * static_cast<int64_t>(size), size);
    }
  }
}
using Pack = void (*)(const std::byte*, int64_t, int64_t, int64_t, int64_t, std::byte*);

Pack pack_of(int64_t size) {
  switch (size) {
    case 1: return pack<1>;
    case 2: return pack<2>;
    case 4: return pack<4>;
    case 8: return pack<8>;
    default: return pack<16>;
  }
}

class Run {
 public:
  Run(const ReduceKernel& kernel, const Plan& plan, const std::byte* x, std::byte* out)
      : kernel_(kernel), plan_(plan), x_(x), out_(out), width_(plan.width * plan.folded) {}

  void all() const {
    const int64_t blocks = plan_.blocks(), units = plan_.units();
    if (blocks < kManyBlocks) {
      const int64_t each = std::max<int64_t>(kPiece / plan_.unit_work(), 1);
      if (units > each) return in_pieces(blocks, units, each);
    }
    const int64_t work = plan_.unit_work() * std::max<int64_t>(units, 1);
    parallel_for(blocks, std::max<int64_t>(kWork / work, 1), [&](int64_t begin, int64_t end) {
      const Buffer totals = Buffer::allocate_work(bytes_for(units));
      for (int64_t block = begin; block < end; ++block) {
        const Block place = block_at(block);
        reduce(place, 0, units, totals.data());
        finish(place, totals.data());
      }
    });
  }

 private:
  struct Block {
    Place at;
    int64_t width;  // number of results
  };

  int64_t size_of_totals() const { return width_ * kernel_.total_size; }

  // Memory for totals, and for those of the recursive halving.
  int64_t bytes_for(int64_t units) const {
    const int64_t halvings = std::bit_width(static_cast<uint64_t>(units / kUnits)) + 1;
    return (halvings + 1) * size_of_totals();
  }

  Block block_at(int64_t block) const {
    const int64_t begin = block % plan_.line_parts * plan_.width;
    Place at = place_of(plan_.kept, block / plan_.line_parts);
    at.x += plan_.first.x + begin * plan_.line.stride;
    at.out += plan_.first.out + begin * plan_.line.out_stride;
    return {at, std::min(plan_.width, plan_.line.size - begin)};
  }

  // Each piece has its own totals, which are combined pairwise.
  void in_pieces(int64_t blocks, int64_t units, int64_t each) const {
    const int64_t pieces = quotient_up(units, each), size = size_of_totals();
    const Buffer totals = Buffer::allocate_work(blocks * pieces * size);
    if (blocks == 1 && may_be_decided()) {
      // Often the first piece decides the result, and no other thread is needed.
      const Buffer own = Buffer::allocate_work(bytes_for(each));
      reduce(block_at(0), 0, each, own.data());
      if (is_decided(own.data())) return finish(block_at(0), own.data());
    }
    std::atomic<bool> has_decided = false;  // set by any piece
    parallel_chunks(blocks * pieces, [&](int64_t at) {
      const int64_t begin = at % pieces * each, end = std::min(begin + each, units);
      const Buffer own = Buffer::allocate_work(bytes_for(end - begin));
      if (blocks == 1 && has_decided.load(std::memory_order_relaxed)) {
        kernel_.clear(own.data(), width_);
      } else {
        reduce(block_at(at / pieces), begin, end, own.data());
        if (is_decided(own.data())) has_decided.store(true, std::memory_order_relaxed);
      }
      std::memcpy(totals.data() + at * size, own.data(), static_cast<size_t>(size));
    });
    for (int64_t block = 0; block < blocks; ++block) {
      std::byte* first = totals.data() + block * pieces * size;
      parallel_for(width_, kWork / pieces + 1, [&](int64_t begin, int64_t end) {
        join_pieces(first + begin * kernel_.total_size, pieces, end - begin);
      });
      finish(block_at(block), first);
    }
  }

  void join_pieces(std::byte* totals, int64_t pieces, int64_t count) const {
    for (int64_t step = 1; step < pieces; step *= 2) {
      for (int64_t i = 0; i + step < pieces; i += 2 * step) {
        kernel_.combine(totals + i * size_of_totals(), totals + (i + step) * size_of_totals(),
                        count);
      }
    }
  }

  // Halves long ranges recursively; each half has its own totals, those of the second behind those
  // of the first.
  void reduce(const Block& block, int64_t begin, int64_t end, std::byte* totals) const {
    if (end - begin > kUnits) {
      const int64_t middle = begin + (end - begin) / 2;
      std::byte* more = totals + size_of_totals();
      reduce(block, begin, middle, totals);
      reduce(block, middle, end, more);
      return kernel_.combine(totals, more, width_);
    }
    kernel_.clear(totals, width_);
    for (int64_t unit = begin; unit < end && !is_decided(totals); ++unit) add(block, unit, totals);
  }

  // True if no further element can change the total.
  bool is_decided(const std::byte* totals) const {
    const bool is_any = kernel_.reduction == ir::Reduction::any;
    return may_be_decided() && (*totals != std::byte{0}) == is_any;
  }
  bool may_be_decided() const {
    const ir::Reduction reduction = kernel_.reduction;
    return width_ == 1 && (reduction == ir::Reduction::any || reduction == ir::Reduction::all);
  }

  void add(const Block& block, int64_t unit, std::byte* totals) const {
    const int64_t begin = unit % plan_.inner_parts * plan_.unit;
    const int64_t count = std::min(plan_.unit, plan_.inner.size - begin);
    const int64_t outer = place_of(plan_.outer, unit / plan_.inner_parts).x;
    const std::byte* x =
        x_ + (block.at.x + outer + begin * plan_.inner.stride) * kernel_.element_size;
    if (plan_.folded > 1) return add_folded(x, count, totals);
    if (plan_.is_columns) {
      add_lines(x, {count, plan_.inner.stride}, {block.width, plan_.line.stride}, totals);
    } else {
      add_lines(x, {block.width, plan_.line.stride}, {count, plan_.inner.stride}, totals);
    }
  }

  // Contiguous rows as fewer, longer ones; the last may be shorter.
  void add_folded(const std::byte* x, int64_t rows, std::byte* totals) const {
    const int64_t whole = rows / plan_.folded;
    kernel_.add_columns(x, whole, width_, width_, totals);
    x += whole * width_ * kernel_.element_size;
    kernel_.add_columns(x, 1, 0, rows % plan_.folded * plan_.width, totals);
  }

  // Adds lines of elements; elements that are not contiguous are first copied to a buffer.
  void add_lines(const std::byte* x, Dimension lines, Dimension in_line, std::byte* totals) const {
    const auto add = plan_.is_columns ? kernel_.add_columns : kernel_.add_rows;
    if (in_line.stride == 1 || in_line.size == 1) {
      return add(x, lines.size, lines.stride, in_line.size, totals);
    }
    const int64_t most = kPackedBytes / kernel_.element_size;
    const Pack pack = pack_of(kernel_.element_size);
    alignas(64) std::byte packed[kPackedBytes];
    for (int64_t i = 0; i < in_line.size; i += most) {
      const int64_t count = std::min(most, in_line.size - i);
      for (int64_t line = 0; line < lines.size; line += most / count) {
        const int64_t rows = std::min(most / count, lines.size - line);
        pack(x + (line * lines.stride + i * in_line.stride) * kernel_.element_size, rows,
             lines.stride, count, in_line.stride, packed);
        add(packed, rows, count, count,
            totals + (plan_.is_columns ? i : line) * kernel_.total_size);
      }
    }
  }

  void finish(const Block& block, std::byte* totals) const {
    for (int64_t rows = plan_.folded; rows > 1;) {
      const int64_t half = (rows + 1) / 2;
      kernel_.combine(totals, totals + half * plan_.width * kernel_.total_size,
                      (rows - half) * plan_.width);
      rows = half;
    }
    kernel_.store(totals, out_ + block.at.out * kernel_.element_size, plan_.line.out_stride,
                  block.width);
  }

  const ReduceKernel& kernel_;
  const Plan& plan_;
  const std::byte* x_;
  std::byte* out_;
  const int64_t width_;  // totals of a block
};

}  // namespace

bool has_reduction(ir::Reduction reduction, DType dtype, Reduced reduced) {
  return cpu::find_reduce_kernel(reduction, dtype, reduced) != nullptr;
}

void reduce(ir::Reduction reduction, const Array& x, std::span<const int64_t> axes, Array& out,
            Reduced reduced) {
  const ReduceKernel* kernel = cpu::find_reduce_kernel(reduction, x.dtype(), reduced);
  if (kernel == nullptr) throw TypeError("this reduction does not support {}", name_of(x.dtype()));
  if (out.element_count() == 0) return;
  const Plan plan = plan_of(x.layout(), axes, kernel->total_size);
  Run(*kernel, plan, x.data(), out.writable_data()).all();
}

}  // namespace plait
