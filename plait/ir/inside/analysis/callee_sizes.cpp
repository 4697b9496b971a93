#include "plait/ir/inside/analysis/callee_sizes.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/ir/structure.h"

namespace plait::ir {
namespace {

// The arguments of a callee, as types in the caller.
struct Arguments {
  std::vector<Type> types;
  size_t provided_sizes = 0;  // that the instruction provides before the written ones
};

Arguments arguments_of_scan(const NewInstruction& instruction, std::span<const Type> operands) {
  const Attributes attributes = instruction.attributes
                                    ? instruction.attributes
                                    : Attributes::defaults(instruction.primitive.attributes);
  const auto& scan = attributes.as<ScanAttributes>();
  Arguments arguments{{operands.begin(), operands.end()}};
  const int64_t whole = std::clamp<int64_t>(scan.constants, 0, 1 << 30) +
                        std::clamp<int64_t>(scan.carries, 0, 1 << 30);
  for (size_t i = static_cast<size_t>(whole); i < arguments.types.size(); ++i) {
    Type& stacked = arguments.types[i];
    if (!stacked.is_array() || stacked.rank() == 0) continue;
    const std::vector<Dim> sizes(stacked.shape().begin() + 1, stacked.shape().end());
    stacked = stacked.with_shape(Shape(sizes));
  }
  return arguments;
}

// The head's fields without the rest of the list, then the carried values. Held sizes keep the
// names in the record: they correspond only to size parameters that the instruction provides.
Arguments arguments_of_unwind(std::span<const Type> operands, const Declarations& declarations) {
  if (operands.empty() || !operands[0].is_optional() || !operands[0].element().is_record())
    return {};
  const Type& list = operands[0].element();
  const RecordType* record = declarations.find_record(list.record_name());
  if (!record || record->parameters.size() != list.record_arguments().size()) return {};
  Arguments arguments{record->fields_of(list.record_arguments(), record->held),
                      record->held.size()};
  if (!arguments.types.empty()) arguments.types.pop_back();
  arguments.types.insert(arguments.types.end(), operands.begin() + 1, operands.end());
  return arguments;
}

Arguments arguments_of(const NewInstruction& instruction, std::span<const Type> operands,
                       const Declarations& declarations) {
  switch (instruction.primitive.structure) {
    case Structure::cond:
    case Structure::switch_:
      if (operands.empty()) return {};
      return {{operands.begin() + 1, operands.end()}};
    case Structure::scan: return arguments_of_scan(instruction, operands);
    case Structure::unwind: return arguments_of_unwind(operands, declarations);
    case Structure::machine:
    case Structure::literal:
    case Structure::size:
    case Structure::as_size:
    case Structure::refine:
    case Structure::size_guard:
    case Structure::guard:
    case Structure::vary:
    case Structure::tuple:
    case Structure::element:
    case Structure::pack:
    case Structure::unpack:
    case Structure::absent:
    case Structure::present:
    case Structure::is_present:
    case Structure::unwrap:
    case Structure::call:
    case Structure::fused:
    case Structure::while_:
    case Structure::pull:
    case Structure::remat:
    case Structure::custom_vjp:
    case Structure::custom_jvp: break;
  }
  return {{operands.begin(), operands.end()}};
}

// Records the argument's size for each symbol that is a whole dimension of the parameter.
void match(const Type& parameter, const Type& argument, SymbolMap<Dim>& sizes) {
  if (parameter.kind() != argument.kind()) return;
  const auto match_sizes = [&](const auto& names, const auto& values) {
    auto value = values.begin();
    for (auto name = names.begin(); name != names.end() && value != values.end(); ++name, ++value) {
      if (name->is_symbol() && !sizes.find(*name)) sizes.set(*name, *value);
    }
  };
  const auto match_all = [&](const std::vector<Type>& parameters,
                             const std::vector<Type>& arguments) {
    const size_t count = std::min(parameters.size(), arguments.size());
    for (size_t i = 0; i < count; ++i) match(parameters[i], arguments[i], sizes);
  };
  switch (parameter.kind()) {
    case Type::Kind::none: return;
    case Type::Kind::array: return match_sizes(parameter.shape(), argument.shape());
    case Type::Kind::tuple: return match_all(parameter.elements(), argument.elements());
    case Type::Kind::record:
      return match_sizes(parameter.record_arguments(), argument.record_arguments());
    case Type::Kind::optional: return match(parameter.element(), argument.element(), sizes);
  }
}

}  // namespace

std::vector<Dim> infer_size_arguments(size_t callee, const NewInstruction& instruction,
                                      std::span<const Type> operands,
                                      const Declarations& declarations) {
  // The callees of a custom derivative take other values than the operands, but the same sizes.
  const Structure structure = instruction.primitive.structure;
  const bool same_for_all =
      structure == Structure::custom_vjp || structure == Structure::custom_jvp;
  const std::string& name = instruction.callees[same_for_all ? 0 : callee].name;
  const Signature* signature = declarations.find_function(name);
  if (!signature || signature->size_parameters.empty())
    return {};  // the type rule reports the difference

  const Arguments arguments = arguments_of(instruction, operands, declarations);
  SymbolMap<Dim> sizes;
  const size_t count = std::min(signature->parameters.size(), arguments.types.size());
  for (size_t i = 0; i < count; ++i) match(signature->parameters[i], arguments.types[i], sizes);

  std::vector<Dim> shown;
  for (size_t i = arguments.provided_sizes; i < signature->size_parameters.size(); ++i) {
    const Dim size = signature->size_parameters[i];
    const Dim* value = sizes.find(size);
    if (!value) {
      throw TypeError("{}: the size {} of @{} does not follow from the operands",
                      instruction.primitive.name, size.name(), name)
          .hint(fmt::format("write the sizes after the function's name: @{}<…>", name));
    }
    shown.push_back(*value);
  }
  return shown;
}

}  // namespace plait::ir
