#include "plait/compile/region.h"

#include "plait/core/error.h"
#include "plait/ir/structure.h"
#include "plait/ops/along.h"
#include "plait/ops/reduce.h"

namespace plait::compile {
namespace {

bool all_arrays(const ir::Instruction& instruction) {
  for (size_t i = 0; i < instruction.operands().size(); ++i) {
    if (!instruction.operand_type(i).is_array()) return false;
  }
  for (const ir::Type& type : instruction.result_types()) {
    if (!type.is_array()) return false;
  }
  return true;
}

bool is_one_number(const Literal& literal) {
  return literal.element_count() == 1 || literal.is_splat();
}

bool is_pointwise(const ir::Primitive& primitive) {
  return primitive.elementwise != ir::Elementwise::no || primitive.name == "convert";
}

}  // namespace

Role role_of(const ir::Instruction& instruction) {
  const ir::Primitive& primitive = instruction.primitive();
  if (instruction.result_count() != 1 || !all_arrays(instruction)) return Role::other;
  if (primitive.structure == ir::Structure::size) return Role::number;
  if (primitive.structure == ir::Structure::literal) {
    const Literal& value = instruction.attributes_as<ir::LiteralAttributes>().value;
    return is_one_number(value) ? Role::number : Role::other;
  }
  if (primitive.structure != ir::Structure::machine) return Role::other;
  if (primitive.effects && !primitive.effects(instruction).pure()) return Role::other;
  if (primitive.name == "iota") return Role::number;
  if (primitive.places) return primitive.places(instruction) ? Role::look : Role::other;
  if (is_pointwise(primitive)) return Role::pointwise;
  return reduction_of(primitive) ? Role::reduction : Role::other;
}

Roles::Roles(const ir::Function& function) : function_(function) {
  roles_.reserve(function.size());
  for (const ir::Instruction instruction : function.instructions()) {
    roles_.push_back(role_of(instruction));
  }
}

ir::ValueId Roles::seen_through(ir::ValueId value) const {
  while (const auto definition = function_.definition(value)) {
    if (of(*definition) != Role::look) break;
    value = definition->operands()[0];
  }
  return value;
}

bool Roles::is_number(ir::ValueId seen) const {
  const auto definition = function_.definition(seen);
  return definition && of(*definition) == Role::number;
}

RegionNest nest_of(const ir::Function& function) {
  const Roles roles(function);
  std::vector<uint32_t> members;
  for (const ir::Instruction instruction : function.instructions()) {
    if (roles.is_computed(instruction)) members.push_back(instruction.index());
  }
  if (auto nest = nest_of(Region{roles, members, function.results()})) return std::move(*nest);
  throw CompileError("@{} is not what one kernel can compute", function.name())
      .at(function.location());
}

}  // namespace plait::compile
