// Parts of functions that one kernel may compute, and the loops that do so.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plait/compile/inside/nests/nest.h"

namespace plait::compile {

// What an instruction is to a kernel.
enum class Role : uint8_t {
  other,      // nothing that kernels are made of
  number,     // known at each point without reading memory: a constant, a size, an index
  look,       // looks at its operand otherwise, at affine places
  pointwise,  // each element from those at the same place in the operands
  reduction,
  product,  // of matrices: no member, but it may be computed row by row as the kernel goes
};
Role role_of(const ir::Instruction& instruction);

// The roles of a function's instructions, told once.
class Roles {
 public:
  explicit Roles(const ir::Function& function);

  const ir::Function& function() const { return function_; }
  Role of(const ir::Instruction& instruction) const { return roles_[instruction.index()]; }
  bool is_computed(const ir::Instruction& instruction) const {
    return of(instruction) == Role::pointwise || of(instruction) == Role::reduction;
  }
  // What the value is made from, where operations on the way only look at it otherwise.
  ir::ValueId seen_through(ir::ValueId value) const;
  // Whether that is known without reading memory.
  bool is_number(ir::ValueId seen) const;

 private:
  const ir::Function& function_;
  std::vector<Role> roles_;
};

// Some pointwise instructions and reductions of a function, and those of their results that are
// asked for.
struct Region {
  const Roles& roles;
  std::span<const uint32_t> members;  // ascending
  std::span<const ir::ValueId> results;
};

struct RegionNest {
  Nest nest;
  std::vector<ir::ValueId> parameters;  // the values that it reads
};

// Nothing where no single loop nest computes them.
std::optional<RegionNest> nest_of(const Region& region);
// Of a function that is one region, and the product whose rows it reads if there is one.
RegionNest nest_of(const ir::Function& function);
std::optional<ir::Instruction> product_of(const Roles& roles);
// Whether packing the right-hand side of a product may do this conversion.
bool is_rounding(const ir::Instruction& instruction);
// The one that gives the right-hand side, if any.
std::optional<ir::Instruction> rounding_of(const ir::Function& function,
                                           const ir::Instruction& product);

// Whether the nest may go along with the rows of the product: it reads it at its own places only,
// in order, and accumulates nothing.
bool goes_along(const RegionNest& region, const ir::Instruction& product);

}  // namespace plait::compile
