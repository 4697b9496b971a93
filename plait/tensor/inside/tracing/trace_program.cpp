#include "plait/tensor/inside/tracing/trace_program.h"

#include <algorithm>

#include <fmt/format.h>

#include "plait/ir/analysis/call_graph.h"
#include "plait/ir/analysis/effect_analysis.h"
#include "plait/ir/rewriting/copy_function.h"
#include "plait/ir/structure.h"
#include "plait/tensor/inside/tracing/trace_captures.h"

namespace plait {
namespace {

// The function under another name, with renamed callees, and with stand-ins replaced by calls.
std::shared_ptr<const ir::Function> closed(const ir::Function& function,
                                           const ir::CalleeNames& names,
                                           const TraceProgram::Closing& closing,
                                           ir::ProgramBuilder& program) {
  ir::FunctionBuilder builder = program.function(names.at(function.name()));
  ir::Copier copier(function, builder, names);
  copier.begin();
  for (const ir::Instruction instruction : function.instructions()) {
    ir::Draft draft = copier.draft(instruction);
    if (auto callee = closing(instruction)) {
      draft.primitive = &ir::primitive(ir::Structure::call);
      draft.attributes = {};
      draft.callees = {std::move(*callee)};
    }
    copier.set_results(instruction, copier.add(draft));
  }
  return copier.finish();
}

bool may_stay(const ir::Function& function, const ir::CalleeNames& names,
              const TraceProgram::Closing& closing) {
  const auto is_renamed = [&](const std::string& name) { return names.at(name) != name; };
  if (is_renamed(function.name())) return false;
  for (const ir::Instruction instruction : function.instructions()) {
    if (instruction.primitive().is_placeholder && closing(instruction)) return false;
    const auto callees = instruction.callees();
    if (std::ranges::any_of(callees, [&](const auto& callee) { return is_renamed(callee.name); })) {
      return false;
    }
  }
  return true;
}

}  // namespace

void TraceProgram::declare(std::string_view function, const ir::Signature& signature) {
  builder_.declare(function, signature);
}

void TraceProgram::declare_records(std::span<const ir::RecordType> records) {
  for (const ir::RecordType& record : records) builder_.record(record);
}

void TraceProgram::end(const std::string& name) {
  recorded_.erase(std::ranges::find(recorded_, name));
}

std::string TraceProgram::free_name(std::string_view wanted) const {
  const auto is_taken = [&](const std::string& name) {
    return std::ranges::find(recorded_, name) != recorded_.end() ||
           declarations().find_function(name) != nullptr;
  };
  std::string name(wanted);
  for (int i = 1; is_taken(name); ++i) name = fmt::format("{}.{}", wanted, i);
  return name;
}

std::string TraceProgram::include(const ir::Program& program, const ir::Function& function,
                                  const Closing& closing) {
  declare_records(program.records());
  ir::CalleeNames names;
  std::vector<std::shared_ptr<const ir::Function>> added;
  const size_t entry = program.index_of(function.name());
  for (const uint32_t i : ir::CallGraph(program).reachable_from(entry)) {
    const auto& each = program.functions()[i];
    const auto [place, is_new] = included_.try_emplace(each);
    if (is_new) {
      place->second = free_name(each->name());
      builder_.declare(place->second, each->signature());
      added.push_back(each);
    }
    names[each->name()] = place->second;
  }
  for (const auto& each : added) {
    builder_.add(may_stay(*each, names, closing) ? each : closed(*each, names, closing, builder_));
  }
  return names[function.name()];
}

ir::Outlined TraceProgram::outline(const ir::Function& function, std::span<const ir::Part> parts) {
  return ir::outline(function, parts, builder_, outlined_,
                     {.stays = TraceCaptures::is_capture,
                      .free_name = [&](const std::string& wanted) { return free_name(wanted); }});
}

bool TraceProgram::has_effects(const ir::Instruction& instruction) {
  const ir::Primitive& primitive = instruction.primitive();
  const bool is_size = primitive.structure == ir::Structure::as_size;
  if (is_size || ir::is_guard(instruction)) return false;
  if (primitive.effects != nullptr && !primitive.effects(instruction).pure()) return true;
  return !std::ranges::all_of(instruction.callees(),
                              [&](const ir::Callee& callee) { return is_pure(callee.name); });
}

// False also for a function that is not finished.
bool TraceProgram::is_pure(const std::string& function) {
  if (const auto known = pure_.find(function); known != pure_.end()) return known->second;
  const ir::Program program = with_entry(builder_.function("effects").finish({}));
  const ir::EffectAnalysis effects(program);
  for (size_t i = 1; i < program.functions().size(); ++i) {
    pure_.emplace(program.function(i).name(), effects.of(i).pure());
  }
  const auto found = pure_.find(function);
  return found != pure_.end() && found->second;
}

ir::Program TraceProgram::with_entry(std::shared_ptr<const ir::Function> entry) const {
  ir::ProgramBuilder whole;
  whole.add(std::move(entry));
  whole.add_all(builder_);
  return whole.finish();
}

}  // namespace plait
