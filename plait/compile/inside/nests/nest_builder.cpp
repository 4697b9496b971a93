// From instructions to loops. The space has the dimensions of the largest values: values of these
// sizes are computed at each point, values with only its leading dimensions once a row. Dimensions
// of size 1 are dropped.
#include <algorithm>
#include <string>

#include "plait/compile/inside/nests/region.h"
#include "plait/core/sizes/size_facts.h"
#include "plait/ir/structure.h"
#include "plait/ops/inside/along.h"
#include "plait/ops/inside/primitives.h"
#include "plait/ops/reductions/reduce.h"

namespace plait::compile {
namespace {

using ir::Instruction;
using ir::ValueId;
using Dims = std::vector<Dim>;

Dims without_ones(const Shape& shape) {
  Dims dims;
  for (const Dim dim : shape) {
    if (!same(dim, Dim(1))) dims.push_back(dim);
  }
  return dims;
}

bool begins_with(const Dims& whole, const Dims& part) {
  return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin(), kSame);
}

bool same_affine(const Affine& a, const Affine& b) {
  return same(a.offset, b.offset) && std::ranges::equal(a.strides, b.strides, kSame);
}

// The index into each dimension of a value, as a function of the loop indices.
using Map = std::vector<Affine>;

// The dimensions of the space that a reduction removes: [first, end).
struct Reduced {
  size_t first = 0, end = 0;
};

class NestBuilder {
 public:
  explicit NestBuilder(const Region& region) : region_(region), function_(region.roles.function()) {
    is_member_.resize(function_.size());
    for (const uint32_t member : region.members) is_member_[member] = true;
  }

  std::optional<RegionNest> build() {
    find_space();
    if (!find_rows()) return std::nullopt;
    for (const ValueId result : region_.results) add_result(result);
    if (failed_) return std::nullopt;
    if (!make_loops()) return std::nullopt;
    mark_columns();
    if (!has_what_is_reduced()) return std::nullopt;
    return RegionNest{std::move(nest_), std::move(parameters_)};
  }

 private:
  // ---- The space.

  void find_space() {
    for (const uint32_t member : region_.members) {
      const Instruction instruction = function_.instruction(member);
      const Dims dims = without_ones(shape_of(instruction));
      if (dims.size() > space_.size()) space_ = dims;
    }
  }

  // The shape over which the instruction computes.
  const Shape& shape_of(const Instruction& instruction) const {
    return region_.roles.of(instruction) == Role::reduction ? instruction.operand_type(0).shape()
                                                            : instruction.result_types()[0].shape();
  }

  // Finds where rows end and columns begin, and where groups do, from the reductions.
  bool find_rows() {
    std::vector<Reduced> of_rows;  // of values without columns
    for (const uint32_t member : region_.members) {
      const Instruction instruction = function_.instruction(member);
      if (region_.roles.of(instruction) != Role::reduction) continue;
      const auto reduced = reduced_by(instruction);
      if (!reduced) return false;
      if (without_ones(shape_of(instruction)).size() < space_.size()) {
        of_rows.push_back(*reduced);
      } else if (!take_reduction(*reduced)) {
        return false;
      }
    }
    for (const Reduced& reduced : of_rows) {
      if (!rows_ || reduced.end != *rows_ || !take_groups(reduced.first)) return false;
    }
    for (const uint32_t member : region_.members) {
      const Dims dims = without_ones(shape_of(function_.instruction(member)));
      const bool is_of_rows = rows_ && dims.size() == *rows_;
      if (!begins_with(space_, dims)) return false;
      if (dims.size() != space_.size() && !is_of_rows) return false;
    }
    return true;
  }

