// Which tensor of a checkpoint belongs to which place of a tree.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plait/core/function_ref.h"
#include "plait/io/checkpoint_tree.h"

namespace plait {

using RenameTensor = FunctionRef<std::optional<std::string>(const std::string& name)>;

struct TreeMatch {
  RenameTensor rename;  // from paths in the checkpoint; nothing drops a tensor
  const std::vector<std::string>& skip;
  const std::vector<std::string>& fill;
  const std::vector<std::string>& resize;
};

// The tensors of `saved` by their paths in `like`, without those that keep their tensors.
// ValueError that lists the differences, unless the trees are alike but for what `how` allows.
std::map<std::string, Array> match_trees(const CheckpointTree& like, const CheckpointTree& saved,
                                         const TreeMatch& how);

}  // namespace plait
