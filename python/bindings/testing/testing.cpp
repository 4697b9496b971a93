// Access to internals for the conformance suite: the rules of a primitive applied to given tensors,
// and its index signature.
#include <nanobind/stl/vector.h>

#include "plait/core/error.h"
#include "plait/core/settings.h"
#include "plait/ir/inference.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/effects/callback.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/inside/index_loops.h"
#include "plait/tensor/rules.h"

#include "python/bindings/bindings.h"
#include "python/bindings/python_lock.h"

namespace plait::python {
namespace {

// A primitive applied to operands: the input of a rule.
struct Applied {
  const ir::Primitive& primitive;
  std::vector<Tensor> operands;
  ir::Attributes attributes;
  std::vector<ir::Type> types = {};
  std::vector<Tensor> results = {};

  Applied(const std::string& name, nb::handle given, const nb::kwargs& keywords)
      : primitive(ir::primitive(name)),
        operands(tensors_from(given)),
        attributes(attributes_from(primitive, keywords)) {
    for (const Tensor& operand : operands) types.push_back(operand.type());
    results = computed([&] { return apply_all(primitive, operands, attributes); });
  }

  const Rules& rules() const {
    const Rules* rules = find_rules(primitive);
    if (rules == nullptr) throw KeyError("{} has no rules", primitive.name);
    return *rules;
  }

