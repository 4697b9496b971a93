// From programs to plans: the entry, and every function that is called.
#include "plait/compile/inside/plans/function_planner.h"
#include "plait/compile/pass.h"

namespace plait::compile {

Plan plan_of(const ir::Program& program, const Target* target, bool only_planned) {
  const PlanOptions options{.makes_kernels = target != nullptr && is_on("emit"),
                            .shares_memory = is_on("plan")};
  PlanParts parts(program, target);
  std::vector<PlannedFunction> functions;
  parts.function_of(0);
  for (size_t i = 0; i < parts.functions().size(); ++i) {
    functions.push_back(planned_function(parts, parts.functions()[i], options));
  }
  Plan plan = std::move(parts).finish(std::move(functions), only_planned);
  if (only_planned) return plan;
  if (is_dumped("plan")) dump(dump_text("plan", plan.text()));
  return plan;
}

}  // namespace plait::compile
