#include "plait/compile/inside/nests/nest_values.h"

#include <algorithm>

#include "plait/core/sizes/size_facts.h"
#include "plait/ir/structure.h"
#include "plait/ops/inside/along.h"
#include "plait/ops/inside/primitives.h"
#include "plait/ops/reductions/reduce.h"

namespace plait::compile {
namespace {

using ir::Instruction;
using ir::ValueId;

bool same_affine(const Affine& a, const Affine& b) {
  return same(a.offset, b.offset) && std::ranges::equal(a.strides, b.strides, kSame);
}

// True if the index is in range; nothing if that depends on symbols.
std::optional<bool> is_in(Dim index, Dim size) {
  const SizeFacts none;
  const auto from_first = none.prove(Dim(0) <= index), to_last = none.prove(index < size);
  if (from_first == false || to_last == false) return false;
  return from_first && to_last ? std::optional(true) : std::nullopt;
}

// How an index depends on the space.
struct Course {
  std::optional<uint32_t> along;  // this dimension; none if it is one index for all points
  bool is_simple = true;          // in steps of 1, and along no other dimension
};

Course course_of(const Affine& index) {
  Course course;
  for (uint32_t k = 0; k < index.strides.size(); ++k) {
    if (same(index.strides[k], Dim(0))) continue;
    if (course.along || !same(index.strides[k], Dim(1))) course.is_simple = false;
    course.along = k;
  }
  return course;
}

}  // namespace

NestValues::NestValues(const Region& region, const NestSpace& space)
    : region_(region),
      space_(space),
      function_(region.roles.function()),
      is_member_(function_.size()) {
  for (const uint32_t member : region.members) is_member_[member] = true;
  add_members();
}

void NestValues::add_members() {
  for (const uint32_t member : region_.members) {
    if (has_failed_) return;
    const Instruction instruction = function_.instruction(member);
    if (space_.is_accumulated(region_.roles, instruction)) continue;
    const uint32_t number = region_.roles.of(instruction) == Role::reduction
                                ? reduced(instruction)
                                : computed(instruction);
    known_.push_back(
        {instruction.result(), space_.own_map(instruction.result_types()[0].shape()), number});
  }
}

uint32_t NestValues::number_of(ValueId value) {
  return value_at(value, space_.own_map(function_.type_of(value).shape()));
}

std::vector<ValueId> NestValues::move_into(Nest& nest) && {
  nest.values = std::move(values_);
  for (const ValueId parameter : parameters_) {
    nest.parameters.push_back(function_.type_of(parameter).dtype());
  }
  return std::move(parameters_);
}

const NestValues::Known* NestValues::find(ValueId value, const PlaceMap& map) const {
  for (const Known& each : known_) {
    if (each.value == value && std::ranges::equal(each.map, map, same_affine)) return &each;
  }
  return nullptr;
}

uint32_t NestValues::fail() {
  has_failed_ = true;
  return 0;
}

uint32_t NestValues::add(NestValue value) {
  values_.push_back(std::move(value));
  return static_cast<uint32_t>(values_.size() - 1);
}

// ---- Members.

uint32_t NestValues::computed(const Instruction& instruction) {
  NestValue value{.kind = NestValue::Kind::compute,
                  .dtype = instruction.result_types()[0].dtype(),
                  .primitive = &instruction.primitive()};
  const PlaceMap map = space_.own_map(instruction.result_types()[0].shape());
  for (const ValueId operand : instruction.operands()) {
    value.operands.push_back(value_at(operand, map));
  }
  return add(std::move(value));
}

uint32_t NestValues::converted(uint32_t from, DType dtype) {
  return add({.kind = NestValue::Kind::compute,
              .dtype = dtype,
              .primitive = &convert_primitive(),
              .operands = {from}});
}

uint32_t NestValues::widened(const Instruction& reduction) {
  const ValueId operand = reduction.operands()[0];
  const uint32_t from = number_of(operand);
  const DType dtype = function_.type_of(operand).dtype();
  const bool is_narrow = is_floating(dtype) && size_of(dtype) < 4;
  return is_narrow ? converted(from, DType::f32) : from;
}

uint32_t NestValues::reduced(const Instruction& instruction) {
  const DType dtype = instruction.result_types()[0].dtype();
  const uint32_t operand = widened(instruction);
  if (has_failed_) return 0;
  const DType wide = values_[operand].dtype;
  const uint32_t sum = add({.kind = NestValue::Kind::reduce,
                            .dtype = wide,
                            .operands = {operand},
                            .reduction = *reduction_of(instruction.primitive())});
  return wide == dtype ? sum : converted(sum, dtype);
}

// ---- Other values.

uint32_t NestValues::value_at(ValueId value, const PlaceMap& map) {
  if (const Known* known = find(value, map)) return known->number;
  const auto definition = function_.definition(value);
  const Role role = definition ? region_.roles.of(*definition) : Role::other;
  if (definition && is_member(*definition)) return fail();  // a member at another place
  uint32_t number = 0;
  if (role == Role::number) {
    number = add(known_number(*definition, map));
  } else if (role == Role::view) {
    number = through_view(*definition, map);
  } else {
    number = add(loaded(value, map));
  }
  known_.push_back({value, map, number});
  return number;
}

NestValue NestValues::known_number(const Instruction& instruction, const PlaceMap& map) const {
  const DType dtype = instruction.result_types()[0].dtype();
  switch (instruction.primitive().structure) {
    case ir::Structure::literal: {
      const Literal& literal = instruction.attributes_as<ir::LiteralAttributes>().value;
      return {.kind = NestValue::Kind::number,
              .dtype = dtype,
              .number = load_element(dtype, literal.bytes().data())};
    }
    case ir::Structure::size:
      return {.kind = NestValue::Kind::size,
              .dtype = dtype,
              .size = instruction.attributes_as<ir::SizeAttributes>().value};
    case ir::Structure::machine:
    case ir::Structure::as_size:
    case ir::Structure::refine:
    case ir::Structure::size_guard:
    case ir::Structure::guard:
    case ir::Structure::vary:
    case ir::Structure::tuple:
    case ir::Structure::element:
    case ir::Structure::pack:
    case ir::Structure::unpack:
    case ir::Structure::absent:
    case ir::Structure::present:
    case ir::Structure::is_present:
    case ir::Structure::unwrap:
    case ir::Structure::call:
    case ir::Structure::fused:
    case ir::Structure::cond:
    case ir::Structure::switch_:
    case ir::Structure::while_:
    case ir::Structure::scan:
    case ir::Structure::unwind:
    case ir::Structure::pull:
    case ir::Structure::remat:
    case ir::Structure::custom_vjp:
    case ir::Structure::custom_jvp: break;
  }
  return {.kind = NestValue::Kind::index, .dtype = dtype, .place = map[0]};
}

NestValue NestValues::loaded(ValueId value, const PlaceMap& map) {
  const ir::Type& type = function_.type_of(value);
  NestValue load{.kind = NestValue::Kind::load, .dtype = type.dtype(), .place = space_.nowhere()};
  const auto known = std::ranges::find(parameters_, value);
  load.parameter = static_cast<uint32_t>(known - parameters_.begin());
  if (known == parameters_.end()) parameters_.push_back(value);
  const std::vector<Dim> strides = contiguous_strides(type.shape());
  for (size_t i = 0; i < map.size(); ++i) {
    load.place.offset = load.place.offset + strides[i] * map[i].offset;
    for (size_t k = 0; k < space_.rank(); ++k) {
      load.place.strides[k] = load.place.strides[k] + strides[i] * map[i].strides[k];
    }
  }
  return load;
}

// ---- Views.

PlaceMap NestValues::moved_by(const ir::IndexMap& view, const PlaceMap& map) const {
  PlaceMap moved;
  for (const auto& place : view.dimensions) {
    Affine sum = space_.nowhere();
    sum.offset = place.offset;
    for (const auto& term : place.terms) {
      const Affine& index = map[term.index];
      sum.offset = sum.offset + term.coefficient * index.offset;
      for (size_t i = 0; i < space_.rank(); ++i) {
        sum.strides[i] = sum.strides[i] + term.coefficient * index.strides[i];
      }
    }
    moved.push_back(std::move(sum));
  }
  return moved;
}

uint32_t NestValues::through_view(const Instruction& view, const PlaceMap& map) {
  const ir::IndexMap index_map = *view.primitive().index_map(view);
  const PlaceMap moved = moved_by(index_map, map);
  if (!index_map.guarded) return value_at(view.operands()[0], moved);
  return guarded(view.operands()[0], moved);
}

// Padding with zeros around a load, possibly through views.
uint32_t NestValues::guarded(ValueId operand, const PlaceMap& map) {
  ValueId from = operand;
  PlaceMap at = map;
  auto definition = function_.definition(from);
  while (definition && region_.roles.of(*definition) == Role::view) {
    const ir::IndexMap index_map = *definition->primitive().index_map(*definition);
    if (index_map.guarded) return fail();
    at = moved_by(index_map, at);
    from = definition->operands()[0];
    definition = function_.definition(from);
  }
  // A member of the nest has no values at other places, and numbers exist everywhere.
  const bool is_loaded =
      !definition || (!is_member(*definition) && region_.roles.of(*definition) != Role::number);
  if (!is_loaded) return fail();
  const Shape& shape = function_.type_of(operand).shape();
  std::vector<Domain> domains;
  for (size_t i = 0; i < map.size(); ++i) {
    const auto [along, is_simple] = course_of(map[i]);
    if (!is_simple) return fail();
    if (along && same(map[i].offset, Dim(0)) && same(space_[*along], shape[i])) continue;
    if (along) {
      domains.push_back({*along, -map[i].offset, shape[i] - map[i].offset});
      continue;
    }
    // One index for all points; an operand of size 0 has no element there.
    const auto is_there = is_in(map[i].offset, shape[i]);
    if (!is_there) return fail();
    if (!*is_there) {
      return add({.kind = NestValue::Kind::number, .dtype = function_.type_of(operand).dtype()});
    }
  }
  NestValue load = loaded(from, at);
  load.domains = std::move(domains);
  return add(std::move(load));
}

}  // namespace plait::compile
