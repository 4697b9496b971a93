#include "plait/transform/inside/forms/loops/changing_while.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/at.h"
#include "plait/ops/indexing/take.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/transform/derivatives/follow.h"
#include "plait/transform/inside/batching/batched_values.h"
#include "plait/transform/inside/batching/varying.h"
#include "plait/transform/inside/derivatives/again.h"
#include "plait/transform/inside/derivatives/derived_functions.h"
#include "plait/transform/inside/derivatives/rule_levels.h"
#include "plait/transform/inside/derivatives/tangents.h"
#include "plait/transform/inside/derivatives/tensor_lists.h"

// A scan stacks the carries of all steps, which is impossible if sizes differ. Therefore the loop
// first counts its steps and elements. Then a History is recorded: the elements of each carry,
// concatenated over the steps, and the sizes of each step. The backward pass is a loop over the
// history from the end, whose own carries change their sizes. Everything is made of loops and
// operations, without records or recursion. So it can be differentiated again, batched, and
// evaluated in time and memory proportional to the number of steps.

namespace plait::control {
namespace {

Tensor number(Dim value) { return full({}, value, DType::i64); }

// Carries with equal numbers of elements share their offsets into the arrays.
struct Counts {
  std::vector<size_t> of_carry;  // the index of its count
  std::vector<size_t> first;     // one carry for each count

  explicit Counts(const StagedLoop& loop) {
    std::vector<Dim> known;
    for (size_t i = loop.constants; i < loop.types().size(); ++i) {
      const Dim count = loop.types()[i].shape().element_count();
      const auto place = std::ranges::find_if(known, is_same_as(count));
      of_carry.push_back(static_cast<size_t>(place - known.begin()));
      if (place != known.end()) continue;
      known.push_back(count);
      first.push_back(i - loop.constants);
    }
  }

  // Returns the number of elements for each count.
  std::vector<Dim> in(std::span<const Tensor> carries) const {
    std::vector<Dim> counts;
    for (const size_t carry : first) counts.push_back(carries[carry].shape().element_count());
    return counts;
  }
};

// Length of a history.
struct Length {
  Dim steps;
  std::vector<Dim> elements;  // for each count
};

class History {
 public:
  explicit History(const StagedLoop& loop) : loop_(loop), counts_(loop) {}

  // Returns for each carry its elements at the start of each step, then the changing sizes of each
  // step, and the sizes at the end.
  Tensors run(std::span<const Tensor> operands, const Length& length) const {
    Tensors all = record(operands, length);
    if (!is_followed(operands)) return all;
    const std::vector<bool> wanted = which_are_followed(operands);
    const std::vector<bool> inexact = which_are_inexact(all);
    const Tensors taken(operands.begin(), operands.end());
    return follow_custom(
        {.inputs = taken,
         .residuals = taken,
         .results = std::move(all),
         .backward =
             [self = *this, wanted](auto cotangents, const Node::Kept& kept) {
               const Tensors none(self.loop_.carries());
               return self.pull(self.loop_.body, kept.residuals, kept.results, wanted, none,
                                cotangents.first(self.loop_.carries()));
             },
         .forward =
             [self = *this, inexact](auto tangents, const Node::Kept& kept, uint64_t) {
               return spread(self.push(kept.residuals, tangents, self.length_of(kept.results)),
                             inexact);
             },
         .first_kept = 0});
  }

