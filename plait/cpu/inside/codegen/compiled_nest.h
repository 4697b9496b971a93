// The machine code of a loop nest.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plait::cpu {

// Arguments of a call, for a range of rows (counted over all outer loops) and of columns: all
// columns, or, if the nest may be split there, ranges that end at multiples of kColumnStep.
inline constexpr int64_t kColumnStep = 64;
struct NestArguments {
  const void* const* parameters;
  // One for each result. For an accumulated result: memory of this call alone, without strides for
  // the rows that are accumulated, which the call initialises with the identity of the reduction.
  // With groups (grouped > 0), a call processes whole groups and initialises each at its first row.
  // A result may alias a parameter if every load of that parameter is at the place of the store,
  // and in no loop after the store.
  void* const* results;
  const int64_t* sizes;  // the values of Nest::sizes()
  int64_t first_row, end_row;
  int64_t first_column, end_column;
  std::byte* scratch;  // 64-byte aligned
};

struct CompiledNest {
  void (*run)(const NestArguments*) = nullptr;
  // Scratch bytes a column, and in addition to that.
  int64_t scratch_bytes_per_column = 0, scratch_bytes = 0;

  int64_t scratch_for(int64_t columns) const {
    return columns * scratch_bytes_per_column + scratch_bytes;
  }
};

}  // namespace plait::cpu
