// `cond` and `switch`. In traces: staged_branch.h.
#include <algorithm>

#include "plait/core/error.h"
#include "plait/ir/structure.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/at.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/transform/control/control.h"
#include "plait/transform/inside/batching/batch.h"
#include "plait/transform/inside/derivatives/tensor_lists.h"
#include "plait/transform/inside/forms/branches/staged_branch.h"
#include "plait/transform/inside/forms/expected_scalar.h"
#include "plait/transform/inside/forms/form.h"
#include "plait/transform/inside/running/tensor_run.h"

namespace plait {
namespace control {

Tensors cond(const Tensor& predicate, const TensorFunction& then, const TensorFunction& otherwise,
             std::span<const Tensor> operands) {
  expect_scalar("cond: the predicate", predicate, is_boolean(predicate.dtype()), "bool[]");
  if (Trace::current() == nullptr) {
    return predicate.item<bool>() ? then(operands) : otherwise(operands);
  }
  return stage_branches(ir::Structure::cond, predicate, {then, otherwise}, operands);
}

Tensors switch_(const Tensor& index, const std::vector<TensorFunction>& branches,
                std::span<const Tensor> operands) {
  expect_scalar("switch: the index", index, is_integer(index.dtype()), "an integer");
  if (branches.empty())
    throw ValueError("switch: expected at least one branch").at(Location::of_caller());
  if (Trace::current() != nullptr) {
    return stage_branches(ir::Structure::switch_, index, branches, operands);
  }
  const auto number = index.item<int64_t>();
  if (number >= 0 && static_cast<size_t>(number) < branches.size()) {
    return branches[static_cast<size_t>(number)](operands);
  }
  throw IndexError("switch: the index {} is out of range for {} branches", number, branches.size())
      .at(Location::of_caller());
}

}  // namespace control

namespace {

using Values = std::vector<BatchedValue>;
using Operands = std::span<const BatchedValue>;

// ---- On tensors.

std::vector<Tensor> run_cond(const OnTensors& here) {
  return control::cond(here.operands[0], here.run->called(here.instruction, 0),
                       here.run->called(here.instruction, 1), here.operands.subspan(1));
}
std::vector<Tensor> stage_cond(const OnTensors& here) {
  if (auto results = here.run->stage_as_it_stands(here)) return *std::move(results);
  return run_cond(here);
}

std::vector<Tensor> run_switch(const OnTensors& here) {
  std::vector<TensorFunction> branches;
  for (size_t i = 0; i < here.instruction.callees().size(); ++i) {
    branches.push_back(here.run->called(here.instruction, i));
  }
  return control::switch_(here.operands[0], branches, here.operands.subspan(1));
}
std::vector<Tensor> stage_switch(const OnTensors& here) {
  if (auto results = here.run->stage_as_it_stands(here)) return *std::move(results);
  return run_switch(here);
}

// ---- For many samples. Where samples take different branches, each branch runs as if only its
// samples existed: it does not run without samples, and the other samples cannot raise errors in
// it, or put a NaN into a gradient.

bool is_cond(const ir::Instruction& instruction) {
  return instruction.primitive().structure == ir::Structure::cond;
}

// Says for each sample whether it takes branch i.
Tensor takers(const ir::Instruction& instruction, const Tensor& index, size_t i) {
  if (!is_cond(instruction)) return equal(index, static_cast<int64_t>(i));
  return i == 0 ? index : logical_not(index);
}

// All samples take the same branch.
Values batch_together(const OnSamples& here) {
  const Tensor& index = here.operands[0].tensor;
  const Operands taken = here.operands.subspan(1);
  std::vector<TensorFunction> branches;
  for (size_t i = 0; i < here.instruction.callees().size(); ++i) {
    branches.push_back(
        here.run.for_all_samples(here.run.callee(here.instruction, i), flags_of(taken)));
  }
  const std::vector<Tensor> given = tensors_in(taken);
  return with_flags(is_cond(here.instruction)
                        ? control::cond(index, branches[0], branches[1], given)
                        : control::switch_(index, branches, given),
                    here.run.samples().which_may_differ(here.instruction.result_types()));
}

// Gathers the samples of each branch and runs it on them.
std::vector<Tensor> batch_now(const OnSamples& here) {
  const ir::Instruction& instruction = here.instruction;
  const BatchedRun& run = here.run;
  const Dim samples = run.samples().count;
  const Operands operands = here.operands.subspan(1);
  std::vector<Tensor> places;
  std::vector<std::vector<Tensor>> parts;
  for (size_t i = 0; i < instruction.callees().size(); ++i) {
    const Tensor who = nonzero(takers(instruction, here.operands[0].tensor, i))[0];
    if (same(who.shape(0), Dim(0))) continue;
    places.push_back(who);
    parts.push_back(
        run.run_for(run.callee(instruction, i), picked_for(operands, who, samples), who.shape(0)));
  }
  if (places.empty()) {  // no samples: the types of the first branch
    places.push_back(iota(0));
    parts.push_back(
        run.run_for(run.callee(instruction), picked_for(operands, places[0], samples), 0));
  }
  const Tensor order = concat(places, 0);
  if (!same(order.shape(0), samples)) {
    throw IndexError("switch: the index of some sample is out of range").at(instruction.location());
  }
  std::vector<Tensor> results;
  for (size_t r = 0; r < parts[0].size(); ++r) {
    std::vector<Tensor> rows;
    for (const auto& part : parts) rows.push_back(part[r]);
    const Tensor all = concat(rows, 0);
    results.push_back(blank(all.shape(), all.dtype()).at(beside(order, all)).set(all));
  }
  return results;
}

// Runs each branch that some sample takes for all samples; those that do not take it are replaced
// by copies of one that does.
std::vector<Tensor> batch_staged(const OnSamples& here) {
  const ir::Instruction& instruction = here.instruction;
  const BatchedRun& run = here.run;
  const Operands operands = here.operands.subspan(1);
  const size_t count = instruction.callees().size();
  Tensor index = here.operands[0].tensor;
  if (!is_cond(instruction)) {
    // IndexError if the index is out of range.
    index = take(iota(static_cast<int64_t>(count)), astype(index, DType::u64), 0);
  }
  const std::vector<bool> flags = flags_of(operands);
  std::vector<Tensor> results;
  for (size_t i = 0; i < count; ++i) {
    const Tensor takes = takers(instruction, index, i);
    const auto branch = [&](std::span<const Tensor> given) {
      return run.run_for(run.callee(instruction, i),
                         filled(given.first(flags.size()), flags, given.back()),
                         run.samples().count);
    };
    const auto nothing = [&](std::span<const Tensor>) {
      return run.zeros_for(instruction, here.sizes);
    };
    const std::vector<Tensor> found = control::cond(plait::any(takes), branch, nothing,
                                                    joined({tensors_in(operands), {&takes, 1}}));
    for (size_t r = 0; r < found.size(); ++r) {
      if (i == 0) {
        results.push_back(found[r]);
      } else {
        results[r] = where(as_rows(takes, found[r]), found[r], results[r]);
      }
    }
  }
  return results;
}

Values batch_branches(const OnSamples& here) {
  if (!here.operands[0].is_batched) return batch_together(here);
  return values_of(Trace::current() == nullptr ? batch_now(here) : batch_staged(here), true);
}

}  // namespace

namespace forms {

extern constexpr Form kCond{.run = run_cond, .stage = stage_cond, .batch = batch_branches};
extern constexpr Form kSwitch{.run = run_switch, .stage = stage_switch, .batch = batch_branches};

}  // namespace forms
}  // namespace plait
