#include "plait/compile/inside/nests/nest_loops.h"

#include <algorithm>

namespace plait::compile {
namespace {

enum class LoopKind : uint8_t { kept, accumulated, columns };
struct Loop {
  LoopKind kind;
  Dim size;
  std::vector<uint32_t> dimensions;  // that it consists of
};

std::vector<Affine*> places_of(Nest& nest) {
  std::vector<Affine*> all;
  for (NestValue& value : nest.values) {
    const bool has_place =
        value.kind == NestValue::Kind::load || value.kind == NestValue::Kind::index;
    if (has_place) all.push_back(&value.place);
  }
  for (NestResult& result : nest.results) all.push_back(&result.place);
  return all;
}

LoopKind kind_of(const NestSpace& space, size_t dimension) {
  if (!space.groups() && !space.reduces_rows()) return LoopKind::kept;
  if (space.reduces_all() && !space.rows()) return LoopKind::accumulated;
  if (space.rows() && dimension >= *space.rows()) return LoopKind::columns;
  return space.groups() && dimension >= *space.groups() ? LoopKind::accumulated : LoopKind::kept;
}

bool can_join(const NestSpace& space, Nest& nest, uint32_t outer, uint32_t inner) {
  for (const Affine* place : places_of(nest)) {
    if (!same(place->strides[outer], place->strides[inner] * space[inner])) return false;
  }
  for (const NestValue& value : nest.values) {
    for (const Domain& domain : value.domains) {
      if (domain.dimension == outer || domain.dimension == inner) return false;
    }
  }
  return true;
}

std::vector<Loop> joined_dimensions(const NestSpace& space, Nest& nest) {
  std::vector<Loop> loops;
  for (uint32_t i = 0; i < space.rank(); ++i) {
    const LoopKind kind = kind_of(space, i);
    if (!loops.empty() && loops.back().kind == kind && can_join(space, nest, i - 1, i)) {
      loops.back().size = loops.back().size * space[i];
      loops.back().dimensions.push_back(i);
    } else {
      loops.push_back({kind, space[i], {i}});
    }
  }
  return loops;
}

void move(Affine& place, std::span<const Loop> loops) {
  std::vector<Dim> strides;
  for (const Loop& loop : loops) {
    strides.push_back(loop.dimensions.empty() ? Dim(0) : place.strides[loop.dimensions.back()]);
  }
  place.strides = std::move(strides);
}

uint32_t loop_of(uint32_t dimension, std::span<const Loop> loops) {
  uint32_t i = 0;
  while (std::ranges::find(loops[i].dimensions, dimension) == loops[i].dimensions.end()) ++i;
  return i;
}

}  // namespace

bool make_loops(const NestSpace& space, Nest& nest) {
  std::vector<Loop> loops = joined_dimensions(space, nest);
  std::optional<Loop> columns;
  if (!loops.empty()) {
    columns = loops.back();
    loops.pop_back();
  }
  const bool has_more_columns =
      std::ranges::any_of(loops, [](const Loop& loop) { return loop.kind == LoopKind::columns; });
  if (has_more_columns && space.reduces_rows()) return false;
  // Other kept loops go outside of the accumulated ones.
  std::ranges::stable_sort(
      loops, {}, [](const Loop& loop) { return loop.kind == LoopKind::accumulated ? 1 : 0; });
  for (const Loop& loop : loops) {
    nest.outer.push_back(loop.size);
    if (loop.kind != LoopKind::accumulated) ++nest.grouped;
  }
  // A reduction over everything is initialised once, not for each group.
  if (space.reduces_all() && nest.grouped > 0) return false;
  if (columns) {
    nest.columns = columns->size;
    loops.push_back(*columns);
  } else {
    loops.push_back({});
  }
  for (Affine* place : places_of(nest)) move(*place, loops);
  for (NestValue& value : nest.values) {
    for (Domain& domain : value.domains) domain.dimension = loop_of(domain.dimension, loops);
  }
  return true;
}

}  // namespace plait::compile
