#include "plait/transform/custom.h"

#include "plait/core/error.h"
#include "plait/tensor/trace.h"
#include "plait/transform/linear_function.h"

namespace plait::customs {
namespace {

// Zeros in the place of cotangents that nothing arrived for.
Tensors made_whole(std::span<const Tensor> given, std::span<const OperandType> types) {
  Tensors whole;
  for (size_t i = 0; i < given.size(); ++i) {
    whole.push_back(given[i] ? given[i] : zeros_of(types[i]));
  }
  return whole;
}

}  // namespace

void check_count(std::string_view what, size_t given, size_t wanted) {
  if (given == wanted) return;
  throw ValueError("{} gives {} tensors, expected {}", what, given, wanted)
      .at(Location::of_caller());
}

bool is_recorded(std::span<const Tensor> arguments) {
  return Trace::current() != nullptr && !plait::is_followed(arguments);
}

bool is_followed(std::span<const Tensor> arguments) { return plait::is_followed(arguments); }

void run_forward(std::span<const Tensor> arguments, const std::function<void()>& forward) {
  // What is kept may be asked by other levels than the one that asks for the custom rule. With one
  // level there is no such other.
  std::optional<LevelPause> pause;
  if (const LevelPtr only = only_level_of(arguments)) pause.emplace(*only);
  forward();
}

Tensors follow_vjp(std::span<const Tensor> arguments, Tensors results, Tensors residuals,
                   const Backward& backward) {
  const std::vector<OperandType> argument_types = types_of(arguments);
  const std::vector<OperandType> result_types = types_of(results);
  const auto pull = [=](std::span<const Tensor> cotangents, const Step::Kept& kept) {
    Tensors given = backward(kept.residuals, made_whole(cotangents, result_types));
    check_count("custom_vjp: the backward function", given.size(), argument_types.size());
    return given;
  };
  const auto push = [=](std::span<const Tensor> tangents, const Step::Kept& kept, uint64_t level) {
    const auto map = [&](std::span<const Tensor> cotangents) { return pull(cotangents, kept); };
    return LinearMap::of(result_types, map).below(level).transpose(tangents);
  };
  return follow_custom({.inputs = {arguments.begin(), arguments.end()},
                        .residuals = std::move(residuals),
                        .results = std::move(results),
                        .backward = pull,
                        .forward = push});
}

Tensors follow_jvp(std::span<const Tensor> arguments, Tensors results, const Along& along) {
  const std::vector<OperandType> argument_types = types_of(arguments);
  const size_t count = results.size();
  const auto tangents_at = [=](std::span<const Tensor> point, std::span<const Tensor> tangents) {
    Tensors given = along(point, made_whole(tangents, argument_types)).second;
    check_count("custom_jvp: the rule", given.size(), count);
    return given;
  };
  const auto push = [=](std::span<const Tensor> tangents, const Step::Kept& kept, uint64_t) {
    return tangents_at(kept.residuals, tangents);
  };
  const auto pull = [=](std::span<const Tensor> cotangents, const Step::Kept& kept) {
    const auto map = [&](std::span<const Tensor> tangents) {
      return tangents_at(kept.residuals, tangents);
    };
    return LinearMap::of(argument_types, map).transpose(cotangents);
  };
  const Tensors inputs(arguments.begin(), arguments.end());
  return follow_custom({.inputs = inputs,
                        .residuals = inputs,
                        .results = std::move(results),
                        .backward = pull,
                        .forward = push});
}

}  // namespace plait::customs
