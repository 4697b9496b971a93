#include "plait/cuda/inside/reductions/scan_text.h"

#include <fmt/format.h>

#include "plait/cuda/inside/kernels/complex_text.h"

namespace plait::cuda {
namespace {

// The operations: State; begin(), the neutral state; state_of(x) of one element; join(a, b) of two
// adjacent runs; value_of(state), an element. lane_up(state, n): that of the n-th lane before.

constexpr std::string_view kRealSum = R"(
INLINE State begin() { return (State)-0.; }
INLINE State join(State a, State b) { return a + b; }
)";
constexpr std::string_view kRealProduct = R"(
INLINE State begin() { return (State)1; }
INLINE State join(State a, State b) { return a * b; }
)";
constexpr std::string_view kReal = R"(
INLINE State state_of(T x) { return (State)read(x); }
INLINE T value_of(State state) { return (T)state; }
INLINE State lane_up(State state, int n) { return __shfl_up_sync(0xffffffffu, state, n); }
)";
constexpr std::string_view kNarrow = R"(
INLINE State state_of(T x) { return read(x); }
INLINE T value_of(State state) { return Memory<T>::write(state); }
INLINE State lane_up(State state, int n) { return __shfl_up_sync(0xffffffffu, state, n); }
)";

// The first of equal elements remains, and the first NaN.
constexpr std::string_view kExtreme = R"(
INLINE State begin() { return (State)(BEGIN); }
INLINE State join(State a, State b) { return ((b IS_FURTHER_THAN a) | (b != b)) & (a == a) ? b : a; }
)";
constexpr std::string_view kNarrowIntegers = R"(
INLINE State state_of(T x) { return x; }
INLINE T value_of(State state) { return (T)state; }
INLINE State lane_up(State state, int n) { return __shfl_up_sync(0xffffffffu, state, n); }
)";

constexpr std::string_view kComplex = R"(
typedef c128 State;
INLINE State state_of(T x) { return State{(f64)x.re, (f64)x.im}; }
INLINE T value_of(State state) { return T{(PART)state.re, (PART)state.im}; }
INLINE State lane_up(State state, int n) {
  return State{__shfl_up_sync(0xffffffffu, state.re, n), __shfl_up_sync(0xffffffffu, state.im, n)};
}
)";
constexpr std::string_view kComplexSum = R"(
INLINE State begin() { return State{-0., -0.}; }
INLINE State join(State a, State b) { return added(a, b); }
)";
constexpr std::string_view kComplexProduct = R"(
INLINE State begin() { return State{1., 0.}; }
INLINE State join(State a, State b) { return multiplied(a, b); }
)";

// The sum of e^(x − most), which cannot overflow.
constexpr std::string_view kLogSum = R"(
struct State { f64 most, sum; };
INLINE State begin() { return State{double_of(0xfff0000000000000ull), 0.}; }
INLINE f64 share(f64 x, f64 most) { return x == most ? 1. : exp(x - most); }
INLINE State join(State a, State b) {
  if (b.sum == 0 || a.most != a.most) return a;
  if (a.sum == 0 || b.most != b.most) return b;
  const f64 most = a.most < b.most ? b.most : a.most;
  return State{most, a.sum * share(a.most, most) + b.sum * share(b.most, most)};
}
INLINE State state_of(T element) {
  const f64 x = (f64)read(element);
  return State{x, x == double_of(0xfff0000000000000ull) ? 0. : 1.};
}
INLINE T value_of(State state) { return Memory<T>::write(convert<T>(state.most + log(state.sum))); }
INLINE State lane_up(State state, int n) {
  return State{__shfl_up_sync(0xffffffffu, state.most, n), __shfl_up_sync(0xffffffffu, state.sum, n)};
}
)";

// h = a h + b: elements come in pairs. next(state, a, b).
constexpr std::string_view kRealRecurrence = R"(
INLINE State begin() { return (State)0; }
INLINE State next(State state, State a, State b) { return PRODUCT(a, state) + b; }
)";
constexpr std::string_view kComplexRecurrence = R"(
INLINE State begin() { return State{0., 0.}; }
INLINE State next(State state, State a, State b) { return added(multiplied(a, state), b); }
)";
constexpr std::string_view kNextByJoin = R"(
INLINE State next(State state, State a, State) { return join(state, a); }
)";

// Row r of the array begins at first_of(r), and its elements are `inner` apart. Element k of a scan
// is element k of the row, or with `reverse` the k-th from its end. Pieces of `each` elements begin
// with the states in `states`, if given, and write elements to `out` or the last state to `totals`.
constexpr std::string_view kPlaces = R"(
INLINE i64 first_of(i64 row, i64 length, i64 inner) {
  return inner == 1 ? row * length : row / inner * length * inner + row % inner;
}
)";

