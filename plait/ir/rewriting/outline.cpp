#include "plait/ir/rewriting/outline.h"

#include <algorithm>
#include <unordered_set>

#include "plait/ir/rewriting/copy_function.h"
#include "plait/ir/structure.h"
#include "plait/ir/text/printer.h"

namespace plait::ir {
namespace {

class Outliner {
 public:
  Outliner(const Function& from, std::span<const Part> parts, ProgramBuilder& program,
           OutlinedNames& names, const OutlineOptions& options)
      : from_(from),
        program_(program),
        names_(names),
        options_(options),
        parts_(parts.begin(), parts.end()) {
    std::ranges::reverse(parts_);
    std::ranges::stable_sort(parts_, [](const Part& a, const Part& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
    last_use_.resize(from.value_count(), 0);
    for (const Instruction instruction : from.instructions()) {
      const size_t index = instruction.index();
      for (const ValueId operand : instruction.operands()) last_use_[operand] = index;
      for_each_size(instruction, [&](Dim size) { last_mention_.set(size, index); });
    }
    for (const ValueId result : from.results()) last_use_[result] = from.size();
    const auto is_given = [&](Dim size) { last_mention_.set(size, from.size()); };
    for (const Dim size : from.result_sizes()) size.for_each_symbol(is_given);
    for (const ValueId result : from.results()) {
      from.type_of(result).for_each_dim([&](Dim dim) { dim.for_each_symbol(is_given); });
    }
  }

  Outlined whole() {
    FunctionBuilder builder = program_.function(from_.name());
    Copier copier(from_, builder);
    copier.begin();
    copy(0, from_.size(), parts_, {copier, builder, false});
    Outlined outlined;
    for (ValueId value = 0; value < from_.value_count(); ++value) {
      outlined.values.push_back(copier.has(value) ? copier.value(value) : Outlined::kWithin);
    }
    outlined.function = copier.finish();
    return outlined;
  }

 private:
  using Parts = std::span<const Part>;
  // The function that is being built.
  struct Into {
    Copier& copier;
    FunctionBuilder& builder;
    bool is_part;
  };
  // The inputs and outputs of a part.
  struct Interface {
    std::vector<ValueId> operands, results;
    std::vector<Dim> sizes, given_sizes;
  };

  bool stays(const Instruction& instruction) const {
    return options_.stays && options_.stays(instruction);
  }

  void copy(size_t begin, size_t end, Parts parts, Into into) {
    while (!parts.empty()) {
      const Part& part = parts[0];
      const auto behind = std::ranges::find_if(
          parts.subspan(1), [&](const Part& other) { return other.begin >= part.end; });
      const Parts within = parts.subspan(1, static_cast<size_t>(behind - parts.begin()) - 1);
      copy_instructions(begin, part.begin, into);
      copy_part(part, within, into);
      begin = part.end;
      parts = parts.subspan(within.size() + 1);
    }
    copy_instructions(begin, end, into);
  }

  void copy_instructions(size_t begin, size_t end, Into into) {
    for (size_t i = begin; i < end; ++i) {
      const Instruction instruction = from_.instruction(i);
      const bool was_hoisted = stays(instruction) && into.copier.has(instruction.result());
      if (!was_hoisted) into.copier.copy(instruction);
    }
  }

  void copy_part(const Part& part, Parts within, Into into) {
    if (!into.is_part) {
      for (size_t i = part.begin; i < part.end; ++i) {
        if (stays(from_.instruction(i))) into.copier.copy(from_.instruction(i));
      }
    }
    Interface interface;
    if (!find_interface(part, into.copier, interface)) {
      return copy(part.begin, part.end, within, into);
    }
    FunctionBuilder builder = program_.function(part.name);
    builder.set_location(part.location);
    for (const Dim size : interface.sizes) {
      builder.size_parameter(into.copier.size(size).name());
    }
    for (const SizeFact& fact : from_.signature().facts) {
      if (is_about(interface.sizes, fact)) builder.require(fact);
    }
    for (const Mesh::Axis& axis : from_.signature().axes.axes) builder.axis(axis.name, axis.size);
    Copier copier(from_, builder);
    for (const ValueId operand : interface.operands) {
      copier.set(operand, builder.parameter(into.builder.type_of(into.copier.value(operand))));
    }
    copy(part.begin, part.end, within, {copier, builder, true});
    const auto function =
        builder.finish(copier.values(interface.results), copier.sizes(interface.given_sizes));
    call(part, interface, *function, into);
  }

  void call(const Part& part, const Interface& interface, const Function& function, Into into) {
    std::vector<std::string> names;
    for (const Dim size : function.signature().result_sizes) names.emplace_back(size.name());
    const Callee callee{added(function), into.copier.sizes(interface.sizes)};
    const std::vector<ValueId> operands = into.copier.values(interface.operands);
    const Added added = into.builder.add({.primitive = primitive(Structure::call),
                                          .operands = operands,
                                          .callees = {&callee, 1},
                                          .size_names = names,
                                          .location = part.location});
    for (size_t i = 0; i < interface.results.size(); ++i) {
      into.copier.set(interface.results[i], added[i]);
      const std::string_view label = from_.label(interface.results[i]);
      if (!label.empty()) into.builder.label(added[i], label);
    }
  }

  // Adds the function to the program, unless there is an equal one; returns its name.
  std::string added(const Function& function) {
    const auto [place, is_new] =
        names_.try_emplace(print(function, {.locations = false}), function.name());
    if (is_new) {
      place->second = options_.free_name(function.name());
      program_.add(ir::copy(function, program_.declarations(), {.name = place->second}));
    }
    return place->second;
  }

  static bool is_about(const std::vector<Dim>& sizes, const SizeFact& fact) {
    bool all = true;
    for (const Dim side : {fact.left, fact.right}) {
      side.for_each_symbol([&](Dim symbol) { all = all && contains(sizes, symbol); });
    }
    return all;
  }

  static bool contains(const std::vector<Dim>& sizes, Dim size) {
    return std::ranges::any_of(sizes, is_same_as(size));
  }

  // False if the part must not be outlined.
  bool find_interface(const Part& part, const Copier& around, Interface& interface) const {
    std::vector<Dim> new_sizes;
    std::unordered_set<ValueId> known;
    const auto take = [&](ValueId value) {
      const auto definition = from_.definition(value);
      const bool is_within = definition && definition->index() >= part.begin && !stays(*definition);
      if (!is_within && known.insert(value).second) interface.operands.push_back(value);
    };
    const auto need = [&](Dim size) {
      if (!contains(new_sizes, size) && !contains(interface.sizes, size)) {
        interface.sizes.push_back(size);
      }
    };
    size_t count = 0;
    for (size_t i = part.begin; i < part.end; ++i) {
      const Instruction instruction = from_.instruction(i);
      if (stays(instruction)) continue;
      if (instruction.primitive().is_placeholder) return false;
      ++count;
      std::ranges::for_each(instruction.operands(), take);
      for (const Dim size : instruction.size_results()) {
        new_sizes.push_back(size);
        if (*last_mention_.find(size) >= part.end) interface.given_sizes.push_back(size);
      }
      for_each_size(instruction, need);
      for (size_t r = 0; r < instruction.result_count(); ++r) {
        const ValueId result = instruction.result(r);
        if (last_use_[result] >= part.end) interface.results.push_back(result);
      }
    }
    for (const ValueId operand : interface.operands) {
      from_.type_of(operand).for_each_dim([&](Dim dim) { dim.for_each_symbol(need); });
    }
    return count > 0 && std::ranges::all_of(interface.sizes, [&](Dim size) {
             return is_shown(size, part, around, interface);
           });
  }

  // True if a parameter has a dimension of that size; a value that has it may be added as a
  // parameter for this purpose.
  bool is_shown(Dim size, const Part& part, const Copier& around, Interface& interface) const {
    const auto shows = [&](ValueId value) {
      const Type& type = from_.type_of(value);
      return type.is_array() && std::ranges::any_of(type.shape(), is_same_as(size));
    };
    if (std::ranges::any_of(interface.operands, shows)) return true;
    for (ValueId value = 0; value < from_.value_count(); ++value) {
      const auto definition = from_.definition(value);
      if (definition && definition->index() >= part.begin) break;
      if (!around.has(value) || !shows(value)) continue;
      interface.operands.push_back(value);
      from_.type_of(value).for_each_dim([&](Dim dim) {
        dim.for_each_symbol([&](Dim other) {
          if (!contains(interface.sizes, other)) interface.sizes.push_back(other);
        });
      });
      return true;
    }
    return false;
  }

  const Function& from_;
  ProgramBuilder& program_;
  OutlinedNames& names_;
  const OutlineOptions& options_;
  std::vector<Part> parts_;  // outer ones first
  std::vector<size_t> last_use_;
  SymbolMap<size_t> last_mention_;
};

}  // namespace

Outlined outline(const Function& function, std::span<const Part> parts, ProgramBuilder& program,
                 OutlinedNames& names, const OutlineOptions& options) {
  return Outliner(function, parts, program, names, options).whole();
}

}  // namespace plait::ir
