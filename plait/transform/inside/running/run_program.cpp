#include "plait/transform/inside/running/run_program.h"

#include "plait/transform/inside/forms/records/declared_records.h"
#include "plait/transform/inside/running/tensor_run.h"

namespace plait {

std::vector<Tensor> run_function(const ir::Program& program, const ir::Function& function,
                                 std::span<const Tensor> arguments, const RunOptions& options) {
  declare_records_of(program);
  return TensorRun(program, options).function(function, arguments);
}

}  // namespace plait
