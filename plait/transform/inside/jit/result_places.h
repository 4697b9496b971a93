// Results of a compiled program that are unplaced: those computed of unplaced arguments and
// constants alone. The compiler's plans keep no account of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/ir/program.h"
#include "plait/transform/jit.h"

namespace plait {

class ResultPlaces {
 public:
  explicit ResultPlaces(const ir::Program& program);

  // One for each result. Asked before the program runs, which may take the arguments.
  std::vector<bool> find(const JitArguments& arguments) const;
  static void set(std::span<Tensor> results, const std::vector<bool>& are_unplaced);

 private:
  // The parameters that decide; the number after the last stands for what the program places
  // itself. No two sets are equal.
  std::vector<std::vector<uint32_t>> sets_;
  std::vector<size_t> set_of_;  // one a result
};

}  // namespace plait
