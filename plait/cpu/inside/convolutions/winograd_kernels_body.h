// The code that winograd_kernels*.cpp compile for their levels. As in product_kernels_body.h
// everything depends on Level, and nothing of the standard library is called.
#pragma once

#include <cstdint>

#include "plait/cpu/inside/convolutions/winograd_kernels.h"
#include "plait/cpu/inside/products/product_kernels_body.h"

namespace plait::winograd_kernels_body {

using product_kernels_body::unrolled;

template <class Level>
struct Lanes {
  using Vector = typename product_kernels_body::VectorOf<float, Level::kBytes>::Type;
  using Unaligned = typename product_kernels_body::VectorOf<float, Level::kBytes>::Unaligned;
  static constexpr int kLanes = Level::kBytes / static_cast<int>(sizeof(float));
  static constexpr int kParts = kWinogradChannels / kLanes;  // vectors of a place

  [[gnu::always_inline]] static Vector load(const float* from) {
    return *reinterpret_cast<const Unaligned*>(from);
  }
  [[gnu::always_inline]] static void store(Vector value, float* to) {
    *reinterpret_cast<Unaligned*>(to) = value;
  }

  // 0 if all that was added is finite, else NaN.
  struct Finiteness {
    Vector sum = {};
    [[gnu::always_inline]] void add(Vector value) { sum += value * 0.0F; }
    bool holds() const {
      bool is_finite = true;
      for (int lane = 0; lane < kLanes; ++lane) is_finite &= sum[lane] == 0.0F;
      return is_finite;
    }
  };
};

// Each function is one of the matrices times a vector x, of numbers that are vectors of lanes.
template <class Level, int results>
struct Points;

// Points 0, ±a, ±b, ∞. Of all pairs of short binary fractions these two round least
// (docs/performance.md).
template <class Level>
struct Points<Level, 4> {
  using Vector = typename Lanes<Level>::Vector;
  static constexpr float a = 0.75F, b = 1.5F, aa = a * a, bb = b * b;
  static constexpr float n0 = 1 / (aa * bb), na = 1 / (2 * aa * (aa - bb)),
                         nb = 1 / (2 * bb * (bb - aa));

  [[gnu::always_inline]] static void input(const Vector (&x)[6], Vector (&y)[6]) {
    const Vector even_a = x[4] - bb * x[2], odd_a = a * (x[3] - bb * x[1]);
    const Vector even_b = x[4] - aa * x[2], odd_b = b * (x[3] - aa * x[1]);
    y[0] = x[4] - (aa + bb) * x[2] + aa * bb * x[0];
    y[1] = even_a + odd_a;
    y[2] = even_a - odd_a;
    y[3] = even_b + odd_b;
    y[4] = even_b - odd_b;
    y[5] = x[5] - (aa + bb) * x[3] + aa * bb * x[1];
  }
  [[gnu::always_inline]] static void results(const Vector (&x)[6], Vector (&y)[4]) {
    const Vector even_a = x[1] + x[2], odd_a = x[1] - x[2], even_b = x[3] + x[4],
                 odd_b = x[3] - x[4];
    y[0] = x[0] + even_a + even_b;
    y[1] = a * odd_a + b * odd_b;
    y[2] = aa * even_a + bb * even_b;
    y[3] = a * aa * odd_a + b * bb * odd_b + x[5];
  }
  [[gnu::always_inline]] static void gradients(const Vector (&x)[4], Vector (&y)[6]) {
    const Vector even_a = x[0] + aa * x[2], odd_a = a * (x[1] + aa * x[3]);
    const Vector even_b = x[0] + bb * x[2], odd_b = b * (x[1] + bb * x[3]);
    y[0] = x[0];
    y[1] = even_a + odd_a;
    y[2] = even_a - odd_a;
    y[3] = even_b + odd_b;
    y[4] = even_b - odd_b;
    y[5] = x[3];
  }
  [[gnu::always_inline]] static void kernel(const Vector (&x)[3], Vector (&y)[6]) {
    const Vector even_a = na * (x[0] + aa * x[2]), odd_a = na * a * x[1];
    const Vector even_b = nb * (x[0] + bb * x[2]), odd_b = nb * b * x[1];
    y[0] = n0 * x[0];
    y[1] = even_a + odd_a;
    y[2] = even_a - odd_a;
    y[3] = even_b + odd_b;
    y[4] = even_b - odd_b;
    y[5] = x[2];
  }
  [[gnu::always_inline]] static void kernel_gradient(const Vector (&x)[6], Vector (&y)[3]) {
    const Vector even_a = na * (x[1] + x[2]), odd_a = na * (x[1] - x[2]);
    const Vector even_b = nb * (x[3] + x[4]), odd_b = nb * (x[3] - x[4]);
    y[0] = n0 * x[0] + even_a + even_b;
    y[1] = a * odd_a + b * odd_b;
    y[2] = aa * even_a + bb * even_b + x[5];
  }
};

// Points 0, ±1, ∞.
template <class Level>
struct Points<Level, 2> {
  using Vector = typename Lanes<Level>::Vector;

