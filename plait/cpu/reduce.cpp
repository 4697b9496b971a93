#include "plait/cpu/reduce.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "plait/core/error.h"
#include "plait/core/thread_team.h"

namespace plait {
namespace {

using ir::Reduction;

constexpr int64_t kLanes = 16;       // partial results side by side in a row
constexpr int64_t kRow = 2048;       // elements reduced without halving
constexpr int64_t kColumns = 512;    // reduced side by side
constexpr int64_t kRows = 64;        // of columns, reduced without halving
constexpr int64_t kWork = 1 << 15;   // elements worth a thread
constexpr int64_t kPiece = 1 << 18;  // of a long reduction, elements to a piece that threads share

struct Dimension {
  int64_t size, stride;  // in elements of x
};

// What is reduced, seen from one element of the result: `outer` dimensions, one index after the
// other, around `inner`.
struct Plan {
  std::vector<Dimension> kept;  // row-major as in the result; the last may be read side by side
  std::vector<Dimension> outer;
  Dimension inner{1, 0};
  int64_t kept_count = 1, outer_count = 1;
  int64_t width = 1;  // results at a time: of the last kept dimension, when that is the closest
};

int64_t offset_of(std::span<const Dimension> dimensions, int64_t index) {
  int64_t offset = 0;
  for (size_t i = dimensions.size(); i-- > 0;) {
    offset += index % dimensions[i].size * dimensions[i].stride;
    index /= dimensions[i].size;
  }
  return offset;
}

int64_t count_of(std::span<const Dimension> dimensions) {
  int64_t count = 1;
  for (const Dimension& d : dimensions) count *= d.size;
  return count;
}

// Neighbours that lie without a gap become one.
void join(std::vector<Dimension>& dimensions) {
  std::vector<Dimension> joined;
  for (const Dimension& d : dimensions) {
    if (d.size == 1) continue;
    if (!joined.empty() && joined.back().stride == d.stride * d.size)
      joined.back() = {joined.back().size * d.size, d.stride};
    else
      joined.push_back(d);
  }
  dimensions = std::move(joined);
}

Plan plan_of(const Layout& x, std::span<const int64_t> axes) {
  Plan plan;
  std::vector<Dimension> reduced;
  for (size_t i = 0; i < x.rank(); ++i) {
    const bool is_reduced = std::ranges::binary_search(axes, static_cast<int64_t>(i));
    (is_reduced ? reduced : plan.kept).push_back({x.sizes[i], x.strides[i]});
  }
  std::ranges::sort(reduced, std::ranges::greater(),
                    [](const Dimension& d) { return std::abs(d.stride); });
  join(reduced);
  join(plan.kept);
  plan.kept_count = count_of(plan.kept);
  const bool kept_is_closest = !plan.kept.empty() && plan.kept.back().stride == 1 &&
                               (reduced.empty() || reduced.back().stride != 1);
  if (kept_is_closest) {
    plan.width = std::min(plan.kept.back().size, kColumns);
  } else if (!reduced.empty()) {
    plan.inner = reduced.back();
    reduced.pop_back();
  }
  plan.outer = std::move(reduced);
  plan.outer_count = count_of(plan.outer);
  return plan;
}

// ---- What is done to two numbers.

struct Sum {
  template <class A>
  static constexpr A identity() {
    return A(0);
  }
  template <class A>
  static A of(A a, A b) {
    return a + b;
  }
};
struct Product {
  template <class A>
  static constexpr A identity() {
    return A(1);
  }
  template <class A>
  static A of(A a, A b) {
    return a * b;
  }
};
template <bool greatest>
struct Extreme {
  template <class A>
  static constexpr A identity() {
    using Limits = std::numeric_limits<A>;
    if constexpr (Limits::has_infinity) return greatest ? -Limits::infinity() : Limits::infinity();
    return greatest ? Limits::lowest() : Limits::max();
  }
  template <class A>
  static A of(A a, A b) {
    if constexpr (std::is_floating_point_v<A>) {
      // A NaN stays. Without a branch, so that many are compared side by side.
      const bool takes_b = (greatest ? b > a : b < a) | std::isunordered(b, b);
      return takes_b ? b : a;
    } else {
      return (greatest ? b > a : b < a) ? b : a;
    }
  }
};
template <bool all>
struct Truth {
  template <class A>
  static constexpr A identity() {
    return A(all);
  }
  template <class A>
  static A of(A a, A b) {
    return static_cast<A>(all ? a & b : a | b);
  }
};

// T is what lies in memory, A what is computed with.
template <class Op, class T, class A>
class Reducer {
 public:
  Reducer(const Plan& plan, const T* x, T* out) : plan_(plan), x_(x), out_(out) {}

