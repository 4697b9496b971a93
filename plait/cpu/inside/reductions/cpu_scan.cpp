#include "plait/cpu/inside/reductions/cpu_scan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "plait/core/error.h"
#include "plait/core/system/thread_team.h"
#include "plait/cpu/inside/elementwise/half_precision.h"
#include "plait/cpu/inside/reductions/row_view.h"

namespace plait {
namespace {

constexpr int64_t kColumns = 256;    // columns that are scanned together
constexpr int64_t kTogether = 4;     // rows that are scanned together
constexpr int64_t kWork = 1 << 15;   // elements worth a thread
constexpr int64_t kPiece = 1 << 16;  // elements of a long row per task of a thread

// ---- Operations. `join` combines the states of two adjacent runs, for operations where this gives
// exactly the result of a sequential scan.

// The type in which results of T are accumulated.
template <class T>
struct WideOf {
  using Type = double;
};
template <std::integral T>
struct WideOf<T> {
  using Type = uint64_t;  // wraps in the same way
};
template <class T>
  requires kIsPackedFloat<T>
struct WideOf<T> {
  using Type = float;
};
template <class T>
struct WideOf<std::complex<T>> {
  using Type = std::complex<double>;
};
template <class T>
using Wide = typename WideOf<T>::Type;

template <class T>
struct RunningSum {
  using State = Wide<T>;
  static constexpr bool kJoins = true;
  static State begin() {
    // −0 is the neutral element: −0 + x is x, also for x = −0.
    if constexpr (kIsComplex<State>) return State(-0., -0.);
    return static_cast<State>(-0.);
  }
  static State next(State state, T x, T) { return state + widened_to<State>(x); }
  static State join(State left, State right) { return left + right; }
  static T value(State state) { return narrowed_to<T>(state); }

  // The sum of a run, by several independent sums that do not wait for each other.
  static State total(const T* x, int64_t count) {
    constexpr int64_t kSums = 8;
    State sums[kSums];
    std::fill_n(sums, kSums, begin());
    int64_t i = 0;
    for (; i + kSums <= count; i += kSums) {
      for (int64_t s = 0; s < kSums; ++s) sums[s] += widened_to<State>(x[i + s]);
    }
    for (; i < count; ++i) sums[0] += widened_to<State>(x[i]);
    for (int64_t s = 1; s < kSums; ++s) sums[0] += sums[s];
    return sums[0];
  }
};

// Not joinable: 0 · ∞ could occur between runs where it does not in sequence.
template <class T>
struct RunningProduct {
  using State = Wide<T>;
  static constexpr bool kJoins = false;
  static State begin() { return State(1); }
  static State next(State state, T x, T) { return state * widened_to<State>(x); }
  static T value(State state) { return narrowed_to<T>(state); }
};

template <class T, bool greatest>
struct RunningExtreme {
  using State = std::conditional_t<kIsPackedFloat<T>, float, T>;
  static constexpr bool kJoins = true;
  static State begin() {
    using Limits = std::numeric_limits<State>;
    if constexpr (Limits::has_infinity) return greatest ? -Limits::infinity() : Limits::infinity();
    return greatest ? Limits::lowest() : Limits::max();
  }
  static State join(State a, State b) {
    if constexpr (std::is_floating_point_v<State>) {
      return (greatest ? b > a : b < a) || std::isnan(b) ? (std::isnan(a) ? a : b) : a;
    } else {
      return (greatest ? b > a : b < a) ? b : a;
    }
  }
  static State next(State state, T x, T) { return join(state, widened_to<State>(x)); }
  static T value(State state) { return narrowed_to<T>(state); }
};

// The sum of e^(x − most), which cannot overflow.
struct LogSum {
  double most = -std::numeric_limits<double>::infinity();
  double sum = 0;
};

template <class T>
struct RunningLogSum {
  using State = LogSum;
  static constexpr bool kJoins = true;
  static State begin() { return {}; }
  static double share(double x, double most) { return x == most ? 1 : std::exp(x - most); }
  static State join(State a, State b) {
    if (b.sum == 0 || std::isnan(a.most)) return a;
    if (a.sum == 0 || std::isnan(b.most)) return b;
    const double most = std::max(a.most, b.most);
    return {most, a.sum * share(a.most, most) + b.sum * share(b.most, most)};
  }
  static State next(State state, T element, T) {
    const auto x = widened_to<double>(element);
    return join(state, {x, x == -std::numeric_limits<double>::infinity() ? 0. : 1.});
  }
  static T value(State state) { return narrowed_to<T>(state.most + std::log(state.sum)); }
};

template <class T>
struct Recurrence {
  using State = Wide<T>;
  static constexpr bool kJoins = false;
  static State begin() { return State(0); }
  static State next(State state, T a, T b) {
    return widened_to<State>(a) * state + widened_to<State>(b);
  }
  static T value(State state) { return narrowed_to<T>(state); }
};

// ---- The loops.

template <class Op, class T>
class Scanner {
 public:
  using State = typename Op::State;