  [[gnu::always_inline]] static void input(const Vector (&x)[4], Vector (&y)[4]) {
    y[0] = x[0] - x[2];
    y[1] = x[2] + x[1];
    y[2] = x[2] - x[1];
    y[3] = x[3] - x[1];
  }
  [[gnu::always_inline]] static void results(const Vector (&x)[4], Vector (&y)[2]) {
    y[0] = x[0] + x[1] + x[2];
    y[1] = x[1] - x[2] + x[3];
  }
  [[gnu::always_inline]] static void gradients(const Vector (&x)[2], Vector (&y)[4]) {
    y[0] = x[0];
    y[1] = x[0] + x[1];
    y[2] = x[0] - x[1];
    y[3] = x[1];
  }
  [[gnu::always_inline]] static void kernel(const Vector (&x)[3], Vector (&y)[4]) {
    const Vector even = 0.5F * (x[0] + x[2]), odd = 0.5F * x[1];
    y[0] = x[0];
    y[1] = even + odd;
    y[2] = even - odd;
    y[3] = x[2];
  }
  [[gnu::always_inline]] static void kernel_gradient(const Vector (&x)[4], Vector (&y)[3]) {
    const Vector even = 0.5F * (x[1] + x[2]), odd = 0.5F * (x[1] - x[2]);
    y[0] = x[0] + even;
    y[1] = odd;
    y[2] = even + x[3];
  }
};

// The transform X -> P X Pᵀ of matrices [from][from] to [to][to]; `apply` is one multiplication by
// P.
template <class Level, int from, int to, class Load, class Apply, class Store>
[[gnu::always_inline]] inline void transform(Load load, Apply apply, Store store) {
  using Vector = typename Lanes<Level>::Vector;
  Vector half[to][from];
  unrolled<from>([&](auto column) __attribute__((always_inline)) {
    Vector x[from], y[to];
    unrolled<from>([&](auto i) __attribute__((always_inline)) { x[i] = load(i, column); });
    apply(x, y);
    unrolled<to>([&](auto i) __attribute__((always_inline)) { half[i][column] = y[i]; });
  });
  unrolled<to>([&](auto row) __attribute__((always_inline)) {
    Vector y[to];
    apply(half[row], y);
    unrolled<to>([&](auto i) __attribute__((always_inline)) { store(row, i, y[i]); });
  });
}

template <class Level, int m>
struct Transforms {
  using P = Points<Level, m>;
  using L = Lanes<Level>;
  using Vector = typename L::Vector;
  static constexpr int kSide = m + 2, kPlace = kWinogradChannels;