  // Returns nothing if the reduced dimensions are not adjacent in the space.
  std::optional<Reduced> reduced_by(const Instruction& instruction) const {
    const auto& axes = instruction.attributes_as<ReduceAttributes>().axes;
    const Shape& shape = instruction.operand_type(0).shape();
    Reduced reduced;
    size_t place = 0;
    for (size_t i = 0; i < shape.rank(); ++i) {
      if (same(shape[i], Dim(1))) continue;
      if (std::ranges::binary_search(axes, static_cast<int64_t>(i))) {
        if (reduced.end == 0) {
          reduced.first = place;
        } else if (reduced.end != place) {
          return std::nullopt;
        }
        reduced.end = place + 1;
      }
      ++place;
    }
    if (reduced.end == 0) return std::nullopt;
    return reduced;
  }

  bool take_reduction(const Reduced& reduced) {
    if (reduced.first == 0 && reduced.end == space_.size()) {
      reduces_all_ = true;
      return take_groups(0);
    }
    if (reduced.end == space_.size()) {
      reduces_rows_ = true;
      return take_rows(reduced.first);
    }
    return take_rows(reduced.end) && take_groups(reduced.first);
  }
  bool take_rows(size_t rows) {
    if (!rows_) rows_ = rows;
    return *rows_ == rows;
  }
  bool take_groups(size_t groups) {
    if (!groups_) groups_ = groups;
    return *groups_ == groups;
  }

  // ---- Values.

  Affine nowhere() const { return {0, Dims(space_.size(), Dim(0))}; }

  // The identity map: the value's dimensions are the leading dimensions of the space.
  Map own_map(const Shape& shape) const {
    Map map;
    size_t place = 0;
    for (const Dim dim : shape) {
      map.push_back(nowhere());
      if (!same(dim, Dim(1))) map.back().strides[place++] = 1;
    }
    return map;
  }

  uint32_t fail() {
    failed_ = true;
    return 0;
  }
  uint32_t add(NestValue value) {
    nest_.values.push_back(std::move(value));
    return static_cast<uint32_t>(nest_.values.size() - 1);
  }

  struct Known {
    ValueId value;
    Map map;
    uint32_t number;
  };
  const Known* find(ValueId value, const Map& map) const {
    for (const Known& each : known_) {
      if (each.value == value && std::ranges::equal(each.map, map, same_affine)) return &each;
    }
    return nullptr;
  }

  // Members are built in order, before their uses.
  uint32_t value_at(ValueId value, const Map& map) {
    if (const Known* known = find(value, map)) return known->number;
    const auto definition = function_.definition(value);
    const Role role = definition ? region_.roles.of(*definition) : Role::other;
    if (definition && is_member_[definition->index()]) return fail();  // a member at another place
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

  NestValue known_number(const Instruction& instruction, const Map& map) const {
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
      default: return {.kind = NestValue::Kind::index, .dtype = dtype, .place = map[0]};
    }
  }

  Map moved_by(const ir::IndexMap& places, const Map& map) const {
    Map moved;
    for (const auto& place : places.dimensions) {
      Affine sum = nowhere();
      sum.offset = place.offset;
      for (const auto& term : place.terms) {
        const Affine& index = map[term.index];
        sum.offset = sum.offset + term.coefficient * index.offset;
        for (size_t i = 0; i < space_.size(); ++i) {
          sum.strides[i] = sum.strides[i] + term.coefficient * index.strides[i];
        }
      }
      moved.push_back(std::move(sum));
    }
    return moved;
  }

  uint32_t through_view(const Instruction& instruction, const Map& map) {
    const ir::IndexMap places = *instruction.primitive().places(instruction);
    const Map moved = moved_by(places, map);
    if (!places.guarded) return value_at(instruction.operands()[0], moved);
    return guarded(instruction.operands()[0], moved);
  }

  // True if the index is in range; nothing if that depends on symbols.
  static std::optional<bool> is_in(Dim index, Dim size) {
    const SizeFacts none;
    const auto from_first = none.prove(Dim(0) <= index), to_last = none.prove(index < size);
    if (from_first == false || to_last == false) return false;
    return from_first && to_last ? std::optional(true) : std::nullopt;
  }

