// Conditions that are checked while a program runs.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "plait/core/trees/tree.h"
#include "plait/tensor/tensor.h"

namespace plait {

// Throws CheckError with the message if any element is false. In a program it is an instruction
// that checks each time it runs, in order with other side effects, and is never removed. Under vmap
// every sample is checked, and the error names the first that fails.
void check(const Tensor& condition, std::string_view message = {});

// Throws CheckError if x contains a NaN or an infinity. The error says how many of each, the index
// of the first, and the name. Otherwise as check. Returns x. Dtypes other than floating and complex
// ones always pass.
Tensor check_finite(const Tensor& x, std::string_view name = {});
template <class T>
concept TreeNotTensor = !std::convertible_to<const T&, Tensor>;
// Checks each tensor of a model, of gradients, or of another tree; the error names its path.
template <TreeNotTensor Tree>
void check_finite(const Tree& tree, std::string_view name = {}) {
  for_each_leaf(tree, [&](std::string_view path, const Tensor& leaf) {
    const bool has_both = !name.empty() && !path.empty();
    check_finite(leaf, std::string(name) + (has_both ? "." : "") + std::string(path));
  });
}

struct CheckFiniteAttributes {
  std::string label = {};
  int64_t samples = 0;  // see ops/inside/samples.h
};

struct CheckAttributes {
  std::string message = {};
  int64_t samples = 0;  // see ops/inside/samples.h
};

void register_check();

}  // namespace plait
