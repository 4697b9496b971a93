#include "plait/transform/control/associative_scan.h"

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/transform/control/recursive.h"
#include "plait/transform/inside/derivatives/tensor_lists.h"

namespace plait::control {
namespace {

Tensors slices(std::span<const Tensor> all, Dim start, Dim count, int64_t step = 1) {
  Tensors chosen;
  for (const Tensor& each : all) chosen.push_back(slice_axis(each, 0, start, count, step));
  return chosen;
}

// Interleaves along axis 0: a, b, a, b, …; a may have one element more.
Tensor interleaved(const Tensor& a, const Tensor& b) {
  const Dim pairs = b.shape(0);
  const Tensor first = slice_axis(a, 0, 0, pairs);
  Shape shape = a.shape();
  Shape flat{2 * pairs};
  for (size_t i = 1; i < shape.rank(); ++i) flat.append(shape[i]);
  const Tensor both = reshape(stack(std::vector{first, b}, 1), flat);
  return concat(std::vector{both, slice_axis(a, 0, pairs, a.shape(0) - pairs)}, 0);
}

// One level of the scan. The totals of adjacent pairs are every second result; each result between
// them needs one more application.
Tensors doubled(const TensorFunction& function, const TensorFunction& self,
                std::span<const Tensor> x) {
  const Dim count = x[0].shape(0), pairs = floor_div(count, 2), between = count - pairs - 1;
  const Tensors odd = self(function(joined({slices(x, 0, pairs, 2), slices(x, 1, pairs, 2)})));
  const Tensors later = function(joined({slices(odd, 0, between), slices(x, 2, between, 2)}));
  Tensors all;
  for (size_t i = 0; i < x.size(); ++i) {
    const Tensor even = concat(std::vector{slice_axis(x[i], 0, 0, 1), later.at(i)}, 0);
    all.push_back(interleaved(even, odd[i]));
  }
  return all;
}

// For a known length: log2(length) levels.
Tensors totals(const TensorFunction& function, std::span<const Tensor> x) {
  if (x[0].shape(0).number() < 2) return {x.begin(), x.end()};
  return doubled(function, [&](auto given) { return totals(function, given); }, x);
}

// For any length except 0.
Tensors totals_of_any(const TensorFunction& function, std::span<const Tensor> x) {
  const auto levels = recursive<Tensors>("associative_scan", [&](const auto& self,
                                                                 const Tensors& x) {
    return cond(
        full({}, x[0].shape(0), DType::i64) < 2, [](const Tensors& x) { return x; },
        [&](const Tensors& x) {
          return doubled(
              function, [&](auto given) { return self(Tensors(given.begin(), given.end())); }, x);
        },
        x);
  });
  return levels(Tensors(x.begin(), x.end()));
}

}  // namespace

Tensors associative_scan(const TensorFunction& function, std::span<const Tensor> elements,
                         const AssociativeScanOptions& options) {
  if (elements.empty()) return {};
  Tensors x;
  for (const Tensor& each : elements) {
    x.push_back(moveaxis(each, options.axis, 0));
    if (options.reverse) x.back() = flip(x.back(), 0);
    if (same(x.back().shape(0), x[0].shape(0))) continue;
    throw ShapeError("associative_scan: {} and {} have different lengths along axis {}",
                     elements[0].type().text(), each.type().text(), options.axis)
        .at(Location::of_caller());
  }
  const TensorFunction ordered = [&](std::span<const Tensor> given) {
    const size_t count = given.size() / 2;
    Tensors results = function(given);
    for (size_t i = 0; i < count; ++i) {
      const bool fits =
          results.size() == count && ir::fits_but_for_axes(results[i].type(), given[i].type());
      if (fits) continue;
      throw TypeError("associative_scan: the function returns {} for two {}",
                      i < results.size() ? results[i].type().text() : "nothing",
                      given[i].type().text())
          .at(Location::of_caller());
    }
    return results;
  };
  Tensors all = x[0].shape(0).is_number() ? totals(ordered, x) : totals_of_any(ordered, x);
  for (Tensor& each : all) {
    if (options.reverse) each = flip(each, 0);
    each = moveaxis(each, 0, options.axis);
  }
  return all;
}

}  // namespace plait::control
