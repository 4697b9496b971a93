#include "plait/transform/custom.h"

#include <algorithm>
#include <limits>

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

// A result of the function itself, as levels see it to which its arguments are constant: what it
// is to these comes of what the function captures.
struct ByCaptured {
  size_t place;
  Tensor result;
};

// What runs where levels follow the arguments. To each of these levels, and to those between it and
// the next one, the arguments are constant, but not to those further out: which ask for derivatives
// of what is kept, and of the derivatives by what is captured.
struct Followed {
  Tensors results, residuals;
  std::vector<ByCaptured> captured;

  Followed(std::span<const Tensor> arguments, const TensorFunction& function,
           const Forward& forward, Captured which) {
    const std::vector<uint64_t> levels = open_levels_of(arguments);
    const uint64_t innermost = levels.back();
    std::tie(results, residuals) = forward(below_all(arguments, innermost));
    const auto after = [&](size_t i) { return i == 0 ? 0 : levels[i - 1] + 1; };
    add(results, after(levels.size() - 1), innermost + 1);
    if (which == Captured::nothing) return;
    const control::Again again;
    const std::vector<uint64_t> all = open_levels_of(results);
    if (!all.empty() && all.back() > innermost) {
      add(function(arguments), innermost + 1, std::numeric_limits<uint64_t>::max());
    }
    for (size_t i = 0; i + 1 < levels.size(); ++i) {
      add(function(below_all(arguments, levels[i])), after(i), levels[i] + 1);
    }
  }

 private:
  // For the levels from `first` to before `end`.
  void add(std::span<const Tensor> found, uint64_t first, uint64_t end) {
    for (size_t i = 0; i < found.size(); ++i) {
      Tensor seen = from_level(below(found[i], end), first);
      if (is_followed(seen)) captured.push_back({i, std::move(seen)});
    }
  }
};

// Adds what comes of captured tensors to what the rule says: such results are inputs too.
Tensors follow_with_captured(Custom custom, std::span<const ByCaptured> captured) {
  if (captured.empty()) return follow_custom(custom);
  const size_t arguments = custom.inputs.size();
  std::vector<size_t> places;
  for (const ByCaptured& each : captured) {
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
                   const Forward& forward, const Backward& backward, Captured which) {
  Followed run(arguments, function, forward, which);
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
  return follow_with_captured({.inputs = {arguments.begin(), arguments.end()},
                               .residuals = std::move(run.residuals),
                               .results = std::move(run.results),
                               .backward = pull,
                               .forward = push},
                              run.captured);
}

Tensors follow_jvp(std::span<const Tensor> arguments, const TensorFunction& function,
                   const Along& along, Captured which) {
  const auto forward = [&](auto given) { return std::pair(function(given), Tensors()); };
  Followed run(arguments, function, forward, which);
  const std::vector<OperandType> argument_types = types_of(arguments);
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
  const Tensors inputs(arguments.begin(), arguments.end());
  return follow_with_captured({.inputs = inputs,
                               .residuals = inputs,
                               .results = std::move(run.results),
                               .backward = pull,
                               .forward = push},
                              run.captured);
}

}  // namespace plait::customs
