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

Tensors below_all(std::span<const Tensor> tensors, uint64_t level) {
  Tensors outer;
  for (const Tensor& tensor : tensors) outer.push_back(below(tensor, level));
  return outer;
}

// A result as some levels see it that do not go by the rule.
struct Seen {
  size_t place;
  Tensor result;
};

Tensors from_level_all(std::span<const Tensor> tensors, uint64_t level) {
  Tensors inner;
  for (const Tensor& tensor : tensors) inner.push_back(from_level(tensor, level));
  return inner;
}

// What is computed again by remat goes by the rule at all levels, which leaves no room for what is
// captured.
void refuse_captured(std::span<const Tensor> results) {
  if (!plait::is_followed(results)) return;
  throw TypeError(
      "a function with a rule of its own captures what a derivative is taken by, inside of remat "
      "and under several derivatives")
      .at(Location::of_caller())
      .hint("give it as an argument, or jit the function");
}

// What runs where levels follow the arguments. The innermost of these goes by the rule: to it the
// arguments are constant, so that what it sees of the results comes of what is captured. Levels
// further out see how the results were computed, and ask for derivatives of what is kept; those
// further in see what is captured only.
struct Followed {
  uint64_t innermost;
  Tensors inputs, results, residuals;
  std::vector<Seen> seen;

  Followed(std::span<const Tensor> arguments, const TensorFunction& function,
           const Forward& forward)
      : innermost(open_levels_of(arguments).back()), inputs(from_level_all(arguments, innermost)) {
    std::tie(results, residuals) = forward(below_all(arguments, innermost));
    if (Sketch::current() != nullptr && open_levels_of(arguments).size() > 1) {
      inputs.assign(arguments.begin(), arguments.end());
      refuse_captured(function(below_all(arguments, 0)));
      return;
    }
    const std::vector<uint64_t> levels = open_levels_of(results);
    add(below_all(results, innermost + 1));
    if (levels.empty() || levels.back() <= innermost) return;
    const control::Again again;
    Tensors further_in = function(arguments);
    for (Tensor& each : further_in) each = from_level(each, innermost + 1);
    add(further_in);
  }

 private:
  void add(std::span<const Tensor> found) {
    for (size_t i = 0; i < found.size(); ++i) {
      if (is_followed(found[i])) seen.push_back({i, found[i]});
    }
  }
};

// Adds what levels see to what the rule says: such results are inputs too.
Tensors follow_with(Custom custom, std::span<const Seen> seen) {
  if (seen.empty()) return follow_custom(custom);
  const size_t arguments = custom.inputs.size();
  std::vector<size_t> places;
  for (const Seen& each : seen) {
    places.push_back(each.place);
    custom.inputs.push_back(each.result);
  }
  custom.backward = [rule = std::move(custom.backward), places](std::span<const Tensor> cotangents,
                                                                const Step::Kept& kept) {
    Tensors given = rule(cotangents, kept);
    for (const size_t place : places) given.push_back(cotangents[place]);
    return given;
  };
  custom.forward = [rule = std::move(custom.forward), places, arguments,
                    count = custom.results.size()](std::span<const Tensor> tangents,
                                                   const Step::Kept& kept, uint64_t level) {
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
  Followed run(arguments, function, forward);
  const std::vector<OperandType> argument_types = types_of(arguments);
  const std::vector<OperandType> result_types = types_of(run.results);
  const auto pull = [=](std::span<const Tensor> cotangents, const Step::Kept& kept) {
    return fitted("custom_vjp: the backward function",
                  backward(kept.residuals, made_whole(cotangents, result_types)), argument_types);
  };
  const auto push = [=](std::span<const Tensor> tangents, const Step::Kept& kept, uint64_t level) {
    const auto map = [&](std::span<const Tensor> cotangents) { return pull(cotangents, kept); };
    return below_all(transpose_map(result_types, map, tangents), level);
  };
  return follow_with({.inputs = std::move(run.inputs),
                      .residuals = std::move(run.residuals),
                      .results = std::move(run.results),
                      .backward = pull,
                      .forward = push},
                     run.seen);
}

Tensors follow_jvp(std::span<const Tensor> arguments, const TensorFunction& function,
                   const Along& along) {
  const std::vector<OperandType> argument_types = types_of(arguments);
  // Who asks for further derivatives sees how the rule computes the results.
  const bool is_seen = open_levels_of(arguments).size() > 1 || Trace::current() != nullptr;
  const auto forward = [&](std::span<const Tensor> given) {
    const Tensors none(given.size());
    return std::pair(
        is_seen ? along(given, made_whole(none, argument_types)).first : function(given),
        Tensors());
  };
  Followed run(arguments, function, forward);
  const std::vector<OperandType> result_types = types_of(run.results);
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
  return follow_with({.inputs = std::move(run.inputs),
                      .residuals = below_all(arguments, run.innermost),
                      .results = std::move(run.results),
                      .backward = pull,
                      .forward = push},
                     run.seen);
}

Tensors follow_captured(Tensors results, std::span<const Tensor> computed) {
  std::vector<Seen> seen;
  for (size_t i = 0; i < computed.size(); ++i) {
    if (is_followed(computed[i])) seen.push_back({i, computed[i]});
  }
  const auto nothing = [](std::span<const Tensor>, const Step::Kept&) { return Tensors(); };
  return follow_with({.inputs = {},
                      .residuals = {},
                      .results = std::move(results),
                      .backward = nothing,
                      .forward = {}},
                     seen);
}

}  // namespace plait::customs
