#include "plait/cuda/inside/indexing/scatter_text.h"

#include <fmt/format.h>

#include "plait/cuda/inside/kernels/complex_text.h"
#include "plait/cuda/inside/order/key_text.h"

namespace plait::cuda {
namespace {

constexpr std::string_view kLocate = R"(
extern "C" __global__ void __launch_bounds__(256)
locate(const __grid_constant__ Points points, Key* __restrict__ keys, i64* __restrict__ offsets, i64 rows) {
  for (Number i = blockIdx.x * 256u + threadIdx.x; i < (Number)points.count; i += gridDim.x * 256u) {
    const Found found = find_row(points, i, true);
    keys[i] = (Key)(found.number < 0 ? rows : found.number);  // behind all others
    offsets[i] = found.offset;
  }
}
)";

// T: an element; State: what updates are combined in. state_of, value_of, combined.
constexpr std::string_view kPlainState = R"(
typedef T State;
INLINE State state_of(T x) { return x; }
INLINE T value_of(State x) { return x; }
)";
constexpr std::string_view kNarrowState = R"(
typedef f32 State;
INLINE State state_of(T x) { return read(x); }
INLINE T value_of(State x) { return Memory<T>::write(x); }
)";
constexpr std::string_view kSet = R"(
INLINE State combined(State, State b) { return b; }
)";
constexpr std::string_view kIntegerUpdate = R"(
INLINE State combined(State a, State b) { return (State)((u64)a OPERATION (u64)b); }
)";
constexpr std::string_view kRealUpdate = R"(
INLINE State combined(State a, State b) { return a OPERATION b; }
)";
constexpr std::string_view kComplexUpdate = R"(
INLINE State combined(State a, State b) { return OPERATION(a, b); }
)";
constexpr std::string_view kExtremeUpdate = R"(
INLINE State combined(State a, State b) {
  const auto x = read(a), y = read(b);
  return y IS_FURTHER_THAN x || y != y ? b : a;
}
)";

constexpr std::string_view kUpdateRows = R"(
extern "C" __global__ void __launch_bounds__(256)
update_rows(const __grid_constant__ Points points, const __grid_constant__ Row row, T* x, const T* __restrict__ updates,
            i64 total) {
  const Number count = (Number)row.count;
  for (Number i = blockIdx.x * 256u + threadIdx.x; i < (Number)total; i += gridDim.x * 256u) {
    const Number point = i / count, at = i - point * count;
    const Found found = find_row(points, point, at == 0);
    if (found.number < 0) continue;
    T& element = x[found.offset + row_offset(row, 0, at)];
    element = value_of(combined(state_of(element), state_of(updates[i])));
  }
}
)";

// keys[i] is the number of the row of point order[i], ascending; `rows` for updates to drop.
constexpr std::string_view kSetLast = R"(
extern "C" __global__ void __launch_bounds__(256)
set_last(const __grid_constant__ Row row, const Key* __restrict__ keys, const Index* __restrict__ order,
         const i64* __restrict__ offsets, T* __restrict__ x, const T* __restrict__ updates, i64 points, i64 rows) {
  const Number count = (Number)row.count, total = (Number)points * count;
  for (Number i = blockIdx.x * 256u + threadIdx.x; i < total; i += gridDim.x * 256u) {
    const Number k = i / count, at = i - k * count;
    const Key key = keys[k];
    if (key == (Key)rows || (k + 1 < (Number)points && keys[k + 1] == key)) continue;
    const i64 point = (i64)order[k];
    x[offsets[point] + row_offset(row, 0, at)] = updates[point * row.count + at];
  }
}
)";

// The thread of the first point of a run and an element of the row makes all updates of the run.
constexpr std::string_view kUpdateInOrder = R"(
extern "C" __global__ void __launch_bounds__(256)
update_in_order(const __grid_constant__ Row row, const Key* __restrict__ keys, const Index* __restrict__ order,
                const i64* __restrict__ offsets, T* __restrict__ x, const T* __restrict__ updates, i64 points, i64 rows) {
  const Number count = (Number)row.count, total = (Number)points * count;
  for (Number i = blockIdx.x * 256u + threadIdx.x; i < total; i += gridDim.x * 256u) {
    const Number first = i / count, at = i - first * count;
    const Key key = keys[first];
    if (key == (Key)rows || (first > 0 && keys[first - 1] == key)) continue;
    T& element = x[offsets[order[first]] + row_offset(row, 0, at)];
    State state = state_of(element);
    for (i64 k = first; k < points && keys[k] == key; ++k) {
      state = combined(state, state_of(updates[(i64)order[k] * row.count + at]));
    }
    element = value_of(state);
  }
}
)";