  // Columns first: those that two tiles share are multiplied once.
  static void input(const PaddedRows& from, int64_t tiles, float* room, const PointMatrices& to) {
    const int64_t columns = tiles * m + 2, row = columns * kPlace;
    for (int64_t column = 0; column < columns; ++column) {
      const int64_t place = column - from.low;
      const bool is_there = place >= 0 && place < from.columns;
      for (int64_t lane = 0; lane < kPlace; lane += L::kLanes) {
        Vector x[kSide] = {}, y[kSide];
        if (is_there) {
          unrolled<kSide>([&](auto i) __attribute__((always_inline)) {
            if (from.rows[i] != nullptr) x[i] = L::load(from.rows[i] + place * from.step + lane);
          });
        }
        P::input(x, y);
        float* out = room + column * kPlace + lane;
        unrolled<kSide>([&](auto i)
                            __attribute__((always_inline)) { L::store(y[i], out + i * row); });
      }
    }
    for (int64_t tile = 0; tile < tiles; ++tile) {
      for (int64_t i = 0; i < kSide; ++i) {
        const float* in = room + i * row + tile * m * kPlace;
        float* out = to.data + i * kSide * to.point_step + tile * to.step;
        for (int part = 0; part < L::kParts; ++part, in += L::kLanes, out += L::kLanes) {
          Vector x[kSide], y[kSide];
          unrolled<kSide>([&](auto j)
                              __attribute__((always_inline)) { x[j] = L::load(in + j * kPlace); });
          P::input(x, y);
          unrolled<kSide>([&](auto j) __attribute__((always_inline)) {
            L::store(y[j], out + j * to.point_step);
          });
        }
      }
    }
  }

  static bool results(const PointMatrices& from, int64_t tiles, float* places, int64_t rows,
                      int64_t columns) {
    typename L::Finiteness finite;
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const int64_t valid = columns - tile * m;
      for (int64_t lane = 0; lane < kPlace; lane += L::kLanes) {
        const float* x = from.data + tile * from.step + lane;
        float* y = places + tile * m * kPlace + lane;
        transform<Level, kSide, m>(
            [&](int i, int j) __attribute__((always_inline)) {
              return L::load(x + (i * kSide + j) * from.point_step);
            },
            [](const auto& in, auto& out) __attribute__((always_inline)) { P::results(in, out); },
            [&](int i, int j, Vector value) __attribute__((always_inline)) {
              if (i >= rows || j >= valid) return;
              finite.add(value);
              L::store(value, y + (i * columns + j) * kPlace);
            });
      }
    }
    return finite.holds();
  }

