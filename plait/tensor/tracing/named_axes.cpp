#include "plait/tensor/tracing/named_axes.h"

#include <algorithm>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/ir/structure.h"
#include "plait/tensor/apply.h"

namespace plait {
namespace {

thread_local std::vector<NamedAxis> open_axes;

std::string free_label(std::string_view name) {
  std::string label(name);
  const auto is_taken = [&](const NamedAxis& axis) { return axis.label == label; };
  for (int i = 1; std::ranges::any_of(open_axes, is_taken); ++i) {
    label = fmt::format("{}.{}", name, i);
  }
  return label;
}

std::string names_of_open() {
  if (open_axes.empty()) return "no axis is open";
  std::vector<std::string_view> names;
  for (const NamedAxis& axis : open_axes) names.push_back(axis.name);
  return fmt::format("the open axes are {}", fmt::join(names, ", "));
}

}  // namespace

NamedAxisScope::NamedAxisScope(std::string_view name, Dim size) {
  if (!is_name(name)) {
    throw ValueError("`{}` is not a valid name of an axis", name)
        .at(Location::of_caller())
        .hint("a name has letters, digits, _ and ., and begins with a letter or _");
  }
  label_ = free_label(name);
  open_axes.push_back({std::string(name), label_, size, {}});
}

NamedAxisScope::~NamedAxisScope() { open_axes.pop_back(); }

void NamedAxisScope::set_index(const Tensor& index) const {
  const auto place = std::ranges::find(open_axes, label_, &NamedAxis::label);
  place->index = index;
}

std::span<const NamedAxis> NamedAxisScope::open() { return open_axes; }

const NamedAxis& axis_called(std::string_view name) {
  for (auto axis = open_axes.rbegin(); axis != open_axes.rend(); ++axis) {
    if (axis->name == name) return *axis;
  }
  throw KeyError("unknown axis `{}`: {}", name, names_of_open())
      .at(Location::of_caller())
      .hint("vmap with a name for its axis opens one");
}

const NamedAxis& axis_labelled(std::string_view label) {
  const auto axis = std::ranges::find(open_axes, label, &NamedAxis::label);
  if (axis != open_axes.end()) return *axis;
  throw KeyError("unknown axis `{}`: {}", label, names_of_open()).at(Location::of_caller());
}

ir::AxisSet all_open_axes() {
  ir::AxisSet all;
  for (const NamedAxis& axis : open_axes) all.insert(axis.label);
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
  if (open_axes.empty()) return tensors;
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
