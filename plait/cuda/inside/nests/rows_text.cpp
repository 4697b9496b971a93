#include "plait/cuda/inside/nests/stage_text.h"

namespace plait::cuda {

std::string rows_text(const PlannedNest& planned, const TextVariant& variant,
                      const std::string& name, const RowSchedule& schedule) {
  NestText text(planned, variant);
  StageText stages(text, schedule);
  text.begin_kernel(name, kBlockThreads);
  stages.declare();
  text.line("const Index row = (Index)blockIdx.x * {} + of_block;", schedule.rows());
  text.line("if (row >= {}) return;", text.product(planned.nest.outer));
  text.declare_indices(0, planned.nest.outer.size(), "row");
  stages.print();
  text.close();
  return text.take();
}

}  // namespace plait::cuda