  void run() const {
    const int64_t last = plan_.kept.empty() ? 1 : plan_.kept.back().size;
    const int64_t blocks = (last + plan_.width - 1) / plan_.width;  // of the last kept dimension
    const int64_t groups = plan_.width > 1 ? plan_.kept_count / last * blocks : plan_.kept_count;
    const int64_t each = plan_.outer_count * plan_.inner.size * plan_.width;
    if (groups < 4 && each > 2 * kPiece) return run_in_pieces(groups, last, blocks);
    const int64_t grain = std::max<int64_t>(kWork / std::max<int64_t>(each, 1), 1);
    parallel_for(groups, grain, [&](int64_t begin, int64_t end) {
      std::vector<A> totals(static_cast<size_t>(plan_.width));
      for (int64_t group = begin; group < end; ++group) {
        const Place place = place_of(group, last, blocks);
        reduce_outer(totals.data(), place, 0, plan_.outer_count);
        store(totals.data(), place);
      }
    });
  }

 private:
  struct Place {
    int64_t x, out, width;
  };

  Place place_of(int64_t group, int64_t last, int64_t blocks) const {
    if (plan_.width == 1) return {offset_of(plan_.kept, group), group, 1};
    const int64_t column = group % blocks * plan_.width;
    const int64_t index = group / blocks * last + column;
    return {offset_of(plan_.kept, index), index, std::min(plan_.width, last - column)};
  }

  void store(const A* totals, const Place& place) const {
    for (int64_t i = 0; i < place.width; ++i) out_[place.out + i] = static_cast<T>(totals[i]);
  }

  // The outer dimensions, or the inner one where it is the longer, in pieces of a fixed length.
  void run_in_pieces(int64_t groups, int64_t last, int64_t blocks) const {
    const bool by_inner = plan_.outer_count == 1;
    const int64_t whole = by_inner ? plan_.inner.size : plan_.outer_count;
    const int64_t unit = by_inner ? plan_.width : plan_.inner.size * plan_.width;
    const int64_t length = std::max<int64_t>(kPiece / unit, 1);
    const int64_t pieces = (whole + length - 1) / length;
    std::vector<A> totals(static_cast<size_t>(pieces * plan_.width));
    for (int64_t group = 0; group < groups; ++group) {
      const Place place = place_of(group, last, blocks);
      parallel_chunks(pieces, [&](int64_t piece) {
        const int64_t begin = piece * length, end = std::min(begin + length, whole);
        A* total = totals.data() + piece * plan_.width;
        if (by_inner)
          *total = row(x_ + place.x + begin * plan_.inner.stride, end - begin);
        else
          reduce_outer(total, place, begin, end);
      });
      combine_pieces(totals, pieces);
      store(totals.data(), place);
    }
  }

  void combine_pieces(std::vector<A>& totals, int64_t pieces) const {
    for (int64_t step = 1; step < pieces; step *= 2) {
      for (int64_t i = 0; i + step < pieces; i += 2 * step) {
        combine(&totals[static_cast<size_t>(i * plan_.width)],
                &totals[static_cast<size_t>((i + step) * plan_.width)], plan_.width);
      }
    }
  }

  static void combine(A* totals, const A* more, int64_t width) {
    for (int64_t i = 0; i < width; ++i) totals[i] = Op::of(totals[i], more[i]);
  }

  void reduce_outer(A* totals, const Place& place, int64_t begin, int64_t end) const {
    if (end - begin > kRows) {
      const int64_t middle = begin + (end - begin) / 2;
      reduce_outer(totals, place, begin, middle);
      std::vector<A> more(static_cast<size_t>(place.width));
      reduce_outer(more.data(), place, middle, end);
      return combine(totals, more.data(), place.width);
    }
    std::fill_n(totals, place.width, Op::template identity<A>());
    for (int64_t i = begin; i < end; ++i) {
      const T* x = x_ + place.x + offset_of(plan_.outer, i);
      if (plan_.width == 1) {
        *totals = Op::of(*totals, row(x, plan_.inner.size));
      } else {
        for (int64_t c = 0; c < place.width; ++c) totals[c] = Op::of(totals[c], A(x[c]));
      }
    }
  }

