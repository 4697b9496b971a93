#include "plait/cpu/inside/indexing/cpu_scatter.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "plait/core/inside/sizes/integer_arithmetic.h"
#include "plait/core/system/thread_team.h"
#include "plait/cpu/inside/elementwise/cpu_elementwise.h"
#include "plait/cpu/inside/indexing/indexed_rows.h"
#include "plait/cpu/inside/indexing/scatter_loops.h"
#include "plait/ops/inside/primitives.h"

namespace plait {
namespace {

constexpr int64_t kWork = 1 << 14;   // elements worth a thread
constexpr int64_t kColumns = 32;     // columns of a row, worth a thread
constexpr int64_t kChunk = 1 << 13;  // points sorted at a time
constexpr int64_t kMostBuckets = 256;
// Sorting points into buckets pays from this number of threads on.
constexpr int64_t kBucketThreads = 4, kBucketWork = 1 << 17;
// Small results, for which each part of the points accumulates a separate copy.
constexpr int64_t kFewElements = 1 << 12, kParts = 16, kPointsPerElement = 64;

// The distance between the updates of consecutive points, if it is constant.
std::optional<int64_t> apart(const Layout& updates, size_t point_rank) {
  const std::span<const int64_t> sizes = updates.sizes, strides = updates.strides;
  const Layout points{Sizes(sizes.first(point_rank)), Sizes(strides.first(point_rank)), 0};
  const Layout* one[] = {&points};
  const JointLayout joint(one);
  if (joint.sizes.empty()) return 0;
  if (joint.sizes.size() == 1) return joint.strides[0][0];
  return std::nullopt;
}

JointLayout joined_rows(const Layout& x, const Layout& updates, size_t point_rank) {
  const std::span<const int64_t> sizes = updates.sizes, strides = updates.strides;
  const Layout row{Sizes(sizes.subspan(point_rank)), Sizes(strides.subspan(point_rank)), 0};
  const Layout* both[] = {&x, &row};
  return JointLayout(both);
}

// Reorders points: those of a row stand one after the other, in their order.
void group_by_row(std::span<int64_t> points, const int64_t* offsets) {
  const size_t mask = std::bit_ceil(2 * points.size()) - 1;
  constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15;  // 2^64 divided by the golden ratio
  constexpr uint32_t kEmpty = std::numeric_limits<uint32_t>::max();
  std::vector<uint32_t> table(mask + 1, kEmpty), row_of(points.size());
  std::vector<int64_t> rows, starts{0};
  for (size_t i = 0; i < points.size(); ++i) {
    const int64_t offset = offsets[points[i]];
    const uint64_t hash = static_cast<uint64_t>(offset) * kMultiplier;
    size_t place = static_cast<size_t>(hash >> 32) & mask;
    while (table[place] != kEmpty && rows[table[place]] != offset) place = (place + 1) & mask;
    if (table[place] == kEmpty) {
      table[place] = static_cast<uint32_t>(rows.size());
      rows.push_back(offset);
      starts.push_back(0);
    }
    row_of[i] = table[place];
    ++starts[row_of[i] + 1];
  }
  if (rows.size() == points.size()) return;
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  const std::vector<int64_t> given(points.begin(), points.end());
  for (size_t i = 0; i < given.size(); ++i) {
    points[static_cast<size_t>(starts[row_of[i]]++)] = given[i];
  }
}

// One call, with several strategies for dividing the work among threads.
class Scatter {
 public:
  Scatter(const RowUpdates& updates, const RowLoops& loops, Array& x, const std::byte* from)
      : updates_(updates),
        loops_(loops),
        array_(x),
        x_(x.writable_data()),
        x_count_(x.element_count()),
        from_(from) {}

  void run(Combine combine, bool unique) {
    const int64_t points = updates_.points, inner = updates_.inner();
    const int64_t grain = std::max<int64_t>(kWork / updates_.row_count, 1);
    if (unique) return share(loops_.loop, nullptr, points, grain);
    const bool are_countable = points < std::numeric_limits<uint32_t>::max();
    if (loops_.grouped != nullptr && updates_.row_count >= loops_.grouped_from && are_countable) {
      return run_grouped(grain);
    }
    const int64_t work = points * updates_.row_count;
    if (work <= kWork || thread_count() == 1) {
      return run(loops_.loop, {nullptr, 0, points, 0, inner});
    }
    const bool has_few = x_count_ <= kFewElements && points >= kPointsPerElement * x_count_;
    if (has_few && combine == Combine::add && is_integer(array_.dtype())) return add_privatized();
    if (inner / kColumns >= thread_count()) {
      return parallel_for(inner, kColumns, [&](int64_t first, int64_t last) {
        run(loops_.loop, {nullptr, 0, points, first, last});
      });
    }
    if (thread_count() < kBucketThreads || work < kBucketWork) {
      return run(loops_.loop, {nullptr, 0, points, 0, inner});
    }
    run_in_buckets();
  }

 private:
  void run(RowLoop loop, const RowPart& part) const { loop(updates_, part, x_, from_); }

  void add_privatized() const {
    const int64_t each = quotient_up(updates_.points, kParts);
    std::array<Array, kParts> sums;
    parallel_chunks(kParts, [&](int64_t part) {
      Array& sum = sums[static_cast<size_t>(part)];
      sum = Array::filled(array_.dtype(), array_.sizes(), Element::of_signed(0));
      const int64_t begin = std::min(part * each, updates_.points);
      const int64_t end = std::min(begin + each, updates_.points);
      loops_.loop(updates_, {nullptr, begin, end, 0, updates_.inner()}, sum.writable_data(), from_);
    });
    const ElementwiseLoop add = find_elementwise_loop(add_primitive().name, array_.dtype());
    for (const Array& sum : sums) {
      const Array both[] = {array_, sum};
      run_elementwise(add, both, array_, 1);
    }
  }

