// `scan`: on tensors, and for many samples. In traces: staged_scan.h.
#include <algorithm>
#include <optional>

#include "plait/core/error.h"
#include "plait/ir/structure.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/random/random.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/transform/control/control.h"
#include "plait/transform/inside/batching/batch.h"
#include "plait/transform/inside/derivatives/lifted_draws.h"
#include "plait/transform/inside/derivatives/tensor_lists.h"
#include "plait/transform/inside/forms/form.h"
#include "plait/transform/inside/forms/loops/batched_loops.h"
#include "plait/transform/inside/forms/loops/carried_sizes.h"
#include "plait/transform/inside/forms/loops/checkpointed.h"
#include "plait/transform/inside/forms/loops/staged_scan.h"
#include "plait/transform/inside/forms/loops/unrolled_scan.h"
#include "plait/transform/inside/running/key_draws.h"
#include "plait/transform/inside/running/tensor_run.h"

namespace plait {
namespace control {
namespace {

Tensors scan_now(const TensorFunction& body, std::span<const Tensor> initial,
                 std::span<const Tensor> stacked, int64_t length, bool reverse) {
  Tensors carries(initial.begin(), initial.end());
  std::vector<Tensors> given;
  for (int64_t step = 0; step < length; ++step) {
    const int64_t i = reverse ? length - 1 - step : step;
    Tensors arguments = carries;
    for (const Tensor& each : stacked) arguments.push_back(each[i]);
    Tensors results = body(arguments);
    if (results.size() < carries.size()) {
      throw ValueError("scan: the body returns {} tensors, fewer than the {} that are carried",
                       results.size(), carries.size())
          .at(Location::of_caller());
    }
    if (!given.empty() && results.size() - carries.size() != given[0].size()) {
      throw ValueError("scan: the body returns {} tensors, but returned {} at the first step",
                       results.size(), carries.size() + given[0].size())
          .at(Location::of_caller());
    }
    const auto next = std::span(results).first(carries.size());
    expect_carried("scan", ir_types_of(carries), ir_types_of(next), Location::of_caller(),
                   Carried::keeps_its_type);
    carries.assign(next.begin(), next.end());
    given.emplace_back(results.begin() + static_cast<std::ptrdiff_t>(carries.size()),
                       results.end());
  }
  if (reverse) std::ranges::reverse(given);
  Tensors all = carries;
  for (size_t k = 0; k < given[0].size(); ++k) {
    Tensors slices;
    for (const Tensors& each : given) slices.push_back(each[k]);
    all.push_back(stack(slices));
  }
  return all;
}

// Errors unless the options say how many steps there are, and the stacked tensors agree.
Dim length_of(std::span<const Tensor> stacked, const ScanOptions& options) {
  std::optional<Dim> length = options.length;
  for (size_t i = 0; i < stacked.size(); ++i) {
    if (stacked[i].rank() == 0) {
      throw ShapeError("scan: {} is stacked, but has no axes", stacked[i].type().text())
          .at(Location::of_caller());
    }
    const Dim here = stacked[i].shape(0);
    if (!length) length = here;
    if (same(*length, here)) continue;
    throw ShapeError("scan: {} is stacked {} times, expected {}", stacked[i].type().text(),
                     here.text(), length->text())
        .at(Location::of_caller());
  }
  if (!length) {
    throw ValueError("scan: the number of steps is unknown")
        .at(Location::of_caller())
        .hint("pass it in the options: length");
  }
  if (length->is_number() && length->number() < 0) {
    throw ValueError("scan: a length of {}, expected 0 or more", length->number())
        .at(Location::of_caller());
  }
  if (options.unroll < 1 || (options.unroll > 1 && options.checkpoints)) {
    throw ValueError("scan: unroll is {}, expected 1 or more{}", options.unroll,
                     options.checkpoints ? ", and 1 with checkpoints" : "")
        .at(Location::of_caller());
  }
  return *length;
}

// The parameter types of the body: carries, and slices of what is stacked.
std::vector<ir::Type> types_of_step(std::span<const Tensor> initial,
                                    std::span<const Tensor> stacked) {
  std::vector<ir::Type> types = ir_types_of(initial);
  for (const Tensor& each : stacked) {
    const ir::Type type = each.type();
    types.push_back(type.without_sharding().with_shape(Shape(type.shape().dims().subspan(1))));
  }
  return types;
}

// No step runs: the carries as they are, and stacks of nothing.
Tensors results_of_no_step(std::span<const Tensor> initial, std::span<const ir::Type> results) {
  Tensors nothing(initial.begin(), initial.end());
  for (const ir::Type& result : results.subspan(initial.size())) {
    Shape shape{0};
    for (const Dim dim : result.shape()) shape.append(dim);
    nothing.push_back(blank(shape, result.dtype()));
  }
  return nothing;
}

}  // namespace

Tensors scan(const TensorFunction& body, std::span<const Tensor> initial,
             std::span<const Tensor> stacked, const ScanOptions& options) {
  const Dim length = length_of(stacked, options);
  if (options.checkpoints) {
    return checkpointed_scan(body, initial, stacked, length, options.reverse, *options.checkpoints);
  }
  const bool runs_now = Trace::current() == nullptr;
  if (runs_now && !same(length, Dim(0))) {
    return scan_now(body, initial, stacked, length.number(), options.reverse);
  }
  if (options.unroll > 1) return unrolled_scan(body, initial, stacked, length, options);
  const std::vector<ir::Type> types = types_of_step(initial, stacked);
  const StagedFunction step = stage("body", types, body, {.beside = joined({initial, stacked})});
  const auto& results = step.function->signature().results;
  expect_carried("scan", std::span(types).first(initial.size()),
                 std::span(results).first(std::min(initial.size(), results.size())),
                 step.function->location(), Carried::keeps_its_type);
  if (runs_now) return results_of_no_step(initial, results);
  if (draws_keys(step.program)) {
    return scan_with_keys(with_key(step), initial, stacked, {length, options.reverse},
                          random::draw_key());
  }
  const size_t constants = step.captures.size();
  const Tensors operands = joined({step.captures, initial, stacked});
  std::vector<ir::Type> all = ir_types_of(step.captures);
  all.insert(all.end(), types.begin(), types.end());
  const StagedFunction whole = stage(
      "body", all,
      [&](auto given) { return step(joined({given.subspan(constants), given.first(constants)})); },
      {.beside = operands});
  return stage_scan(whole, {constants, initial.size(), length, options.reverse}, operands);
}

}  // namespace control

namespace {

struct Counts {
  size_t constants, carries;
};
Counts counts_of(const ir::Instruction& instruction) {
  const auto& attributes = instruction.attributes_as<ir::ScanAttributes>();
  return {static_cast<size_t>(attributes.constants), static_cast<size_t>(attributes.carries)};
}
ScanOptions options_of(const ir::Instruction& instruction, const SymbolMap<Dim>& sizes) {
  const auto& attributes = instruction.attributes_as<ir::ScanAttributes>();
  return {attributes.length.substitute(sizes), attributes.reverse};
}

// ---- On tensors.

std::vector<Tensor> run_scan(const OnTensors& here) {
  TensorRun& run = *here.run;
  const Counts counts = counts_of(here.instruction);
  const auto constants = here.operands.first(counts.constants);
  const auto initial = here.operands.subspan(counts.constants, counts.carries);
  const auto stacked = here.operands.subspan(counts.constants + counts.carries);
  const ScanOptions options = options_of(here.instruction, here.sizes);
  if (run.needs_keys(here.instruction)) {
    return control::scan_with_keys(run.called_with_key(here.instruction, 0, constants), initial,
                                   stacked, options, run.options().draw_key());
  }
  return control::scan(run.called(here.instruction, 0, constants), initial, stacked, options);
}

std::vector<Tensor> stage_scan(const OnTensors& here) {
  if (auto results = here.run->stage_as_it_stands(here)) return *std::move(results);
  return run_scan(here);
}

// ---- For many samples.

std::vector<BatchedValue> batch_scan(const OnSamples& here) {
  const BatchedRun& run = here.run;
  const auto [constants, carries] = counts_of(here.instruction);
  const ir::Function& body = run.callee(here.instruction);
  LoopParameters parameters{{}, flags_of(here.operands)};
  for (size_t i = 0; i < here.operands.size(); ++i) {
    const ir::Type type = run.type_of(here.operands[i]);
    const bool is_stacked = i >= constants + carries;
    parameters.types.push_back(
        is_stacked ? type.without_sharding().with_shape(without_first(type.shape())) : type);
  }
  find_batched_carries(run, body, constants, carries, parameters);
  const std::vector<bool>& flags = parameters.flags;
  std::vector<bool> of_carries;
  std::vector<Tensor> initial, stacked;
  for (size_t i = constants; i < here.operands.size(); ++i) {
    const BatchedValue& operand = here.operands[i];
    if (i < constants + carries) {
      of_carries.push_back(flags[i]);
      initial.push_back(flags[i] ? of_all_samples(operand, run.samples().count) : operand.tensor);
    } else {  // the axis of steps first, then the samples
      stacked.push_back(flags[i] ? moveaxis(operand.tensor, 1, 0) : operand.tensor);
    }
  }
  const std::vector<Tensor> found =
      control::scan(after_constants(run, body, here.operands.first(constants), flags, of_carries),
                    initial, stacked, options_of(here.instruction, here.sizes));
  std::vector<BatchedValue> results;
  for (size_t i = 0; i < found.size(); ++i) {
    if (i < carries) {
      results.push_back({found[i], of_carries[i]});
    } else {  // the samples first, then the axis of steps
      const bool is_batched = run.samples().may_differ(here.instruction.result_types()[i]);
      results.push_back({is_batched ? moveaxis(found[i], 0, 1) : found[i], is_batched});
    }
  }
  return results;
}

}  // namespace

namespace forms {

extern constexpr Form kScan{.run = run_scan, .stage = stage_scan, .batch = batch_scan};

}  // namespace forms
}  // namespace plait
