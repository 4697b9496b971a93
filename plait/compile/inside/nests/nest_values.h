// The values of a loop nest: members of a region, in order, and before each what it reads of other
// values: loads, numbers, and views as loads at other places.
#pragma once

#include <optional>
#include <vector>

#include "plait/compile/inside/nests/nest_space.h"
#include "plait/ir/primitive.h"

namespace plait::compile {

class NestValues {
 public:
  // With all members of the region that are not accumulated.
  NestValues(const Region& region, const NestSpace& space);

  // True if a member reads what no nest can read; then all numbers are meaningless.
  bool has_failed() const { return has_failed_; }
  bool is_member(const ir::Instruction& instruction) const {
    return is_member_[instruction.index()];
  }
  // The number of a member's value.
  uint32_t number_of(ir::ValueId value);
  // The operand of a reduction, in the dtype of the accumulation.
  uint32_t widened(const ir::Instruction& reduction);

  // Moves the values and the dtypes of the parameters into the nest, which was without; returns the
  // values that are its parameters.
  std::vector<ir::ValueId> move_into(Nest& nest) &&;

 private:
  struct Known {
    ir::ValueId value;
    PlaceMap map;
    uint32_t number;
  };
  const Known* find(ir::ValueId value, const PlaceMap& map) const;
  uint32_t fail();
  uint32_t add(NestValue value);

  void add_members();
  uint32_t computed(const ir::Instruction& instruction);
  uint32_t reduced(const ir::Instruction& instruction);
  uint32_t converted(uint32_t from, DType dtype);

  // The value at the places of the map. A member has a value at its own places only.
  uint32_t value_at(ir::ValueId value, const PlaceMap& map);
  NestValue known_number(const ir::Instruction& instruction, const PlaceMap& map) const;
  NestValue loaded(ir::ValueId value, const PlaceMap& map);
  PlaceMap moved_by(const ir::IndexMap& view, const PlaceMap& map) const;
  uint32_t through_view(const ir::Instruction& view, const PlaceMap& map);
  uint32_t guarded(ir::ValueId operand, const PlaceMap& map);

  const Region& region_;
  const NestSpace& space_;
  const ir::Function& function_;
  std::vector<bool> is_member_;  // one an instruction
  bool has_failed_ = false;
  std::vector<NestValue> values_;
  std::vector<ir::ValueId> parameters_;
  std::vector<Known> known_;
};

}  // namespace plait::compile
