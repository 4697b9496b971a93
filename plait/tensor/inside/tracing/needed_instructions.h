// The recorded instructions that some values need, with those before them that have effects, if one
// of them has.
#pragma once

#include <set>
#include <vector>

#include "plait/ir/program.h"
#include "plait/tensor/inside/tracing/open_function.h"
#include "plait/tensor/inside/tracing/pending_values.h"

namespace plait {

class NeededInstructions {
 public:
  // The effects of the instructions before this one have happened.
  NeededInstructions(const OpenFunction& function, const PendingValues& values,
                     uint32_t effects_until);

  void add(std::vector<ir::ValueId> values);
  void add_all_effects();

  // Ascending.
  const std::set<uint32_t>& instructions() const { return instructions_; }
  // The values that they use: captured, or computed earlier.
  const std::set<ir::ValueId>& known() const { return known_; }
  // One after the last instruction with effects.
  uint32_t effects_until() const { return effects_until_; }

 private:
  bool is_known(ir::ValueId value) const;
  bool has_effects(const ir::Instruction& instruction) const;
  void add(uint32_t index, std::vector<ir::ValueId>& waiting);

  const OpenFunction& function_;
  const PendingValues& values_;
  std::set<uint32_t> instructions_;
  std::set<ir::ValueId> known_;
  uint32_t effects_until_;
};

}  // namespace plait
