// Lists of tensors in which some are empty.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <span>
#include <vector>

#include "plait/tensor/tensor.h"

namespace plait {

inline std::ptrdiff_t ptr(size_t count) { return static_cast<std::ptrdiff_t>(count); }

inline std::vector<Tensor> joined(std::initializer_list<std::span<const Tensor>> parts) {
  std::vector<Tensor> all;
  for (const auto part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

inline std::vector<Tensor> present_of(std::span<const Tensor> tensors) {
  std::vector<Tensor> there;
  std::ranges::copy_if(tensors, std::back_inserter(there),
                       [](const Tensor& tensor) { return static_cast<bool>(tensor); });
  return there;
}

inline std::vector<bool> which_are_present(std::span<const Tensor> tensors) {
  std::vector<bool> there;
  for (const Tensor& tensor : tensors) there.push_back(static_cast<bool>(tensor));
  return there;
}

// Puts the tensors at the places that are true, in order; other places are empty.
inline std::vector<Tensor> spread(std::span<const Tensor> tensors,
                                  const std::vector<bool>& places) {
  std::vector<Tensor> all(places.size());
  for (size_t i = 0, next = 0; i < places.size(); ++i) {
    if (places[i]) all[i] = tensors[next++];
  }
  return all;
}

}  // namespace plait
