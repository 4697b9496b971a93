// Branches and loops on tensors, on trees of them. Without a trace they run as the code says; in a
// trace they become instructions, and their derivatives others.
//
//   y = cond(x > 0, [](Tensor x) { return log(x); }, [](Tensor x) { return 0 * x; }, x);
//   z = while_loop([](Tensor x) { return x < 100; }, [](Tensor x) { return x * x; }, x);
//   auto [h, all] = scan([&](Tensor h, Tensor x) { return std::pair(cell(h, x), h); }, h0, xs);
//
// Functions may capture tensors. What branches give must be of one type. What a loop carries must
// keep its type, but that a while loop may change the sizes:
//
//   total = while_loop([](Tensor x) { return x.shape(0) > 1; }, [](Tensor x) { return halves(x); },
//   x);
#pragma once

#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "plait/core/sizes/size_facts.h"
#include "plait/core/trees/tree.h"
#include "plait/tensor/tensor.h"

namespace plait {

// Of a loop whose reverse derivative keeps what is carried at some steps only, and computes the
// steps between again. With nothing said, of n steps √n are kept.
struct Checkpoints {
  std::optional<int64_t> every = {};   // so many steps
  std::optional<int64_t> memory = {};  // bytes for what is carried, of a known number of steps
};

struct ScanOptions {
  std::optional<Dim> length = {};  // needed where nothing is stacked
  bool reverse = false;            // from the last to the first
  std::optional<Checkpoints> checkpoints = {};
  int64_t unroll = 1;  // so many steps are one of the loop in a program
};
struct LoopOptions {
  std::optional<Checkpoints> checkpoints = {};
};

// Whether that is so, as a bool[]: in a trace it is told when it runs.
Tensor holds(const SizeFact& fact);

namespace control {

using Tensors = std::vector<Tensor>;

Tensors cond(const Tensor& predicate, const TensorFunction& then, const TensorFunction& otherwise,
             std::span<const Tensor> operands);
Tensors switch_(const Tensor& index, const std::vector<TensorFunction>& branches,
                std::span<const Tensor> operands);
Tensors while_loop(const TensorFunction& test, const TensorFunction& body,
                   std::span<const Tensor> initial, const LoopOptions& options = {});
// The body takes carries and slices, and gives carries and what is stacked.
Tensors scan(const TensorFunction& body, std::span<const Tensor> initial,
             std::span<const Tensor> stacked, const ScanOptions& options);
Tensor numbers(Dim first, Dim end);  // i64, from the first to before the end

inline Tensor truth_of(const Tensor& truth) { return truth; }
inline Tensor truth_of(const SizeFact& fact) { return holds(fact); }

}  // namespace control

// One of two functions of the operands, chosen by a bool[].
template <class F, class G, class... Operands>
auto cond(const Tensor& predicate, const F& then, const G& otherwise, const Operands&... operands) {
  const std::tuple all(operands...);
  std::optional<decltype(then(operands...))> structure;
  const auto first = [&](std::span<const Tensor> given) {
    auto result = std::apply(then, with_tensors(all, given));
    control::Tensors leaves = tensors_of(result);
    structure.emplace(std::move(result));
    return leaves;
  };
  const auto second = [&](std::span<const Tensor> given) {
    decltype(then(operands...)) result = std::apply(otherwise, with_tensors(all, given));
    control::Tensors leaves = tensors_of(result);
    if (!structure) structure.emplace(std::move(result));
    return leaves;
  };
  const control::Tensors results = control::cond(predicate, first, second, tensors_of(all));
  return with_tensors(std::move(*structure), results);
}

template <class F, class G, class... Operands>
auto cond(const SizeFact& fact, const F& then, const G& otherwise, const Operands&... operands) {
  return cond(holds(fact), then, otherwise, operands...);
}

// One of several functions of the operands, chosen by a whole number; IndexError where there is
// none of that number.
template <class F, class... Operands>
auto switch_(const Tensor& index, const std::vector<F>& branches, const Operands&... operands) {
  const std::tuple all(operands...);
  std::optional<decltype(branches[0](operands...))> structure;
  std::vector<TensorFunction> on_leaves;
  for (const F& branch : branches) {
    on_leaves.push_back([&](std::span<const Tensor> given) {
      structure.emplace(std::apply(branch, with_tensors(all, given)));
      return tensors_of(*structure);
    });
  }
  const control::Tensors results = control::switch_(index, on_leaves, tensors_of(all));
  return with_tensors(std::move(*structure), results);
}

// The body of what it gives, for as long as the test, a bool[] or a fact about sizes, says so.
template <class Test, class Body, class Carry>
Carry while_loop(const Test& test, const Body& body, const Carry& initial,
                 const LoopOptions& options = {}) {
  const auto test_on_leaves = [&](std::span<const Tensor> given) {
    return control::Tensors{control::truth_of(test(with_tensors(initial, given)))};
  };
  const auto body_on_leaves = [&](std::span<const Tensor> given) {
    return tensors_of(static_cast<Carry>(body(with_tensors(initial, given))));
  };
  return with_tensors(
      initial, control::while_loop(test_on_leaves, body_on_leaves, tensors_of(initial), options));
}

// body(carry, slice) gives the next carry and something to stack, for each slice along the first
// axis of what is stacked; the last carry, and all that was stacked.
template <class Body, class Carry, class Stacked>
auto scan(const Body& body, const Carry& initial, const Stacked& stacked,
          const ScanOptions& options = {}) {
  using Step = decltype(body(initial, stacked));
  std::optional<Step> structure;
  const size_t carries = leaf_count(initial);
  const auto on_leaves = [&](std::span<const Tensor> given) {
    structure.emplace(body(with_tensors(initial, given.first(carries)),
                           with_tensors(stacked, given.subspan(carries))));
    return tensors_of(*structure);
  };
  const control::Tensors results =
      control::scan(on_leaves, tensors_of(initial), tensors_of(stacked), options);
  return with_tensors(std::move(*structure), results);
}

// body(i, carry) for i from `first` to before `end`.
template <class Body, class Carry>
Carry for_loop(Dim first, Dim end, const Body& body, const Carry& initial,
               const LoopOptions& options = {}) {
  const auto step = [&](const Carry& carry, const Tensor& i) {
    return std::pair(static_cast<Carry>(body(i, carry)), std::tuple<>());
  };
  return scan(step, initial, control::numbers(first, end), {.checkpoints = options.checkpoints})
      .first;
}

// f of each slice along the first axis, one after the other.
template <class F, class Stacked>
auto map(const F& f, const Stacked& stacked, const ScanOptions& options = {}) {
  const auto step = [&](const std::tuple<>& nothing, const Stacked& slice) {
    return std::pair(nothing, f(slice));
  };
  return scan(step, std::tuple<>(), stacked, options).second;
}

}  // namespace plait
