// The code that product_kernels*.cpp compile for their levels. Everything depends on Level, a type
// local to the including file, so that a function compiled for one level is never linked into
// another. For the same reason, nothing of the standard library is called.
#pragma once

#include <cstdint>
#include <utility>

#include "plait/cpu/inside/products/product_kernels.h"

namespace plait::product_kernels_body {

template <class T, int bytes>
struct VectorOf {
  static constexpr int kLanes = bytes / static_cast<int>(sizeof(T));
  using Type [[gnu::vector_size(bytes)]] = T;
  // NOLINTNEXTLINE(modernize-use-using): GCC takes these attributes together only here
  typedef T Unaligned __attribute__((vector_size(bytes), aligned(sizeof(T)), may_alias));
};

template <int count, class Body>
[[gnu::always_inline]] inline void unrolled(Body body) {
  [&]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) {
    (body(std::integral_constant<int, i>{}), ...);
  }(std::make_integer_sequence<int, count>{});
}

template <class Level, class T, bool is_boolean>
struct RealTiles {
  using Vector = typename VectorOf<T, Level::kBytes>::Type;
  using Unaligned = typename VectorOf<T, Level::kBytes>::Unaligned;
  static constexpr int kLanes = VectorOf<T, Level::kBytes>::kLanes;
  static constexpr int kVectors = 2;

  template <int rows, int vectors>
  static void run(const void* a_data, int64_t a_row, int64_t a_step, const void* b_data,
                  int64_t b_step, void* c_data, int64_t c_row, int64_t steps, bool accumulates) {
    const T* a = static_cast<const T*>(a_data);
    const T* b = static_cast<const T*>(b_data);
    T* c = static_cast<T*>(c_data);
    const auto place = [&](int row, int vector) __attribute__((always_inline)) {
      return reinterpret_cast<Unaligned*>(c + row * c_row + vector * kLanes);
    };
    Vector sum[rows][vectors] = {};
    if (accumulates) {
      unrolled<rows>([&](auto i) __attribute__((always_inline)) {
        unrolled<vectors>([&](auto j) __attribute__((always_inline)) { sum[i][j] = *place(i, j); });
      });
    }
    for (int64_t p = 0; p < steps; ++p, a += a_step, b += b_step) {
      Vector right[vectors];
      unrolled<vectors>([&](auto j) __attribute__((always_inline)) {
        right[j] = *reinterpret_cast<const Unaligned*>(b + j * kLanes);
      });
      unrolled<rows>([&](auto i) __attribute__((always_inline)) {
        const Vector left = a[i * a_row] - Vector{};
        unrolled<vectors>([&](auto j) __attribute__((always_inline)) {
          if constexpr (is_boolean) {
            sum[i][j] |= left & right[j];
          } else {
            sum[i][j] += left * right[j];
          }
        });
      });
    }
    unrolled<rows>([&](auto i) __attribute__((always_inline)) {
      unrolled<vectors>([&](auto j) __attribute__((always_inline)) { *place(i, j) = sum[i][j]; });
    });
  }
};

template <class Level, class T>
struct ComplexTiles {
  using Vector = typename VectorOf<T, Level::kBytes>::Type;
  using Unaligned = typename VectorOf<T, Level::kBytes>::Unaligned;
  static constexpr int kLanes = VectorOf<T, Level::kBytes>::kLanes;
  static constexpr int kVectors = 1;

  template <int rows, int vectors>
  static void run(const void* a_data, int64_t a_row, int64_t a_step, const void* b_data,
                  int64_t b_step, void* c_data, int64_t c_row, int64_t steps, bool accumulates) {
    const T* a = static_cast<const T*>(a_data);
    const T* b = static_cast<const T*>(b_data);
    T* c = static_cast<T*>(c_data);
    const auto place = [&](int row, int part) __attribute__((always_inline)) {
      return reinterpret_cast<Unaligned*>(c + row * c_row + part * kLanes);
    };
    Vector real[rows] = {}, imaginary[rows] = {};
    if (accumulates) {
      unrolled<rows>([&](auto i) __attribute__((always_inline)) {
        real[i] = *place(i, 0);
        imaginary[i] = *place(i, 1);
      });
    }
    for (int64_t p = 0; p < steps; ++p, a += a_step, b += b_step) {
      const Vector right_real = *reinterpret_cast<const Unaligned*>(b);
      const Vector right_imaginary = *reinterpret_cast<const Unaligned*>(b + kLanes);
      unrolled<rows>([&](auto i) __attribute__((always_inline)) {
        const Vector left_real = a[i * a_row] - Vector{};
        const Vector left_imaginary = a[i * a_row + 1] - Vector{};
        real[i] += left_real * right_real;
        imaginary[i] += left_real * right_imaginary;
        real[i] -= left_imaginary * right_imaginary;
        imaginary[i] += left_imaginary * right_real;
      });
    }
    unrolled<rows>([&](auto i) __attribute__((always_inline)) {
      *place(i, 0) = real[i];
      *place(i, 1) = imaginary[i];
    });
  }
};

template <class Tiles, int... rows>
constexpr ProductTiles tiles_of() {
  ProductTiles tiles{.lanes = Tiles::kLanes, .vectors = Tiles::kVectors, .rows = {rows...}};
  int choice = 0;
  ((tiles.tiles[choice][0] = &Tiles::template run<rows, 1>,
    tiles.tiles[choice][Tiles::kVectors - 1] = &Tiles::template run<rows, Tiles::kVectors>,
    ++choice),
   ...);
  return tiles;
}

// With 32 vector registers 12 rows of two vectors fit, with 16 registers 6.
template <class Level>
constexpr ProductKernels kernels_of() {
  if constexpr (Level::kBytes == 64) {
    return {{tiles_of<RealTiles<Level, float, false>, 12, 8, 4, 2, 1>(),
             tiles_of<RealTiles<Level, double, false>, 12, 8, 4, 2, 1>(),
             tiles_of<RealTiles<Level, uint32_t, false>, 12, 4, 1>(),
             tiles_of<RealTiles<Level, uint64_t, false>, 8, 4, 1>(),
             tiles_of<RealTiles<Level, uint8_t, true>, 12, 4, 1>(),
             tiles_of<ComplexTiles<Level, float>, 12, 4, 1>(),
             tiles_of<ComplexTiles<Level, double>, 12, 4, 1>()}};
  } else {
    return {{tiles_of<RealTiles<Level, float, false>, 6, 4, 2, 1>(),
             tiles_of<RealTiles<Level, double, false>, 6, 4, 2, 1>(),
             tiles_of<RealTiles<Level, uint32_t, false>, 6, 2, 1>(),
             tiles_of<RealTiles<Level, uint64_t, false>, 4, 2, 1>(),
             tiles_of<RealTiles<Level, uint8_t, true>, 6, 2, 1>(),
             tiles_of<ComplexTiles<Level, float>, 4, 2, 1>(),
             tiles_of<ComplexTiles<Level, double>, 4, 2, 1>()}};
  }
}

}  // namespace plait::product_kernels_body
