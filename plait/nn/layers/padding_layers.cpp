#include "plait/nn/layers/padding_layers.h"

#include <algorithm>
#include <limits>
#include <string>

#include "plait/nn/inside/layer_ranks.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/neural/per_dimension.h"

namespace plait::nn {
namespace {

constexpr int64_t kAnyWidth = std::numeric_limits<int64_t>::min();

std::string_view layer_of(PadMode mode) {
  switch (mode) {
    case PadMode::constant: return "ZeroPad";
    case PadMode::reflect: return "ReflectionPad";
    case PadMode::edge: return "ReplicationPad";
    case PadMode::wrap: return "CircularPad";
  }
  return "Pad";
}

// Without -before elements at the beginning, and -after elements at the end, as far as these are
// negative.
Tensor cut(const Tensor& x, int64_t axis, int64_t before, int64_t after) {
  const int64_t start = std::max<int64_t>(-before, 0), less = std::max<int64_t>(-after, 0);
  return start + less == 0 ? x : slice_axis(x, axis, start, x.shape(axis) - start - less);
}

Tensor padded(std::string_view layer, size_t rank, const Tensor& x,
              const std::vector<int64_t>& padding, int64_t least, PadMode mode, double value) {
  const std::string name = name_of_layer(layer, rank);
  const Call call(name, x);
  expect_dimensions(name, x, {rank + 1, rank + 2});
  const auto widths = PerDimension(padding).of(2 * rank, name, "width", least);
  Tensor result = x;
  std::vector<PadWidth> wider(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t before = widths[2 * i], after = widths[2 * i + 1];
    result = cut(result, -1 - static_cast<int64_t>(i), before, after);
    wider[rank - 1 - i] = {std::max<int64_t>(before, 0), std::max<int64_t>(after, 0)};
  }
  return pad(result, wider, mode, value);
}

}  // namespace

template <PadMode mode, size_t rank>
Tensor Pad<mode, rank>::operator()(const Tensor& x) const {
  const int64_t least = mode == PadMode::constant ? kAnyWidth : 0;
  return padded(layer_of(mode), rank, x, padding, least, mode, 0);
}

template <size_t rank>
Tensor ConstantPad<rank>::operator()(const Tensor& x) const {
  return padded("ConstantPad", rank, x, padding, kAnyWidth, PadMode::constant, value);
}

template struct Pad<PadMode::constant, 1>;
template struct Pad<PadMode::constant, 2>;
template struct Pad<PadMode::constant, 3>;
template struct Pad<PadMode::reflect, 1>;
template struct Pad<PadMode::reflect, 2>;
template struct Pad<PadMode::reflect, 3>;
template struct Pad<PadMode::edge, 1>;
template struct Pad<PadMode::edge, 2>;
template struct Pad<PadMode::edge, 3>;
template struct Pad<PadMode::wrap, 1>;
template struct Pad<PadMode::wrap, 2>;
template struct Pad<PadMode::wrap, 3>;
template struct ConstantPad<1>;
template struct ConstantPad<2>;
template struct ConstantPad<3>;

}  // namespace plait::nn
