#include "plait/tensor/tracing/named_axes.h"

#include <algorithm>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/ir/structure.h"
#include "plait/tensor/apply.h"

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

ir::AxisSet axes_of(const Tensor& x) {
  return x && x.is_traced() ? x.traced().type.all_varying() : ir::AxisSet();
}

Tensor vary_along(const Tensor& x, const ir::AxisSet& axes) {
  const ir::AxisSet known = axes_of(x);
  if (known.contains(axes)) return x;
  // The fields of a record state themselves along which axes they vary.
  const ir::Type type = x.type();
  if (type.with_varying(axes) == type) return x;
  ir::AxisSet added;
  for (const std::string& axis : axes) {
    if (!known.contains(axis)) added.insert(axis);
  }
  return apply(ir::primitive(ir::Structure::vary), {x},
               ir::Attributes::of(ir::VaryAttributes{std::move(added)}));
}

std::vector<Tensor> vary_together(std::vector<Tensor> tensors) {
  if (!has_open_axes()) return tensors;
  ir::AxisSet all;
  for (const Tensor& tensor : tensors) all.insert(axes_of(tensor));
  for (Tensor& tensor : tensors) tensor = vary_along(tensor, all);
  return tensors;
}

std::vector<Tensor> agreeing(const ir::Primitive& primitive, std::span<const Tensor> operands,
                             const ir::Attributes& attributes) {
  std::vector<Tensor> all(operands.begin(), operands.end());
  if (primitive.communicates != nullptr) {
    for (Tensor& each : all) each = vary_along(each, primitive.communicates(attributes));
  }
  return primitive.infers_axes || all.size() < 2 ? all : vary_together(std::move(all));
}

}  // namespace plait
