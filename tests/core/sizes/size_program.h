// Random expressions over sizes, evaluated as a Dim and with plain integers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rapidcheck.h>

#include "plait/core/sizes/dim.h"

namespace plait {

using ThreeSizes = std::array<int64_t, 3>;

inline Dim size_symbol(size_t i) {
  static const std::array<Dim, 3> symbols = {Dim::symbol("k"), Dim::symbol("m"), Dim::symbol("n")};
  return symbols[i % symbols.size()];
}

inline SymbolMap<int64_t> size_map(const ThreeSizes& sizes) {
  SymbolMap<int64_t> map;
  for (size_t i = 0; i < sizes.size(); ++i) map.set(size_symbol(i), sizes[i]);
  return map;
}

// A program for a stack machine: each number is an instruction, and any numbers are a valid
// program.
class SizeProgram {
 public:
  explicit SizeProgram(std::vector<uint16_t> steps) : steps_(std::move(steps)) {}

  // Throws the errors of Dim.
  Dim dim() const;
  // Empty if it divides by zero, or if an intermediate number exceeds `limit`.
  std::optional<int64_t> value(const ThreeSizes& sizes, int64_t limit = int64_t{1} << 61) const;

 private:
  template <class Number, class Machine>
  std::optional<Number> run(const Machine& machine) const;
  template <class Number, class Machine>
  static std::optional<Number> folded(const Machine& machine, const std::vector<Number>& stack);

  std::vector<uint16_t> steps_;
};

template <class Number, class Machine>
std::optional<Number> SizeProgram::run(const Machine& machine) const {
  std::vector<Number> stack;
  for (const uint16_t step : steps_) {
    const int operation = step % 20, argument = step / 20;
    if (operation < 5) {
      stack.push_back(machine.symbol(static_cast<size_t>(argument % 3)));
    } else if (operation < 8) {
      stack.push_back(Number(argument % 19 - 6));
    } else if (operation < 10 && !stack.empty()) {
      const Number divisor(1 + argument % 8);
      const auto result = machine.apply(operation == 8 ? '/' : '%', stack.back(), divisor);
      if (!result) return std::nullopt;
      stack.back() = *result;
    } else if (operation >= 10 && stack.size() >= 2) {
      const Number right = stack.back();
      stack.pop_back();
      const auto result = machine.apply("++--**/%<>"[operation - 10], stack.back(), right);
      if (!result) return std::nullopt;
      stack.back() = *result;
    }
  }
  return folded<Number>(machine, stack);
}

// Combines the values left on the stack.
template <class Number, class Machine>
std::optional<Number> SizeProgram::folded(const Machine& machine,
                                          const std::vector<Number>& stack) {
  std::optional<Number> result(0);
  for (size_t i = 0; i < stack.size() && result; ++i) {
    result = machine.apply("+-*>/<%"[i % 7], *result, stack[i]);
  }
  return result;
}

inline Dim SizeProgram::dim() const {
  struct Machine {
    Dim symbol(size_t i) const { return size_symbol(i); }
    std::optional<Dim> apply(char operation, Dim a, Dim b) const {
      switch (operation) {
        case '+': return a + b;
        case '-': return a - b;
        case '*': return a * b;
        case '/': return floor_div(a, b);
        case '%': return mod(a, b);
        case '<': return min(a, b);
        default: return max(a, b);
      }
    }
  };
  return *run<Dim>(Machine{});
}

inline std::optional<int64_t> SizeProgram::value(const ThreeSizes& sizes, int64_t limit) const {
  struct Machine {
    const ThreeSizes& sizes;
    int64_t limit;

    int64_t symbol(size_t i) const { return sizes[i]; }
    std::optional<int64_t> apply(char operation, int64_t a, int64_t b) const {
      int64_t result = 0;
      bool overflow = false;
      switch (operation) {
        case '+': overflow = __builtin_add_overflow(a, b, &result); break;
        case '-': overflow = __builtin_sub_overflow(a, b, &result); break;
        case '*': overflow = __builtin_mul_overflow(a, b, &result); break;
        case '<': result = a < b ? a : b; break;
        case '>': result = a < b ? b : a; break;
        default:
          if (b == 0) return std::nullopt;
          result = operation == '/' ? a / b : a % b;
          if (a % b != 0 && (a % b < 0) != (b < 0)) result += operation == '/' ? -1 : b;
      }
      if (overflow || result > limit || result < -limit) return std::nullopt;
      return result;
    }
  };
  return run<int64_t>(Machine{sizes, limit});
}

// All instructions are equally likely from the first case on: `size` limits their number only.
inline SizeProgram any_program(int size = 20) {
  const auto step = rc::gen::resize(rc::kNominalSize, rc::gen::inRange<uint16_t>(0, 60000));
  return SizeProgram(*rc::gen::resize(size, rc::gen::container<std::vector<uint16_t>>(step)));
}

}  // namespace plait
