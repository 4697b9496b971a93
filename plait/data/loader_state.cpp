#include "plait/data/loader_state.h"

#include "plait/core/error.h"

namespace plait::data {
namespace {

Array integers_of(std::string_view name, const Tensor& tensor, size_t rank) {
  const Array& array = tensor.array();
  if (is_integer(array.dtype()) && array.rank() == rank) return array.on_host().contiguous();
  throw TypeError("the {} of a loader's state is {}, expected integers of rank {}", name,
                  tensor.type().text(), rank);
}

int64_t integer_of(std::string_view name, const Tensor& tensor) {
  return integers_of(name, tensor, 0).converted(DType::i64).elements<int64_t>()[0];
}

std::vector<int64_t> list_of(std::string_view name, const Tensor& tensor) {
  const Array array = integers_of(name, tensor, 1).converted(DType::i64);
  const auto numbers = array.elements<int64_t>();
  return {numbers.begin(), numbers.end()};
}

Tensor tensor_of(const std::vector<int64_t>& numbers) {
  return Tensor(Array::of(std::span(numbers), {static_cast<int64_t>(numbers.size())}));
}

}  // namespace

LoaderTensors tensors_of(const LoaderState& state) {
  const auto tensor = [](auto number) { return Tensor(Array::of(number)); };
  return {.seed = tensor(state.seed),
          .epoch = tensor(state.epoch),
          .place = tensor(state.place),
          .size = tensor(state.size),
          .done = tensor_of(state.done),
          .source = tensor_of(state.source),
          .division = tensor_of(state.division)};
}

LoaderState state_of(const LoaderTensors& tensors) {
  const Array seed = integers_of("seed", tensors.seed, 0).converted(DType::u64);
  return {.seed = seed.elements<uint64_t>()[0],
          .epoch = integer_of("epoch", tensors.epoch),
          .place = integer_of("place", tensors.place),
          .size = integer_of("size", tensors.size),
          .done = list_of("done", tensors.done),
          .source = list_of("source", tensors.source),
          .division = list_of("division", tensors.division)};
}

}  // namespace plait::data
