#include "plait/ops/arrays/rearrange.h"

#include <numeric>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/inside/along.h"
#include "plait/ops/operand.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/scan.h"
#include "plait/ops/reductions/sort.h"

namespace plait {
namespace {

std::vector<int64_t> normal_axes(std::span<const int64_t> axes, size_t rank) {
  std::vector<int64_t> normal;
  for (const int64_t axis : axes) normal.push_back(normal_axis(axis, rank));
  return normal;
}

void expect_parts(std::string_view function, int64_t parts) {
  if (parts >= 1) return;
  throw ValueError("{}: {} parts, expected 1 or more", function, parts).at(Location::of_caller());
}

int64_t known_size(std::string_view function, const Tensor& x, int64_t axis) {
  const Dim size = x.shape(axis);
  if (size.is_number()) return size.number();
  throw ValueError("{}: the number of parts would depend on the size {} of axis {} of {}", function,
                   size, axis, x.type().text())
      .at(Location::of_caller());
}

// Checks that the last three dimensions are channels, height and width.
void expect_images(std::string_view function, const Tensor& x, int64_t factor) {
  if (factor < 1) {
    throw ValueError("{}: the factor is {}, expected 1 or more", function, factor)
        .at(Location::of_caller());
  }
  if (x.rank() >= 3) return;
  throw ShapeError("{}: x is {}, expected [..., channels, height, width]", function,
                   x.type().text())
      .at(Location::of_caller());
}

Dim exact_quotient(std::string_view function, const Tensor& x, Dim size, int64_t divisor) {
  if (sizes_hold({mod(size, divisor), SizeFact::equal, 0})) return floor_div(size, divisor);
  throw ShapeError("{}: the size {} of {} is not a multiple of {}", function, size, x.type().text(),
                   divisor)
      .at(Location::of_caller());
}

}  // namespace

Tensor transpose(const Tensor& x) {
  const Call call("transpose", x);
  std::vector<int64_t> axes(x.rank());
  std::iota(axes.rbegin(), axes.rend(), 0);
  return permute_dims(x, axes);
}

Tensor transpose(const Tensor& x, std::span<const int64_t> axes) {
  const Call call("transpose", x);
  return permute_dims(x, axes);
}

Tensor moveaxis(const Tensor& x, std::span<const int64_t> from, std::span<const int64_t> to) {
  const Call call("moveaxis", x);
  const std::vector<int64_t> sources = normal_axes(from, x.rank()),
                             targets = normal_axes(to, x.rank());
  std::vector<int64_t> order(x.rank(), -1);
  std::vector<bool> is_moved(x.rank());
  bool fits = sources.size() == targets.size();
  for (size_t i = 0; fits && i < sources.size(); ++i) {
    int64_t& place = order[static_cast<size_t>(targets[i])];
    const auto source = static_cast<size_t>(sources[i]);
    fits = place < 0 && !is_moved[source];
    place = sources[i];
    is_moved[source] = true;
  }
  if (!fits) {
    throw ValueError("moveaxis: [{}] cannot move to [{}]: both need equally many different axes",
                     fmt::join(from, ", "), fmt::join(to, ", "))
        .at(Location::of_caller());
  }
  size_t next = 0;
  for (int64_t& place : order) {
    if (place >= 0) continue;
    while (is_moved[next]) ++next;
    place = static_cast<int64_t>(next++);
  }
  return permute_dims(x, order);
}

Tensor moveaxis(const Tensor& x, std::initializer_list<int64_t> from,
                std::initializer_list<int64_t> to) {
  return moveaxis(x, std::span(from.begin(), from.size()), std::span(to.begin(), to.size()));
}

Tensor unflatten(const Tensor& x, int64_t axis, const Shape& sizes) {
  const Call call("unflatten", x, sizes);
  const auto at = static_cast<size_t>(normal_axis(axis, x.rank()));
  const Shape from = x.shape();
  std::vector<Dim> parts(sizes.begin(), sizes.end());
  Dim known = 1;
  Dim* open = nullptr;
  for (Dim& size : parts) {
    if (same(size, Dim(-1))) {
      if (open != nullptr) {
        throw ShapeError("{} has -1 at two places, expected one at most", sizes.text());
      }
      open = &size;
    } else {
      known = known * size;
    }
  }
  if (open != nullptr && is_nonempty(known)) *open = floor_div(from[at], known);
  const Dim product = Shape(parts).element_count();
  if (!same(product, from[at]) && (open == nullptr || from[at].is_number())) {
    throw ShapeError("unflatten: dimension {} of {} cannot become {}", at, x.type().text(),
                     sizes.text())
        .at(Location::of_caller());
  }
  Shape to(from.dims().first(at));
  for (const Dim size : parts) to.append(size);
  for (size_t i = at + 1; i < from.rank(); ++i) to.append(from[i]);
  return reshape(x, to);
}

std::vector<Tensor> split(const Tensor& x, int64_t parts, int64_t axis) {
  const Call call("split", x);
  expect_parts("split", parts);
  const Dim size = x.shape(axis);
  if (!sizes_hold({mod(size, parts), SizeFact::equal, 0})) {
    throw ValueError("split: the size {} of axis {} of {} is not a multiple of {}", size, axis,
                     x.type().text(), parts)
        .at(Location::of_caller())
        .hint("chunk allows a smaller last part, split_at any parts");
  }
  const Dim each = floor_div(size, parts);
  std::vector<Tensor> result;
  for (int64_t i = 0; i < parts; ++i) result.push_back(slice_axis(x, axis, each * i, each));
  return result;
}

std::vector<Tensor> split_at(const Tensor& x, std::span<const Dim> places, int64_t axis) {
  const Call call("split_at", x);
  const Dim size = x.shape(axis);
  std::vector<Tensor> result;
  Dim begin = 0;
  const auto add_until = [&](Dim end) {
    const bool is_known = begin.is_number() && end.is_number() && size.is_number();
    if (is_known && (end.number() < begin.number() || end.number() > size.number())) {
      throw ValueError(
          "split_at: the indices [{}] are not in ascending order within the size {} of axis {}",
          fmt::join(places, ", "), size, axis)
          .at(Location::of_caller());
    }
    result.push_back(slice_axis(x, axis, begin, end - begin));
    begin = end;
  };
  for (const Dim place : places) add_until(place);
  add_until(size);
  return result;
}

std::vector<Tensor> split_at(const Tensor& x, std::initializer_list<Dim> places, int64_t axis) {
  return split_at(x, std::span(places.begin(), places.size()), axis);
}

std::vector<Tensor> chunk(const Tensor& x, int64_t parts, int64_t axis) {
  const Call call("chunk", x);
  expect_parts("chunk", parts);
  const int64_t size = known_size("chunk", x, axis);
  const int64_t each = std::max<int64_t>((size + parts - 1) / parts, 1);
  std::vector<Tensor> result;
  for (int64_t begin = 0; begin == 0 || begin < size; begin += each) {
    result.push_back(slice_axis(x, axis, begin, std::min(each, size - begin)));
  }
  return result;
}

std::vector<Tensor> unstack(const Tensor& x, int64_t axis) {
  const Call call("unstack", x);
  const int64_t size = known_size("unstack", x, axis);
  std::vector<Tensor> result;
  for (int64_t i = 0; i < size; ++i) result.push_back(squeeze(slice_axis(x, axis, i, 1), axis));
  return result;
}

Tensor atleast_1d(const Tensor& x) {
  const Call call("atleast_1d", x);
  return x.rank() >= 1 ? x : reshape(x, {1});
}

Tensor atleast_2d(const Tensor& x) {
  const Call call("atleast_2d", x);
  return x.rank() >= 2 ? x : reshape(x, {1, x.shape().element_count()});
}

Tensor atleast_3d(const Tensor& x) {
  const Call call("atleast_3d", x);
  return x.rank() >= 3 ? x : expand_dims(atleast_2d(x), -1);
}

Tensor vstack(std::span<const Tensor> tensors) {
  const Call call("vstack", tensors);
  std::vector<Tensor> rows;
  for (const Tensor& x : tensors) rows.push_back(atleast_2d(x));
  return concat(rows, 0);
}

Tensor hstack(std::span<const Tensor> tensors) {
  const Call call("hstack", tensors);
  std::vector<Tensor> parts;
  for (const Tensor& x : tensors) parts.push_back(atleast_1d(x));
  return concat(parts, parts.empty() || parts[0].rank() == 1 ? 0 : 1);
}

Tensor dstack(std::span<const Tensor> tensors) {
  const Call call("dstack", tensors);
  std::vector<Tensor> parts;
  for (const Tensor& x : tensors) parts.push_back(atleast_3d(x));
  return concat(parts, 2);
}

Tensor column_stack(std::span<const Tensor> tensors) {
  const Call call("column_stack", tensors);
  std::vector<Tensor> parts;
  for (const Tensor& x : tensors) {
    parts.push_back(x.rank() >= 2 ? x : reshape(x, {x.shape().element_count(), 1}));
  }
  return concat(parts, 1);
}

std::vector<Tensor> broadcast_arrays(std::span<const Tensor> tensors) {
  const Call call("broadcast_arrays", tensors);
  if (tensors.empty()) return {};
  return broadcast_together("broadcast_arrays", {tensors.begin(), tensors.end()});
}

// Splits each dimension in two, of which the first is broadcast.
Tensor tile(const Tensor& x, std::span<const int64_t> counts) {
  const Call call("tile", x);
  const size_t rank = std::max(x.rank(), counts.size());
  Shape single, repeated, joined;
  for (size_t i = 0; i < rank; ++i) {
    const size_t from_end = rank - i;
    const Dim size = from_end <= x.rank() ? x.shape(-static_cast<int64_t>(from_end)) : Dim(1);
    const int64_t count = from_end <= counts.size() ? counts[counts.size() - from_end] : 1;
    if (count < 0)
      throw ValueError("tile: the count is {}, expected 0 or more", count)
          .at(Location::of_caller());
    single.append(1);
    single.append(size);
    repeated.append(count);
    repeated.append(size);
    joined.append(size * count);
  }
  return reshape(broadcast_to(reshape(x, single), repeated), joined);
}

Tensor tile(const Tensor& x, std::initializer_list<int64_t> counts) {
  return tile(x, std::span(counts.begin(), counts.size()));
}

Tensor repeat(const Tensor& x, Dim count, int64_t axis) {
  const Call call("repeat", x);
  if (count.is_number() && count.number() < 0) {
    throw ValueError("repeat: the count is {}, expected 0 or more", count)
        .at(Location::of_caller());
  }
  const int64_t at = normal_axis(axis, x.rank());
  const Tensor single = expand_dims(x, at + 1);
  Shape repeated = single.shape(), joined = x.shape();
  repeated.set(at + 1, count);
  joined.set(at, joined.at(at) * count);
  return reshape(broadcast_to(single, repeated), joined);
}

Tensor repeat(const Tensor& x, const Tensor& counts, int64_t axis, std::optional<Dim> total) {
  const Call call("repeat", x, counts);
  const Dim size = x.shape(axis);
  if (!is_integer(counts.dtype())) {
    throw TypeError("repeat: the counts are {}, not integers", counts.type().text())
        .at(Location::of_caller());
  }
  if (counts.rank() != 1 || differ(counts.shape(0), size)) {
    throw ShapeError("repeat: the counts {} do not match {} elements along axis {} of {}",
                     counts.type().text(), size, axis, x.type().text())
        .at(Location::of_caller());
  }
  const Tensor ends = cumsum(counts, 0);
  if (!total) {
    if (ends.is_traced()) {
      throw ValueError("repeat: the size of the result would depend on the counts")
          .at(Location::of_caller())
          .hint("pass the total");
    }
    total = same(size, Dim(0)) ? Dim(0) : Dim(max(ends).item<int64_t>());
  }
  const Tensor place = searchsorted(ends, iota(*total), SearchSide::right);
  return take(x, where(any(counts < 0), size, place), axis);
}

Tensor roll(const Tensor& x, Dim shift, int64_t axis) {
  const Call call("roll", x);
  const Dim size = x.shape(axis);
  if (same(size, Dim(0))) return x;
  const Dim moved = mod(shift, max(size, 1));
  if (same(moved, Dim(0))) return x;
  const Tensor parts[] = {slice_axis(x, axis, size - moved, moved),
                          slice_axis(x, axis, 0, size - moved)};
  return concat(parts, axis);
}

Tensor roll(const Tensor& x, std::span<const int64_t> shifts, std::span<const int64_t> axes) {
  const Call call("roll", x);
  if (shifts.size() != axes.size()) {
    throw ValueError("roll: {} shifts along {} axes", shifts.size(), axes.size())
        .at(Location::of_caller());
  }
  Tensor result = x;
  for (size_t i = 0; i < axes.size(); ++i) result = roll(result, shifts[i], axes[i]);
  return result;
}

Tensor rot90(const Tensor& x, int64_t times, int64_t from, int64_t to) {
  const Call call("rot90", x);
  if (normal_axis(from, x.rank()) == normal_axis(to, x.rank())) {
    throw ValueError("rot90: cannot rotate from axis {} to axis {} of {}", from, to,
                     x.type().text())
        .at(Location::of_caller());
  }
  switch ((times % 4 + 4) % 4) {
    case 1: return flip(swapaxes(x, from, to), from);
    case 2: return flip(flip(x, from), to);
    case 3: return swapaxes(flip(x, from), from, to);
    default: return x;
  }
}

Tensor channel_shuffle(const Tensor& x, int64_t groups) {
  const Call call("channel_shuffle", x);
  expect_images("channel_shuffle", x, groups);
  const Dim each = exact_quotient("channel_shuffle", x, x.shape(-3), groups);
  return reshape(swapaxes(unflatten(x, -3, {groups, each}), -3, -4), x.shape());
}

Tensor pixel_shuffle(const Tensor& x, int64_t factor) {
  const Call call("pixel_shuffle", x);
  expect_images("pixel_shuffle", x, factor);
  const Dim channels = exact_quotient("pixel_shuffle", x, x.shape(-3), factor * factor);
  const Dim height = x.shape(-2), width = x.shape(-1);
  const Tensor parts = unflatten(x, -3, {channels, factor, factor});
  const auto rank = static_cast<int64_t>(parts.rank());
  // [c, f, f, h, w] to [c, h, f, w, f]
  const Tensor moved = moveaxis(parts, {rank - 4, rank - 3}, {rank - 3, rank - 1});
  Shape shape = x.shape();
  shape.set(-3, channels);
  shape.set(-2, height * factor);
  shape.set(-1, width * factor);
  return reshape(moved, shape);
}

Tensor pixel_unshuffle(const Tensor& x, int64_t factor) {
  const Call call("pixel_unshuffle", x);
  expect_images("pixel_unshuffle", x, factor);
  const Dim height = exact_quotient("pixel_unshuffle", x, x.shape(-2), factor);
  const Dim width = exact_quotient("pixel_unshuffle", x, x.shape(-1), factor);
  const Tensor parts = unflatten(unflatten(x, -1, {width, factor}), -3, {height, factor});
  const auto rank = static_cast<int64_t>(parts.rank());
  // [c, h, f, w, f] to [c, f, f, h, w]
  const Tensor moved = moveaxis(parts, {rank - 3, rank - 1}, {rank - 4, rank - 3});
  Shape shape = x.shape();
  shape.set(-3, x.shape(-3) * (factor * factor));
  shape.set(-2, height);
  shape.set(-1, width);
  return reshape(moved, shape);
}

}  // namespace plait
