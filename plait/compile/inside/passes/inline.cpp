// Inlines calls, callees first, so that each body is copied in its final form.
#include <algorithm>
#include <unordered_map>

#include "plait/compile/pass.h"
#include "plait/core/sizes/size_facts.h"
#include "plait/ir/analysis/call_graph.h"
#include "plait/ir/rewriting/copy_function.h"
#include "plait/ir/rewriting/prune.h"

namespace plait::compile {
namespace {

using ir::Instruction;
using ir::Structure;

// A larger function with several callers is not inlined.
constexpr size_t kMostCopied = 20'000;
constexpr size_t kMostInAll = 2'000'000;

class Inliner {
 public:
  explicit Inliner(const ir::Program& program)
      : program_(program),
        graph_(program),
        declarations_(ir::declarations_of(program)),
        bodies_(program.functions().begin(), program.functions().end()) {}

  ir::Program run() {
    for (size_t i = 0; i < graph_.component_count(); ++i) {
      for (const uint32_t function : graph_.component(i)) rewrite(function);
    }
    return ir::prune(
        ir::Program::of(bodies_, {program_.records().begin(), program_.records().end()}));
  }

 private:
  // True if it is equivalent to a call of its first callee, since no derivative is taken any more.
  static bool is_call(const Instruction& instruction) {
    switch (instruction.primitive().structure) {
      case Structure::call:
      case Structure::pull:
      case Structure::remat:
      case Structure::custom_vjp:
      case Structure::custom_jvp: return true;
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
      case Structure::fused:
      case Structure::cond:
      case Structure::switch_:
      case Structure::while_:
      case Structure::scan:
      case Structure::unwind: break;
    }
    return false;
  }

  // A remat stays a call; otherwise its recomputed values would be merged with the stored ones.
  bool is_inlined(uint32_t caller, const Instruction& instruction, uint32_t callee) const {
    if (instruction.primitive().structure == Structure::remat) return false;
    if (graph_.is_recursive(graph_.component_of(callee))) return false;
    const size_t size = bodies_[callee]->size();
    if (size > kMostCopied && graph_.callers(callee).size() > 1) return false;
    if (written_ + size > kMostInAll) return false;
    return facts_hold(program_.function(caller), instruction, *bodies_[callee]);
  }

  static bool facts_hold(const ir::Function& caller, const Instruction& instruction,
                         const ir::Function& callee) {
    if (callee.signature().facts.empty()) return true;
    SymbolMap<Dim> sizes;
    const auto& given = instruction.callees()[0].sizes;
    for (size_t i = 0; i < given.size(); ++i) {
      sizes.set(callee.signature().size_parameters[i], given[i]);
    }
    const SizeFacts known(caller.signature().facts);
    return std::ranges::all_of(callee.signature().facts, [&](const SizeFact& fact) {
      return known.prove(fact.substitute(sizes)) == true;
    });
  }

  bool changes(uint32_t function) const {
    bool found = false;
    for (const Instruction instruction : program_.function(function).instructions()) {
      found = found || (is_call(instruction) &&
                        (instruction.callees().size() > 1 ||
                         instruction.primitive().structure == Structure::remat ||
                         is_inlined(function, instruction, callee_of(function, instruction))));
    }
    return found;
  }

  uint32_t callee_of(uint32_t function, const Instruction& instruction) const {
    return program_.callees_of(function, instruction)[0];
  }

  void rewrite(uint32_t index) {
    if (!changes(index)) return;
    const ir::Function& function = program_.function(index);
    ir::FunctionBuilder builder(function.name(), declarations_);
    ir::Copier copier(function, builder);
    copier.begin();
    for (const Instruction instruction : function.instructions()) {
      if (!is_call(instruction)) {
        copier.copy(instruction);
      } else if (const uint32_t callee = callee_of(index, instruction);
                 is_inlined(index, instruction, callee)) {
        copy_body(*bodies_[callee], instruction, copier, builder);
      } else {
        copy_call(instruction, copier);
      }
    }
    bodies_[index] = copier.finish();
  }

  void copy_body(const ir::Function& body, const Instruction& call, ir::Copier& outer,
                 ir::FunctionBuilder& builder) {
    written_ += body.size();
    ir::Copier copier(body, builder);
    for (ir::ValueId i = 0; i < body.parameter_count(); ++i) {
      copier.set(i, outer.value(call.operands()[i]));
    }
    const std::vector<Dim> sizes = outer.sizes(call.callees()[0].sizes);
    for (size_t i = 0; i < sizes.size(); ++i) {
      copier.set_size(body.signature().size_parameters[i], sizes[i]);
    }
    for (const Instruction instruction : body.instructions()) copier.copy(instruction);
    outer.set_results(call, {copier.values(body.results()), copier.sizes(body.result_sizes())});
  }

  static void copy_call(const Instruction& call, ir::Copier& copier) {
    ir::Draft draft = copier.draft(call);
    draft.primitive = &ir::primitive(Structure::call);
    draft.attributes = {};
    draft.callees.resize(1);
    copier.set_results(call, copier.add(draft));
  }

  const ir::Program& program_;
  const ir::CallGraph graph_;
  const ir::Declarations declarations_;
  std::vector<std::shared_ptr<const ir::Function>> bodies_;
  size_t written_ = 0;
};

}  // namespace

ir::Program inlined(const ir::Program& program) { return Inliner(program).run(); }

}  // namespace plait::compile
