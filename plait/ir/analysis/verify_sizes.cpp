// The verifier's rules about sizes: their names, and where they are known.
#include <unordered_set>

#include "plait/ir/inside/analysis/verify_rules.h"

namespace plait::ir {
namespace {

// The sizes known at a point of a function.
class Scope {
 public:
  void add(std::span<const Dim> sizes) { known_.insert(sizes.begin(), sizes.end()); }

  // Calls visit(symbol) for each unknown symbol in the size.
  template <class Visit>
  void for_each_unknown(Dim size, Visit visit) const {
    if (size.is_number()) return;
    size.for_each_symbol([&](Dim symbol) {
      if (!known_.contains(symbol)) visit(symbol);
    });
  }

 private:
  std::unordered_set<Dim> known_;
};

// Reports the unknown sizes of a function or an instruction.
template <class Place>
class ScopeCheck {
 public:
  ScopeCheck(const Scope& scope, const Place& place, Findings& findings)
      : scope_(scope), place_(place), findings_(findings) {}

  void size(Dim size, std::string_view where) const {
    scope_.for_each_unknown(size, [&](Dim symbol) {
      findings_.add(place_, "size {} of {} is not known here", symbol.text(), where);
    });
  }
  void sizes(std::span<const Dim> sizes, std::string_view where) const {
    for (Dim each : sizes) size(each, where);
  }
  void types(std::span<const Type> types, std::string_view where) const {
    for (const Type& type : types) type.for_each_dim([&](Dim dim) { size(dim, where); });
  }

 private:
  const Scope& scope_;
  const Place& place_;
  Findings& findings_;
};

void check_scope(const Instruction& instruction, Scope& scope, Findings& findings) {
  ScopeCheck check(scope, instruction, findings);
  instruction.attributes().for_each_dim([&](Dim dim) { check.size(dim, "the attributes"); });
  check.sizes(instruction.size_arguments(), "the size arguments");
  for (const Callee& callee : instruction.callees())
    check.sizes(callee.sizes, fmt::format("@{}'s arguments", callee.name));
  scope.add(instruction.size_results());
  check.types(instruction.result_types(), "the result types");
}

// Registers names in order; a size must be a symbol whose name is not taken.
class NameClaims {
 public:
  template <class Place>
  void claim(const Place& place, std::span<const Dim> sizes, Findings& findings) {
    for (Dim size : sizes) {
      if (!size.is_symbol()) {
        findings.add(place, "{} is an expression, not a name for a size", size.text());
      } else if (!taken_.insert(size).second) {
        findings.add(place, "a size named {} exists already", size.text());
      }
    }
  }

 private:
  std::unordered_set<Dim> taken_;
};

}  // namespace

void check_size_names(const Subject&, const Function& function, Findings& findings) {
  const Signature& signature = function.signature();
  NameClaims outside;  // names in the result types are visible to callers only
  outside.claim(function, signature.size_parameters, findings);
  NameClaims inside = outside;
  outside.claim(function, signature.result_sizes, findings);
  for (Instruction instruction : function.instructions())
    inside.claim(instruction, instruction.size_results(), findings);
}

void check_scope(const Subject&, const Function& function, Findings& findings) {
  const Signature& signature = function.signature();
  Scope scope;
  scope.add(signature.size_parameters);
  Scope outside = scope;
  outside.add(signature.result_sizes);
  ScopeCheck check(scope, function, findings);
  check.types(signature.parameters, "the parameters");
  for (const Mesh::Axis& axis : signature.axes.axes) check.size(axis.size, "the axes");
  ScopeCheck(outside, function, findings).types(signature.results, "the signature's results");
  for (Instruction instruction : function.instructions()) check_scope(instruction, scope, findings);
  check.sizes(function.result_sizes(), "the returned sizes");
}

void check_facts(const Subject&, const Function& function, Findings& findings) {
  Scope scope;
  scope.add(function.signature().size_parameters);
  ScopeCheck check(scope, function, findings);
  for (const SizeFact& fact : function.signature().facts) {
    check.size(fact.left, fact.text());
    check.size(fact.right, fact.text());
  }
}

}  // namespace plait::ir