// A thread a piece.
constexpr std::string_view kColumns = R"(
extern "C" __global__ void __launch_bounds__(256)
scan_columns(const T* __restrict__ x, const T* __restrict__ second, T* __restrict__ out, const State* __restrict__ states,
             State* __restrict__ totals, i64 rows, i64 length, i64 inner, i64 pieces, i64 each, int reverse) {
  for (i64 unit = blockIdx.x * 256ll + threadIdx.x; unit < rows * pieces; unit += gridDim.x * 256ll) {
    const i64 piece = unit / rows, row = unit - piece * rows, begins = piece * each;
    const i64 ends = begins + each < length ? begins + each : length, place = row * pieces + piece;
    i64 at = first_of(row, length, inner) + (reverse ? length - 1 - begins : begins) * inner;
    State state = states ? states[place] : begin();
    for (i64 k = begins; k < ends; ++k, at += reverse ? -inner : inner) {
      state = next(state, state_of(x[at]), state_of(second[at]));
      if (out) out[at] = value_of(state);
    }
    if (totals) totals[place] = state;
  }
}
)";

// A block a piece: each thread scans ITEMS elements, then threads and warps are joined in order.
constexpr std::string_view kRows = R"(
#define ITEMS 4
INLINE State joined_lanes(State state, int lane) {
  #pragma unroll
  for (int n = 1; n < 32; n *= 2) {
    const State other = lane_up(state, n);
    if (lane >= n) state = join(other, state);
  }
  return state;
}

extern "C" __global__ void __launch_bounds__(256)
scan_rows(const T* __restrict__ x, T* __restrict__ out, const State* __restrict__ states, State* __restrict__ totals,
          i64 rows, i64 length, i64 inner, i64 pieces, i64 each, int reverse) {
  __shared__ State warps[8];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (i64 unit = blockIdx.x; unit < rows * pieces; unit += gridDim.x) {
    const i64 row = unit / pieces, begins = (unit - row * pieces) * each;
    const i64 ends = begins + each < length ? begins + each : length;
    const i64 first = first_of(row, length, inner) + (reverse ? (length - 1) * inner : 0), step = reverse ? -inner : inner;
    State carry = states ? states[unit] : begin();
    for (i64 tile = begins; tile < ends; tile += 256 * ITEMS) {
      const i64 k = tile + threadIdx.x * ITEMS;
      State items[ITEMS], total = begin();
      #pragma unroll
      for (int j = 0; j < ITEMS; ++j) {
        if (k + j < ends) total = join(total, state_of(x[first + (k + j) * step]));
        items[j] = total;
      }
      total = joined_lanes(total, lane);
      if (lane == 31) warps[warp] = total;
      __syncthreads();
      State before = carry;
      for (int w = 0; w < 8; ++w) {
        if (w == warp) before = carry;
        carry = join(carry, warps[w]);
      }
      const State earlier = lane_up(total, 1);
      if (lane > 0) before = join(before, earlier);
      if (out) {
        #pragma unroll
        for (int j = 0; j < ITEMS; ++j) {
          if (k + j < ends) out[first + (k + j) * step] = value_of(join(before, items[j]));
        }
      }
      __syncthreads();
    }
    if (totals && threadIdx.x == 0) totals[unit] = carry;
  }
}

// A block a row: the states of its pieces, at most 256, become those before each piece.
extern "C" __global__ void __launch_bounds__(256) join_pieces(State* states, i64 rows, i64 pieces) {
  __shared__ State joined[256];
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    if (threadIdx.x < pieces) joined[threadIdx.x] = states[row * pieces + threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
      State state = begin();
      for (i64 i = 0; i < pieces; ++i) {
        const State next = join(state, joined[i]);
        joined[i] = state;
        state = next;
      }
    }
    __syncthreads();
    if (threadIdx.x < pieces) states[row * pieces + threadIdx.x] = joined[threadIdx.x];
    __syncthreads();
  }
}
)";

// A block for `together` rows, at most 32: all its threads read and write a tile of `width`
// elements of each row, which one thread scans.
constexpr std::string_view kInOrder = R"(
#define TILE 1056
extern "C" __global__ void __launch_bounds__(256)
scan_in_order(const T* __restrict__ x, const T* __restrict__ second, T* __restrict__ out, i64 rows, i64 length, i64 inner,
              int together, int width, int reverse) {
  __shared__ State tile[TILE], seconds[TILE];
  const i64 step = reverse ? -inner : inner;
  for (i64 group = blockIdx.x * (i64)together; group < rows; group += gridDim.x * (i64)together) {
    State state = begin();
    for (i64 k = 0; k < length; k += width) {
      const int count = (int)(k + width < length ? width : length - k);
      for (int i = threadIdx.x; i < together * width; i += 256) {
        const int r = i / width, c = i - r * width;
        if (group + r >= rows || c >= count) continue;
        const i64 at = first_of(group + r, length, inner) + (reverse ? (length - 1) * inner : 0) + (k + c) * step;
        tile[r * (width + 1) + c] = state_of(x[at]);
        if (PAIRS) seconds[r * (width + 1) + c] = state_of(second[at]);
      }
      __syncthreads();
      if (threadIdx.x < together && group + threadIdx.x < rows) {
        State* const mine = tile + threadIdx.x * (width + 1);
        const State* const others = seconds + threadIdx.x * (width + 1);
        for (int c = 0; c < count; ++c) {
          state = next(state, mine[c], PAIRS ? others[c] : mine[c]);
          mine[c] = state;
        }
      }
      __syncthreads();
      for (int i = threadIdx.x; i < together * width; i += 256) {
        const int r = i / width, c = i - r * width;
        if (group + r >= rows || c >= count) continue;
        const i64 at = first_of(group + r, length, inner) + (reverse ? (length - 1) * inner : 0) + (k + c) * step;
        out[at] = value_of(tile[r * (width + 1) + c]);
      }
      __syncthreads();
    }
  }
}
)";