  // VJP through each step's body: takes the cotangents of the loop's results and of the history.
  Tensors pull(const StagedFunction& step_body, std::span<const Tensor> operands,
               std::span<const Tensor> history, const std::vector<bool>& wanted,
               std::span<const Tensor> of_results, std::span<const Tensor> of_history) const {
    const size_t constants = loop_.constants, carries = loop_.carries();
    std::vector<bool> moving(wanted);
    for (size_t i = 0; i < carries; ++i) moving[constants + i] = is_inexact(history[i].dtype());
    const std::vector<bool> moving_carries(moving.begin() + ptr(constants), moving.end());
    const Length length = length_of(history);
    const Tensor &sizes = history[carries], &ends = history[carries + 1];
    // The step and its offset in each array; sums for constants, cotangents of carries.
    Tensors state{number(length.steps)};
    for (const Dim count : length.elements) state.push_back(number(count));
    const size_t counters = state.size();
    for (size_t i = 0; i < constants; ++i) {
      if (moving[i]) state.push_back(zeros_of(OperandType(operands[i])));
    }
    const size_t summed = state.size() - counters;
    const std::vector<Shape> at_end = shapes_at(ends);
    for (size_t i = 0; i < carries; ++i) {
      if (!moving_carries[i]) continue;
      state.push_back(of_results[i] ? refined(of_results[i], at_end[i])
                                    : zeros(at_end[i], history[i].dtype()));
    }
    const auto test = [](std::span<const Tensor> given) { return Tensors{given[0] > 0}; };
    const auto step = [&](std::span<const Tensor> given) {
      const Tensor i = given[0] - 1;
      const std::vector<Shape> shapes = shapes_at(take(sizes, i, 0));
      Tensors next{i}, places;
      for (size_t c = 0; c < counts_.first.size(); ++c) {
        const Dim count = shapes[counts_.first[c]].element_count();
        next.push_back(given[1 + c] - count);
        places.push_back(next.back() + iota(count));
      }
      const auto at_step = [&](const Tensor& all, size_t carry) {
        return reshape(take(all, places[counts_.of_carry[carry]], 0), shapes[carry]);
      };
      Tensors arguments(operands.begin(), operands.begin() + ptr(constants));
      for (size_t k = 0; k < carries; ++k) arguments.push_back(at_step(history[k], k));
      const auto sums = given.subspan(counters, summed);
      const Tensors cotangents = spread(given.subspan(counters + summed), moving_carries);
      const auto body = [&](std::span<const Tensor> now) {
        Tensors results = step_body(now);
        for (size_t k = 0; k < carries; ++k) {
          if (cotangents[k]) results[k] = refined(results[k], cotangents[k].shape());
        }
        return results;
      };
      Tensors found = pulled(body, arguments, moving, cotangents);
      for (size_t k = 0; k < summed; ++k) found[k] = sum_of(sums[k], found[k]);
      for (size_t k = 0, place = summed; k < carries; ++k) {
        if (!moving_carries[k]) continue;
        if (of_history[k]) found[place] = found[place] + at_step(of_history[k], k);
        ++place;
      }
      return joined({next, found});
    };
    const Tensors found = control::while_loop(test, step, state);
    Tensors given = spread(std::span(found).subspan(counters), moving);
    for (size_t i = 0; i < given.size(); ++i) {
      if (!wanted[i]) given[i] = Tensor();
      if (given[i] && i >= constants) given[i] = refined(given[i], operands[i].shape());
    }
    return given;
  }

  const Counts& counts() const { return counts_; }

 private:
  Length length_of(std::span<const Tensor> history) const {
    Length length{history[loop_.carries()].shape(0), {}};
    for (const size_t carry : counts_.first) length.elements.push_back(history[carry].shape(0));
    return length;
  }

  // Shapes of the carries for these values of the changing sizes.
  std::vector<Shape> shapes_at(const Tensor& numbers) const {
    SymbolMap<Dim> sizes;
    for (size_t r = 0; r < loop_.sizes.size(); ++r) {
      const Tensor each = take(numbers, number(static_cast<int64_t>(r)), 0);
      sizes.set(loop_.sizes[r], Trace::current()->as_size(each));
    }
    std::vector<Shape> shapes;
    for (size_t i = loop_.constants; i < loop_.types().size(); ++i) {
      shapes.push_back(loop_.types()[i].substitute(sizes).shape());
    }
    return shapes;
  }

  Tensor sizes_of(std::span<const Tensor> carries) const {
    const auto types = std::span(loop_.types()).subspan(loop_.constants);
    Tensors numbers;
    for (const Dim size : sizes_shown(loop_.sizes, types, carries)) numbers.push_back(number(size));
    return stack(numbers);
  }

  Tensors record(std::span<const Tensor> operands, const Length& length) const {
    const size_t own = operands.size(), constants = loop_.constants, carries = loop_.carries();
    Tensors more;
    for (size_t i = 0; i < carries; ++i) {
      const ir::Type type = operands[constants + i].type();
      const Dim count = length.elements[counts_.of_carry[i]];
      more.push_back(as_varying_as(blank(Shape{count}, type.dtype()), type));
    }
    more.push_back(
        zeros(Shape{length.steps, static_cast<int64_t>(loop_.sizes.size())}, DType::i64));
    more.push_back(number(0));
    more.resize(more.size() + counts_.first.size(), number(0));
    const auto test = [&](std::span<const Tensor> given) {
      const Again again;
      return loop_.test(given.first(own));
    };
    const auto step = [&](std::span<const Tensor> given) {
      const Again again;
      const auto now = given.subspan(constants, carries), arrays = given.subspan(own, carries + 1);
      const Tensor& i = given[own + carries + 1];
      const auto begins = given.subspan(own + carries + 2);
      const std::vector<Dim> counts = counts_.in(now);
      Tensors places, next = loop_.body(given.first(own));
      for (size_t c = 0; c < counts.size(); ++c) places.push_back(begins[c] + iota(counts[c]));
      for (size_t k = 0; k < carries; ++k) {
        const size_t c = counts_.of_carry[k];
        next.push_back(arrays[k].at(places[c]).set(reshape(now[k], Shape{counts[c]})));
      }
      next.push_back(arrays.back().at(i).set(sizes_of(now)));
      next.push_back(i + 1);
      for (size_t c = 0; c < counts.size(); ++c) next.push_back(begins[c] + counts[c]);
      return next;
    };
    const Tensors found = record_while(loop_, test, step, joined({operands, more}));
    const auto last = std::span(found).first(carries);
    const Tensor ends = sizes_of(last);
    return joined({std::span(found).subspan(carries, carries + 1), {&ends, 1}});
  }

