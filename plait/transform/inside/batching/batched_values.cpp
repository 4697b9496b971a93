#include "plait/transform/inside/batching/batched_values.h"

#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/arrays/to_device.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"

namespace plait {

Shape without_first(const Shape& shape) { return Shape(shape.dims().subspan(1)); }

Shape with_first(Dim first, const Shape& shape) {
  Shape all{first};
  for (const Dim dim : shape) all.append(dim);
  return all;
}

std::vector<BatchedValue> values_of(std::span<const Tensor> tensors, bool are_batched) {
  std::vector<BatchedValue> values;
  for (const Tensor& tensor : tensors) values.push_back({tensor, are_batched});
  return values;
}

std::vector<BatchedValue> with_flags(std::span<const Tensor> tensors,
                                     const std::vector<bool>& flags) {
  std::vector<BatchedValue> values;
  for (size_t i = 0; i < tensors.size(); ++i) values.push_back({tensors[i], flags[i]});
  return values;
}

std::vector<Tensor> tensors_in(std::span<const BatchedValue> values) {
  std::vector<Tensor> tensors;
  for (const BatchedValue& value : values) tensors.push_back(value.tensor);
  return tensors;
}

std::vector<bool> flags_of(std::span<const BatchedValue> values) {
  std::vector<bool> flags;
  for (const BatchedValue& value : values) flags.push_back(value.is_batched);
  return flags;
}

Tensor of_all_samples(const BatchedValue& value, Dim samples) {
  if (value.is_batched) return value.tensor;
  return broadcast_to(value.tensor, with_first(samples, value.tensor.shape()));
}

Tensor beside(const Tensor& x, const Tensor& other) {
  const auto is_known = [](const Tensor& each) {
    return !each.is_traced() || each.traced().knows_device;
  };
  const bool moves = is_known(x) && is_known(other) && x.device() != other.device();
  return moves ? to_device(x, other.device()) : x;
}

Tensor as_rows(const Tensor& truth, const Tensor& like) {
  Shape shape{truth.shape(0)};
  while (shape.rank() < like.rank()) shape.append(1);
  return reshape(beside(truth, like), shape);
}

std::vector<BatchedValue> picked_for(std::span<const BatchedValue> values, const Tensor& who,
                                     Dim samples) {
  const bool is_everyone = same(who.shape(0), samples);
  std::vector<BatchedValue> theirs;
  for (const BatchedValue& value : values) {
    const bool is_picked = value.is_batched && !is_everyone;
    theirs.push_back({is_picked ? take(value.tensor, beside(who, value.tensor), 0) : value.tensor,
                      value.is_batched});
  }
  return theirs;
}

std::vector<BatchedValue> filled(std::span<const Tensor> tensors,
                                 const std::vector<bool>& are_batched, const Tensor& there) {
  if (same(there.shape(0), Dim(0))) return with_flags(tensors, are_batched);
  const Tensor first = argmax(astype(there, DType::i32));
  std::vector<BatchedValue> values;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& x = tensors[i];
    if (!are_batched[i]) {
      values.push_back({x, false});
      continue;
    }
    const Tensor taken = take(x, beside(first, x), 0);
    const Tensor copy = is_key(x.dtype()) ? taken : stop_gradient(taken);
    values.push_back({where(as_rows(there, x), x, expand_dims(copy, 0)), true});
  }
  return values;
}

Tensor blank(const Shape& shape, DType dtype) {
  return is_key(dtype) ? broadcast_to(random::key(0), shape) : zeros(shape, dtype);
}

}  // namespace plait