  A row(const T* x, int64_t count) const {
    if (count > kRow) {
      const int64_t half = (count / 2 + kRow - 1) / kRow * kRow;
      return Op::of(row(x, half), row(x + half * plan_.inner.stride, count - half));
    }
    A total = Op::template identity<A>();
    int64_t i = 0;
    if (plan_.inner.stride == 1 && count >= kLanes) {
      std::array<A, kLanes> lanes;
      lanes.fill(total);
      for (; i + kLanes <= count; i += kLanes) {
        for (int64_t lane = 0; lane < kLanes; ++lane) {
          const auto at = static_cast<size_t>(lane);
          lanes[at] = Op::of(lanes[at], A(x[i + lane]));
        }
      }
      for (size_t step = kLanes / 2; step > 0; step /= 2) {
        for (size_t lane = 0; lane < step; ++lane) {
          lanes[lane] = Op::of(lanes[lane], lanes[lane + step]);
        }
      }
      total = lanes[0];
    }
    for (; i < count; ++i) total = Op::of(total, A(x[i * plan_.inner.stride]));
    return total;
  }

  const Plan& plan_;
  const T* x_;
  T* out_;
};

template <class Op, class T, class A = T>
void run(const Plan& plan, const std::byte* x, std::byte* out) {
  Reducer<Op, T, A>(plan, reinterpret_cast<const T*>(x), reinterpret_cast<T*>(out)).run();
}
using Run = void (*)(const Plan&, const std::byte*, std::byte*);

template <class Op>
Run arithmetic(DType dtype) {
  switch (dtype) {
    case DType::f64: return run<Op, double>;
    case DType::f32: return run<Op, float>;
    case DType::f16: return run<Op, Float16, float>;
    case DType::bf16: return run<Op, BFloat16, float>;
    case DType::i64:
    case DType::u64: return run<Op, uint64_t>;  // wraps alike
    case DType::c64: return run<Op, std::complex<float>>;
    case DType::c128: return run<Op, std::complex<double>>;
    default: return nullptr;
  }
}

template <class Op>
Run extreme(DType dtype) {
  switch (dtype) {
    case DType::f64: return run<Op, double>;
    case DType::f32: return run<Op, float>;
    case DType::f16: return run<Op, Float16, float>;
    case DType::bf16: return run<Op, BFloat16, float>;
    case DType::i8: return run<Op, int8_t>;
    case DType::i16: return run<Op, int16_t>;
    case DType::i32: return run<Op, int32_t>;
    case DType::i64: return run<Op, int64_t>;
    case DType::u8: return run<Op, uint8_t>;
    case DType::u16: return run<Op, uint16_t>;
    case DType::u32: return run<Op, uint32_t>;
    case DType::u64: return run<Op, uint64_t>;
    default: return nullptr;
  }
}

Run find_run(Reduction reduction, DType dtype) {
  switch (reduction) {
    case Reduction::sum: return arithmetic<Sum>(dtype);
    case Reduction::product: return arithmetic<Product>(dtype);
    case Reduction::maximum: return extreme<Extreme<true>>(dtype);
    case Reduction::minimum: return extreme<Extreme<false>>(dtype);
    case Reduction::all: return is_boolean(dtype) ? run<Truth<true>, uint8_t> : Run();
    case Reduction::any: return is_boolean(dtype) ? run<Truth<false>, uint8_t> : Run();
    case Reduction::none: break;
  }
  return nullptr;
}

}  // namespace

bool has_reduction(Reduction reduction, DType dtype) {
  return find_run(reduction, dtype) != nullptr;
}

void reduce(Reduction reduction, const Array& x, std::span<const int64_t> axes, Array& out) {
  const Run run = find_run(reduction, x.dtype());
  if (run == nullptr) throw TypeError("this reduction does not take {}", name_of(x.dtype()));
  if (out.element_count() == 0) return;
  Plan plan = plan_of(x.layout(), axes);
  run(plan, x.data(), out.writable_data());
}

}  // namespace plait
