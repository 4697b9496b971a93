#include "plait/optim/functions/assignment.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/effects/check.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/at.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/transform/control/control.h"

namespace plait::optim {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

Tensor none_of(Dim count) { return full({count}, -1, DType::i64); }

// Potentials of rows and columns, the row of each column and the column of each row, or −1.
struct Assignment {
  Tensor u, v, row_of, column_of, is_possible;
};

// The shortest path, by reduced costs, from a row to a column without a row: the distances of the
// columns that it has visited, the row from which each is reached, and the last column.
struct Path {
  Tensor row, low, sink, distance, from_row, is_done;
};

Path shortest_path(const Tensor& cost, const Tensor& row, const Assignment& state) {
  const Dim m = cost.shape(1);
  const Tensor columns = iota(m);
  const auto is_open = [](const Path& path) {
    return logical_and(path.sink < 0, path.low < kNever);
  };
  const auto visit = [&](const Path& path) {
    const Tensor reduced = take(cost, path.row, 0) - take(state.u, path.row) - state.v;
    const Tensor reach = path.low + reduced;
    const Tensor is_nearer = logical_and(logical_not(path.is_done), reach < path.distance);
    const Tensor distance = where(is_nearer, reach, path.distance);
    const Tensor left = where(path.is_done, kNever, distance);
    const Tensor nearest = argmin(left);
    const Tensor low = take(left, nearest), owner = take(state.row_of, nearest);
    const Tensor is_found = logical_and(owner < 0, low < kNever);
    const Tensor visited = logical_and(columns == nearest, low < kNever);
    return Path{.row = maximum(owner, 0),
                .low = low,
                .sink = where(is_found, nearest, -1),
                .distance = distance,
                .from_row = where(is_nearer, path.row, path.from_row),
                .is_done = logical_or(path.is_done, visited)};
  };
  return while_loop(is_open, visit,
                    Path{.row = row,
                         .low = zeros({}, DType::f64),
                         .sink = full({}, -1, DType::i64),
                         .distance = full({m}, kNever, DType::f64),
                         .from_row = none_of(m),
                         .is_done = full({m}, false)});
}

// Potentials that make the costs along the path 0.
void change_potentials(Assignment& next, const Tensor& row, const Path& path,
                       const Tensor& is_possible) {
  const Tensor change = where(logical_and(path.is_done, is_possible), path.low - path.distance, 0);
  const Tensor has_row = next.row_of >= 0;
  const Tensor u = next.u.at(maximum(next.row_of, 0)).add(where(has_row, change, 0));
  next.u = u.at(row).add(where(is_possible, path.low, 0));
  next.v = next.v - change;
}

// Assigns along the path, from its last column to the row.
void assign_along(Assignment& next, const Tensor& row, const Path& path) {
  struct Carry {
    Tensor column, row_of, column_of;
  };
  const auto assign = [&](const Carry& carry) {
    const Tensor column = maximum(carry.column, 0), owner = take(path.from_row, column);
    return Carry{.column = where(owner == row, -1, take(carry.column_of, owner)),
                 .row_of = carry.row_of.at(column).set(owner),
                 .column_of = carry.column_of.at(owner).set(column)};
  };
  const Carry made = while_loop([](const Carry& carry) { return carry.column >= 0; }, assign,
                                Carry{path.sink, next.row_of, next.column_of});
  next.row_of = made.row_of;
  next.column_of = made.column_of;
}

// There are as many columns as rows, or more.
Assignment assigned(const Tensor& cost) {
  const Dim n = cost.shape(0), m = cost.shape(1);
  const auto add_row = [&](const Tensor& row, const Assignment& state) {
    const Path path = shortest_path(cost, row, state);
    const Tensor is_possible = path.sink >= 0;
    Assignment next = state;
    change_potentials(next, row, path, is_possible);
    assign_along(next, row, path);
    next.is_possible = logical_and(state.is_possible, is_possible);
    return next;
  };
  const Assignment made = for_loop(0, n, add_row,
                                   Assignment{.u = zeros({n}, DType::f64),
                                              .v = zeros({m}, DType::f64),
                                              .row_of = none_of(m),
                                              .column_of = none_of(n),
                                              .is_possible = full({}, true)});
  check(made.is_possible,
        "optim::hungarian_algorithm: too many costs are inf: no assignment has a finite sum");
  return made;
}

void expect_costs(const Tensor& costs) {
  if (costs.rank() != 2) {
    throw ShapeError("optim::hungarian_algorithm: the costs are {}, expected [rows, columns]",
                     costs.type().text())
        .at(Location::of_caller())
        .hint("vmap(optim::hungarian_algorithm)(costs) solves many problems");
  }
  if (!is_complex(costs.dtype())) return;
  throw TypeError("optim::hungarian_algorithm: the costs are {}, expected real numbers",
                  costs.type().text())
      .at(Location::of_caller());
}

}  // namespace

std::pair<Tensor, Tensor> hungarian_algorithm(const Tensor& cost_matrix) {
  expect_costs(cost_matrix);
  const int64_t rows = cost_matrix.shape(0).number(), columns = cost_matrix.shape(1).number();
  if (rows == 0 || columns == 0) return {iota(0), iota(0)};
  const Tensor exact = astype(stop_gradient(cost_matrix), DType::f64);
  check(all(exact > -kNever),
        "optim::hungarian_algorithm: a cost is NaN or -inf, expected numbers, or inf for pairs "
        "that are forbidden");
  const Assignment made = assigned(rows <= columns ? exact : matrix_transpose(exact));
  if (rows == columns) return {made.row_of, iota(columns)};
  const Tensor falling = flip(iota(std::min(rows, columns)), 0);
  const Tensor others = take(made.column_of, falling);
  if (rows < columns) return {falling, others};
  return {others, falling};
}

}  // namespace plait::optim
