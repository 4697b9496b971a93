// PyTorch's side of the C++ cases of compare.py.
#include <torch/torch.h>

#include "eager_protocol.h"

int main(int count, char** arguments) {
  const torch::Tensor small = torch::full({16}, 1e-3F);
  const torch::Tensor one = torch::ones({16}).requires_grad_();
  const auto sums = [&] {
    const torch::NoGradGuard no_grad;
    torch::Tensor y = small;
    for (int i = 0; i < kSums; ++i) y = y + small;
    return y.sum().item<double>();
  };
  const auto gradient = [&] {
    torch::Tensor y = one;
    for (int i = 0; i < kProducts; ++i) y = y * one;
    return torch::autograd::grad({y.sum()}, {one})[0].sum().item<double>();
  };
  return answer({{kAdd, 1 / 2.5, kSums, sums}, {kGradient, 1 / 2.5, kProducts, gradient}}, count,
                arguments);
}
