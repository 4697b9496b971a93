// The fields of a plain aggregate as function arguments.
#pragma once

#include <cstddef>
#include <utility>

namespace plait::reflect {

inline constexpr size_t kMostFields = 32;

// Calls visit(field, ...) with a reference to each of the object's `count` fields. C++20 can reach
// the fields of an aggregate only with structured bindings, which name them all, so every count is
// written out.
template <size_t count, class T, class F>
constexpr decltype(auto) with_fields(T& object, F&& visit) {
  static_assert(count <= kMostFields,
                "a reflected struct has at most 32 fields: group some of "
                "them in a struct, or list them in a static fields()");
  if constexpr (count == 0) {
    return visit();
  } else if constexpr (count == 1) {
    auto& [a0] = object;
    return visit(a0);
  } else if constexpr (count == 2) {
    auto& [a0, a1] = object;
    return visit(a0, a1);
  } else if constexpr (count == 3) {
    auto& [a0, a1, a2] = object;
    return visit(a0, a1, a2);
  } else if constexpr (count == 4) {
    auto& [a0, a1, a2, a3] = object;
    return visit(a0, a1, a2, a3);
  } else if constexpr (count == 5) {
    auto& [a0, a1, a2, a3, a4] = object;
    return visit(a0, a1, a2, a3, a4);
  } else if constexpr (count == 6) {
    auto& [a0, a1, a2, a3, a4, a5] = object;
    return visit(a0, a1, a2, a3, a4, a5);
  } else if constexpr (count == 7) {
    auto& [a0, a1, a2, a3, a4, a5, a6] = object;
    return visit(a0, a1, a2, a3, a4, a5, a6);
  } else if constexpr (count == 8) {
    auto& [a0, a1, a2, a3, a4, a5, a6, a7] = object;
    return visit(a0, a1, a2, a3, a4, a5, a6, a7);
  } else if constexpr (count == 9) {
    auto& [a0, a1, a2, a3, a4, a5, a6, a7, b0] = object;
    return visit(a0, a1, a2, a3, a4, a5, a6, a7, b0);
  } else if constexpr (count == 10) {
    auto& [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1] = object;
    return visit(a0, a1, a2, a3, a4, a5, a6, a7, b0, b1);
  } else if constexpr (count == 11) {
    auto& [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2] = object;
    return visit(a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2);
  } else if constexpr (count == 12) {
    auto& [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3] = object;
    return visit(a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3);
  } else if constexpr (count == 13) {
    auto& [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4] = object;
    return visit(a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4);
  } else if constexpr (count == 14) {
    auto& [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5] = object;
    return visit(a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5);
  } else if constexpr (count == 15) {
    auto& [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6] = object;
    return visit(a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6);
  } else if constexpr (count == 16) {
    auto& [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7] = object;
    return visit(a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7);
  } else if constexpr (count == 17) {
    auto& [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0] = object;
    return visit(a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0);
  } else if constexpr (count == 18) {
    auto& [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1] = object;
    return visit(a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1);
  } else if constexpr (count == 19) {
    auto& [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2] = object;
    return visit(a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2);
  } else if constexpr (count == 20) {
    auto& [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3] = object;
    return visit(a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3);
  } else if constexpr (count == 21) {
    auto& [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3, c4] =
        object;
    return visit(a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3,
                 c4);
  } else if constexpr (count == 22) {
    auto& [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3, c4, c5] =
        object;
    return visit(a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3, c4,
                 c5);
  } else if constexpr (count == 23) {
    auto& [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3, c4, c5,
           c6] = object;
    return visit(a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3, c4,
                 c5, c6);
  } else if constexpr (count == 24) {
    auto& [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3, c4, c5,
           c6, c7] = object;
    return visit(a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3, c4,
                 c5, c6, c7);
  } else if constexpr (count == 25) {
    auto& [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3, c4, c5,
           c6, c7, d0] = object;
    return visit(a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3, c4,
                 c5, c6, c7, d0);
  } else if constexpr (count == 26) {
    auto& [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3, c4, c5,
           c6, c7, d0, d1] = object;
    return visit(a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3, c4,
                 c5, c6, c7, d0, d1);
  } else if constexpr (count == 27) {
    auto& [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3, c4, c5,
           c6, c7, d0, d1, d2] = object;
    return visit(a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3, c4,
                 c5, c6, c7, d0, d1, d2);
  } else if constexpr (count == 28) {
    auto& [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3, c4, c5,
           c6, c7, d0, d1, d2, d3] = object;
    return visit(a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3, c4,
                 c5, c6, c7, d0, d1, d2, d3);
  } else if constexpr (count == 29) {
    auto& [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3, c4, c5,
           c6, c7, d0, d1, d2, d3, d4] = object;
    return visit(a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3, c4,
                 c5, c6, c7, d0, d1, d2, d3, d4);
  } else if constexpr (count == 30) {
    auto& [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3, c4, c5,
           c6, c7, d0, d1, d2, d3, d4, d5] = object;
    return visit(a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3, c4,
                 c5, c6, c7, d0, d1, d2, d3, d4, d5);
  } else if constexpr (count == 31) {
    auto& [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3, c4, c5,
           c6, c7, d0, d1, d2, d3, d4, d5, d6] = object;
    return visit(a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3, c4,
                 c5, c6, c7, d0, d1, d2, d3, d4, d5, d6);
  } else if constexpr (count == 32) {
    auto& [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3, c4, c5,
           c6, c7, d0, d1, d2, d3, d4, d5, d6, d7] = object;
    return visit(a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3, c4,
                 c5, c6, c7, d0, d1, d2, d3, d4, d5, d6, d7);
  }
}

}  // namespace plait::reflect
