// Names of tensors that are changed by patterns, and lists of differences between two sets of
// names.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plait/core/function_ref.h"

namespace plait {

// Old patterns and new names: the first pattern that matches applies, and its * stands for the same
// text in the new name. Without a new name, what has the old one is dropped.
using Renaming = std::vector<std::pair<std::string, std::optional<std::string>>>;

// The new name; nothing if it is dropped.
std::optional<std::string> renamed(const std::string& name, const Renaming& renaming);

// ValueError for a pattern that matches none of the names; `things` are what has them.
void expect_matches(std::string_view what, std::string_view things, std::string_view pattern,
                    std::span<const std::string> names);
void expect_matches(std::string_view what, const Renaming& renaming,
                    std::span<const std::string> names);

// Lines of text, a few of each kind.
class Differences {
 public:
  // "x is `what`", for each name, with a similar one of the others.
  void add_names(const std::vector<std::string>& names, std::string_view what,
                 const std::vector<std::string>& others);
  void add(size_t count, std::string_view what, FunctionRef<std::string(size_t)> line);
  bool is_empty() const { return text_.empty(); }
  const std::string& text() const { return text_; }  // each line begins with a line break

 private:
  std::string text_;
};

}  // namespace plait
