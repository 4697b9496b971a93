// Moves between devices.
#pragma once

#include <string>
#include <utility>

#include "plait/core/device.h"
#include "plait/tensor/tensor.h"

namespace plait {

// x on that device: x itself if it is there, else a copy. Gradients move back. Keys stay on the
// host, from where every device draws.
Tensor to_device(const Tensor& x, Device device);

// The tree with all its tensors on that device: a model, the state of an optimizer.
template <class Tree>
Tree to_device(Tree tree, Device device) {
  return map_leaves(std::move(tree), [&](const Tensor& x) { return to_device(x, device); });
}

struct ToDeviceAttributes {
  std::string device = "cpu";
  std::string from = "cpu";  // where the gradient goes
  static constexpr std::string_view kRequired[] = {"device"};
};

void register_to_device();

}  // namespace plait