  // Padding with zeros around a load, possibly through views.
  uint32_t guarded(ValueId operand, const Map& map) {
    ValueId from = operand;
    Map at = map;
    auto definition = function_.definition(from);
    while (definition && region_.roles.of(*definition) == Role::view) {
      const ir::IndexMap places = *definition->primitive().places(*definition);
      if (places.guarded) return fail();
      at = moved_by(places, at);
      from = definition->operands()[0];
      definition = function_.definition(from);
    }
    // A member of the nest has no values at other places, and numbers exist everywhere.
    const bool is_loaded = !definition || (!is_member_[definition->index()] &&
                                           region_.roles.of(*definition) != Role::number);
    if (!is_loaded) return fail();
    const Shape& shape = function_.type_of(operand).shape();
    std::vector<Domain> domains;
    for (size_t i = 0; i < map.size(); ++i) {
      std::optional<uint32_t> along;
      for (uint32_t k = 0; k < space_.size(); ++k) {
        if (same(map[i].strides[k], Dim(0))) continue;
        if (along || !same(map[i].strides[k], Dim(1))) return fail();
        along = k;
      }
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

  NestValue loaded(ValueId value, const Map& map) {
    const ir::Type& type = function_.type_of(value);
    NestValue load{.kind = NestValue::Kind::load, .dtype = type.dtype(), .place = nowhere()};
    const auto known = std::ranges::find(parameters_, value);
    load.parameter = static_cast<uint32_t>(known - parameters_.begin());
    if (known == parameters_.end()) {
      parameters_.push_back(value);
      nest_.parameters.push_back(type.dtype());
    }
    const Dims strides = contiguous_strides(type.shape());
    for (size_t i = 0; i < map.size(); ++i) {
      load.place.offset = load.place.offset + strides[i] * map[i].offset;
      for (size_t k = 0; k < space_.size(); ++k) {
        load.place.strides[k] = load.place.strides[k] + strides[i] * map[i].strides[k];
      }
    }
    return load;
  }

  uint32_t computed(const Instruction& instruction) {
    NestValue value{.kind = NestValue::Kind::compute,
                    .dtype = instruction.result_types()[0].dtype(),
                    .primitive = &instruction.primitive()};
    const Map map = own_map(instruction.result_types()[0].shape());
    for (const ValueId operand : instruction.operands()) {
      value.operands.push_back(member_value(operand, map));
    }
    return add(std::move(value));
  }

  uint32_t converted(uint32_t from, DType dtype) {
    return add({.kind = NestValue::Kind::compute,
                .dtype = dtype,
                .primitive = &convert_primitive(),
                .operands = {from}});
  }

  // The operand of a reduction, in the dtype of the accumulation.
  uint32_t widened(const Instruction& instruction) {
    const ValueId operand = instruction.operands()[0];
    const uint32_t from = member_value(operand, own_map(function_.type_of(operand).shape()));
    const DType dtype = function_.type_of(operand).dtype();
    const bool is_narrow = is_floating(dtype) && size_of(dtype) < 4;
    return is_narrow ? converted(from, DType::f32) : from;
  }

  uint32_t reduced(const Instruction& instruction) {
    const DType dtype = instruction.result_types()[0].dtype();
    const uint32_t operand = widened(instruction);
    if (failed_) return 0;
    const DType wide = nest_.values[operand].dtype;
    const uint32_t sum = add({.kind = NestValue::Kind::reduce,
                              .dtype = wide,
                              .operands = {operand},
                              .reduction = *reduction_of(instruction.primitive())});
    return wide == dtype ? sum : converted(sum, dtype);
  }

  // Member operands come before their uses; other operands are built on demand, iteratively.
  uint32_t member_value(ValueId value, const Map& map) {
    const auto definition = function_.definition(value);
    if (definition && is_member_[definition->index()]) {
      const Known* known = find(value, map);
      return known ? known->number : fail();
    }
    return value_at(value, map);
  }

  bool is_accumulated(const Instruction& instruction) const {
    if (region_.roles.of(instruction) != Role::reduction) return false;
    const bool is_of_rows = without_ones(shape_of(instruction)).size() < space_.size();
    const Reduced reduced = *reduced_by(instruction);
    const bool is_whole = reduced.first == 0 && reduced.end == space_.size();
    return is_of_rows || is_whole || reduced.end != space_.size();
  }

  // ---- Results.

  void add_members() {
    for (const uint32_t member : region_.members) {
      if (failed_) return;
      const Instruction instruction = function_.instruction(member);
      if (is_accumulated(instruction)) continue;
      const uint32_t number = region_.roles.of(instruction) == Role::reduction
                                  ? reduced(instruction)
                                  : computed(instruction);
      known_.push_back(
          {instruction.result(), own_map(instruction.result_types()[0].shape()), number});
    }
  }

  void add_result(ValueId value) {
    if (nest_.values.empty()) add_members();
    if (failed_) return;
    const auto definition = function_.definition(value);
    if (!definition || !is_member_[definition->index()]) {
      failed_ = true;
      return;
    }
    NestResult result{.place = nowhere()};
    const Shape& shape = definition->result_types()[0].shape();
    if (is_accumulated(*definition)) {
      result.value = widened(*definition);
      result.reduction = *reduction_of(definition->primitive());
      place_accumulated(*definition, result.place);
      const bool has_all = without_ones(shape_of(*definition)).size() == space_.size();
      if (has_all && reduced_by(*definition)->end == space_.size()) {
        reduced_along_columns_.push_back(result.value);
      }
    } else {
      result.value = find(value, own_map(shape))->number;
      const Dims strides = contiguous_strides(Shape(without_ones(shape)));
      std::ranges::copy(strides, result.place.strides.begin());
    }
    nest_.results.push_back(std::move(result));
  }

  void place_accumulated(const Instruction& instruction, Affine& place) const {
    const Reduced reduced = *reduced_by(instruction);
    const Dims from = without_ones(shape_of(instruction));
    Dim stride = 1;
    for (size_t i = from.size(); i-- > 0;) {
      if (i >= reduced.first && i < reduced.end) continue;
      place.strides[i] = stride;
      stride = stride * from[i];
    }
  }

  // ---- Loops: adjacent dimensions with compatible strides everywhere are merged.

  enum class Kind : uint8_t { kept, accumulated, columns };
  struct Loop {
    Kind kind;
    Dim size;
    std::vector<uint32_t> dimensions;  // that it consists of
  };

  std::vector<Affine*> affines() {
    std::vector<Affine*> all;
    for (NestValue& value : nest_.values) {
      const bool has_place =
          value.kind == NestValue::Kind::load || value.kind == NestValue::Kind::index;
      if (has_place) all.push_back(&value.place);
    }
    for (NestResult& result : nest_.results) all.push_back(&result.place);
    return all;
  }

  Kind kind_of(size_t dimension) const {
    if (!groups_ && !reduces_rows_) return Kind::kept;
    if (reduces_all_ && !rows_) return Kind::accumulated;
    if (rows_ && dimension >= *rows_) return Kind::columns;
    return groups_ && dimension >= *groups_ ? Kind::accumulated : Kind::kept;
  }

  bool can_join(uint32_t outer, uint32_t inner) {
    for (const Affine* place : affines()) {
      if (!same(place->strides[outer], place->strides[inner] * space_[inner])) return false;
    }
    for (const NestValue& value : nest_.values) {
      for (const Domain& domain : value.domains) {
        if (domain.dimension == outer || domain.dimension == inner) return false;
      }
    }
    return true;
  }

  std::vector<Loop> joined_dimensions() {
    std::vector<Loop> loops;
    for (uint32_t i = 0; i < space_.size(); ++i) {
      const Kind kind = kind_of(i);
      if (!loops.empty() && loops.back().kind == kind && can_join(i - 1, i)) {
        loops.back().size = loops.back().size * space_[i];
        loops.back().dimensions.push_back(i);
      } else {
        loops.push_back({kind, space_[i], {i}});
      }
    }
    return loops;
  }

  bool make_loops() {
    std::vector<Loop> loops = joined_dimensions();
    std::optional<Loop> columns;
    if (!loops.empty()) {
      columns = loops.back();
      loops.pop_back();
    }
    const bool has_more_columns =
        std::ranges::any_of(loops, [](const Loop& loop) { return loop.kind == Kind::columns; });
    if (has_more_columns && reduces_rows_) return false;
    // Other kept loops go outside of the accumulated ones.
    std::ranges::stable_sort(
        loops, {}, [](const Loop& loop) { return loop.kind == Kind::accumulated ? 1 : 0; });
    for (const Loop& loop : loops) {
      nest_.outer.push_back(loop.size);
      if (loop.kind != Kind::accumulated) ++nest_.grouped;
    }
    // A reduction over everything is initialised once, not for each group.
    if (reduces_all_ && nest_.grouped > 0) return false;
    if (columns) {
      nest_.columns = columns->size;
      loops.push_back(*columns);
    } else {
      loops.push_back({});
    }
    for (Affine* place : affines()) move(*place, loops);
    for (NestValue& value : nest_.values) {
      for (Domain& domain : value.domains) domain.dimension = loop_of(domain.dimension, loops);
    }
    return true;
  }

  static void move(Affine& place, std::span<const Loop> loops) {
    Dims strides;
    for (const Loop& loop : loops) {
      strides.push_back(loop.dimensions.empty() ? Dim(0) : place.strides[loop.dimensions.back()]);
    }
    place.strides = std::move(strides);
  }

  static uint32_t loop_of(uint32_t dimension, std::span<const Loop> loops) {
    uint32_t i = 0;
    while (std::ranges::find(loops[i].dimensions, dimension) == loops[i].dimensions.end()) ++i;
    return i;
  }

  void mark_columns() {
    const auto last = static_cast<uint32_t>(nest_.outer.size());
    for (NestValue& value : nest_.values) {
      switch (value.kind) {
        case NestValue::Kind::load:
        case NestValue::Kind::index:
          value.has_columns = !same(value.place.strides[last], Dim(0)) ||
                              std::ranges::any_of(value.domains, [&](const Domain& domain) {
                                return domain.dimension == last;
                              });
          break;
        case NestValue::Kind::compute:
          value.has_columns = std::ranges::any_of(
              value.operands, [&](uint32_t i) { return nest_.values[i].has_columns; });
          break;
        default: break;
      }
    }
  }

  // A reduction along columns needs an operand that depends on them: a value without columns
  // counts once.
  bool has_what_is_reduced() const {
    const auto has_columns = [&](uint32_t value) { return nest_.values[value].has_columns; };
    for (const NestValue& value : nest_.values) {
      if (value.kind == NestValue::Kind::reduce && !has_columns(value.operands[0])) return false;
    }
    return std::ranges::all_of(reduced_along_columns_, has_columns);
  }

  const Region& region_;
  const ir::Function& function_;
  std::vector<bool> is_member_;
  Dims space_;
  std::optional<size_t> rows_;    // number of dimensions of the rows
  std::optional<size_t> groups_;  // number of dimensions of the groups, if results are accumulated
  bool reduces_rows_ = false;     // along the columns, for values of the nest
  bool reduces_all_ = false;
  bool failed_ = false;
  Nest nest_;
  std::vector<ValueId> parameters_;
  std::vector<Known> known_;
  std::vector<uint32_t> reduced_along_columns_;
};

}  // namespace

std::optional<RegionNest> nest_of(const Region& region) { return NestBuilder(region).build(); }

}  // namespace plait::compile