  // Calls `use` with only the values that the rule declares to read.
  template <class Use>
  auto with_context(Reads reads, Use use) const {
    const auto only = [](const std::vector<Tensor>& all, uint32_t bits) {
      std::vector<Tensor> kept(all.size());
      for (size_t i = 0; i < all.size(); ++i) {
        if ((bits >> std::min<size_t>(i, 31)) & 1) kept[i] = all[i];
      }
      return kept;
    };
    const std::vector<Tensor> read = only(operands, reads.operands);
    const std::vector<Tensor> found = only(results, reads.results);
    const std::vector<OperandType> of(operands.begin(), operands.end());
    return computed([&] { return use(RuleContext{attributes, read, found, of}); });
  }
};

// The derivative of each element of the result with respect to the element of operand i.
Tensor partial_of(const Applied& applied, const Partial& partial, size_t i) {
  const Tensor like = applied.operands[i];
  switch (partial.kind) {
    case Partial::Kind::zero: return full_like(like, 0);
    case Partial::Kind::one: return full_like(like, 1);
    case Partial::Kind::minus_one: return full_like(like, -1);
    case Partial::Kind::given: break;
  }
  return applied.with_context(partial.reads, [&](const RuleContext& context) {
    return broadcast_to(partial.value(context), applied.results[0].shape());
  });
}

nb::object partial(const std::string& name, nb::handle operands, size_t operand,
                   const nb::kwargs& attributes) {
  const Applied applied(name, operands, attributes);
  const Partial& declared = applied.rules().partials.at(operand);
  return to_python(partial_of(applied, declared, operand));
}

nb::object transpose(const std::string& name, nb::handle operands, size_t operand,
                     nb::handle cotangent, const nb::kwargs& attributes) {
  const Applied applied(name, operands, attributes);
  const auto& declared = applied.rules().transposes;
  const Transpose& rule = declared.at(std::min(operand, declared.size() - 1));
  if (rule.of == nullptr) return nb::none();
  const Tensor given = tensor_from(cotangent);
  return to_python(applied.with_context(
      rule.reads, [&](const RuleContext& context) { return rule.of(context, given, operand); }));
}

nb::object tangents(const std::string& name, nb::handle operands, nb::handle given,
                    const nb::kwargs& attributes) {
  const Applied applied(name, operands, attributes);
  std::vector<Tensor> directions;
  for (const nb::handle each : given) {
    directions.push_back(each.is_none() ? Tensor() : tensor_from(each));
  }
  const Tangents& rule = applied.rules().tangents;
  return to_python(applied.with_context(
      rule.reads, [&](const RuleContext& context) { return rule.of(context, directions); }));
}

nb::object batching(const std::string& name, nb::handle operands, const std::vector<bool>& batched,
                    const nb::kwargs& attributes) {
  const ir::Primitive& primitive = ir::primitive(name);
  const std::vector<Tensor> tensors = tensors_from(operands);
  const ir::Attributes given = attributes_from(primitive, attributes);
  const Rules* rules = find_rules(primitive);
  return to_python(computed([&] { return rules->batching.of(given, tensors, batched); }));
}

// The index signature for operands of given types, and the dtype of the result.
struct Signed {
  ir::IndexSignature signature;
  DType result;
};

Signed signed_for(const ir::Primitive& primitive, const std::vector<ir::Type>& types,
                  const ir::Attributes& attributes) {
  static const ir::Declarations no_declarations;
  static const ir::Mesh no_axes;
  ir::Inference inference{.primitive = primitive,
                          .operands = types,
                          .attributes = attributes,
                          .callees = {},
                          .size_arguments = {},
                          .stated = {},
                          .declarations = no_declarations,
                          .axes = no_axes,
                          .name_size = {}};
  ir::IndexSignature signature = signature_of(inference);
  inference.run();
  return {std::move(signature), inference.results.at(0).dtype()};
}

// The type of one slice along the first dimension.
ir::Type type_of_one(const ir::Type& type) {
  const Shape& shape = type.shape();
  return ir::Type::array(type.dtype(), Shape(shape.dims().subspan(1)));
}

// Runs the loops of the signature on operands of which some are batched along their first
// dimension.
Tensor run_signature(const std::string& name, nb::handle operands, const std::vector<bool>& batched,
                     const nb::kwargs& attributes) {
  const ir::Primitive& primitive = ir::primitive(name);
  const std::vector<Tensor> tensors = tensors_from(operands);
  const ir::Attributes given = attributes_from(primitive, attributes);
  std::vector<ir::Type> types;
  std::vector<Array> arrays;
  bool is_batched = false;
  for (size_t i = 0; i < tensors.size(); ++i) {
    types.push_back(batched.at(i) ? type_of_one(tensors[i].type()) : tensors[i].type());
    arrays.push_back(tensors[i].array());
    is_batched |= batched[i];
  }
  return computed([&] {
    const Signed found = signed_for(primitive, types, given);
    const ir::IndexSignature used = is_batched ? found.signature.batched(batched) : found.signature;
    return Tensor(run_loops(used, primitive.body, arrays, found.result, name));
  });
}

std::string signature(const std::string& name, nb::handle operands, const nb::kwargs& attributes) {
  const Applied applied(name, operands, attributes);
  return signed_for(applied.primitive, applied.types, applied.attributes).signature.text();
}

// The number of a function of one result, for the attributes of `callback`.
int64_t number_of_callback(nb::object function) {
  return keep_callback([kept = held(std::move(function))](std::span<const Tensor> operands) {
    const LockedPython locked;
    const auto arguments = nb::cast<nb::list>(to_python({operands.begin(), operands.end()}));
    return std::vector{tensor_from(nb::handle(kept.get())(*arguments))};
  });
}

}  // namespace

void bind_testing(nb::module_& module) {
  using nb::arg;
  module.def("hint_in_python",
             [](const char* hint) { return nb::str(hint_in_python(hint).c_str()); });
  module.def("keep_callback", number_of_callback);
  module.def("set_setting",
             [](const std::string& name, const std::string& value) { set_setting(name, value); });
  module.def("partial", partial, arg("name"), arg("operands"), arg("operand"), arg("attributes"));
  module.def("transpose", transpose, arg("name"), arg("operands"), arg("operand"), arg("cotangent"),
             arg("attributes"));
  module.def("tangents", tangents, arg("name"), arg("operands"), arg("tangents"),
             arg("attributes"));
  module.def("batching", batching, arg("name"), arg("operands"), arg("batched"), arg("attributes"));
  module.def("signature", signature, arg("name"), arg("operands"), arg("attributes"));
  module.def("run_signature", run_signature, arg("name"), arg("operands"), arg("batched"),
             arg("attributes"));
}

}  // namespace plait::python