// A thread for a tile of TILE points and an element of the row. Runs within the tile are finished.
// Of a run that began before, the updates are combined in `parts`; of one that begins here and goes
// on, x and the updates in `heads`: at most one of each, [tile][element].
constexpr std::string_view kUpdateRuns = R"(
extern "C" __global__ void __launch_bounds__(256)
update_runs(const __grid_constant__ Row row, const Key* __restrict__ keys, const Index* __restrict__ order,
            const i64* __restrict__ offsets, T* __restrict__ x, const T* __restrict__ updates, State* __restrict__ heads,
            State* __restrict__ parts, i64 points, i64 rows) {
  const Number count = (Number)row.count, total = (Number)((points + TILE - 1) / TILE) * count;
  for (Number i = blockIdx.x * 256u + threadIdx.x; i < total; i += gridDim.x * 256u) {
    const Number tile = i / count, at = i - tile * count;
    const i64 begin = (i64)tile * TILE, end = begin + TILE < points ? begin + TILE : points, offset = row_offset(row, 0, at);
    for (i64 k = begin; k < end;) {
      const Key key = keys[k];
      if (key == (Key)rows) break;
      const bool began_before = k == begin && begin > 0 && keys[begin - 1] == key;
      T& element = x[offsets[order[k]] + offset];
      State state = state_of(updates[(i64)order[k] * row.count + at]);
      if (!began_before) state = combined(state_of(element), state);
      for (++k; k < end && keys[k] == key; ++k) {
        state = combined(state, state_of(updates[(i64)order[k] * row.count + at]));
      }
      if (began_before) {
        parts[i] = state;
      } else if (k == end && end < points && keys[end] == key) {
        heads[i] = state;
      } else {
        element = value_of(state);
      }
    }
  }
}

// Finishes the run that begins in a tile and goes on, if there is one.
extern "C" __global__ void __launch_bounds__(256)
join_runs(const __grid_constant__ Row row, const Key* __restrict__ keys, const Index* __restrict__ order,
          const i64* __restrict__ offsets, T* __restrict__ x, const State* __restrict__ heads,
          const State* __restrict__ parts, i64 points, i64 rows) {
  const Number count = (Number)row.count, total = (Number)((points + TILE - 1) / TILE) * count;
  for (Number i = blockIdx.x * 256u + threadIdx.x; i < total; i += gridDim.x * 256u) {
    const Number tile = i / count, at = i - tile * count;
    const i64 begin = (i64)tile * TILE;
    i64 end = begin + TILE;
    if (end >= points) continue;
    const Key key = keys[end];
    if (key == (Key)rows || keys[end - 1] != key || (begin > 0 && keys[begin - 1] == key)) continue;
    State state = heads[i];
    for (Number part = i + count; end < points && keys[end] == key; part += count, end += TILE) {
      state = combined(state, parts[part]);
    }
    x[offsets[order[end - TILE]] + row_offset(row, 0, at)] = value_of(state);
  }
}
)";

bool is_short_float(DType dtype) { return is_floating(dtype) && size_of(dtype) < 4; }
bool is_arithmetic(Combine combine) {
  return combine == Combine::add || combine == Combine::multiply;
}

std::string update_text(Combine combine, DType dtype) {
  if (combine == Combine::set) {
    const int64_t size = size_of(dtype);
    return fmt::format("typedef {} T;\n{}{}", size == 16 ? "uint4" : unsigned_name(size),
                       kPlainState, kSet);
  }
  const bool is_sum = combine == Combine::add;
  const std::string type =
      fmt::format("typedef {} T;\n", dtype == DType::boolean ? "u8" : name_of(dtype));
  if (!is_arithmetic(combine)) {
    return fmt::format("{}#define IS_FURTHER_THAN {}\n{}{}", type,
                       combine == Combine::minimum ? "<" : ">", kPlainState, kExtremeUpdate);
  }
  if (is_complex(dtype)) {
    return fmt::format("{}#define OPERATION {}\n{}{}{}", type, is_sum ? "added" : "multiplied",
                       kComplexText, kPlainState, kComplexUpdate);
  }
  return fmt::format("{}#define OPERATION {}\n{}{}", type, is_sum ? "+" : "*",
                     is_short_float(dtype) ? kNarrowState : kPlainState,
                     is_floating(dtype) ? kRealUpdate : kIntegerUpdate);
}

}  // namespace

bool may_combine_first(Combine combine, DType dtype) {
  return combine != Combine::multiply || !is_inexact(dtype);
}

int64_t combined_bytes(Combine combine, DType dtype) {
  return is_short_float(dtype) && is_arithmetic(combine) ? 4 : size_of(dtype);
}

std::string locate_text(const Points& points, bool narrow, int64_t key_bytes) {
  return fmt::format("{}typedef {} Key;\n{}", points_text(points, {}, narrow),
                     unsigned_name(key_bytes), kLocate);
}

std::string update_rows_text(const Points& points, const Row& row, bool narrow, Combine combine,
                             DType dtype) {
  return fmt::format("{}{}{}", points_text(points, row, narrow), update_text(combine, dtype),
                     kUpdateRows);
}

std::string sorted_updates_text(const Row& row, bool narrow, int64_t key_bytes, int64_t index_bytes,
                                Combine combine, DType dtype) {
  const std::string_view kernels = combine == Combine::set             ? kSetLast
                                   : may_combine_first(combine, dtype) ? kUpdateRuns
                                                                       : kUpdateInOrder;
  Points points;
  points.indices = 1;
  return fmt::format("{}typedef {} Key;\ntypedef {} Index;\n#define TILE {}\n{}{}",
                     points_text(points, row, narrow), unsigned_name(key_bytes),
                     unsigned_name(index_bytes), kPointsOfTile, update_text(combine, dtype),
                     kernels);
}

}  // namespace plait::cuda
