// Connectionist temporal classification. A target of labels l has the states blank, l₀, blank, l₁,
// …, blank. A path stays in its state, moves to the next one, or skips a blank between two
// different labels. The loss sums over the paths that end in the last blank or the last label.
#include <limits>
#include <string_view>
#include <vector>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/elementwise/special.h"
#include "plait/ops/indexing/at.h"
#include "plait/ops/indexing/gather.h"
#include "plait/ops/inside/lattice.h"
#include "plait/ops/inside/neural/loss_parts.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/scan.h"

namespace plait {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

void check_ctc(const Tensor& logs, const Tensor& targets, const Tensor& input_lengths,
               const Tensor& target_lengths, const CtcOptions& options) {
  const size_t rank = logs.rank();
  const bool fits = (rank == 3 && (targets.rank() == 1 || targets.rank() == 2)) ||
                    (rank == 2 && targets.rank() == 1);
  if (!fits || (targets.rank() == 2 && differ(targets.shape(0), logs.shape(1)))) {
    throw ShapeError("ctc_loss: the targets {} do not match {}", targets.type().text(),
                     logs.type().text())
        .at(Location::of_caller())
        .hint("expected [steps, batch, classes] and [batch, length], or both without the batch");
  }
  for (const Tensor* x : {&targets, &input_lengths, &target_lengths}) {
    if (is_integer(x->dtype())) continue;
    throw TypeError("ctc_loss: an operand is {}, expected integers", x->type().text())
        .at(Location::of_caller());
  }
  const Dim classes = logs.shape(-1);
  if (options.blank < 0 || (classes.is_number() && options.blank >= classes.number())) {
    throw IndexError("ctc_loss: the blank {} is not a class of {}", options.blank,
                     logs.type().text())
        .at(Location::of_caller());
  }
}

// Converts concatenated targets to [batch, length].
Tensor target_rows(const Tensor& targets, const Tensor& lengths) {
  if (lengths.is_traced()) {
    throw ValueError("ctc_loss: the lengths of the targets in {} depend on its elements",
                     targets.type().text())
        .at(Location::of_caller())
        .hint("pass them as [batch, length]");
  }
  const int64_t longest = same(lengths.shape(0), Dim(0)) ? 0 : max(lengths).item<int64_t>();
  const Tensor begin = expand_dims(cumsum(lengths, 0) - lengths, 1), place = iota(longest);
  const Tensor is_used = place < expand_dims(lengths, 1);
  return targets[where(is_used, begin + place, 0)];
}

// For each sample of x[batch, …], the elements at its indices along the other axes.
Tensor rows_at(const Tensor& x, const std::vector<Tensor>& indices) {
  GatherAttributes places{.batch = 1};
  for (size_t i = 0; i < indices.size(); ++i) {
    places.axes.push_back(static_cast<int64_t>(i) + 1);
  }
  return gather_rows(x, indices, places);
}

// The class of each state: [batch, 2 · length + 1].
Tensor classes_of_states(const Tensor& targets, const Tensor& lengths, Dim classes, int64_t blank) {
  const Dim batch = targets.shape(0), length = targets.shape(1);
  const Tensor labels = where(targets < 0, classes, targets);
  const Tensor is_used = iota(length) < expand_dims(lengths, 1);
  const Tensor pairs[] = {full({batch, length}, blank, DType::i64), where(is_used, labels, blank)};
  const Tensor parts[] = {reshape(stack(pairs, 2), {batch, length * 2}),
                          full({batch, 1}, blank, DType::i64)};
  return concat(parts, 1);
}

// The logarithm of the sum over all paths to each state at each step: [batch, steps, states].
Tensor sums_of_paths(const Tensor& logs, const Tensor& states) {
  const Tensor emitted = swapaxes(rows_at(permute_dims(logs, {1, 2, 0}), {states}), 1, 2);
  const Tensor second = shifted(shifted(states, 1, false, -1), 1, false, -1);
  const Tensor may_skip = expand_dims(states != second, 1);
  const Tensor is_first_step = expand_dims(iota(logs.shape(0)) == 0, 1);
  const Tensor begins = is_first_step & (iota(states.shape(1)) < 2);
  return lattice_logsumexp({emitted, emitted, where(may_skip, emitted, kImpossible),
                            where(begins, emitted, kImpossible)});
}

// The losses, [batch]. An invalid length is converted to an index out of range, which throws
// IndexError.
Tensor losses_of_paths(const Tensor& logs, const Tensor& states, const Tensor& input_lengths,
                       const Tensor& target_lengths) {
  const Tensor sums = sums_of_paths(logs, states);
  const auto named = [](const Tensor& place, const Tensor& length, Dim outside) {
    return where(length < 0, outside, maximum(place, 0));
  };
  const Tensor step = named(input_lengths - 1, input_lengths, logs.shape(0));
  const auto at = [&](const Tensor& state) {
    return rows_at(sums, {step, named(state, target_lengths, states.shape(1))});
  };
  const Tensor is_empty = target_lengths == 0;
  const Tensor last_blank = at(target_lengths * 2);
  const Tensor last_label = where(is_empty, kImpossible, at(target_lengths * 2 - 1));
  const Tensor of_no_steps = where(is_empty, 0.0, kImpossible);
  return -where(input_lengths == 0, astype(of_no_steps, sums.dtype()),
                logaddexp(last_blank, last_label));
}

}  // namespace

Tensor ctc_loss(const Tensor& log_probabilities, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CtcOptions& options) {
  const Call call("ctc_loss", log_probabilities, targets, input_lengths, target_lengths);
  const LossNumbers numbers({&log_probabilities});
  check_ctc(log_probabilities, targets, input_lengths, target_lengths, options);
  const bool is_batch = log_probabilities.rank() == 3;
  const auto batched = [&](const Tensor& x, int64_t axis) {
    return is_batch ? x : expand_dims(x, axis);
  };
  const Tensor logs = batched(numbers.of(log_probabilities), 1);
  const Shape batch{logs.shape(1)};
  const auto lengths_of = [&](std::string_view what, const Tensor& x) {
    const Tensor beside = indices_beside(log_probabilities, x);
    return broadcast_to_shape(what, astype(beside, DType::i64), batch);
  };
  const Tensor steps = lengths_of("input_lengths", input_lengths);
  const Tensor lengths = lengths_of("target_lengths", target_lengths);
  const Tensor given = batched(astype(targets, DType::i64), 0);
  const Tensor rows = given.rank() == 2 ? given : target_rows(given, lengths);
  const Tensor states = classes_of_states(rows, lengths, logs.shape(2), options.blank);
  Tensor losses = losses_of_paths(logs, states, steps, lengths);
  if (options.zero_infinity) losses = where(losses == -kImpossible, 0, losses);
  if (options.reduction == Reduction::mean) losses = losses / maximum(lengths, 1);
  if (!is_batch && options.reduction != Reduction::batchmean) losses = squeeze(losses, 0);
  return numbers.reduced(losses, options.reduction);
}

}  // namespace plait
