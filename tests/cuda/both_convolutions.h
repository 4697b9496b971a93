// Convolutions and their transposes on the host and on the emulated device.
#pragma once

#include <string>
#include <vector>

#include "plait/ops/inside/neural/convolution_shape.h"
#include "plait/ops/inside/primitives.h"

#include "tests/cuda/both_devices.h"

namespace plait {

// Attributes without strides, padding and dilations.
inline ConvolutionAttributes plain_convolution(size_t space, int64_t groups = 1) {
  return {.strides = std::vector<int64_t>(space, 1),
          .dilation = std::vector<int64_t>(space, 1),
          .input_dilation = std::vector<int64_t>(space, 1),
          .padding_low = std::vector<Dim>(space, Dim(0)),
          .padding_high = std::vector<Dim>(space, Dim(0)),
          .groups = Dim(groups)};
}

inline std::vector<Dim> space_of(const Array& x) {
  return {x.sizes().begin() + 2, x.sizes().end()};
}

class BothConvolutions : public BothDevices {
 protected:
  using View = Array (*)(const Array&);
  static Array itself(const Array& x) { return x; }

  // The convolution and its transposes; `view` changes the layouts of their operands.
  void expect_three(const Array& x, const Array& w, ConvolutionAttributes a,
                    const std::string& name, View view = itself) {
    expect_same(convolution_primitive(), {view(x), view(w)}, ir::Attributes::of(a), name);
    const Sizes sizes = convolution_sizes(x.sizes(), w.sizes(), geometry_of(a));
    const Array out = assorted(x.dtype(), sizes, 3, true);
    a.sizes = space_of(x);
    expect_same(convolution_input_gradient_primitive(), {view(out), view(w)}, ir::Attributes::of(a),
                name);
    a.sizes = space_of(w);
    expect_same(convolution_weight_gradient_primitive(), {view(x), view(out)},
                ir::Attributes::of(a), name);
  }
  void expect_three(DType dtype, const Sizes& x, const Sizes& w, const ConvolutionAttributes& a,
                    const std::string& name = {}) {
    expect_three(assorted(dtype, x, 1, true), assorted(dtype, w, 2, true), a,
                 name + std::string(name_of(dtype)));
  }
};

}  // namespace plait
