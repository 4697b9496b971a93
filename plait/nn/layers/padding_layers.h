// Layers that pad one to three spatial dimensions of [batch, channels, space…] or [channels,
// space…].
#pragma once

#include <cstdint>
#include <vector>

#include "plait/ops/arrays/pad.h"
#include "plait/tensor/tensor.h"

namespace plait::nn {

// Widths are given from the last dimension to the first: left, right, top, bottom, front, back; one
// number counts for all. Negative widths of zeros cut.
template <PadMode mode, size_t rank>
struct Pad {
  std::vector<int64_t> padding;

  Tensor operator()(const Tensor& x) const;
};
using ZeroPad1d = Pad<PadMode::constant, 1>;
using ZeroPad2d = Pad<PadMode::constant, 2>;
using ZeroPad3d = Pad<PadMode::constant, 3>;
// Mirrors at the first and the last element, which are not repeated.
using ReflectionPad1d = Pad<PadMode::reflect, 1>;
using ReflectionPad2d = Pad<PadMode::reflect, 2>;
using ReflectionPad3d = Pad<PadMode::reflect, 3>;
// Repeats the first and the last element.
using ReplicationPad1d = Pad<PadMode::edge, 1>;
using ReplicationPad2d = Pad<PadMode::edge, 2>;
using ReplicationPad3d = Pad<PadMode::edge, 3>;
// Continues with the other end.
using CircularPad1d = Pad<PadMode::wrap, 1>;
using CircularPad2d = Pad<PadMode::wrap, 2>;
using CircularPad3d = Pad<PadMode::wrap, 3>;

// The same with one value everywhere. Negative widths cut.
template <size_t rank>
struct ConstantPad {
  std::vector<int64_t> padding;
  double value = 0;

  Tensor operator()(const Tensor& x) const;
};
using ConstantPad1d = ConstantPad<1>;
using ConstantPad2d = ConstantPad<2>;
using ConstantPad3d = ConstantPad<3>;

}  // namespace plait::nn