  void share(RowLoop loop, const int64_t* order, int64_t points, int64_t grain) const {
    parallel_for(points, grain, [&](int64_t begin, int64_t end) {
      run(loop, {order, begin, end, 0, updates_.inner()});
    });
  }

  void run_grouped(int64_t grain) {
    if (updates_.points > kChunk) return run_groups_in_buckets();
    std::vector<int64_t> order;
    for (int64_t point = 0; point < updates_.points; ++point) {
      if (updates_.offsets[point] != IndexedRows::kNowhere) order.push_back(point);
    }
    group_by_row(order, updates_.offsets);
    updates_.points = static_cast<int64_t>(order.size());
    share(loops_.grouped, order.data(), updates_.points, grain);
  }

  void run_groups_in_buckets() {
    Buckets buckets = in_buckets();
    parallel_chunks(buckets.count(), [&](int64_t bucket) {
      const auto [begin, end] = buckets.range(bucket);
      const std::span<int64_t> points =
          std::span(buckets.order)
              .subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
      group_by_row(points, updates_.offsets);
      // Other threads reorder the points of other buckets meanwhile: these are all that it sees.
      RowUpdates updates = updates_;
      updates.points = end - begin;
      loops_.grouped(updates, {points.data(), 0, updates.points, 0, updates.inner()}, x_, from_);
    });
  }

  void run_in_buckets() const {
    const Buckets buckets = in_buckets();
    parallel_chunks(buckets.count(), [&](int64_t bucket) {
      const auto [begin, end] = buckets.range(bucket);
      run(loops_.loop, {buckets.order.data(), begin, end, 0, updates_.inner()});
    });
  }

  // The points of each bucket, which is a part of x, in their order.
  struct Buckets {
    std::vector<int64_t> order, begins;

    int64_t count() const { return static_cast<int64_t>(begins.size()) - 1; }
    std::pair<int64_t, int64_t> range(int64_t bucket) const {
      return {begins[static_cast<size_t>(bucket)], begins[static_cast<size_t>(bucket) + 1]};
    }
  };
  // Points are sorted stably, one chunk of points at a time: counted, then placed behind those of
  // earlier buckets and chunks.
  Buckets in_buckets() const {
    int shift = 0;
    while (((x_count_ - 1) >> shift) >= kMostBuckets) ++shift;
    const int64_t buckets = ((x_count_ - 1) >> shift) + 1;
    const int64_t chunks = (updates_.points + kChunk - 1) / kChunk;
    std::vector<int64_t> starts(static_cast<size_t>(buckets * chunks + 1), 0);
    const auto start_of = [&](int64_t bucket, int64_t chunk) -> int64_t& {
      return starts[static_cast<size_t>(bucket * chunks + chunk)];
    };
    const auto for_each_point = [&](int64_t chunk, auto visit) {
      const int64_t end = std::min((chunk + 1) * kChunk, updates_.points);
      for (int64_t point = chunk * kChunk; point < end; ++point) {
        const int64_t offset = updates_.offsets[point];
        if (offset == IndexedRows::kNowhere) continue;
        visit(point, static_cast<size_t>(offset >> shift));
      }
    };
    using Counts = std::array<int64_t, kMostBuckets>;
    parallel_chunks(chunks, [&](int64_t chunk) {
      Counts counts{};
      for_each_point(chunk, [&](int64_t, size_t bucket) { ++counts[bucket]; });
      for (int64_t b = 0; b < buckets; ++b) start_of(b, chunk) = counts[static_cast<size_t>(b)];
    });
    std::exclusive_scan(starts.begin(), starts.end(), starts.begin(), int64_t{0});
    Buckets sorted{.order = std::vector<int64_t>(static_cast<size_t>(starts.back())), .begins = {}};
    parallel_chunks(chunks, [&](int64_t chunk) {
      Counts next;
      for (int64_t b = 0; b < buckets; ++b) next[static_cast<size_t>(b)] = start_of(b, chunk);
      for_each_point(chunk, [&](int64_t point, size_t bucket) {
        sorted.order[static_cast<size_t>(next[bucket]++)] = point;
      });
    });
    for (int64_t b = 0; b < buckets; ++b) sorted.begins.push_back(start_of(b, 0));
    sorted.begins.push_back(starts.back());
    return sorted;
  }

  RowUpdates updates_;
  RowLoops loops_;
  Array& array_;
  std::byte* x_;
  int64_t x_count_;
  const std::byte* from_;
};

}  // namespace

void write_rows(Combine combine, Array& x, const Array& given, std::span<const Array> indices,
                const GatherAttributes& attributes) {
  const IndexedRows rows("scatter", x, indices, attributes);
  if (rows.count() == 0) return;
  Array found = Array::empty(DType::i64, {rows.count()});
  int64_t* const offsets = found.writable_elements<int64_t>().data();
  parallel_for(rows.count(), kWork,
               [&](int64_t begin, int64_t end) { rows.find(begin, end, offsets + begin); });
  if (given.element_count() == 0) return;
  Array updates = given;
  if (!apart(updates.layout(), rows.point_rank())) updates = given.contiguous();
  const RowUpdates row_updates{.offsets = offsets,
                               .points = rows.count(),
                               .apart = *apart(updates.layout(), rows.point_rank()),
                               .row = joined_rows(rows.row(), updates.layout(), rows.point_rank()),
                               .row_count = rows.row().element_count()};
  Scatter(row_updates, find_row_loops(combine, x.dtype()), x, updates.data())
      .run(combine, attributes.unique);
}

}  // namespace plait
