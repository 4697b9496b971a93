// Moves between devices.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>

#include "plait/core/device.h"
#include "plait/tensor/tensor.h"

namespace plait {

// x on that device, where it is placed: x itself if it was placed there, else a copy. Gradients
// move back. Keys stay on the host, from where every device draws.
Tensor to_device(const Tensor& x, Device device);

// The tree with all its tensors on that device: a model, the state of an optimizer. A tensor at two
// places remains one.
template <class Tree>
Tree to_device(Tree tree, Device device) {
  std::unordered_map<const void*, Tensor> moved;
  return map_leaves(std::move(tree), [&](const Tensor& x) {
    if (!x) return x;
    const auto [place, is_new] = moved.try_emplace(x.identity());
    if (is_new) place->second = to_device(x, device);
    return place->second;
  });
}

struct ToDeviceAttributes {
  std::string device = "cpu";
  std::string from = "cpu";  // where the gradient goes
  bool unplaced = false;     // the result is only made there
  static constexpr std::string_view kRequired[] = {"device"};
};

void register_to_device();

}  // namespace plait
