// Floor division, and the remainder with the sign of b, as in Python.
#pragma once

#include <cmath>

namespace plait::cpu {

template <class T>
T remainder_of(T a, T b) {
  const T rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(rest, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

template <class T>
T floor_quotient(T a, T b) {
  if (b == 0) return a / b;
  const T rest = std::fmod(a, b);
  T quotient = (a - rest) / b;  // an integer up to rounding
  if (rest != 0 && (rest < 0) != (b < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(T{0}, a / b);
  const T whole = std::floor(quotient);
  return quotient - whole > T{0.5} ? whole + 1 : whole;
}

}  // namespace plait::cpu
