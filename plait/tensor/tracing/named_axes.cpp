#include "plait/tensor/tracing/named_axes.h"

#include "plait/ir/structure.h"
#include "plait/tensor/apply.h"

namespace plait {

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
