#include "plait/io/inside/checkpoints/renamed_tree.h"

#include "plait/core/error.h"
#include "plait/core/text.h"

namespace plait {
namespace {

std::string parent_path(const std::string& path) {
  const size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(0, dot);
}

}  // namespace

RenamedTree::RenamedTree(const CheckpointTree& tree, RenameTensor rename) : tree_(tree) {
  std::map<std::string, std::string> kept;
  for (const auto& [path, text] : tree.parts) {
    if (tree.find(path) == nullptr) continue;
    const auto made = rename(path);
    rename_tensor(path, made);
    if (made) kept.emplace(path, *made);
  }
  for (const auto& [old, made] : kept) rename_nodes_above(old, made);
  // Where a tensor's own name is another one, its node is that of the new name.
  for (const auto& [old, made] : kept) {
    auto& node = news_[parent_path(old)];
    if (node || old.empty()) continue;
    node = parent_path(made);
    rename_nodes_above(parent_path(old), *node);
  }
  for (const auto& [path, text] : tree.parts) {
    if (const auto made = new_path(path)) parts_[*made] = text;
  }
}

void RenamedTree::rename_tensor(const std::string& old, const std::optional<std::string>& made) {
  if (made && !olds_.emplace(*made, old).second) {
    throw ValueError("restore: rename gives the name {} to {} and {}", in_quotes(*made),
                     in_quotes(olds_.at(*made)), in_quotes(old))
        .at(Location::of_caller());
  }
  news_[old] = made;
  for (std::string node = old; !node.empty();) {
    node = parent_path(node);
    news_.try_emplace(node);  // dropped, unless one of its tensors says more
  }
}

// Where the end of a path remains, the nodes before it have other names.
void RenamedTree::rename_nodes_above(const std::string& old, const std::string& made) {
  for (std::string node = old; !node.empty();) {
    node = parent_path(node);
    auto& renamed = news_[node];
    const std::string end = node.empty() ? old : old.substr(node.size() + 1);
    if (renamed) continue;
    if (made == end) {
      renamed = "";
    } else if (made.ends_with("." + end)) {
      renamed = made.substr(0, made.size() - end.size() - 1);
    }
  }
}

std::optional<std::string> RenamedTree::new_path(const std::string& old) const {
  std::string node = old;
  auto found = news_.find(node);
  while (found == news_.end() && !node.empty()) {
    node = parent_path(node);
    found = news_.find(node);
  }
  if (found == news_.end()) return old;  // a tree without tensors
  if (!found->second) return std::nullopt;
  if (node == old) return found->second;
  const std::string rest = node.empty() ? old : old.substr(node.size() + 1);
  return found->second->empty() ? rest : *found->second + "." + rest;
}

const std::string* RenamedTree::old_tensor(const std::string& path) const {
  const auto found = olds_.find(path);
  return found == olds_.end() ? nullptr : &found->second;
}

bool RenamedTree::are_one(const std::string& path, const std::string& other) const {
  return tree_.find(olds_.at(path)) == tree_.find(olds_.at(other));
}

std::map<std::string, std::string> RenamedTree::ties() const {
  std::map<std::string, std::string> ties;
  for (const auto& [path, first] : tree_.same) {
    const auto &renamed = news_.at(path), &renamed_first = news_.at(first);
    if (renamed && renamed_first) ties.emplace(*renamed, *renamed_first);
  }
  return ties;
}

}  // namespace plait
