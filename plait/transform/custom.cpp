#include "plait/transform/custom.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/ir/structure.h"
#include "plait/ops/shape.h"
#include "plait/tensor/trace.h"
#include "plait/transform/derived_functions.h"
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

Tensors underived_all(std::span<const Tensor> tensors) {
  Tensors plain;
  std::ranges::transform(tensors, std::back_inserter(plain), underived);
  return plain;
}

Tensors below_all(std::span<const Tensor> tensors, uint64_t level) {
  Tensors outer;
  for (const Tensor& tensor : tensors) outer.push_back(below(tensor, level));
  return outer;
}

// Adds what comes of captured tensors to what the rule says: results of the function itself, whose
// arguments nobody follows, are inputs too.
Tensors follow_with_captured(Custom custom, std::span<const Tensor> results) {
  const size_t arguments = custom.inputs.size();
  std::vector<size_t> places;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!is_followed(results[i])) continue;
    places.push_back(i);
    custom.inputs.push_back(results[i]);
  }
  if (places.empty()) return follow_custom(custom);
  custom.backward = [rule = std::move(custom.backward), places](std::span<const Tensor> cotangents,
                                                                const Step::Kept& kept) {
    Tensors given = rule(cotangents, kept);
    for (const size_t place : places) given.push_back(cotangents[place]);
    return given;
  };
  custom.forward = [rule = std::move(custom.forward), places, arguments, count = results.size()](
                       std::span<const Tensor> tangents, const Step::Kept& kept, uint64_t level) {
    const auto of_arguments = tangents.first(arguments);
    const bool any = std::ranges::any_of(of_arguments, [](const Tensor& x) { return bool(x); });
    Tensors given = any ? rule(of_arguments, kept, level) : Tensors(count);
    for (size_t i = 0; i < places.size(); ++i) {
      Tensor& total = given[places[i]];
      total = sum_of(total, tangents[arguments + i]);
    }
    return given;
  };
  return follow_custom(custom);
}

}  // namespace

void check_count(std::string_view what, size_t given, size_t wanted) {
  if (given == wanted) return;
  throw ValueError("{} gives {} tensors, expected {}", what, given, wanted)
      .at(Location::of_caller());
}

namespace {

constexpr const char* kFits =
    "what a rule gives has the shape and the dtype of what it is a derivative of";

// Sizes without numbers may turn out to be the same.
bool may_be_same(const Shape& given, const Shape& wanted) {
  return std::ranges::equal(
      given, wanted, [](Dim a, Dim b) { return same(a, b) || !a.is_number() || !b.is_number(); });
}

Tensor fitted(std::string_view what, size_t number, const Tensor& given, const OperandType& type) {
  if (!given || !type.is_array()) return given;
  if (!ir::has_tangent(type.type())) return {};
  if (!may_be_same(given.shape(), type.shape())) {
    throw ShapeError("{}: number {} is {}, expected {}", what, number, given.type().text(),
                     type.text())
        .at(Location::of_caller())
        .hint(kFits);
  }
  if (is_complex(given.dtype()) && !is_complex(type.dtype())) {
    throw TypeError("{}: number {} is {}, expected {}", what, number, given.type().text(),
                    type.text())
        .at(Location::of_caller())
        .hint(kFits);
  }
  return given.dtype() == type.dtype() ? given : astype(given, type.dtype());
}

}  // namespace

Tensors fitted(std::string_view what, Tensors given, std::span<const OperandType> wanted) {
  check_count(what, given.size(), wanted.size());
  for (size_t i = 0; i < given.size(); ++i) given[i] = fitted(what, i, given[i], wanted[i]);
  return given;
}

bool is_recorded(std::span<const Tensor> arguments) {
  return Trace::current() != nullptr && !plait::is_followed(arguments);
}

bool is_followed(std::span<const Tensor> arguments) { return plait::is_followed(arguments); }

Tensors follow_vjp(std::span<const Tensor> arguments, const TensorFunction& function,
                   const Forward& forward, const Backward& backward) {
  const Tensors plain = underived_all(arguments);
  Tensors results, residuals, by_captured;
  if (only_level_of(arguments)) {
    // No other level asks for derivatives of what is kept by the arguments.
    std::tie(results, residuals) = forward(plain);
    by_captured = results;
  } else {
    std::tie(results, residuals) = forward(arguments);
    const control::Again again;
    if (function) by_captured = function(plain);
  }
  const std::vector<OperandType> argument_types = types_of(arguments);
  const std::vector<OperandType> result_types = types_of(results);
  const auto pull = [=](std::span<const Tensor> cotangents, const Step::Kept& kept) {
    return fitted("custom_vjp: the backward function",
                  backward(kept.residuals, made_whole(cotangents, result_types)), argument_types);
  };
  const auto push = [=](std::span<const Tensor> tangents, const Step::Kept& kept, uint64_t level) {
    const auto map = [&](std::span<const Tensor> cotangents) { return pull(cotangents, kept); };
    return below_all(transpose_map(result_types, map, tangents), level);
  };
  return follow_with_captured({.inputs = {arguments.begin(), arguments.end()},
                               .residuals = std::move(residuals),
                               .results = std::move(results),
                               .backward = pull,
                               .forward = push},
                              by_captured);
}

Tensors follow_jvp(std::span<const Tensor> arguments, const TensorFunction& function,
                   const Along& along) {
  const Tensors results = function(underived_all(arguments));
  const std::vector<OperandType> argument_types = types_of(arguments);
  const std::vector<OperandType> result_types = types_of(results);
  const auto tangents_at = [=](std::span<const Tensor> point, std::span<const Tensor> tangents) {
    return fitted("custom_jvp: the rule", along(point, made_whole(tangents, argument_types)).second,
                  result_types);
  };
  const auto push = [=](std::span<const Tensor> tangents, const Step::Kept& kept, uint64_t level) {
    return below_all(tangents_at(kept.residuals, tangents), level);
  };
  const auto pull = [=](std::span<const Tensor> cotangents, const Step::Kept& kept) {
    const auto map = [&](std::span<const Tensor> tangents) {
      return tangents_at(kept.residuals, tangents);
    };
    return transpose_map(argument_types, map, cotangents);
  };
  const Tensors inputs(arguments.begin(), arguments.end());
  return follow_with_captured({.inputs = inputs,
                               .residuals = inputs,
                               .results = results,
                               .backward = pull,
                               .forward = push},
                              results);
}

}  // namespace plait::customs
