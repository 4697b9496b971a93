// The space over which a region computes. It has the dimensions of the largest values, without
// those of size 1: values of these sizes are computed at each point, values with only its leading
// dimensions once a row.
#pragma once

#include <optional>
#include <vector>

#include "plait/compile/inside/nests/region.h"

namespace plait::compile {

// The dimensions of the space that a reduction removes: [first, end).
struct Reduced {
  size_t first = 0, end = 0;
};

// The index into each dimension of a value, as a function of the indices of the space.
using PlaceMap = std::vector<Affine>;

class NestSpace {
 public:
  // Returns nothing if the members do not compute over one space.
  static std::optional<NestSpace> of(const Region& region);
  // A small space as a single row: a reduction of all of it is along the columns, so that members
  // can read its result. Returns nothing if there is no such reduction.
  static std::optional<NestSpace> one_row(const Region& region);

  size_t rank() const { return dims_.size(); }
  Dim operator[](size_t i) const { return dims_[i]; }
  // Rows end and columns begin there, if a reduction says where.
  std::optional<size_t> rows() const { return rows_; }
  // Groups end there, if results are accumulated.
  std::optional<size_t> groups() const { return groups_; }
  bool reduces_rows() const { return reduces_rows_; }  // along the columns, for values of the nest
  bool reduces_all() const { return reduces_all_; }
  Affine nowhere() const { return {0, std::vector<Dim>(rank(), Dim(0))}; }
  // The value's dimensions are the leading dimensions of the space.
  PlaceMap own_map(const Shape& shape) const;
  // The shape over which the instruction computes has all dimensions of the space.
  bool is_whole(const Roles& roles, const ir::Instruction& instruction) const;
  // True if it is a result that is accumulated over rows; no member of the nest reads it.
  bool is_accumulated(const Roles& roles, const ir::Instruction& instruction) const;

 private:
  explicit NestSpace(const Region& region);

  bool is_small() const;
  bool take_reductions(const Region& region);
  bool take_reduction(const Reduced& reduced);
  bool take_rows(size_t rows);
  bool take_groups(size_t groups);
  bool has_all(const Region& region) const;

  std::vector<Dim> dims_;
  bool is_one_row_ = false;
  std::optional<size_t> rows_, groups_;
  bool reduces_rows_ = false, reduces_all_ = false;
};

std::vector<Dim> without_ones(const Shape& shape);
// The shape over which the instruction computes: of the operand of a reduction, else of the result.
const Shape& shape_of(const Roles& roles, const ir::Instruction& instruction);
// Returns nothing if the reduced dimensions are not adjacent in the space.
std::optional<Reduced> reduced_by(const ir::Instruction& reduction);

}  // namespace plait::compile
