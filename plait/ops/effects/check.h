// Conditions that must hold while something is computed.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "plait/core/trees/tree.h"
#include "plait/tensor/tensor.h"

namespace plait {

// CheckError with the message where one of these is false. In a program it is an instruction, which
// looks whenever the program comes there: in order with whatever else is seen from outside, never
// removed. Under vmap each sample is looked at, and the error says which one it was.
void check(const Tensor& condition, std::string_view message = {});

// CheckError where x holds a NaN or an infinity: how many of each, where the first one lies, and of
// what name. Otherwise as check. Gives x back; what is not inexact is finite.
Tensor check_finite(const Tensor& x, std::string_view name = {});
template <class T>
concept TreeNotTensor = !std::convertible_to<const T&, Tensor>;
// The same of each tensor of a model, of gradients, or of another tree: the error names its path.
template <TreeNotTensor Tree>
void check_finite(const Tree& tree, std::string_view name = {}) {
  for_each_leaf(tree, [&](std::string_view path, const Tensor& leaf) {
    const bool has_both = !name.empty() && !path.empty();
    check_finite(leaf, std::string(name) + (has_both ? "." : "") + std::string(path));
  });
}

struct CheckFiniteAttributes {
  std::string label = {};
  int64_t samples = 0;  // ops/inside/samples.h
};

struct CheckAttributes {
  std::string message = {};
  int64_t samples = 0;  // ops/inside/samples.h
};

void register_check();

}  // namespace plait
