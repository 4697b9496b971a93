// The table of primitives, and calls of primitives by name.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "plait/ops/table.h"
#include "plait/tensor/apply.h"

#include "python/bindings/bindings.h"

namespace plait::python {
namespace {

nb::tuple dtypes_of(DTypeSet set) {
  nb::list dtypes;
  for (const DTypeInfo& info : kDTypes) {
    if (set.contains(info.dtype)) dtypes.append(PythonDType{info.dtype});
  }
  return nb::tuple(dtypes);
}

// By name: the text of the default, or None if the attribute is required.
nb::dict attributes_of(const Op& op) {
  nb::dict attributes;
  for (const OpAttribute& attribute : op.attributes) {
    attributes[nb::cast(attribute.name)] = attribute.default_value;
  }
  return attributes;
}

// (low, high) of each operand.
nb::tuple domain_of(const Op& op) {
  nb::list ranges;
  for (const ir::Range& range : op.domain) ranges.append(nb::make_tuple(range.low, range.high));
  return nb::tuple(ranges);
}

nb::dict description_of(const Op& op) {
  nb::dict description;
  description["name"] = op.name;
  description["summary"] = op.summary;
  description["least_operands"] = op.operands.least;
  description["most_operands"] =
      op.operands.most == ir::Count::kAny ? nb::object(nb::none()) : nb::cast(op.operands.most);
  description["takes"] = dtypes_of(op.takes);
  description["attributes"] = attributes_of(op);
  description["elementwise"] = name_of(op.elementwise);
  description["accuracy"] = op.elementwise == ir::Elementwise::no ? "" : name_of(op.accuracy);
  description["domain"] = domain_of(op);
  description["precision"] = name_of(op.precision);
  description["has_signature"] = op.has_signature;
  description["has_body"] = op.has_body;
  description["rules"] = nb::tuple(nb::cast(op.rules));
  description["not_differentiable"] = op.not_differentiable;
  description["has_effects"] = op.has_effects;
  description["communicates"] = op.communicates;
  description["runs_on"] = op.runs_on_cuda ? nb::make_tuple("cpu", "cuda") : nb::make_tuple("cpu");
  description["oracle"] = op.oracle;
  return description;
}

nb::list descriptions() {
  nb::list list;
  for (const Op& op : ops()) list.append(description_of(op));
  return list;
}

nb::object apply_by_name(const std::string& name, nb::handle operands,
                         const nb::kwargs& attributes) {
  const ir::Primitive& primitive = ir::primitive(name);
  const std::vector<Tensor> tensors = tensors_from(operands);
  const ir::Attributes given = attributes_from(primitive, attributes);
  std::vector<Tensor> results = computed([&] { return apply_all(primitive, tensors, given); });
  if (results.size() == 1) return nb::cast(std::move(results[0]));
  return nb::tuple(to_python(results));
}

}  // namespace

void bind_primitives(nb::module_& module) {
  module.def("_primitives", descriptions);
  // Has no keyword names of its own, since an attribute might have the same name.
  module.def("apply", apply_by_name,
             "apply(primitive, operands, **attributes): any primitive of the table.");
}

}  // namespace plait::python
