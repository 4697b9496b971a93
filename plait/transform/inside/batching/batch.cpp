#include "plait/transform/inside/batching/batch.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/ir/structure.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/inside/random/random_primitives.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/rules.h"
#include "plait/transform/inside/forms/calls/open_recursion.h"
#include "plait/transform/inside/forms/form.h"
#include "plait/transform/inside/running/run_instruction.h"

namespace plait {
namespace {

using Values = std::vector<BatchedValue>;
using Operands = std::span<const BatchedValue>;

// With zero samples nothing is computed; a rule could divide by the number of samples.
bool has_arrays_only(const ir::Instruction& instruction) {
  const ir::Primitive& primitive = instruction.primitive();
  const bool is_seen = primitive.effects && primitive.effects(instruction).observable;
  return !is_seen && instruction.size_results().empty() &&
         std::ranges::all_of(instruction.result_types(), [](const ir::Type& type) {
           return type.is_array() && !is_key(type.dtype()) && type.varying().empty();
         });
}

}  // namespace

ir::Type BatchedRun::type_of(const BatchedValue& value) const {
  const ir::Type type = value.tensor.type();
  return value.is_batched ? type.without_sharding().with_shape(without_first(type.shape())) : type;
}

ir::Type BatchedRun::type_of_samples(const ir::Type& type, bool is_batched) const {
  return is_batched ? type.without_sharding().with_shape(with_first(samples_.count, type.shape()))
                    : type;
}

TensorFunction BatchedRun::for_all_samples(const ir::Function& called,
                                           std::vector<bool> batched) const {
  return [program = program(), &called, samples = samples_, batched = std::move(batched),
          differ = samples_.which_may_differ(called.signature().results)](
             std::span<const Tensor> given) {
    std::vector<Tensor> results;
    for (const BatchedValue& result :
         run_batched(program, called, with_flags(given, batched), samples)) {
      const bool is_batched = differ[results.size()];
      results.push_back(is_batched ? of_all_samples(result, samples.count) : result.tensor);
    }
    return results;
  };
}

std::vector<Tensor> BatchedRun::run_for(const ir::Function& called, Operands theirs,
                                        Dim count) const {
  std::vector<Tensor> results;
  for (const BatchedValue& result :
       run_batched(program(), called, theirs, {count, samples_.axis})) {
    results.push_back(of_all_samples(result, count));
  }
  return results;
}

std::vector<Tensor> BatchedRun::zeros_for(const ir::Instruction& instruction,
                                          const SymbolMap<Dim>& sizes) const {
  std::vector<Tensor> results;
  for (const ir::Type& type : instruction.result_types()) {
    const ir::Type here = type_of_samples(type.substitute(sizes), true);
    results.push_back(blank(here.shape(), here.dtype()));
  }
  return results;
}

Values BatchedRun::run(const ir::Instruction& instruction, Operands operands,
                       const SymbolMap<Dim>& sizes) {
  return instruction.primitive().structure == ir::Structure::machine
             ? run_operation(instruction, operands, sizes)
             : batch_form({instruction, operands, sizes, *this});
}

Values BatchedRun::run_operation(const ir::Instruction& instruction, Operands operands,
                                 const SymbolMap<Dim>& sizes) const {
  if (is_open_call(instruction)) {
    throw TypeError("a function is batched while it is being recorded")
        .at(instruction.location())
        .hint("vmap the whole function, not its recursive calls");
  }
  if (&instruction.primitive() == &random_primitives().draw_key) {  // each sample draws its own key
    return {{random::fold_in(random::draw_key(), iota(samples_.count)), true}};
  }
  if (communicates_here(instruction)) return {combined_along_axis(instruction, operands[0])};
  return std::ranges::any_of(operands, &BatchedValue::is_batched)
             ? values_of(apply(instruction, operands, sizes), true)
             : values_of(run_instruction(instruction, tensors_in(operands), sizes), false);
}

std::vector<Tensor> BatchedRun::apply(const ir::Instruction& instruction, Operands operands,
                                      const SymbolMap<Dim>& sizes) const {
  const ir::Primitive& primitive = instruction.primitive();
  const ir::Attributes attributes = instruction.attributes().map_sizes(
      [&](Dim dim) { return sizes.empty() ? dim : dim.substitute(sizes); });
  const Rules* const rules = find_rules(primitive);
  if (rules != nullptr && rules->batching.of != nullptr) {
    const bool is_empty = same(samples_.count, Dim(0)) && has_arrays_only(instruction);
    if (is_empty) return zeros_for(instruction, sizes);
    return rules->batching.of(attributes, tensors_in(operands), flags_of(operands));
  }
  if (primitive.elementwise == ir::Elementwise::no) {
    throw TypeError("{} has no batching rule", primitive.name).at(instruction.location());
  }
  std::vector<Tensor> all;
  for (const BatchedValue& operand : operands)
    all.push_back(of_all_samples(operand, samples_.count));
  return apply_all(primitive, all, attributes);
}

// ---- Collective operations along the batched axis.

bool BatchedRun::communicates_here(const ir::Instruction& instruction) const {
  const ir::Primitive& primitive = instruction.primitive();
  return primitive.communicates != nullptr && !samples_.axis.empty() &&
         primitive.communicates(instruction.attributes()).contains(samples_.axis);
}

BatchedValue BatchedRun::combined_along_axis(const ir::Instruction& instruction,
                                             const BatchedValue& x) const {
  const Rules& rules = *find_rules(instruction.primitive());
  return {rules.collective.of(instruction.attributes(), of_all_samples(x, samples_.count),
                              samples_.axis),
          samples_.may_differ(instruction.result_types()[0])};
}

Dim BatchedRun::size_of(const BatchedValue& count, bool at_least) {
  if (!count.is_batched) return as_size(count.tensor, at_least);
  if (at_least) {  // 0 if there are no samples
    const Tensor none = zeros({1}, count.tensor.dtype());
    return as_size(max(concat(std::vector{count.tensor, none}, 0)), true);
  }
  throw TypeError("as_size: the number differs from sample to sample, but a size must not")
      .at(Location::of_caller())
      .hint("use the padded form: a fixed size and the number of valid entries");
}

std::vector<BatchedValue> run_batched(const ir::Program& program, const ir::Function& function,
                                      std::span<const BatchedValue> arguments,
                                      const Samples& samples) {
  return BatchedRun(program, samples).function(function, arguments);
}

}  // namespace plait