  // JVP: returns the tangents of the inexact arrays.
  Tensors push(std::span<const Tensor> operands, std::span<const Tensor> tangents,
               const Length& length) const {
    const LoopWithTangents moving = with_tangents(loop_, operands, tangents);
    const Tensors found = History(moving.loop).run(moving.operands, length);
    return {found.begin() + ptr(loop_.carries()), found.begin() + ptr(moving.loop.carries())};
  }

  StagedLoop loop_;
  Counts counts_;
};

// The same loop, computed as the rules in its body compute it, and without rules: what outer levels
// differentiate.
StagedLoop computing(const StagedLoop& loop) {
  StagedLoop found = loop;
  if (customs::has_rules(loop.body)) {
    found.body = stage(loop.body.function->name(), loop.types(), customs::without_rules(loop.body));
  }
  return found;
}

// A loop whose carries change their sizes, in a trace.
class ChangingWhile {
 public:
  explicit ChangingWhile(const StagedLoop& loop)
      : loop_(loop), computing_(computing(loop)), history_(computing_) {}

  Tensors run(std::span<const Tensor> operands) const { return run_counted(operands).results; }

 private:
  struct Counted {
    Tensors results;
    Tensors totals;  // the number of steps, and the number of elements for each count
  };

  Counted run_counted(std::span<const Tensor> operands) const {
    if (customs::are_several_levels(operands) && customs::has_rules(loop_.body)) {
      return run_by_levels(operands);
    }
    Counted found = record(operands);
    const Tensors taken(operands.begin(), operands.end());
    return {follow_custom(custom(taken, taken, found)), found.totals};
  }

  // The innermost level uses the rules in the body.
  Counted run_by_levels(std::span<const Tensor> operands) const {
    const customs::RuleLevels levels(operands);
    const Tensors outer = levels.outer(operands);
    const Counted found = ChangingWhile(computing_).run_counted(outer);
    return {customs::follow_with(custom(levels.inner(operands), outer, found),
                                 customs::seen_results(found.results)),
            found.totals};
  }

  Counted record(std::span<const Tensor> operands) const {
    const size_t own = operands.size(), carries = loop_.carries();
    const auto test = [&](std::span<const Tensor> given) { return loop_.test(given.first(own)); };
    const auto step = [&](std::span<const Tensor> given) {
      Tensors next = computing_.body(given.first(own));
      next.push_back(given[own] + 1);
      const auto totals = given.subspan(own + 1);
      const std::vector<Dim> counts = history_.counts().in(given.subspan(loop_.constants, carries));
      for (size_t c = 0; c < counts.size(); ++c) next.push_back(totals[c] + counts[c]);
      return next;
    };
    const Tensors none(1 + history_.counts().first.size(), number(0));
    const Tensors all = record_while(loop_, test, step, joined({operands, none}));
    const auto split = all.begin() + ptr(carries);
    return {{all.begin(), split}, {split, all.end()}};
  }

  Custom custom(const Tensors& inputs, const Tensors& operands, const Counted& found) const {
    const std::vector<bool> wanted = which_are_followed(inputs);
    const std::vector<bool> inexact = which_are_inexact(found.results);
    const std::vector<Shape> shapes = shapes_of(found.results);
    const size_t own = operands.size();
    return {
        .inputs = inputs,
        .residuals = joined({operands, found.totals}),
        .results = found.results,
        .backward =
            [self = *this, wanted, own](auto cotangents, const Node::Kept& kept) {
              return self.pull(kept.residuals.first(own), kept.residuals.subspan(own), wanted,
                               cotangents);
            },
        .forward =
            [self = *this, inexact, shapes, own](auto tangents, const Node::Kept& kept, uint64_t) {
              return refined(spread(self.push(kept.residuals.first(own), tangents), inexact),
                             shapes);
            }};
  }

  Tensors pull(std::span<const Tensor> operands, std::span<const Tensor> totals,
               const std::vector<bool>& wanted, std::span<const Tensor> cotangents) const {
    Length length;
    length.steps = Trace::current()->as_size(totals[0]);
    for (const Tensor& total : totals.subspan(1)) {
      length.elements.push_back(Trace::current()->as_size(total));
    }
    return history_.pull(loop_.body, operands, history_.run(operands, length), wanted, cotangents,
                         Tensors(loop_.carries()));
  }

  Tensors push(std::span<const Tensor> operands, std::span<const Tensor> tangents) const {
    const LoopWithTangents moving = with_tangents(loop_, operands, tangents);
    const Tensors found = stage_while(moving.loop, moving.operands);
    return {found.begin() + ptr(loop_.carries()), found.end()};
  }

  StagedLoop loop_, computing_;
  History history_;  // without rules
};

}  // namespace

Tensors follow_changing(const StagedLoop& loop, std::span<const Tensor> operands) {
  for (const ir::Type& type : std::span(loop.types()).subspan(loop.constants)) {
    if (type.is_array()) continue;
    throw TypeError("while: {} cannot be differentiated in a trace where sizes change", type.text())
        .at(Location::of_caller())
        .hint("take the derivative outside of the trace");
  }
  return ChangingWhile(loop).run(operands);
}

}  // namespace plait::control