  Scanner(const RowView& rows, bool reverse, const T* x, const T* second, T* out)
      : rows_(rows), reverse_(reverse), x_(x), second_(second), out_(out) {}

  void run() const {
    const int64_t width = std::min(rows_.inner, kColumns);
    const int64_t blocks = (rows_.inner + width - 1) / width;
    const int64_t units = rows_.outer * blocks;
    if constexpr (Op::kJoins) {
      if (units < 8 && rows_.length * width > 4 * kPiece) return run_in_pieces(units, width);
    }
    const int64_t grain = std::max<int64_t>(kWork / std::max<int64_t>(rows_.length * width, 1), 1);
    parallel_for(units, grain, [&](int64_t begin, int64_t end) {
      if (rows_.inner == 1) {
        for (; begin + kTogether <= end; begin += kTogether) go_together(begin);
      }
      std::vector<State> states(static_cast<size_t>(width));
      for (int64_t unit = begin; unit < end; ++unit) {
        const Place place = place_of(unit, width);
        std::fill(states.begin(), states.end(), Op::begin());
        go<true>(states.data(), place, 0, rows_.length);
      }
    });
  }

 private:
  struct Place {
    int64_t offset, width;
  };

  Place place_of(int64_t unit, int64_t width) const {
    const int64_t blocks = (rows_.inner + width - 1) / width;
    const int64_t column = unit % blocks * width;
    return {unit / blocks * rows_.length * rows_.inner + column,
            std::min(width, rows_.inner - column)};
  }

  // Scans some rows together, so that additions of different rows overlap.
  void go_together(int64_t row) const {
    std::array<State, kTogether> states;
    states.fill(Op::begin());
    const int64_t first = row * rows_.length + (reverse_ ? rows_.length - 1 : 0);
    const int64_t step = reverse_ ? -1 : 1;
    for (int64_t i = 0; i < rows_.length; ++i) {
      for (int64_t r = 0; r < kTogether; ++r) {
        const int64_t at = first + r * rows_.length + i * step;
        State& state = states[static_cast<size_t>(r)];
        state = Op::next(state, x_[at], second_[at]);
        out_[at] = Op::value(state);
      }
    }
  }

  // Scans the elements `begin` to `end` of each column, in the direction of the scan.
  template <bool writes>
  void go(State* states, const Place& place, int64_t begin, int64_t end) const {
    if constexpr (!writes && requires { Op::total(x_, end); }) {
      if (rows_.inner == 1) {
        const int64_t first = reverse_ ? rows_.length - end : begin;
        states[0] = Op::join(states[0], Op::total(x_ + place.offset + first, end - begin));
        return;
      }
    }
    const int64_t step = reverse_ ? -rows_.inner : rows_.inner;
    int64_t at = place.offset + (reverse_ ? rows_.length - 1 - begin : begin) * rows_.inner;
    if (place.width == 1) {
      State state = states[0];
      for (int64_t i = begin; i < end; ++i, at += step) {
        state = Op::next(state, x_[at], second_[at]);
        if constexpr (writes) out_[at] = Op::value(state);
      }
      states[0] = state;
      return;
    }
    for (int64_t i = begin; i < end; ++i, at += step) {
      for (int64_t c = 0; c < place.width; ++c) {
        states[c] = Op::next(states[c], x_[at + c], second_[at + c]);
        if constexpr (writes) out_[at + c] = Op::value(states[c]);
      }
    }
  }