  static void gradients(const float* places, int64_t rows, int64_t columns, int64_t tiles,
                        const PointMatrices& to) {
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const int64_t valid = columns - tile * m;
      for (int64_t lane = 0; lane < kPlace; lane += L::kLanes) {
        const float* x = places + tile * m * kPlace + lane;
        float* y = to.data + tile * to.step + lane;
        transform<Level, m, kSide>(
            [&](int i, int j) __attribute__((always_inline)) {
              return i < rows && j < valid ? L::load(x + (i * columns + j) * kPlace) : Vector{};
            },
            [](const auto& in, auto& out) __attribute__((always_inline)) { P::gradients(in, out); },
            [&](int i, int j, Vector value) __attribute__((always_inline)) {
              L::store(value, y + (i * kSide + j) * to.point_step);
            });
      }
    }
  }

  static void kernel(const float* places, const PointMatrices& to) {
    for (int64_t lane = 0; lane < kPlace; lane += L::kLanes) {
      transform<Level, 3, kSide>(
          [&](int i, int j) __attribute__((always_inline)) {
            return L::load(places + (i * 3 + j) * kPlace + lane);
          },
          [](const auto& in, auto& out) __attribute__((always_inline)) { P::kernel(in, out); },
          [&](int i, int j, Vector value) __attribute__((always_inline)) {
            L::store(value, to.data + (i * kSide + j) * to.point_step + lane);
          });
    }
  }

  static bool kernel_gradient(const PointMatrices& from, float* places) {
    typename L::Finiteness finite;
    for (int64_t lane = 0; lane < kPlace; lane += L::kLanes) {
      transform<Level, kSide, 3>(
          [&](int i, int j) __attribute__((always_inline)) {
            return L::load(from.data + (i * kSide + j) * from.point_step + lane);
          },
          [](const auto& in, auto& out)
              __attribute__((always_inline)) { P::kernel_gradient(in, out); },
          [&](int i, int j, Vector value) __attribute__((always_inline)) {
            finite.add(value);
            L::store(value, places + (i * 3 + j) * kPlace + lane);
          });
    }
    return finite.holds();
  }

  // ---- WinogradChecks: a place is a number, and rows are padded to whole vectors, and one more.

  static constexpr int kRows = kSide + 2 + m;
  static int64_t width_of(int64_t tiles) {
    return (tiles * m + 2 + L::kLanes - 1) / L::kLanes * L::kLanes + L::kLanes;
  }
  static int64_t room_of_checks(int64_t tiles) { return kRows * width_of(tiles); }

  [[gnu::always_inline]] static Vector larger(Vector a, Vector b) { return a > b ? a : b; }

  static void pad(const float* row, int64_t low, int64_t count, int64_t columns, int64_t width,
                  float* to) {
    for (int64_t i = 0; i < width; ++i) to[i] = 0;
    const int64_t end = low + count < columns ? low + count : columns;
    for (int64_t i = low; row != nullptr && i < end; ++i) to[i] = row[i - low];
  }
  // The rows, and the largest number of each column.
  static void pad_all(const PaddedRows& from, int64_t tiles, float* room, float* largest) {
    const int64_t columns = tiles * m + 2, width = width_of(tiles);
    for (int64_t i = 0; i < kSide; ++i)
      pad(from.rows[i], from.low, from.columns, columns, width, room + i * width);
    for (int64_t i = 0; i < width; i += L::kLanes) {
      Vector most = L::load(room + i);
      unrolled<kSide>([&](auto row) __attribute__((always_inline)) {
        most = larger(most, L::load(room + row * width + i));
      });
      L::store(most, largest + i);
    }
  }
  static float largest_of(const float* numbers, int64_t count) {
    float most = 0;
    for (int64_t i = 0; i < count; ++i) most = numbers[i] > most ? numbers[i] : most;
    return most;
  }

  static bool check_windows(const PaddedRows& from, int64_t tiles, int64_t rows, int64_t columns,
                            float ratio, float* room, float* windows) {
    const int64_t width = width_of(tiles);
    float *largest = room + kSide * width, *high = largest + width;
    pad_all(from, tiles, room, largest);
    for (int64_t row = 0; row < m; ++row) {
      for (int64_t i = 0; i < width; i += L::kLanes) {
        const float* three = room + row * width + i;
        L::store(larger(larger(L::load(three), L::load(three + width)), L::load(three + 2 * width)),
                 high + i);
      }
      float* to = high + width;  // the last vector reads numbers after those of its row
      for (int64_t i = 0; i + L::kLanes < width; i += L::kLanes) {
        L::store(larger(larger(L::load(high + i), L::load(high + i + 1)), L::load(high + i + 2)),
                 to + i);
      }
      for (int64_t i = 0; i < tiles * m; ++i) windows[row * tiles * m + i] = to[i];
    }
    bool is_precise = true;
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const float least = largest_of(largest + tile * m, kSide) / ratio;
      const int64_t valid = columns - tile * m < m ? columns - tile * m : m;
      for (int64_t row = 0; row < rows; ++row) {
        const float* window = windows + (row * tiles + tile) * m;
        for (int64_t i = 0; i < valid; ++i) is_precise &= window[i] >= least || window[i] == 0;
      }
    }
    return is_precise;
  }

  static void add_products(const PaddedRows& x, const float* const* gradients, int64_t columns,
                           int64_t tiles, float* room, double* sums) {
    const int64_t width = width_of(tiles);
    float *largest = room + kSide * width, *largest_gradient = largest + width,
          *padded = largest_gradient + width;
    pad_all(x, tiles, room, largest);
    for (int64_t i = 0; i < m; ++i)
      pad(gradients[i], 0, columns, columns, width, padded + i * width);
    Vector taps[9] = {};
    for (int64_t i = 0; i + L::kLanes < width; i += L::kLanes) {
      Vector most = {};
      unrolled<m>([&](auto row) __attribute__((always_inline)) {
        const Vector gradient = L::load(padded + row * width + i);
        most = larger(most, gradient);
        unrolled<9>([&](auto tap) __attribute__((always_inline)) {
          taps[tap] += gradient * L::load(room + (row + tap / 3) * width + i + tap % 3);
        });
      });
      L::store(most, largest_gradient + i);
    }
    for (int64_t tile = 0; tile < tiles; ++tile) {
      sums[0] += static_cast<double>(largest_of(largest + tile * m, kSide)) *
                 largest_of(largest_gradient + tile * m, m);
    }
    for (int tap = 0; tap < 9; ++tap) {
      for (int lane = 0; lane < L::kLanes; ++lane) sums[1 + tap] += taps[tap][lane];
    }
  }

  static constexpr WinogradKernels kernels() {
    return {m,
            input,
            results,
            gradients,
            kernel,
            kernel_gradient,
            {room_of_checks, check_windows, add_products}};
  }
};

