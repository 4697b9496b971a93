// Steps with integers and bools, and indexing with them.
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/at.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/sort.h"
#include "plait/ops/reductions/statistics.h"

#include "tests/support/programs/step_kinds.h"

namespace plait {
namespace {

// Integers that are valid indices along an axis.
Tensor places_in(const Tensor& integers, const Tensor& x, int64_t axis) {
  return remainder(integers, x.shape(axis));
}
// For each element of x an index along the axis, with repetitions.
Tensor places_like(const Tensor& x, int64_t axis) { return floor_divide(argsort(x, axis), 2); }

// ---- Conversions from and to real numbers.

ChosenStep comparing(Chooser& choose) {
  const size_t a = choose.real(), b = choose.stretching(a, DType::f64);
  return step_of(a, b, [](const Tensor& x, const Tensor& y) { return x < y * 0.7; });
}
ChosenStep choosing(Chooser& choose) {
  const size_t a = choose.real(), b = choose.stretching(a, DType::f64);
  const size_t condition = choose.stretching(a, DType::boolean);
  Chooser::need(choose.shape(b).rank() == 0 || choose.shape(b) == choose.shape(a));
  return {{condition, a, b},
          [](std::span<const Tensor> x) { return Tensors{where(x[0], x[1], x[2])}; }};
}
ChosenStep choosing_by_itself(Chooser& choose) {
  const size_t a = choose.real(), b = choose.stretching(a, DType::f64);
  return step_of(a, b, [](const Tensor& x, const Tensor& y) { return where(x > y, x * y, x); });
}
ChosenStep masking(Chooser& choose) {
  const size_t x = choose.real();
  const size_t mask = choose.value([&](const ir::Type& type) {
    const Shape& shape = type.shape();
    return type.dtype() == DType::boolean && (shape.empty() || shape == choose.shape(x));
  });
  return {{x, mask, choose.real()}, [](std::span<const Tensor> given) {
            return Tensors{masked_fill(given[0], given[1], sum(given[2]))};
          }};
}
// The number of results is data-dependent.
ChosenStep selecting(Chooser& choose) {
  const size_t x = choose.real(1);
  return step_of(x, [](const Tensor& y) { return sum(masked_select(y * y, y > -0.4)); });
}
ChosenStep truth_as_numbers(Chooser& choose) {
  return step_of(choose.of_dtype(DType::boolean),
                 [](const Tensor& x) { return astype(x, DType::f64); });
}
ChosenStep integers_as_numbers(Chooser& choose) {
  return step_of(choose.of_dtype(DType::i64),
                 [](const Tensor& x) { return astype(x, DType::f64) * 0.25; });
}
ChosenStep numbers_as_integers(Chooser& choose) {
  return step_of(choose.real(), [](const Tensor& x) { return astype(x * 2, DType::i64); });
}
ChosenStep negating_truth(Chooser& choose) {
  const size_t a = choose.of_dtype(DType::boolean), b = choose.stretching(a, DType::boolean);
  return step_of(a, b, [](const Tensor& x, const Tensor& y) { return ~(x & y); });
}
ChosenStep combining_integers(Chooser& choose) {
  const size_t a = choose.of_dtype(DType::i64), b = choose.stretching(a, DType::i64);
  return step_of(a, b, [](const Tensor& x, const Tensor& y) { return remainder(x * 3 + y, 7); });
}
ChosenStep any_of(Chooser& choose) {
  const size_t x = choose.of_dtype(DType::boolean, 1);
  return step_along(x, choose.axis(x), [](const Tensor& y, int64_t axis) { return any(y, axis); });
}

// ---- Indexing with integers.

ChosenStep taking(Chooser& choose) {
  const size_t x = choose.real(1), integers = choose.of_dtype(DType::i64);
  return step_along(x, integers, choose.axis(x),
                    [](const Tensor& y, const Tensor& i, int64_t axis) {
                      return take(y, places_in(i, y, axis), axis);
                    });
}
ChosenStep indexing_twice(Chooser& choose) {
  const size_t x = choose.real(2), integers = choose.of_dtype(DType::i64);
  return step_of(x, integers, [](const Tensor& y, const Tensor& i) {
    return y[{places_in(i, y, 0), places_in(i + 1, y, 1)}];
  });
}
ChosenStep embedding_rows(Chooser& choose) {
  const size_t integers = choose.of_dtype(DType::i64);
  const size_t table = choose.value(
      [](const ir::Type& type) { return type.dtype() == DType::f64 && type.shape().rank() == 2; });
  return step_of(integers, table, [](const Tensor& i, const Tensor& rows) {
    return embedding(places_in(i, rows, 0), rows);
  });
}
ChosenStep one_hot_of(Chooser& choose) {
  return step_of(choose.of_dtype(DType::i64),
                 [](const Tensor& i) { return one_hot(remainder(i, 3), 3, DType::f64); });
}
ChosenStep counting(Chooser& choose) {
  const size_t integers = choose.value(
      [](const ir::Type& type) { return type.dtype() == DType::i64 && type.shape().rank() == 1; });
  const size_t weights = choose.value([&](const ir::Type& type) {
    return type.dtype() == DType::f64 && type.shape() == choose.shape(integers);
  });
  return step_of(integers, weights, [](const Tensor& i, const Tensor& w) {
    return bincount(remainder(i, 3), Dim(3), w);
  });
}

// x with elements changed at integer indices along the first axis.
ChosenStep changing(Chooser& choose,
                    Tensor (*change)(const Tensor& x, const Index& place, const Tensor& value)) {
  const size_t x = choose.real(1), integers = choose.of_dtype(DType::i64);
  const size_t value = choose.value(
      [](const ir::Type& type) { return type.dtype() == DType::f64 && type.shape().rank() == 0; });
  return {{x, integers, value}, [change](std::span<const Tensor> given) {
            const Index place(places_in(given[1], given[0], 0));
            return Tensors{change(given[0], place, given[2])};
          }};
}
ChosenStep element_set(Chooser& choose) {
  return changing(choose, [](const Tensor& x, const Index& place, const Tensor& value) {
    return x.at(place).set(value);
  });
}
ChosenStep adding(Chooser& choose) {
  return changing(choose, [](const Tensor& x, const Index& place, const Tensor& value) {
    return x.at(place).add(value);
  });
}
ChosenStep multiplying(Chooser& choose) {
  return changing(choose, [](const Tensor& x, const Index& place, const Tensor& value) {
    return x.at(place).multiply(value);
  });
}
ChosenStep limiting(Chooser& choose) {
  return changing(choose, [](const Tensor& x, const Index& place, const Tensor& value) {
    return x.at(place).max(value);
  });
}
ChosenStep setting_a_slice(Chooser& choose) {
  const size_t x = choose.real(1), value = choose.value([](const ir::Type& type) {
    return type.dtype() == DType::f64 && type.shape().rank() == 0;
  });
  return step_of(x, value,
                 [](const Tensor& y, const Tensor& v) { return y.at(Slice{.start = 1}).set(v); });
}
ChosenStep slicing_where_told(Chooser& choose) {
  const size_t x = choose.real(1), start = choose.value([](const ir::Type& type) {
    return type.dtype() == DType::i64 && type.shape().rank() == 0;
  });
  return step_along(x, start, choose.axis(x), [](const Tensor& y, const Tensor& i, int64_t axis) {
    const Tensor starts = expand_dims(places_in(i, y, axis), 0);
    const Tensor part = dynamic_slice(y, starts, {axis}, {Dim(1)});
    return slice_update(y, part * part, starts * 0, {axis});
  });
}

// ---- Along an axis, with one index for each element.

struct PlacedKind {
  const char* name;
  Tensor (*f)(const Tensor& x, const Tensor& y, int64_t axis);
};
const PlacedKind kPlaced[] = {
    {"take_along", [](const Tensor& x, const Tensor& y,
                      int64_t axis) { return take_along_axis(x, argsort(y, axis), axis); }},
    {"gather", [](const Tensor& x, const Tensor& y,
                  int64_t axis) { return gather(x, axis, places_like(y, axis)); }},
    {"put_along", [](const Tensor& x, const Tensor& y,
                     int64_t axis) { return put_along_axis(x, argsort(x, axis), y, axis); }},
    {"scatter_add", [](const Tensor& x, const Tensor& y,
                       int64_t axis) { return scatter_add(x, axis, places_like(x, axis), y); }},
    {"scatter_product",
     [](const Tensor& x, const Tensor& y, int64_t axis) {
       return scatter_reduce(x, axis, places_like(x, axis), y, ScatterReduction::product);
     }},
    {"scatter_mean",
     [](const Tensor& x, const Tensor& y, int64_t axis) {
       return scatter_reduce(x, axis, places_like(x, axis), y, ScatterReduction::mean);
     }},
    {"scatter_maximum",
     [](const Tensor& x, const Tensor& y, int64_t axis) {
       return scatter_reduce(x, axis, places_like(y, axis), y, ScatterReduction::maximum);
     }},
};

// ---- With more than one result.

ChosenStep sorting_both(Chooser& choose) {
  const size_t x = choose.real(1);
  const int64_t axis = choose.axis(x);
  return {{x}, [axis](std::span<const Tensor> given) {
            const Ordered ordered = sort_with_indices(given[0], axis);
            return Tensors{ordered.values, ordered.indices};
          }};
}
ChosenStep best_two(Chooser& choose) {
  const size_t x = choose.real(1);
  const int64_t axis = choose.axis(x);
  const Dim size = choose.shape(x).at(axis);
  // Symbols are at least 2.
  Chooser::need(size.is_symbol() || (size.is_number() && size.number() >= 2));
  return {{x}, [axis](std::span<const Tensor> given) {
            const Ordered best = topk(given[0], 2, axis);
            return Tensors{best.values, best.indices};
          }};
}
ChosenStep greatest_places(Chooser& choose) {
  const size_t x = choose.real(1);
  return step_along(x, choose.axis(x),
                    [](const Tensor& y, int64_t axis) { return argmax(y, axis); });
}
ChosenStep searching(Chooser& choose) {
  const size_t x = choose.real(1), y = choose.real();
  return step_of(
      x, y, [](const Tensor& a, const Tensor& b) { return searchsorted(sort(flatten(a)), b); });
}

}  // namespace

void add_index_kinds(std::vector<StepKind>& kinds) {
  const StepKind all[] = {{"compare", comparing},
                          {"where", choosing},
                          {"where_greater", choosing_by_itself},
                          {"masked_fill", masking},
                          {"masked_select", selecting},
                          {"truth_as_numbers", truth_as_numbers},
                          {"integers_as_numbers", integers_as_numbers},
                          {"numbers_as_integers", numbers_as_integers},
                          {"nand", negating_truth},
                          {"combine_integers", combining_integers},
                          {"any", any_of},
                          {"take", taking},
                          {"index_twice", indexing_twice},
                          {"embedding", embedding_rows},
                          {"one_hot", one_hot_of},
                          {"bincount", counting},
                          {"at_set", element_set},
                          {"at_add", adding},
                          {"at_multiply", multiplying},
                          {"at_max", limiting},
                          {"set_slice", setting_a_slice},
                          {"dynamic_slice", slicing_where_told},
                          {"sort_with_indices", sorting_both},
                          {"topk", best_two},
                          {"argmax", greatest_places},
                          {"searchsorted", searching}};
  kinds.insert(kinds.end(), std::begin(all), std::end(all));
  // Repeated, since other kinds need their results.
  for (int repeat = 0; repeat < 2; ++repeat) kinds.insert(kinds.end(), {all[0], all[7]});
  for (const PlacedKind& kind : kPlaced) {
    kinds.push_back({kind.name, [f = kind.f](Chooser& choose) {
                       const size_t x = choose.real(1), y = choose.like(x);
                       return step_along(x, y, choose.axis(x), f);
                     }});
  }
}

}  // namespace plait
