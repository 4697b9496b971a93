// Helpers of layers.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "plait/tensor/tensor.h"

namespace plait::nn {

struct Weights {
  Tensor weight;
  std::optional<Tensor> bias;
};

// ShapeError for several keys: the weights of a layer are drawn with one.
void expect_one_key(const Tensor& key);
// `count` keys of one.
Tensor keys_of(const Tensor& key, Dim count);

// PyTorch's default: weight and bias are uniform in ±1/√fan-in. Without outputs there is no bias.
Weights weights_of(const Tensor& key, const Shape& shape, std::optional<Dim> outputs, DType dtype);

// ValueError for a negative size.
void expect_sizes(std::span<const int64_t> sizes, std::string_view what);
void expect_sizes(std::initializer_list<int64_t> sizes, std::string_view what);

// One of three functions, by the number of spatial dimensions.
template <size_t rank, class Result, class... Arguments>
Result of_rank(Result (*one)(Arguments...), Result (*two)(Arguments...),
               Result (*three)(Arguments...), const std::type_identity_t<Arguments>&... arguments) {
  static_assert(rank >= 1 && rank <= 3);
  return (rank == 1 ? one : rank == 2 ? two : three)(arguments...);
}

// The operations take an empty tensor for a missing weight.
Tensor or_empty(const std::optional<Tensor>& tensor);

}  // namespace plait::nn
