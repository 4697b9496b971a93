#include "plait/ops/arrays/pad.h"

#include "plait/core/error.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/indexing/at.h"
#include "plait/tensor/apply.h"

namespace plait {
namespace {

std::string_view name_of(PadMode mode) {
  switch (mode) {
    case PadMode::constant: return "constant";
    case PadMode::edge: return "edge";
    case PadMode::reflect: return "reflect";
    case PadMode::wrap: return "wrap";
  }
  return "";
}

// True if the axis has enough elements for the width.
bool is_enough(Dim size, Dim width, PadMode mode) {
  if (!width.is_number() || !size.is_number()) return true;
  const int64_t least = width.number();
  if (least < 0) return false;
  switch (mode) {
    case PadMode::constant: return true;
    case PadMode::edge: return least == 0 || size.number() > 0;
    case PadMode::reflect: return least == 0 || least < size.number();
    case PadMode::wrap: return least <= size.number();
  }
  return false;
}

Tensor repeated(const Tensor& edge, int64_t axis, Dim count) {
  Shape shape = edge.shape();
  shape.set(axis, count);
  return broadcast_to(edge, shape);
}

// The elements to put before (or after) x along an axis.
Tensor border(const Tensor& x, int64_t axis, Dim width, bool is_before, PadMode mode,
              const Scalar& value) {
  const Dim size = x.shape(axis);
  switch (mode) {
    case PadMode::constant: {
      const Tensor filling = value_like("pad", x, value);
      Shape shape = x.shape();
      shape.set(axis, width);
      return broadcast_to(filling, shape);
    }
    case PadMode::edge:
      return repeated(slice_axis(x, axis, is_before ? Dim(0) : size - 1, 1), axis, width);
    case PadMode::reflect: return slice_axis(x, axis, is_before ? width : size - 2, width, -1);
    case PadMode::wrap: return slice_axis(x, axis, is_before ? size - width : Dim(0), width);
  }
  return x;
}

Tensor padded_along(const Tensor& x, int64_t axis, const PadWidth& width, PadMode mode,
                    const Scalar& value) {
  const Dim size = x.shape(axis);
  for (const Dim each : {width.before, width.after}) {
    if (is_enough(size, each, mode)) continue;
    throw ValueError("pad: a width of {} is invalid along axis {} of {} in mode {}", each, axis,
                     x.type().text(), name_of(mode))
        .at(Location::of_caller());
  }
  if (same(width.before, Dim(0)) && same(width.after, Dim(0))) return x;
  const bool is_plain = mode == PadMode::constant && !value.is_symbolic();
  if (is_plain && value.element().number == 0. && value.element().integer == 0) {
    return pad_zeros(x, axis, width.before, width.after);
  }
  std::vector<Tensor> parts;
  if (!same(width.before, Dim(0)))
    parts.push_back(border(x, axis, width.before, true, mode, value));
  parts.push_back(x);
  if (!same(width.after, Dim(0))) parts.push_back(border(x, axis, width.after, false, mode, value));
  return concat(parts, axis);
}

}  // namespace

Tensor pad(const Tensor& x, std::span<const PadWidth> widths, PadMode mode, const Scalar& value) {
  const Call call("pad", x);
  if (widths.size() > x.rank()) {
    throw ShapeError("pad: {} widths are too many for {}", widths.size(), x.type().text())
        .at(Location::of_caller());
  }
  Tensor result = x;
  for (size_t i = 0; i < widths.size(); ++i) {
    const auto axis = static_cast<int64_t>(x.rank() - widths.size() + i);
    result = padded_along(result, axis, widths[i], mode, value);
  }
  return result;
}

Tensor pad(const Tensor& x, std::initializer_list<PadWidth> widths, PadMode mode,
           const Scalar& value) {
  return pad(x, std::span(widths.begin(), widths.size()), mode, value);
}

}  // namespace plait
