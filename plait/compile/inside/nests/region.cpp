#include "plait/compile/inside/nests/region.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/ir/structure.h"
#include "plait/ops/inside/along.h"
#include "plait/ops/inside/primitives.h"
#include "plait/ops/reductions/reduce.h"

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
  return primitive.elementwise != ir::Elementwise::no || &primitive == &convert_primitive();
}

}  // namespace

Role role_of(const ir::Instruction& instruction) {
  const ir::Primitive& primitive = instruction.primitive();
  if (instruction.result_count() != 1 || !all_arrays(instruction)) return Role::other;
  if (primitive.structure == ir::Structure::size) {  // a dtype that may lack it is checked apart
    return primitive.effects(instruction).pure() ? Role::number : Role::other;
  }
  if (primitive.structure == ir::Structure::literal) {
    const Literal& value = instruction.attributes_as<ir::LiteralAttributes>().value;
    return is_one_number(value) ? Role::number : Role::other;
  }
  if (primitive.structure != ir::Structure::machine) return Role::other;
  if (primitive.effects && !primitive.effects(instruction).pure()) return Role::other;
  if (&primitive == &iota_primitive()) return Role::number;
  if (primitive.index_map) return primitive.index_map(instruction) ? Role::view : Role::other;
  if (is_pointwise(primitive)) return Role::pointwise;
  if (&primitive == &matmul_primitive()) return Role::product;
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
    if (of(*definition) != Role::view) break;
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
  const auto product = product_of(roles);
  const auto rounding = product ? rounding_of(function, *product) : std::nullopt;
  std::vector<uint32_t> members;
  for (const ir::Instruction instruction : function.instructions()) {
    if (rounding && rounding->index() == instruction.index()) continue;
    if (roles.is_computed(instruction)) members.push_back(instruction.index());
  }
  std::vector<ir::ValueId> results;
  for (const ir::ValueId result : function.results()) {
    const auto definition = function.definition(result);
    if (!definition || roles.of(*definition) != Role::product) results.push_back(result);
  }
  if (auto nest = nest_of(Region{roles, members, results})) return std::move(*nest);
  throw CompileError("@{} cannot be computed by one kernel", function.name())
      .at(function.location());
}

std::optional<ir::Instruction> product_of(const Roles& roles) {
  for (const ir::Instruction instruction : roles.function().instructions()) {
    if (roles.of(instruction) == Role::product) return instruction;
  }
  return std::nullopt;
}

bool is_rounding(const ir::Instruction& instruction) {
  return &instruction.primitive() == &convert_primitive() &&
         instruction.operand_type(0).dtype() == DType::f32 &&
         instruction.result_types()[0].dtype() == DType::bf16;
}

std::optional<ir::Instruction> rounding_of(const ir::Function& function,
                                           const ir::Instruction& product) {
  const auto from = function.definition(product.operands()[1]);
  return from && is_rounding(*from) ? from : std::nullopt;
}

bool is_epilogue_of(const RegionNest& region, const ir::Instruction& product) {
  const Nest& nest = region.nest;
  const Shape& shape = product.result_types()[0].shape();
  const auto place = std::ranges::find(region.parameters, product.result());
  if (place == region.parameters.end()) return false;
  for (const NestResult& result : nest.results) {
    if (result.reduction != ir::Reduction::none) return false;
  }
  // Its rows are the rows of the nest, or are contiguous within a single one.
  const bool is_flat = nest.outer.empty() && nest.may_cut_columns();
  if (!same(nest.columns, shape[shape.rank() - 1]) && !is_flat) return false;
  std::vector<Dim> strides{1};
  Dim points = nest.columns;
  for (size_t i = nest.outer.size(); i-- > 0;) {
    strides.insert(strides.begin(), points);
    points = points * nest.outer[i];
  }
  if (!same(points, shape.element_count())) return false;
  const auto parameter = static_cast<uint32_t>(place - region.parameters.begin());
  return std::ranges::all_of(nest.values, [&](const NestValue& value) {
    if (value.kind != NestValue::Kind::load || value.parameter != parameter) return true;
    return value.domains.empty() && same(value.place.offset, Dim(0)) &&
           std::ranges::equal(value.place.strides, strides, kSame);
  });
}

}  // namespace plait::compile
