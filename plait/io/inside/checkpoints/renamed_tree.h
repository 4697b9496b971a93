// The tree of a checkpoint under other names.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "plait/io/inside/checkpoints/tree_match.h"

namespace plait {

// Tensors have new names; a class or a static value goes with the tensors that are below it. So if
// "encoder.0.weight" becomes "body.0.weight", the class of "encoder" is that of "body".
class RenamedTree {
 public:
  // ValueError if two tensors get one name.
  RenamedTree(const CheckpointTree& tree, RenameTensor rename);

  const std::map<std::string, std::string>& parts() const { return parts_; }
  // The old path of a tensor; null if there is none of this new path.
  const std::string* old_tensor(const std::string& path) const;
  bool are_one(const std::string& path, const std::string& other) const;
  std::map<std::string, std::string> ties() const;  // a path and the first of the same tensor

 private:
  void rename_tensor(const std::string& old, const std::optional<std::string>& made);
  void rename_nodes_above(const std::string& old, const std::string& made);
  std::optional<std::string> new_path(const std::string& old) const;

  const CheckpointTree& tree_;
  std::map<std::string, std::string> olds_;  // old paths of tensors, by new path
  std::map<std::string, std::optional<std::string>>
      news_;  // new paths of tensors and nodes, by old path
  std::map<std::string, std::string> parts_;
};

}  // namespace plait