  // Pieces of a fixed length: first the total of each, then each is scanned from the total of those
  // before it.
  void run_in_pieces(int64_t units, int64_t width) const {
    const int64_t length = std::max<int64_t>(kPiece / width, 1);
    const int64_t pieces = (rows_.length + length - 1) / length;
    std::vector<State> states(static_cast<size_t>(pieces * width));
    for (int64_t unit = 0; unit < units; ++unit) {
      const Place place = place_of(unit, width);
      std::fill(states.begin(), states.end(), Op::begin());
      parallel_chunks(pieces - 1, [&](int64_t piece) {
        go<false>(&states[static_cast<size_t>((piece + 1) * width)], place, piece * length,
                  (piece + 1) * length);
      });
      for (size_t i = static_cast<size_t>(width); i < states.size(); ++i) {
        states[i] = Op::join(states[i - static_cast<size_t>(width)], states[i]);
      }
      parallel_chunks(pieces, [&](int64_t piece) {
        go<true>(&states[static_cast<size_t>(piece * width)], place, piece * length,
                 std::min((piece + 1) * length, rows_.length));
      });
    }
  }

  RowView rows_;
  bool reverse_;
  const T *x_, *second_;
  T* out_;
};

template <class Op, class T>
void run(const Array& x, const Array& second, int64_t axis, bool reverse, Array& out) {
  if (out.element_count() == 0) return;
  const Array first_dense = x.contiguous(), second_dense = second.contiguous();
  Scanner<Op, T>(RowView(x.sizes(), axis), reverse, reinterpret_cast<const T*>(first_dense.data()),
                 reinterpret_cast<const T*>(second_dense.data()),
                 reinterpret_cast<T*>(out.writable_data()))
      .run();
}

template <class T>
constexpr bool kIsFloating = std::is_floating_point_v<T> || kIsPackedFloat<T>;
template <class T>
constexpr bool kIsNumber =
    kIsFloating<T> || kIsComplex<T> || (std::is_integral_v<T> && !std::is_same_v<T, bool>);

// Signed and unsigned integers share the code for sums and products.
template <class T>
using Unsigned =
    std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>;

template <class T>
void run_kind(Scan kind, const Array& x, int64_t axis, bool reverse, Array& out) {
  if constexpr (kIsNumber<T>) {
    using U = typename Unsigned<T>::type;
    if (kind == Scan::sum) return run<RunningSum<U>, U>(x, x, axis, reverse, out);
    if (kind == Scan::product) return run<RunningProduct<U>, U>(x, x, axis, reverse, out);
  }
  if constexpr (!kIsComplex<T> && !std::is_same_v<T, KeyBits>) {
    using U = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
    if (kind == Scan::maximum) return run<RunningExtreme<U, true>, U>(x, x, axis, reverse, out);
    if (kind == Scan::minimum) return run<RunningExtreme<U, false>, U>(x, x, axis, reverse, out);
  }
  if constexpr (kIsFloating<T>) {
    if (kind == Scan::logsumexp) return run<RunningLogSum<T>, T>(x, x, axis, reverse, out);
  }
  throw TypeError("this scan does not support {}", name_of(x.dtype()));
}

}  // namespace

void scan(Scan kind, const Array& x, int64_t axis, bool reverse, Array& out) {
  with_element_type(
      x.dtype(), [&]<class T>(std::type_identity<T>) { run_kind<T>(kind, x, axis, reverse, out); });
}

void linear_recurrence(const Array& a, const Array& b, int64_t axis, bool reverse, Array& out) {
  with_element_type(a.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (kIsFloating<T> || kIsComplex<T>) {
      run<Recurrence<T>, T>(a, b, axis, reverse, out);
    } else {
      throw TypeError("linear_recurrence does not support {}", name_of(a.dtype()));
    }
  });
}

}  // namespace plait
