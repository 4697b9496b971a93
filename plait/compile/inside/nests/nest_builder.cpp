// From instructions to loops: the space, the values at its points, the results, and then the loops.
#include <algorithm>

#include "plait/compile/inside/nests/nest_loops.h"
#include "plait/compile/inside/nests/nest_values.h"
#include "plait/ops/inside/along.h"
#include "plait/ops/inside/primitives.h"
#include "plait/ops/reductions/reduce.h"

namespace plait::compile {
namespace {

using ir::Instruction;

// Where an accumulated result is stored: its dimensions are those of the operand that are left.
Affine accumulated_place(const Roles& roles, const NestSpace& space, const Instruction& reduction) {
  Affine place = space.nowhere();
  const Reduced reduced = *reduced_by(reduction);
  const std::vector<Dim> from = without_ones(shape_of(roles, reduction));
  Dim stride = 1;
  for (size_t i = from.size(); i-- > 0;) {
    if (i >= reduced.first && i < reduced.end) continue;
    place.strides[i] = stride;
    stride = stride * from[i];
  }
  return place;
}

Affine own_place(const NestSpace& space, const Shape& shape) {
  Affine place = space.nowhere();
  std::ranges::copy(contiguous_strides(Shape(without_ones(shape))), place.strides.begin());
  return place;
}

// The results, and those among their values that are reduced along the columns.
struct NestResults {
  std::vector<NestResult> results;
  std::vector<uint32_t> reduced_along_columns;
};

// Returns nothing if a result is not of a member. Adds conversions to the values.
std::optional<NestResults> results_of(const Region& region, const NestSpace& space,
                                      NestValues& values) {
  NestResults all;
  for (const ir::ValueId value : region.results) {
    const auto definition = region.roles.function().definition(value);
    if (!definition || !values.is_member(*definition)) return std::nullopt;
    NestResult& result = all.results.emplace_back();
    if (!space.is_accumulated(region.roles, *definition)) {
      result.value = values.number_of(value);
      result.place = own_place(space, definition->result_types()[0].shape());
      continue;
    }
    result.value = values.widened(*definition);
    result.reduction = *reduction_of(definition->primitive());
    result.place = accumulated_place(region.roles, space, *definition);
    if (space.is_whole(region.roles, *definition) && reduced_by(*definition)->end == space.rank()) {
      all.reduced_along_columns.push_back(result.value);
    }
  }
  return all;
}

void mark_columns(Nest& nest) {
  const auto last = static_cast<uint32_t>(nest.outer.size());
  for (NestValue& value : nest.values) {
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
            value.operands, [&](uint32_t i) { return nest.values[i].has_columns; });
        break;
      default: break;
    }
  }
}

// A reduction along columns needs an operand that depends on them: a value without columns counts
// once.
bool has_what_is_reduced(const Nest& nest, std::span<const uint32_t> reduced_along_columns) {
  const auto has_columns = [&](uint32_t value) { return nest.values[value].has_columns; };
  for (const NestValue& value : nest.values) {
    if (value.kind == NestValue::Kind::reduce && !has_columns(value.operands[0])) return false;
  }
  return std::ranges::all_of(reduced_along_columns, has_columns);
}

std::optional<RegionNest> nest_over(const Region& region, const NestSpace& space) {
  NestValues values(region, space);
  auto results = results_of(region, space, values);
  if (!results || values.has_failed()) return std::nullopt;
  RegionNest made{.nest = {}, .parameters = {}};
  made.parameters = std::move(values).move_into(made.nest);
  made.nest.results = std::move(results->results);
  if (!make_loops(space, made.nest)) return std::nullopt;
  mark_columns(made.nest);
  if (!has_what_is_reduced(made.nest, results->reduced_along_columns)) return std::nullopt;
  return made;
}

}  // namespace

std::optional<RegionNest> nest_of(const Region& region) {
  if (const auto space = NestSpace::of(region)) {
    if (auto nest = nest_over(region, *space)) return nest;
  }
  const auto space = NestSpace::one_row(region);
  return space ? nest_over(region, *space) : std::nullopt;
}

}  // namespace plait::compile
