#include "plait/transform/inside/forms/calls/batched_recursion.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/transform/inside/batching/batch.h"
#include "plait/transform/inside/forms/calls/staged_recursion.h"

namespace plait {
namespace {

// The function for many samples. The number of samples is a symbol; for a named axis it is the size
// of that axis.
Derived batched(const RecursiveFunction& function, const std::vector<bool>& flags,
                const Samples& given_samples) {
  const ir::Signature& signature = function.signature();
  Derived made{"vmap" + bits(flags), signature, {}};
  const std::string& axis = given_samples.axis;
  Samples samples = given_samples;
  if (axis.empty()) {
    std::string name = "samples";
    const auto is_taken = [&](Dim size) { return size.name() == name; };
    while (std::ranges::any_of(signature.size_parameters, is_taken)) name += "_";
    samples.count = Dim::symbol(name);
  } else {
    made.kind += fmt::format(".{}.{}", axis, samples.count.text());
    std::erase_if(made.signature.axes.axes, [&](const auto& each) { return each.name == axis; });
  }
  const BatchedRun run(function.program(), samples);
  const auto elsewhere = [&](const ir::Type& type) {
    ir::AxisSet axes = type.varying();
    axes.erase(axis);
    return type.with_varying(axes);
  };
  const auto make_batched = [&](std::vector<ir::Type>& types, const std::vector<bool>& which) {
    for (size_t i = 0; i < which.size(); ++i) {
      types[i] = run.type_of_samples(types[i], which[i]);
      if (!axis.empty()) types[i] = elsewhere(types[i]);
    }
  };
  make_batched(made.signature.parameters, flags);
  make_batched(made.signature.results, samples.which_may_differ(signature.results));
  made.body = run.for_all_samples(function.function(), flags);
  return made;
}

// The reverse derivative of the batched function is that of each sample, if samples share only
// operands without a wanted derivative. Batches the others.
std::vector<BatchedValue> apart(const RecursiveFunction& function,
                                std::span<const BatchedValue> operands, const Samples& samples) {
  const std::vector<int64_t>& wanted = function.wanted();
  const size_t count = function.differentiated()->signature().parameters.size();
  std::vector<BatchedValue> all;
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool is_wanted = std::ranges::find(wanted, static_cast<int64_t>(i)) != wanted.end();
    if (operands[i].tensor.is_array()) {
      all.push_back({of_all_samples(operands[i], samples.count), true});
    } else if (i < count && !is_wanted) {
      all.push_back(operands[i]);
    } else {
      throw TypeError("the derivative by a {} would differ from sample to sample",
                      operands[i].tensor.type().text())
          .at(Location::of_caller())
          .hint("differentiate the sum over all samples");
    }
  }
  return all;
}

std::vector<BatchedValue> run_batched_pull(const RecursiveFunction& function,
                                           std::span<const BatchedValue> operands,
                                           const Samples& samples) {
  const std::vector<BatchedValue> all = apart(function, operands, samples);
  const RecursiveFunction& of = *function.differentiated();
  const std::vector<bool> theirs = flags_of(std::span(all).first(of.signature().parameters.size()));
  const StagedFunction batched_of = stage_derived(of, batched(of, theirs, {}));
  Derived made = batched(function, flags_of(all), {});
  made.pulled = std::make_shared<const RecursiveFunction>(batched_of.program, *batched_of.function);
  made.wanted = function.wanted();
  return values_of(call_derived(function, made, tensors_in(all)), true);
}

}  // namespace

std::vector<BatchedValue> run_recursive_batched(const RecursiveFunction& function,
                                                std::span<const BatchedValue> operands,
                                                const Samples& samples) {
  const std::vector<Tensor> tensors = tensors_in(operands);
  const std::vector<bool> flags = flags_of(operands);
  if (std::ranges::find(flags, true) == flags.end()) {
    return values_of(run_recursive(function, tensors), false);
  }
  // Samples of a named axis may communicate; the derivative is batched like any other function.
  if (function.differentiated() != nullptr && samples.axis.empty()) {
    return run_batched_pull(function, operands, samples);
  }
  return with_flags(call_derived(function, batched(function, flags, samples), tensors),
                    samples.which_may_differ(function.signature().results));
}

}  // namespace plait
