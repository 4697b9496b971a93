#include "plait/io/inside/checkpoints/tree_match.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/core/trees/renaming.h"
#include "plait/io/inside/checkpoints/renamed_tree.h"

namespace plait {
namespace {

using Names = std::vector<std::string>;

std::string shown_path(const std::string& path) { return path.empty() ? "the tree" : path; }

bool is_below(std::string_view path, std::string_view node) {
  return path != node &&
         (node.empty() || (path.starts_with(node) && path.substr(node.size()).starts_with('.')));
}

// "optimizer.*" means the optimizer itself, too.
bool matches_part(const std::string& path, const Names& patterns) {
  return matches_one(path, patterns) || matches_one(path + ".", patterns);
}

bool looks_like_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789+-.e") == std::string_view::npos;
}

class Comparison {
 public:
  Comparison(const CheckpointTree& like, const CheckpointTree& saved, const TreeMatch& how)
      : like_(like), saved_(saved), how_(how), given_(saved, how.rename) {}

  std::map<std::string, Array> run() {
    expect_used(how_.skip, "skip");
    expect_used(how_.fill, "fill");
    expect_used(how_.resize, "resize");
    compare_parts();
    compare_ties();
    if (!is_alike()) fail();
    std::map<std::string, Array> found;
    for (const auto& [path, type] : like_.parts) {
      const std::string* const old = given_.old_tensor(path);
      if (like_.find(path) == nullptr || old == nullptr || is_skipped(path)) continue;
      found.emplace(path, *saved_.find(*old));
    }
    return found;
  }

 private:
  bool is_skipped(const std::string& path) const { return matches_part(path, how_.skip); }

  bool is_resized(const std::string& path) const {
    if (!matches_part(path, how_.resize)) return false;
    const Array* const here = like_.find(path);
    const std::string* const old = given_.old_tensor(path);
    if (here == nullptr || old == nullptr) return false;
    const Array& saved = *saved_.find(*old);
    return saved.dtype() == here->dtype() && saved.rank() == here->rank();
  }

  void expect_used(const Names& patterns, std::string_view option) const {
    for (const std::string& pattern : patterns) {
      const auto is_meant = [&](const auto& part) { return matches_part(part.first, {pattern}); };
      if (std::ranges::any_of(like_.parts, is_meant)) continue;
      if (std::ranges::any_of(given_.parts(), is_meant)) continue;
      throw ValueError("restore: nothing in the tree or the checkpoint matches {} of {}",
                       in_quotes(pattern), option)
          .at(Location::of_caller());
    }
  }

  void compare_parts() {
    for (const auto& [path, here] : like_.parts) {
      if (is_skipped(path)) continue;
      const auto found = given_.parts().find(path);
      if (found == given_.parts().end()) {
        const bool is_filled = matches_part(path, how_.fill) || has_tensors_below(path);
        if (!is_filled) add_topmost(path, missing_);
      } else if (found->second != here && !is_resized(path) && !is_below_one(path, other_)) {
        other_.push_back(path);
      }
    }
    for (const auto& [path, text] : given_.parts()) {
      if (like_.parts.contains(path) || is_skipped(path)) continue;
      add_topmost(path, superfluous_);
    }
  }

  // True for a node around tensors that were at another depth when they were saved.
  bool has_tensors_below(const std::string& path) const {
    return std::ranges::any_of(like_.parts, [&](const auto& part) {
      return is_below(part.first, path) && given_.old_tensor(part.first) != nullptr;
    });
  }

  // Paths are in order, so a node comes before its parts.
  void add_topmost(const std::string& path, Names& list) const {
    if (!is_below_one(path, list) && !is_below_one(path, other_)) list.push_back(path);
  }
  static bool is_below_one(const std::string& path, const Names& nodes) {
    return std::ranges::any_of(nodes,
                               [&](const std::string& node) { return is_below(path, node); });
  }

  // A tensor at two places must be at both in the other tree, too.
  void compare_ties() {
    for (const auto& [path, first] : like_.same) {
      if (is_compared(path) && is_compared(first) && !given_.are_one(path, first)) {
        ties_.push_back(fmt::format("{} and {} are one tensor in the tree, two in the checkpoint",
                                    first, path));
      }
    }
    for (const auto& [path, first] : given_.ties()) {
      if (is_compared(path) && is_compared(first) && like_.find(path) != like_.find(first)) {
        ties_.push_back(fmt::format("{} and {} are one tensor in the checkpoint, two in the tree",
                                    first, path));
      }
    }
  }
  bool is_compared(const std::string& path) const {
    return !is_skipped(path) && like_.find(path) != nullptr && given_.old_tensor(path) != nullptr;
  }

  bool is_alike() const {
    return missing_.empty() && superfluous_.empty() && other_.empty() && ties_.empty();
  }

  [[noreturn]] void fail() const {
    Differences differences;
    differences.add_names(missing_, "missing from the checkpoint", superfluous_);
    differences.add_names(superfluous_, "in the checkpoint, but not in the tree", missing_);
    differences.add(other_.size(), "different", [&](size_t i) {
      return fmt::format("{} is {} in the checkpoint, {} in the tree", shown_path(other_[i]),
                         given_.parts().at(other_[i]), like_.parts.at(other_[i]));
    });
    differences.add(ties_.size(), "tied in one of them", [&](size_t i) { return ties_[i]; });
    throw ValueError("restore: the tree is not that of the checkpoint, and nothing is restored:{}",
                     differences.text())
        .at(Location::of_caller())
        .hint(hint());
  }

  std::string hint() const {
    const bool is_cpp = like_.language == "C++";
    const bool has_number = std::ranges::any_of(
        other_, [&](const std::string& path) { return looks_like_number(like_.parts.at(path)); });
    return fmt::format(
        "{}; skip names what stays as it is in the tree, fill what the checkpoint may lack{}",
        is_cpp ? ".rename = {{\"theirs.*\", \"ours.*\"}} maps names"
               : "rename={\"theirs.*\": \"ours.*\"} maps names",
        has_number ? "; a number that changes from step to step is a tensor" : "");
  }

  const CheckpointTree& like_;
  const CheckpointTree& saved_;
  const TreeMatch& how_;
  const RenamedTree given_;
  Names missing_, superfluous_, other_, ties_;
};

}  // namespace

std::map<std::string, Array> match_trees(const CheckpointTree& like, const CheckpointTree& saved,
                                         const TreeMatch& how) {
  if (like.language != saved.language) {
    throw ValueError("restore: the checkpoint is that of a program in {}, whose classes are others",
                     saved.language)
        .at(Location::of_caller())
        .hint("load its tensors by name, and put them into the model with load_state");
  }
  return Comparison(like, saved, how).run();
}

}  // namespace plait
