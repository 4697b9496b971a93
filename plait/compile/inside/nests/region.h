// Regions of functions that one kernel can compute, and their loop nests.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plait/compile/inside/nests/nest.h"

namespace plait::compile {

// The role of an instruction in a kernel.
enum class Role : uint8_t {
  other,      // cannot be part of a kernel
  number,     // known at each point without reading memory: a constant, a size, an index
  view,       // a view: reads its operand at affine places
  pointwise,  // each element depends on the operands' elements at the same place
  reduction,
  product,  // matrix product: no member, but the kernel may compute it block by block
  draw,     // uniform random numbers of a key, likewise
};
Role role_of(const ir::Instruction& instruction);

// The roles of a function's instructions, computed once.
class Roles {
 public:
  explicit Roles(const ir::Function& function);

  const ir::Function& function() const { return function_; }
  Role of(const ir::Instruction& instruction) const { return roles_[instruction.index()]; }
  bool is_computed(const ir::Instruction& instruction) const {
    return of(instruction) == Role::pointwise || of(instruction) == Role::reduction;
  }
  // A kernel contains the views and numbers that it reads.
  bool is_view_or_number(const ir::Instruction& instruction) const {
    return of(instruction) == Role::view || of(instruction) == Role::number;
  }
  // The source of a value, behind all views.
  ir::ValueId seen_through(ir::ValueId value) const;
  // True if the value is known without reading memory.
  bool is_number(ir::ValueId seen) const;
  // The instruction that defines a value, behind views; nothing for numbers and parameters.
  std::optional<uint32_t> source_of(ir::ValueId value) const;

 private:
  const ir::Function& function_;
  std::vector<Role> roles_;
};

// Pointwise instructions and reductions of a function, and those of their results that are
// used outside.
struct Region {
  const Roles& roles;
  std::span<const uint32_t> members;  // ascending
  std::span<const ir::ValueId> results;
};

struct RegionNest {
  Nest nest;
  std::vector<ir::ValueId> parameters;  // the values that it reads
};

// Returns nothing if no single loop nest computes them.
std::optional<RegionNest> nest_of(const Region& region);

// A product of rows that loops compute with another matrix.
struct TrailingProduct {
  enum class Kind : uint8_t {
    rows,       // rows · other
    sum_left,   // rowsᵀ · other: a sum over the rows
    sum_right,  // other · rows: a sum over the rows
  };
  Kind kind = Kind::rows;
  ir::ValueId rows = 0, other = 0;
};
// The ways in which a product could be one: an operand is computed by a loop.
std::vector<TrailingProduct> trailing_products(const Roles& roles, const ir::Instruction& product);
// True for a permutation that swaps the last two dimensions.
bool is_transposition(const ir::Instruction& instruction);

// For the function of a kernel: its nest, whose results are those of the loops, in the order of the
// function's, and then rows that only products read; the products and the random numbers that the
// loops read, and the products that read rows.
struct KernelRegion {
  RegionNest loops;
  std::vector<ir::Instruction> products, draws;
  struct Trailing {
    ir::Instruction product;
    TrailingProduct operands;
  };
  std::vector<Trailing> trailing;
  std::vector<ir::ValueId> results;  // those of the nest
  uint32_t own_results = 0;          // the first ones, which are results of the function
};
KernelRegion kernel_region(const ir::Function& function);
// True if a product can do this conversion while it packs its right-hand side.
bool is_rounding(const ir::Instruction& instruction);
// Returns the instruction that rounds the right-hand side of the product, if any.
std::optional<ir::Instruction> rounding_of(const ir::Function& function,
                                           const ir::Instruction& product);

// True if the nest can be fused with the product, as an epilogue on its rows: it reads the product
// at its own places only, in order, and accumulates nothing.
bool is_epilogue_of(const RegionNest& region, const ir::Instruction& product);

}  // namespace plait::compile
