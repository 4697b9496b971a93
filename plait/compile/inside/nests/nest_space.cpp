#include "plait/compile/inside/nests/nest_space.h"

#include <algorithm>

#include "plait/ops/inside/primitive_attributes.h"

namespace plait::compile {
namespace {

using ir::Instruction;
using Dims = std::vector<Dim>;

// One thread computes a row.
constexpr int64_t kLongestOnlyRow = 4096;

bool begins_with(const Dims& whole, const Dims& part) {
  return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin(), kSame);
}

}  // namespace

NestSpace::NestSpace(const Region& region) {
  for (const uint32_t member : region.members) {
    const Instruction instruction = region.roles.function().instruction(member);
    Dims dims = without_ones(shape_of(region.roles, instruction));
    if (dims.size() > rank()) dims_ = std::move(dims);
  }
}

std::optional<NestSpace> NestSpace::of(const Region& region) {
  NestSpace space(region);
  if (!space.take_reductions(region) || !space.has_all(region)) return std::nullopt;
  return space;
}

std::optional<NestSpace> NestSpace::one_row(const Region& region) {
  NestSpace space(region);
  space.is_one_row_ = true;
  if (!space.is_small() || !space.take_reductions(region)) return std::nullopt;
  if (!space.reduces_rows() || !space.has_all(region)) return std::nullopt;
  return space;
}

bool NestSpace::is_small() const {
  int64_t elements = 1;
  for (const Dim dim : dims_) {
    if (!dim.is_number() || dim.number() > kLongestOnlyRow) return false;
    elements *= dim.number();
    if (elements > kLongestOnlyRow) return false;
  }
  return elements > 0;
}

// Finds where rows end and columns begin, and where groups do. False if reductions disagree.
bool NestSpace::take_reductions(const Region& region) {
  std::vector<Reduced> of_rows;  // values without columns
  for (const uint32_t member : region.members) {
    const Instruction instruction = region.roles.function().instruction(member);
    if (region.roles.of(instruction) != Role::reduction) continue;
    const auto reduced = reduced_by(instruction);
    if (!reduced) return false;
    if (!is_whole(region.roles, instruction)) {
      of_rows.push_back(*reduced);
    } else if (!take_reduction(*reduced)) {
      return false;
    }
  }
  return std::ranges::all_of(of_rows, [&](const Reduced& reduced) {
    return rows_ && reduced.end == *rows_ && take_groups(reduced.first);
  });
}

bool NestSpace::take_reduction(const Reduced& reduced) {
  if (is_one_row_) {
    reduces_rows_ = true;
    return reduced.first == 0 && reduced.end == rank() && take_rows(0);
  }
  if (reduced.first == 0 && reduced.end == rank()) {
    reduces_all_ = true;
    return take_groups(0);
  }
  if (reduced.end == rank()) {
    reduces_rows_ = true;
    return take_rows(reduced.first);
  }
  return take_rows(reduced.end) && take_groups(reduced.first);
}

bool NestSpace::take_rows(size_t rows) {
  if (!rows_) rows_ = rows;
  return *rows_ == rows;
}

bool NestSpace::take_groups(size_t groups) {
  if (!groups_) groups_ = groups;
  return *groups_ == groups;
}

// True if each member computes over the space or over its rows.
bool NestSpace::has_all(const Region& region) const {
  return std::ranges::all_of(region.members, [&](uint32_t member) {
    const Dims dims =
        without_ones(shape_of(region.roles, region.roles.function().instruction(member)));
    const bool is_of_rows = rows_ && dims.size() == *rows_;
    return begins_with(dims_, dims) && (dims.size() == rank() || is_of_rows);
  });
}

PlaceMap NestSpace::own_map(const Shape& shape) const {
  PlaceMap map;
  size_t place = 0;
  for (const Dim dim : shape) {
    map.push_back(nowhere());
    if (!same(dim, Dim(1))) map.back().strides[place++] = 1;
  }
  return map;
}

bool NestSpace::is_whole(const Roles& roles, const Instruction& instruction) const {
  return without_ones(shape_of(roles, instruction)).size() == rank();
}

bool NestSpace::is_accumulated(const Roles& roles, const Instruction& instruction) const {
  if (is_one_row_ || roles.of(instruction) != Role::reduction) return false;
  const Reduced reduced = *reduced_by(instruction);
  const bool is_over_all = reduced.first == 0 && reduced.end == rank();
  return !is_whole(roles, instruction) || is_over_all || reduced.end != rank();
}

std::vector<Dim> without_ones(const Shape& shape) {
  Dims dims;
  for (const Dim dim : shape) {
    if (!same(dim, Dim(1))) dims.push_back(dim);
  }
  return dims;
}

const Shape& shape_of(const Roles& roles, const Instruction& instruction) {
  return roles.of(instruction) == Role::reduction ? instruction.operand_type(0).shape()
                                                  : instruction.result_types()[0].shape();
}

std::optional<Reduced> reduced_by(const Instruction& reduction) {
  const auto& axes = reduction.attributes_as<ReduceAttributes>().axes;
  const Shape& shape = reduction.operand_type(0).shape();
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

}  // namespace plait::compile
