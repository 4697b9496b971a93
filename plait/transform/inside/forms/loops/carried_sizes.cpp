#include "plait/transform/inside/forms/loops/carried_sizes.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/tensor/inside/tracing/trace.h"

namespace plait::control {
namespace {

// One dimension of a carry.
struct Place {
  size_t carry;
  int64_t axis;
  size_t size = kNone;  // index among the sizes that change

  static constexpr size_t kNone = SIZE_MAX;
};

// Dimensions of the same kind share a size.
struct Kind {
  size_t size;
  Dim before, after;
  friend bool operator==(const Kind& a, const Kind& b) {
    return a.size == b.size && same(a.before, b.before) && same(a.after, b.after);
  }
};

Dim at(std::span<const ir::Type> types, const Place& place) {
  return types[place.carry].shape()[place.axis];
}

// Fixed-point iteration: begins with no changing sizes; a size that a step changes becomes a
// symbol, and equal sizes that become different are split. Ends when a step returns the types that
// it takes.
class CarriedSizes {
 public:
  explicit CarriedSizes(std::span<const ir::Type> initial)
      : initial_(initial), types_(initial.begin(), initial.end()) {
    for (size_t i = 0; i < initial.size(); ++i) {
      if (!initial[i].is_array()) continue;
      for (size_t axis = 0; axis < initial[i].shape().rank(); ++axis) {
        places_.push_back({i, static_cast<int64_t>(axis)});
      }
    }
  }

  const std::vector<ir::Type>& types() const { return types_; }
  const std::vector<Dim>& sizes() const { return sizes_; }

  // True if a step from these types returns them; otherwise updates the types.
  bool hold_for(std::span<const ir::Type> after) {
    std::vector<Kind> kinds;
    std::vector<Place> next = places_;
    for (Place& place : next) {
      const Dim before = at(types_, place), there = at(after, place);
      if (place.size == Place::kNone && same(before, there)) continue;
      const Kind kind{place.size, before, there};
      const auto known = std::ranges::find(kinds, kind);
      place.size = static_cast<size_t>(known - kinds.begin());
      if (known == kinds.end()) kinds.push_back(kind);
    }
    const bool is_same = std::ranges::equal(next, places_, {}, &Place::size, &Place::size);
    places_ = std::move(next);
    if (!is_same) name(kinds.size());
    return is_same;
  }

 private:
  void name(size_t count) {
    Trace scratch("sizes", Trace::apart);
    sizes_.assign(count, Dim());
    types_.assign(initial_.begin(), initial_.end());
    for (const Place& place : places_) {
      if (place.size == Place::kNone) continue;
      Dim& size = sizes_[place.size];
      if (same(size, Dim())) size = scratch.function().fresh_size(stem_of(at(initial_, place)));
      ir::Type& type = types_[place.carry];
      std::vector<Dim> dims(type.shape().begin(), type.shape().end());
      dims[static_cast<size_t>(place.axis)] = size;
      type = type.without_sharding().with_shape(Shape(dims));
    }
  }

  std::span<const ir::Type> initial_;
  std::vector<ir::Type> types_;
  std::vector<Dim> sizes_;
  std::vector<Place> places_;
};

bool is_but_for_sizes(const ir::Type& a, const ir::Type& b) {
  if (!a.is_array() || !b.is_array()) return a == b;
  return a.rank() == b.rank() && ir::fits_but_for_axes(a, b.with_shape(a.shape()));
}

}  // namespace

void expect_carried(std::string_view what, std::span<const ir::Type> before,
                    std::span<const ir::Type> after, const Location& location, Carried carried) {
  const bool may_change = carried == Carried::may_change_sizes;
  if (before.size() != after.size()) {
    throw TypeError("{}: {} tensors are carried, but {} after a step ({})", what, before.size(),
                    after.size(), location.text())
        .at(Location::of_caller());
  }
  for (size_t i = 0; i < before.size(); ++i) {
    const bool is_same = before[i] == after[i] || ir::fits_but_for_axes(before[i], after[i]);
    if (is_same || (may_change && is_but_for_sizes(before[i], after[i]))) continue;
    throw TypeError("{}: carry {} is {}, but {} after a step ({})", what, i, before[i].text(),
                    after[i].text(), location.text())
        .at(Location::of_caller())
        .hint(may_change ? "sizes may change from step to step, dtype and rank may not"
                         : "begin with the type that a step returns; in a while_loop, sizes of "
                           "carries may change");
  }
}

StagedBody stage_body(std::span<const ir::Type> initial, const TensorFunction& body,
                      std::span<const Tensor> beside) {
  CarriedSizes carried(initial);
  while (true) {
    const std::vector<ir::Type> types = carried.types();
    StagedFunction staged = stage("body", types, body, {.beside = beside});
    const ir::Function& function = *staged.function;
    expect_carried("while", types, function.signature().results, function.location(),
                   Carried::may_change_sizes);
    if (carried.hold_for(function.signature().results)) {
      return {std::move(staged), types, carried.sizes()};
    }
  }
}

}  // namespace plait::control
