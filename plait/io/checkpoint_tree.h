// A tree as a checkpoint has it: its tensors by path, and what else it consists of, as text.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plait/core/trees/tree.h"
#include "plait/tensor/memory/array.h"
#include "plait/tensor/tensor.h"

namespace plait {

struct CheckpointTree {
  // That of the program that has made the tree: classes have other static values in others.
  std::string language = "C++";
  std::map<std::string, Array> arrays = {};
  // Further paths of a tensor that is at several places, and its path among the arrays.
  std::map<std::string, std::string> same = {};
  // For each path the name of a class, a static value, or the type of a tensor: "f32[3, 4]".
  std::map<std::string, std::string> parts = {};

  // ValueError for a tensor without a value, such as one that is being recorded.
  void add(const std::string& path, const Tensor& tensor);
  void add(const std::string& path, Array array);
  const Array* find(const std::string& path) const;  // at any of its paths; null if there is none
  std::map<std::string, Tensor> tensors() const;     // at all paths

 private:
  std::map<const void*, std::string> first_paths_ = {};  // by identity, while tensors are added
};

// A tree, and the places of its tensors.
struct CheckpointPlaces {
  CheckpointTree tree = {};
  std::vector<std::pair<std::string, Tensor*>> tensors = {};

  void add(const std::string& path, Tensor& tensor);
};

class CheckpointVisitor final : public trees::PathVisitor {
 public:
  void leaf(void* leaf, const TreeType& type) override;
  void begin(const TreeType& type, uint64_t word) override;
  void fixed(const StaticValue& value) override;

  CheckpointPlaces found;
};

template <class Tree>
CheckpointPlaces checkpoint_places(Tree& tree) {
  CheckpointVisitor visitor;
  trees::walk_tree(tree, visitor);
  return std::move(visitor.found);
}
// The names may have dots, as those of nn::state.
CheckpointPlaces checkpoint_places(std::map<std::string, Tensor>& tensors);

}  // namespace plait
