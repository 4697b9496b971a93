#include "plait/transform/inside/forms/loops/checkpointed.h"

#include <algorithm>
#include <cmath>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/transform/derivatives/remat.h"
#include "plait/transform/inside/derivatives/tensor_lists.h"

namespace plait::control {
namespace {

void expect_positive(const Checkpoints& checkpoints) {
  if (!checkpoints.every || *checkpoints.every > 0) return;
  throw ValueError("checkpoints: every {} steps, expected 1 or more", *checkpoints.every)
      .at(Location::of_caller());
}

int64_t bytes_of(std::span<const Tensor> carries) {
  int64_t bytes = 0;
  for (const Tensor& carry : carries) {
    const Dim count = carry.shape().element_count();
    if (!count.is_number()) {
      throw ValueError("checkpoints: the size of a carry, {}, is not known here",
                       carry.type().text())
          .at(Location::of_caller())
          .hint("pass the number of steps between them: every");
    }
    bytes += count.number() * size_of(carry.dtype());
  }
  return bytes;
}

// Number of steps in a piece.
int64_t piece_of(Dim length, std::span<const Tensor> initial, const Checkpoints& checkpoints) {
  expect_positive(checkpoints);
  if (checkpoints.every) return *checkpoints.every;
  if (!length.is_number()) {
    throw ValueError("checkpoints: the number of steps, {}, is not known here", length.text())
        .at(Location::of_caller())
        .hint("pass the number of steps between them: every");
  }
  const int64_t steps = std::max<int64_t>(length.number(), 1);
  const auto root = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(steps))));
  if (!checkpoints.memory) return root;
  // Stored carries: one set for each piece, and one for each step of the current piece.
  const int64_t each = bytes_of(initial);
  const auto needed = [&](int64_t piece) { return ((steps + piece - 1) / piece + piece) * each; };
  for (int64_t piece = 1; piece <= root; ++piece) {
    if (needed(piece) <= *checkpoints.memory) return piece;
  }
  throw ValueError(
      "checkpoints: {} bytes are too few for {} steps that carry {} bytes, which need {}",
      *checkpoints.memory, steps, each, needed(root))
      .at(Location::of_caller());
}

}  // namespace

Shape with_rows(Shape rows, const Tensor& x, size_t dropped) {
  for (size_t i = dropped; i < x.rank(); ++i) rows.append(x.shape()[i]);
  return rows;
}

// Pieces have a given length, or each is one step longer than the one before: then n steps form
// about √(2 n) pieces, for any n.
Tensors checkpointed_while(const TensorFunction& test, const TensorFunction& body,
                           std::span<const Tensor> initial, const Checkpoints& checkpoints) {
  expect_positive(checkpoints);
  const bool grows = !checkpoints.every;
  const size_t count = initial.size();
  const auto going_on = [&](std::span<const Tensor> given) { return test(given.first(count)); };
  // Behind the carries: the length of this piece, and the number of its steps that are done.
  const auto in_piece = [&](std::span<const Tensor> given) {
    return Tensors{logical_and(test(given.first(count)).at(0), given[count + 1] < given[count])};
  };
  const auto step = [&](std::span<const Tensor> given) {
    return joined({body(given.first(count)), std::vector{given[count], given[count + 1] + 1}});
  };
  const auto piece = [&](std::span<const Tensor> given) {
    Tensors carries = joined({given, std::vector{full({}, 0, DType::i64)}});
    carries = control::while_loop(in_piece, step, carries);
    carries.pop_back();
    if (grows) carries.back() = carries.back() + 1;
    return carries;
  };
  const auto again = [&](std::span<const Tensor> given) {
    return remat_tensors(piece, given, save_nothing());
  };
  const Tensor length = full({}, checkpoints.every.value_or(1), DType::i64);
  Tensors carries = control::while_loop(going_on, again, joined({initial, {&length, 1}}));
  carries.pop_back();
  return carries;
}

Tensors checkpointed_scan(const TensorFunction& body, std::span<const Tensor> initial,
                          std::span<const Tensor> stacked, Dim length, bool reverse,
                          const Checkpoints& checkpoints) {
  const int64_t steps = piece_of(length, initial, checkpoints);
  const Dim pieces = floor_div(length, steps), whole = pieces * steps, rest = length - whole;
  Tensors in_pieces, left;
  for (const Tensor& each : stacked) {
    in_pieces.push_back(
        reshape(slice_axis(each, 0, 0, whole), with_rows(Shape{pieces, steps}, each, 1)));
    left.push_back(slice_axis(each, 0, whole, rest));
  }
  const size_t count = initial.size();
  const auto piece = [&](std::span<const Tensor> given) {
    return remat_tensors(
        [&](std::span<const Tensor> now) {
          return control::scan(body, now.first(count), now.subspan(count), {Dim(steps), reverse});
        },
        given, save_nothing());
  };
  const auto run_pieces = [&](std::span<const Tensor> carries) {
    return control::scan(piece, carries, in_pieces, {pieces, reverse});
  };
  const auto run_rest = [&](std::span<const Tensor> carries) {
    return control::scan(body, carries, left, {rest, reverse});
  };
  // The rest are the last steps; a reversed scan begins with them.
  const Tensors first = reverse ? run_rest(initial) : run_pieces(initial);
  const auto carried = std::span(first).first(count);
  const Tensors second = reverse ? run_pieces(carried) : run_rest(carried);
  Tensors results(second.begin(), second.begin() + static_cast<std::ptrdiff_t>(count));
  for (size_t i = count; i < second.size(); ++i) {
    const Tensor& chunked = reverse ? second[i] : first[i];
    const Tensor flat = reshape(chunked, with_rows(Shape{whole}, chunked, 2));
    results.push_back(concat(std::vector{flat, reverse ? first[i] : second[i]}, 0));
  }
  return results;
}

}  // namespace plait::control
