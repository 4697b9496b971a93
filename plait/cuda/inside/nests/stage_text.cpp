#include "plait/cuda/inside/nests/stage_text.h"

#include "plait/cuda/inside/nests/operations.h"

namespace plait::cuda {

using compile::NestValue;
using compile::ResultKind;
using compile::StagePlan;

namespace {

std::vector<uint32_t> kept_values(const PlannedNest& planned) {
  std::vector<uint32_t> kept(planned.plan.buffer_count);
  for (uint32_t v = 0; v < planned.plan.buffers.size(); ++v) {
    if (planned.plan.buffers[v]) kept[*planned.plan.buffers[v]] = v;
  }
  return kept;
}

constexpr int64_t kBufferAlign = 16;

}  // namespace

int64_t RowSchedule::shared_bytes(const PlannedNest& planned, int64_t columns) const {
  int64_t bytes = 0;
  for (const uint32_t v : kept_values(planned)) {
    const int64_t own = value_size(planned.nest.values[v].dtype) * columns * rows();
    bytes += (own + kBufferAlign - 1) / kBufferAlign * kBufferAlign;
  }
  return bytes;
}

void StageText::declare() {
  text_.line("const int lane = threadIdx.x % {0}, of_block = threadIdx.x / {0};", schedule_.lanes);
  if (schedule_.lanes != 32) {
    text_.line("__shared__ c128 joins[{}];", schedule_.lanes / 32);
  }
  if (!schedule_.keeps || planned().plan.buffer_count == 0) return;
  text_.line("extern __shared__ c128 kept[];");
  text_.line("i64 buffer = 0;");
  uint32_t number = 0;
  for (const uint32_t v : kept_values(planned())) {
    const DType dtype = nest().values[v].dtype;
    text_.line("{0}* const k{1} = ({0}*)((char*)kept + buffer) + of_block * columns;",
               value_type(dtype), number++);
    text_.line("buffer += ((i64)columns * {} + {}) / {} * {};",
               value_size(dtype) * schedule_.rows(), kBufferAlign - 1, kBufferAlign, kBufferAlign);
  }
}

void StageText::print() {
  for (uint32_t s = 0; s < planned().plan.stages.size(); ++s) {
    text_.row_values(s);
    if (!planned().plan.stages[s].is_empty()) print_stage(s);
  }
  finish_row();
}

std::string StageText::joined(std::string_view reduction, const std::string& x) const {
  return schedule_.lanes == 32
             ? fmt::format("join_warp<{}>({})", reduction, x)
             : fmt::format("join_block<{}, {}>({}, joins)", reduction, schedule_.lanes, x);
}

void StageText::print_stage(uint32_t stage) {
  const StagePlan& own = planned().plan.stages[stage];
  std::vector<uint32_t> roots, stored;
  if (schedule_.keeps) roots = own.kept;
  for (const uint32_t r : own.results) {
    roots.push_back(nest().results[r].value);
    if (planned().plan.result_kinds[r] == ResultKind::stored) stored.push_back(r);
  }
  for (const uint32_t v : own.reductions) {
    const NestValue& value = nest().values[v];
    roots.push_back(value.operands[0]);
    text_.line("{} x{} = {};", value_type(value.dtype), v,
               identity_text(value.reduction, value.dtype));
  }
  if (roots.empty()) return;
  const std::vector<uint32_t> values = text_.values_of(roots, stage, schedule_.keeps);
  text_.open(
      "for (Index column = (Index)lane * kVector; column < columns; column += {} * kVector) {{",
      schedule_.lanes);
  std::vector<uint32_t> loaded;
  for (const uint32_t v : values) {
    const bool is_kept =
        schedule_.keeps && planned().plan.buffers[v] && planned().plan.home[v] < stage;
    if (!is_kept) loaded.push_back(v);
  }
  text_.declare_loads(loaded, "");
  text_.load(loaded, "");
  text_.declare_stores(stored);
  text_.line("#pragma unroll");
  text_.open("for (int e = 0; e < kVector; ++e) {{");
  print_element(stage, values, stored);
  text_.close();
  text_.store(stored, "");
  text_.close();
  for (const uint32_t v : own.reductions) {
    const NestValue& value = nest().values[v];
    text_.line("const {} v{} = {};", value_type(value.dtype), v,
               joined(reduction_type(value.reduction), fmt::format("x{}", v)));
  }
}

void StageText::print_element(uint32_t stage, std::span<const uint32_t> values,
                              std::span<const uint32_t> stored) {
  const StagePlan& own = planned().plan.stages[stage];
  text_.line("const Index c = column + e;");
  text_.line("if (kVector > 1 && c >= columns) break;");
  text_.column_values(values, "", stage, schedule_.keeps);
  if (schedule_.keeps) {
    for (const uint32_t v : own.kept) text_.line("k{}[c] = v{};", *planned().plan.buffers[v], v);
  }
  for (const uint32_t v : own.reductions) {
    const NestValue& value = nest().values[v];
    text_.line("x{0} = {1}::of(x{0}, v{2});", v, reduction_type(value.reduction),
               value.operands[0]);
  }
  for (const uint32_t r : stored) text_.element(r, "");
  for (const uint32_t r : own.results) {
    const ResultKind kind = planned().plan.result_kinds[r];
    const std::string_view reduction = kind == ResultKind::stored
                                           ? std::string_view()
                                           : reduction_type(nest().results[r].reduction);
    const uint32_t v = nest().results[r].value;
    if (kind == ResultKind::accumulated) {
      text_.line("q{0}[slot * columns + c] = {1}::of(q{0}[slot * columns + c], v{2});", r,
                 reduction, v);
    } else if (kind == ResultKind::accumulated_whole) {
      text_.line("t{0} = {1}::of(t{0}, v{2});", r, reduction, v);
    }
  }
}

// Numbers of the row. All lanes have read what a store may overwrite.
void StageText::finish_row() {
  bool has_store = false;
  for (uint32_t r = 0; r < nest().results.size(); ++r) {
    const ResultKind kind = planned().plan.result_kinds[r];
    if (kind == ResultKind::accumulated_once) {
      text_.line("t{0} = {1}::of(t{0}, v{2});", r, reduction_type(nest().results[r].reduction),
                 nest().results[r].value);
    }
    has_store = has_store || kind == ResultKind::stored_once;
  }
  if (!has_store) return;
  text_.line("{}", schedule_.lanes == 32 ? "__syncwarp();" : "__syncthreads();");
  text_.open("if (lane == 0) {{");
  for (uint32_t r = 0; r < nest().results.size(); ++r) {
    if (planned().plan.result_kinds[r] == ResultKind::stored_once) text_.store_of_row(r, "");
  }
  text_.close();
}

}  // namespace plait::cuda