// Elements of an array as numbers. Of bf16 only finite ones are rounded correctly: others are
// computed again.
template <class Level>
struct F32Elements {
  using L = Lanes<Level>;
  using Element = float;
  [[gnu::always_inline]] static typename L::Vector load(const float* from) { return L::load(from); }
  [[gnu::always_inline]] static void store(typename L::Vector value, float* to) {
    L::store(value, to);
  }
  [[gnu::always_inline]] static float number(float element) { return element; }
  [[gnu::always_inline]] static float element(float number) { return number; }
};

template <class Level>
struct Bf16Elements {
  using L = Lanes<Level>;
  using Element = uint16_t;
  static constexpr int kBytes = Level::kBytes;
  using Words = typename product_kernels_body::VectorOf<uint32_t, kBytes>::Type;
  using Halves = typename product_kernels_body::VectorOf<uint16_t, kBytes / 2>::Type;
  using UnalignedHalves = typename product_kernels_body::VectorOf<uint16_t, kBytes / 2>::Unaligned;

  [[gnu::always_inline]] static typename L::Vector load(const uint16_t* from) {
    const Halves halves = *reinterpret_cast<const UnalignedHalves*>(from);
    return reinterpret_cast<typename L::Vector>(__builtin_convertvector(halves, Words) << 16);
  }
  [[gnu::always_inline]] static void store(typename L::Vector value, uint16_t* to) {
    const auto bits = reinterpret_cast<Words>(value);
    const Words rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    *reinterpret_cast<UnalignedHalves*>(to) = __builtin_convertvector(rounded, Halves);
  }
  [[gnu::always_inline]] static float number(uint16_t element) {
    return __builtin_bit_cast(float, static_cast<uint32_t>(element) << 16);
  }
  [[gnu::always_inline]] static uint16_t element(float number) {
    const auto bits = __builtin_bit_cast(uint32_t, number);
    return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
  }
};

// Squares of kLanes × kLanes numbers are transposed by exchanging halves, then quarters, …
template <class Level, class Elements>
struct Channels {
  using L = Lanes<Level>;
  using Element = typename Elements::Element;
  using Words = typename product_kernels_body::VectorOf<uint32_t, Level::kBytes>::Type;
  using Vector = typename L::Vector;
  static constexpr int kLanes = L::kLanes;

  template <int half, int... lane>
  [[gnu::always_inline]] static void exchange(Vector& low, Vector& high,
                                              std::integer_sequence<int, lane...>) {
    const Vector first = low, second = high;
    low = __builtin_shufflevector(first, second,
                                  ((lane & half) == 0 ? lane : kLanes + lane - half)...);
    high = __builtin_shufflevector(first, second,
                                   ((lane & half) == 0 ? lane + half : kLanes + lane)...);
  }
  template <int half>
  [[gnu::always_inline]] static void transpose(Vector (&square)[kLanes]) {
    unrolled<kLanes>([&](auto i) __attribute__((always_inline)) {
      if constexpr ((i & half) == 0) {
        exchange<half>(square[i], square[i + half], std::make_integer_sequence<int, kLanes>{});
      }
    });
    if constexpr (half > 1) transpose<half / 2>(square);
  }

