// The table of primitives, and whichever of them by name.
#include <nanobind/stl/string.h>

#include "plait/tensor/apply.h"
#include "plait/tensor/rules.h"

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

// By name: how the default is written, or None where the attribute must be given.
nb::dict attributes_of(const ir::Primitive& primitive) {
  nb::dict attributes;
  if (primitive.attributes == nullptr) return attributes;
  for (const ir::AttributeField& field : primitive.attributes->fields) {
    std::string text;
    field.ops->print(text, field.in(primitive.attributes->defaults.get()));
    const std::string name(field.name);
    attributes[name.c_str()] = field.required ? nb::object(nb::none()) : nb::cast(text);
  }
  return attributes;
}

nb::tuple rules_of(const ir::Primitive& primitive) {
  nb::list names;
  const Rules* rules = find_rules(primitive);
  if (rules == nullptr) return nb::tuple(names);
  if (!rules->partials.empty()) names.append("partials");
  if (!rules->transposes.empty()) names.append("transposes");
  if (rules->tangents.of != nullptr) names.append("tangents");
  if (rules->batching.of != nullptr) names.append("batching");
  if (!rules->not_differentiable.empty()) names.append("not_differentiable");
  return nb::tuple(names);
}

const char* name_of(ir::Elementwise elementwise) {
  switch (elementwise) {
    case ir::Elementwise::no: return "no";
    case ir::Elementwise::same: return "same";
    case ir::Elementwise::truth: return "truth";
    case ir::Elementwise::real: return "real";
  }
  return "";
}

nb::dict description_of(const ir::Primitive& primitive) {
  nb::dict description;
  description["name"] = primitive.name;
  description["summary"] = primitive.summary;
  description["least_operands"] = primitive.operands.least;
  description["most_operands"] = primitive.operands.most == ir::Count::kAny
                                     ? nb::object(nb::none())
                                     : nb::cast(primitive.operands.most);
  description["takes"] = dtypes_of(primitive.takes);
  description["attributes"] = attributes_of(primitive);
  description["elementwise"] = name_of(primitive.elementwise);
  description["has_signature"] =
      primitive.signature != nullptr || primitive.elementwise != ir::Elementwise::no;
  // What the loops of the signature compute; those without a body only move elements.
  const ir::ScalarBody& body = primitive.body;
  description["has_body"] = body.real || body.integer || body.natural || body.complex;
  description["rules"] = rules_of(primitive);
  return description;
}

// Those that compute. A trace's placeholder for a captured value is none of them.
nb::list descriptions() {
  nb::list list;
  for (const ir::Primitive* primitive : ir::primitives()) {
    const bool computes = primitive->structure == ir::Structure::machine;
    if (computes && !primitive->is_stand_in) list.append(description_of(*primitive));
  }
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
  // Without names of its own, which an attribute may have.
  module.def("apply", apply_by_name,
             "apply(primitive, operands, **attributes): any primitive of the table.");
}

}  // namespace plait::python
