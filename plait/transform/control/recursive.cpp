#include "plait/transform/control/recursive.h"

#include "plait/tensor/inside/tracing/trace.h"
#include "plait/transform/inside/derivatives/tensor_lists.h"
#include "plait/transform/inside/forms/calls/open_recursion.h"
#include "plait/transform/inside/forms/calls/staged_recursion.h"

namespace plait::control {

bool is_staging() { return Trace::current() != nullptr; }

Tensors call_recursive(const std::shared_ptr<const RecursiveName>& function, const TreeKey& tree,
                       std::span<const Tensor> arguments, const RecursiveBody& body,
                       std::any& structure) {
  const OpenRecursion::Key key{function.get(), "", tree};
  const std::vector<ir::Type> types = ir_types_of(arguments);
  if (OpenRecursion* const open = OpenRecursion::find(key, types)) {
    Tensors results = open->call(arguments);
    structure = open->structure;
    return results;
  }
  StagedFunction staged;
  {
    OpenRecursion open(key, function->name, types);
    open.expect_devices_of(arguments);
    staged = open.stage([&](auto given) { return body(given, open.structure); });
    structure = std::move(open.structure);
  }
  return run_recursive({staged.program, *staged.function}, joined({arguments, staged.captures}));
}

}  // namespace plait::control