bool is_narrow_float(DType dtype) { return is_floating(dtype) && size_of(dtype) < 4; }

// The element type: booleans are numbers of one byte.
std::string_view element_type(DType dtype) {
  return dtype == DType::boolean ? "u8" : name_of(dtype);
}

// The type in which sums and products of a real dtype are accumulated: integers wrap alike.
const char* wide_type(DType dtype) {
  return !is_floating(dtype) ? "u64" : is_narrow_float(dtype) ? "f32" : "f64";
}

std::string arithmetic_text(ScanKind kind, DType dtype) {
  if (is_complex(dtype)) {
    return fmt::format("#define PART {}\n{}{}{}", dtype == DType::c64 ? "f32" : "f64", kComplexText,
                       kComplex,
                       kind == ScanKind::sum       ? kComplexSum
                       : kind == ScanKind::product ? kComplexProduct
                                                   : kComplexRecurrence);
  }
  const char* const product = !is_floating(dtype)      ? "((a) * (b))"
                              : is_narrow_float(dtype) ? "__fmul_rn(a, b)"
                                                       : "__dmul_rn(a, b)";
  return fmt::format("typedef {} State;\n#define PRODUCT(a, b) {}\n{}{}", wide_type(dtype), product,
                     is_narrow_float(dtype) ? kNarrow : kReal,
                     kind == ScanKind::sum       ? kRealSum
                     : kind == ScanKind::product ? kRealProduct
                                                 : kRealRecurrence);
}

std::string extreme_text(ScanKind kind, DType dtype) {
  const bool greatest = kind == ScanKind::maximum;
  std::string begin;
  if (is_floating(dtype)) {
    begin = fmt::format("{}__int_as_float(0x7f800000)", greatest ? "-" : "");
  } else if (dtype == DType::boolean) {
    begin = greatest ? "0" : "255";
  } else {
    const IntegerLimits limits = integer_limits(dtype);
    begin = greatest ? fmt::format("{}ull", static_cast<uint64_t>(limits.min))
                     : fmt::format("{}ull", limits.max);
  }
  const bool is_narrow = is_narrow_float(dtype);
  return fmt::format("typedef {} State;\n#define BEGIN {}\n#define IS_FURTHER_THAN {}\n{}{}",
                     is_narrow ? "f32" : element_type(dtype), begin, greatest ? ">" : "<",
                     is_narrow            ? kNarrow
                     : size_of(dtype) < 4 ? kNarrowIntegers
                                          : kReal,
                     kExtreme);
}

std::string operation_text(ScanKind kind, DType dtype) {
  const std::string type = fmt::format("typedef {} T;\n", element_type(dtype));
  switch (kind) {
    case ScanKind::maximum:
    case ScanKind::minimum: return type + extreme_text(kind, dtype);
    case ScanKind::logsumexp: return fmt::format("{}{}", type, kLogSum);
    default: return type + arithmetic_text(kind, dtype);
  }
}

}  // namespace

bool joins(ScanKind kind, DType dtype) {
  if (kind == ScanKind::recurrence) return false;
  return kind != ScanKind::product || !is_inexact(dtype);
}

int64_t state_bytes(ScanKind kind, DType dtype) {
  if (kind == ScanKind::logsumexp || is_complex(dtype)) return 16;
  if (kind != ScanKind::maximum && kind != ScanKind::minimum) {
    return is_narrow_float(dtype) ? 4 : 8;
  }
  return is_narrow_float(dtype) ? 4 : size_of(dtype);
}

std::string scan_text(ScanKind kind, DType dtype) {
  return fmt::format("{}{}{}{}{}", operation_text(kind, dtype), kNextByJoin, kPlaces, kColumns,
                     kRows);
}

std::string ordered_scan_text(ScanKind kind, DType dtype) {
  const bool is_recurrence = kind == ScanKind::recurrence;
  return fmt::format("{}{}#define PAIRS {}\n{}{}{}", operation_text(kind, dtype),
                     is_recurrence ? "" : kNextByJoin, is_recurrence, kPlaces, kColumns, kInOrder);
}

}  // namespace plait::cuda
