// Control flow on tensors and on trees of tensors. Outside of a trace it runs as ordinary host
// code; in a trace it is recorded as instructions, and so are its derivatives.
//
//   y = cond(x > 0, [](Tensor x) { return log(x); }, [](Tensor x) { return 0 * x; }, x);
//   z = while_loop([](Tensor x) { return x < 100; }, [](Tensor x) { return x * x; }, x);
//   auto [h, all] = scan([&](Tensor h, Tensor x) { return std::pair(cell(h, x), h); }, h0, xs);
//
// Functions may capture tensors. All branches must return the same types. A loop must keep the
// types of its carries, except that a while loop may change their sizes:
//
//   const auto is_long = [](Tensor x) { return x.shape(0) > 1; };
//   total = while_loop(is_long, [](Tensor x) { return halves(x); }, x);
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

// Checkpointing of a loop: its reverse derivative stores the carries of some steps only, and
// recomputes the steps between. By default √n of n steps are stored.
struct Checkpoints {
  std::optional<int64_t> every = {};   // distance of checkpoints, in steps
  std::optional<int64_t> memory = {};  // bytes for carries; needs a known number of steps
};

struct ScanOptions {
  std::optional<Dim> length = {};  // needed if nothing is stacked
  bool reverse = false;            // from the last step to the first
  std::optional<Checkpoints> checkpoints = {};
  int64_t unroll = 1;  // steps of the body in one step of the recorded loop
};
struct LoopOptions {
  std::optional<Checkpoints> checkpoints = {};
};

// Returns the truth of the fact as a bool[]. In a trace it is computed when the program runs.
Tensor holds(const SizeFact& fact);

namespace control {

using Tensors = std::vector<Tensor>;

Tensors cond(const Tensor& predicate, const TensorFunction& then, const TensorFunction& otherwise,
             std::span<const Tensor> operands);
Tensors switch_(const Tensor& index, const std::vector<TensorFunction>& branches,
                std::span<const Tensor> operands);
Tensors while_loop(const TensorFunction& test, const TensorFunction& body,
                   std::span<const Tensor> initial, const LoopOptions& options = {});
// The body maps carries and slices to carries and outputs; outputs are stacked.
Tensors scan(const TensorFunction& body, std::span<const Tensor> initial,
             std::span<const Tensor> stacked, const ScanOptions& options);
Tensor numbers(Dim first, Dim end);  // i64: first, first + 1, …, end - 1

inline Tensor truth_of(const Tensor& truth) { return truth; }
inline Tensor truth_of(const SizeFact& fact) { return holds(fact); }

}  // namespace control

// Runs `then` if the predicate, a bool[], is true, else `otherwise`.
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

// Runs the branch with this index, an integer. IndexError if it is out of range.
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

// Repeats the body on its own result while the test, a bool[] or a size fact, is true.
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

// body(carry, slice) returns the next carry and an output, for each slice along the first axis of
// the stacked inputs. Returns the last carry and the stacked outputs.
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

// Runs carry = body(i, carry) for i = first, …, end - 1.
template <class Body, class Carry>
Carry for_loop(Dim first, Dim end, const Body& body, const Carry& initial,
               const LoopOptions& options = {}) {
  const auto step = [&](const Carry& carry, const Tensor& i) {
    return std::pair(static_cast<Carry>(body(i, carry)), std::tuple<>());
  };
  return scan(step, initial, control::numbers(first, end), {.checkpoints = options.checkpoints})
      .first;
}

// Applies f to each slice along the first axis, one after the other, and stacks the results.
template <class F, class Stacked>
auto map(const F& f, const Stacked& stacked, const ScanOptions& options = {}) {
  const auto step = [&](const std::tuple<>& nothing, const Stacked& slice) {
    return std::pair(nothing, f(slice));
  };
  return scan(step, std::tuple<>(), stacked, options).second;
}

}  // namespace plait
