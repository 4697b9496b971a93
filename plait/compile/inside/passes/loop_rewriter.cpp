#include "plait/compile/inside/passes/loop_rewriter.h"

#include <algorithm>

#include <fmt/format.h>

#include "plait/compile/pass.h"
#include "plait/ir/rewriting/prune.h"

namespace plait::compile {
namespace {

bool has_loop(const ir::Function& function) {
  for (const ir::Instruction instruction : function.instructions()) {
    if (is_loop(instruction)) return true;
  }
  return false;
}

bool is_plain(const ir::Signature& signature) {
  return signature.facts.empty() && signature.axes.axes.empty() && signature.result_sizes.empty();
}

}  // namespace

bool is_loop(const ir::Instruction& instruction) {
  const ir::Structure structure = instruction.primitive().structure;
  return structure == ir::Structure::scan || structure == ir::Structure::while_;
}

LoopRewriter::LoopRewriter(const ir::Program& program)
    : program_(program),
      graph_(program),
      functions_(program.functions().begin(), program.functions().end()) {
  for (const ir::RecordType& record : program.records()) builder_.record(record);
  for (const FunctionPointer& function : functions_)
    builder_.declare(function->name(), function->signature());
}

ir::Program LoopRewriter::run() {
  for (size_t i = 0; i < graph_.component_count(); ++i) {
    for (const uint32_t function : graph_.component(i)) rewrite_loops_of(function);
  }
  if (added_.empty()) return program_;
  std::vector<FunctionPointer> all = functions_;
  all.insert(all.end(), added_.begin(), added_.end());
  return simplified(ir::prune(
      ir::Program::of(std::move(all), {program_.records().begin(), program_.records().end()})));
}

void LoopRewriter::rewrite_loops_of(uint32_t index) {
  const ir::Function& function = *functions_[index];
  if (!has_loop(function)) return;
  const size_t before = added_.size();
  ir::FunctionBuilder builder = builder_.function(function.name());
  ir::Copier copier(function, builder);
  copier.begin();
  for (const ir::Instruction instruction : function.instructions()) {
    const bool is_done =
        is_loop(instruction) && rewrite(instruction, Caller{index, builder, copier});
    if (!is_done) copier.copy(instruction);
  }
  if (added_.size() > before) functions_[index] = copier.finish();
}

std::vector<LoopRewriter::FunctionPointer> LoopRewriter::functions_of(
    uint32_t caller, const ir::Instruction& loop) const {
  std::vector<FunctionPointer> functions;
  for (const uint32_t callee : program_.callees_of(caller, loop)) {
    const bool is_recursive = graph_.is_recursive(graph_.component_of(callee));
    if (is_recursive || !is_plain(functions_[callee]->signature())) return {};
    functions.push_back(functions_[callee]);
  }
  return functions;
}

ir::FunctionBuilder LoopRewriter::new_function(const ir::Function& like,
                                               const ir::Signature& signature,
                                               const std::vector<std::string>& labels) {
  std::string name;
  for (int i = 1; name.empty() || builder_.declarations().find_function(name); ++i) {
    name = fmt::format("{}.{}", like.name(), i);
  }
  builder_.declare(name, signature);
  ir::FunctionBuilder builder = builder_.function(name);
  builder.declare(signature, labels);
  builder.set_location(like.location());
  return builder;
}

std::string LoopRewriter::finish(ir::Copier& copier) {
  added_.push_back(copier.finish());
  return added_.back()->name();
}

std::string LoopRewriter::finish(ir::FunctionBuilder& builder,
                                 const std::vector<ir::ValueId>& results) {
  added_.push_back(builder.finish(results));
  return added_.back()->name();
}

}  // namespace plait::compile
