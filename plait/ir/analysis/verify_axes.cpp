// The verifier's rules about named axes, and about conditions that decide whether a collective
// runs.
#include <unordered_set>

#include "plait/ir/analysis/effect_analysis.h"
#include "plait/ir/inside/analysis/type_walk.h"
#include "plait/ir/inside/analysis/verify_rules.h"
#include "plait/ir/primitive.h"

namespace plait::ir {
namespace {

template <class Place, class Names>
void expect_declared(const Function& function, const Place& place, const Names& axes,
                     Findings& findings) {
  for (const std::string& axis : axes)
    if (!function.signature().axes.find(axis))
      findings.add(place, "@{} has no axis {}", function.name(), axis);
}

// A sharding has an entry for each dimension, and uses an axis at most once.
template <class Place>
void check_sharding(const Function& function, const Place& place, const Type& type,
                    Findings& findings) {
  const Sharding& sharding = type.sharding();
  if (!sharding.said()) return;
  if (!sharding.splits.empty() && sharding.splits.size() != type.shape().rank())
    findings.add(place, "the sharding of {} is for {} dimensions", type.text(),
                 sharding.splits.size());
  AxisSet used = sharding.partial;
  expect_declared(function, place, sharding.partial, findings);
  for (const std::vector<std::string>& split : sharding.splits) {
    expect_declared(function, place, split, findings);
    for (const std::string& axis : split) {
      if (used.contains(axis)) findings.add(place, "{} uses axis {} twice", type.text(), axis);
      used.insert(axis);
    }
  }
}

template <class Place>
void check_type_axes(const Function& function, const Place& place, std::span<const Type> types,
                     Findings& findings) {
  for (const Type& type : types) {
    for_each_type(type, [&](const Type& inner) {
      if (!inner.is_array()) return;
      expect_declared(function, place, inner.varying(), findings);
      check_sharding(function, place, inner, findings);
    });
  }
}

AxisSet common(const AxisSet& a, const AxisSet& b) {
  AxisSet both;
  for (const std::string& axis : a)
    if (b.contains(axis)) both.insert(axis);
  return both;
}

// Goes through a function in order, with the axes along which it varies whether the function is
// still running.
class CollectiveCheck {
 public:
  CollectiveCheck(const EffectAnalysis& effects, size_t function, Findings& findings)
      : effects_(effects), function_(function), findings_(findings) {}

  void run() {
    for (Instruction instruction : effects_.program().function(function_).instructions())
      visit(instruction);
  }

 private:
  void visit(const Instruction& instruction) {
    Effects effects = effects_.of(function_, instruction);
    report(instruction, effects.collective, guarded_, "a guard before it");
    if (!instruction.callees().empty() && !effects.collective.empty()) {
      report(instruction, effects.collective,
             deciding_axes(effects_.program(), function_, instruction),
             "the condition that decides whether it runs");
      if (repeats(instruction))
        report(instruction, effects.collective, effects.guarded, "a guard in an earlier step");
    }
    guarded_.insert(effects.guarded);
  }

  static bool repeats(const Instruction& instruction) {
    Structure structure = instruction.primitive().structure;
    return structure == Structure::while_ || structure == Structure::scan ||
           structure == Structure::unwind;
  }

  void report(const Instruction& instruction, const AxisSet& collective, const AxisSet& deciding,
              std::string_view what) {
    AxisSet both = common(collective, deciding);
    if (!both.empty())
      findings_.add(instruction, "it communicates along {}, and {} varies along {}",
                    collective.text(), what, both.text());
  }

  const EffectAnalysis& effects_;
  size_t function_;
  Findings& findings_;
  AxisSet guarded_;
};

}  // namespace

void check_axes(const Subject&, const Function& function, Findings& findings) {
  const Signature& signature = function.signature();
  std::unordered_set<std::string_view> names;
  for (const Mesh::Axis& axis : signature.axes.axes)
    if (!names.insert(axis.name).second) findings.add(function, "two axes are named {}", axis.name);
  check_type_axes(function, function, signature.parameters, findings);
  check_type_axes(function, function, signature.results, findings);
  for (Instruction instruction : function.instructions()) {
    check_type_axes(function, instruction, instruction.result_types(), findings);
    if (auto effects = instruction.primitive().effects)
      expect_declared(function, instruction, effects(instruction).collective, findings);
  }
}

void check_callee_axes(const Subject& subject, const Function& function, Findings& findings) {
  const Mesh& known = function.signature().axes;
  for (Instruction instruction : function.instructions()) {
    for (const Callee& callee : instruction.callees()) {
      const Signature& signature = *subject.declarations.find_function(callee.name);
      if (signature.axes.axes.empty()) continue;
      SymbolMap<Dim> sizes;  // for the body of an unwind only the last ones are written
      size_t leading = signature.size_parameters.size() - callee.sizes.size();
      for (size_t i = 0; i < callee.sizes.size(); ++i)
        sizes.set(signature.size_parameters[leading + i], callee.sizes[i]);
      for (const Mesh::Axis& axis : signature.axes.axes) {
        Dim size = axis.size.substitute(sizes);
        const Mesh::Axis* own = known.find(axis.name);
        if (!own)
          findings.add(instruction, "@{} uses axis {}, which @{} does not have", callee.name,
                       axis.name, function.name());
        else if (!same(own->size, size))
          findings.add(instruction, "axis {} has size {} in @{}, and {} in @{}", axis.name,
                       size.text(), callee.name, own->size.text(), function.name());
      }
    }
  }
}

void check_collectives(const Subject& subject, Findings& findings) {
  EffectAnalysis effects(Program::of({subject.functions.begin(), subject.functions.end()},
                                     {subject.records.begin(), subject.records.end()}));
  for (size_t function = 0; function < subject.functions.size(); ++function)
    CollectiveCheck(effects, function, findings).run();
}

}  // namespace plait::ir
