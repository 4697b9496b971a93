#include "plait/compile/planned_memory.h"

#include <algorithm>
#include <map>

#include "plait/compile/inside/memory_budget.h"
#include "plait/compile/inside/running/bound_plan.h"
#include "plait/compile/inside/running/compiled_access.h"
#include "plait/core/error.h"

namespace plait::compile {
namespace {

class Estimate {
 public:
  Estimate(const Plan& plan, const BoundFunction& entry)
      : function_(*entry.function), sizes_(entry.named) {
    memory_.is_complete = plan.functions.size() == 1;
    memory_.temporaries = entry.frame_bytes;
    for (const Register r : function_.parameters) memory_.arguments += bytes_of(r);
    for (const Register r : function_.results) memory_.results += bytes_of(r);
    // Results are among the registers with their own memory, or views of them.
    memory_.temporaries += std::max<int64_t>(0, own_bytes() - memory_.results);
  }

  const PlannedMemory& memory() const { return memory_; }

 private:
  int64_t bytes_of(Register r) {
    const ir::Type& type = function_.registers[r].type;
    if (!type.is_array()) return 0;
    int64_t bytes = size_of(type.dtype());
    for (const Dim dim : type.shape()) {
      bool is_known = true;
      dim.for_each_symbol([&](Dim symbol) { is_known &= sizes_.find(symbol) != nullptr; });
      memory_.is_complete &= is_known;
      if (!is_known) return 0;
      bytes *= dim.is_number() ? dim.number() : dim.evaluate(sizes_);
    }
    return bytes;
  }

  // Registers whose lifetimes are disjoint share a cell.
  int64_t own_bytes() {
    std::map<uint32_t, int64_t> by_cell;
    for (Register r = 0; r < function_.registers.size(); ++r) {
      const bool is_parameter = std::ranges::count(function_.parameters, r) != 0;
      const RegisterInfo& info = function_.registers[r];
      if (is_parameter || info.storage != Storage::own || info.is_overwritten) continue;
      int64_t& bytes = by_cell[function_.registers[r].cell];
      bytes = std::max(bytes, bytes_of(r));
    }
    int64_t sum = 0;
    for (const auto& [cell, bytes] : by_cell) sum += bytes;
    return sum;
  }

  const PlannedFunction& function_;
  const SymbolMap<int64_t>& sizes_;
  PlannedMemory memory_;
};

}  // namespace

PlannedMemory planned_memory(const Plan& plan, std::span<const int64_t> sizes) {
  return Estimate(plan, bound_function(plan.functions[0], plan.kernels, sizes)).memory();
}

PlannedMemory planned_memory(const Compiled& compiled, const SymbolMap<int64_t>& sizes) {
  const Plan& plan = CompiledAccess::plan(compiled);
  std::vector<int64_t> given;
  for (const Dim symbol : plan.functions[0].size_parameters) {
    const int64_t* const size = sizes.find(symbol);
    if (size == nullptr) {
      throw ValueError("planned_memory: the size {} is not known", symbol)
          .at(Location::of_caller())
          .hint("pass a number for each symbolic size");
    }
    given.push_back(*size);
  }
  return planned_memory(plan, given);
}

}  // namespace plait::compile
