#include "plait/tensor/tracing/open_axes.h"

#include <algorithm>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/core/text.h"

namespace plait {
namespace {

std::string free_label(std::string_view name) {
  std::string label(name);
  const auto axes = open_axes();
  for (int i = 1; std::ranges::find(axes, label, &NamedAxis::label) != axes.end(); ++i) {
    label = fmt::format("{}.{}", name, i);
  }
  return label;
}

std::string names_of_open() {
  std::vector<std::string_view> names;
  for (const NamedAxis* axis : open_axes()) names.push_back(axis->name);
  if (names.empty()) return "no axis is open";
  return fmt::format("the open axes are {}", fmt::join(names, ", "));
}

}  // namespace

NamedAxisScope::NamedAxisScope(std::string_view name, Dim size) : outer_(ambient.axes) {
  if (!is_name(name)) {
    throw ValueError("`{}` is not a valid name of an axis", name)
        .at(Location::of_caller())
        .hint("a name has letters, digits, _ and ., and begins with a letter or _");
  }
  axis_ = {std::string(name), free_label(name), size, {}};
  ambient.axes = this;
}

NamedAxisScope::~NamedAxisScope() { ambient.axes = outer_; }

std::vector<const NamedAxis*> open_axes() {
  std::vector<const NamedAxis*> axes;
  for (auto* scope = ambient.axes; scope != nullptr; scope = scope->outer_) {
    axes.push_back(&scope->axis_);
  }
  std::ranges::reverse(axes);
  return axes;
}

const NamedAxis& axis_called(std::string_view name) {
  const auto axes = open_axes();
  const auto axis = std::ranges::find(axes.rbegin(), axes.rend(), name, &NamedAxis::name);
  if (axis != axes.rend()) return **axis;
  throw KeyError("unknown axis `{}`: {}", name, names_of_open())
      .at(Location::of_caller())
      .hint("vmap with a name for its axis opens one");
}

const NamedAxis& axis_labelled(std::string_view label) {
  const auto axes = open_axes();
  const auto axis = std::ranges::find(axes, label, &NamedAxis::label);
  if (axis != axes.end()) return **axis;
  throw KeyError("unknown axis `{}`: {}", label, names_of_open()).at(Location::of_caller());
}

ir::AxisSet all_open_axes() {
  ir::AxisSet all;
  for (const NamedAxis* axis : open_axes()) all.insert(axis->label);
  return all;
}

}  // namespace plait