  // Elements of a row that is shorter than a square are moved one by one.
  [[gnu::always_inline]] static void gather_square(const Element* array, int64_t channel_step,
                                                   int64_t channels, int64_t count, float* places) {
    Vector square[kLanes] = {};
    if (count == kLanes) {
      unrolled<kLanes>([&](auto i) __attribute__((always_inline)) {
        if (i < channels) square[i] = Elements::load(array + i * channel_step);
      });
      transpose<kLanes / 2>(square);
      unrolled<kLanes>([&](auto i) __attribute__((always_inline)) {
        L::store(square[i], places + i * kWinogradChannels);
      });
      return;
    }
    for (int64_t place = 0; place < count; ++place) {
      for (int64_t i = 0; i < kLanes; ++i) {
        places[place * kWinogradChannels + i] =
            i < channels ? Elements::number(array[i * channel_step + place]) : 0;
      }
    }
  }
  [[gnu::always_inline]] static void scatter_square(const float* places, int64_t count,
                                                    Element* array, int64_t channel_step,
                                                    int64_t channels) {
    if (count == kLanes) {
      Vector square[kLanes];
      unrolled<kLanes>([&](auto i) __attribute__((always_inline)) {
        square[i] = L::load(places + i * kWinogradChannels);
      });
      transpose<kLanes / 2>(square);
      unrolled<kLanes>([&](auto i) __attribute__((always_inline)) {
        if (i < channels) Elements::store(square[i], array + i * channel_step);
      });
      return;
    }
    for (int64_t i = 0; i < kLanes && i < channels; ++i) {
      for (int64_t place = 0; place < count; ++place) {
        array[i * channel_step + place] = Elements::element(places[place * kWinogradChannels + i]);
      }
    }
  }

  // The square of kLanes places that begins at `place`, or earlier, to end with the last one: these
  // places are moved twice.
  [[gnu::always_inline]] static int64_t begin_of(int64_t place, int64_t count) {
    return place + kLanes <= count || count < kLanes ? place : count - kLanes;
  }
  [[gnu::always_inline]] static int64_t at_most_a_square(int64_t count) {
    return count < kLanes ? count : kLanes;
  }

  static void gather(const void* data, int64_t channel_step, int64_t channels, int64_t count,
                     float* places) {
    const auto* array = static_cast<const Element*>(data);
    for (int64_t lane = 0; lane < kWinogradChannels; lane += kLanes) {
      for (int64_t place = 0; place < count; place += kLanes) {
        const int64_t begin = begin_of(place, count);
        gather_square(array + lane * channel_step + begin, channel_step, channels - lane,
                      at_most_a_square(count), places + begin * kWinogradChannels + lane);
      }
    }
  }

  static void scatter(const float* places, int64_t count, void* data, int64_t channel_step,
                      int64_t channels) {
    auto* array = static_cast<Element*>(data);
    for (int64_t lane = 0; lane < channels; lane += kLanes) {
      for (int64_t place = 0; place < count; place += kLanes) {
        const int64_t begin = begin_of(place, count);
        scatter_square(places + begin * kWinogradChannels + lane, at_most_a_square(count),
                       array + lane * channel_step + begin, channel_step, channels - lane);
      }
    }
  }

  static void note_magnitudes(const void* data, int64_t step, int64_t count, float* maxima) {
    const auto* array = static_cast<const Element*>(data);
    int64_t i = 0;
    if (step == 1) {
      for (; i + kLanes <= count; i += kLanes) {
        const Words bits = reinterpret_cast<Words>(Elements::load(array + i)) & 0x7fffffffU;
        const Words before = reinterpret_cast<Words>(L::load(maxima + i));
        L::store(reinterpret_cast<Vector>(bits > before ? bits : before), maxima + i);
      }
    }
    for (; i < count; ++i) {
      const uint32_t bits =
          __builtin_bit_cast(uint32_t, Elements::number(array[i * step])) & 0x7fffffffU;
      if (bits > __builtin_bit_cast(uint32_t, maxima[i]))
        maxima[i] = __builtin_bit_cast(float, bits);
    }
  }

  static constexpr ChannelKernels kernels() { return {gather, scatter, note_magnitudes}; }
};

template <class Level>
constexpr WinogradLevel level_of() {
  return {Transforms<Level, 2>::kernels(), Transforms<Level, 4>::kernels(),
          Channels<Level, F32Elements<Level>>::kernels(),
          Channels<Level, Bf16Elements<Level>>::kernels()};
}

}  // namespace plait::winograd_kernels_body
