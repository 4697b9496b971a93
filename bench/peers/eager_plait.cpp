// Plait's side of the C++ cases of compare.py.
#include "plait/ops/arrays/create.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/transform/derivatives/grad.h"

#include "bench/peers/eager_protocol.h"

using plait::Tensor;

int main(int count, char** arguments) {
  const Tensor small = plait::tensor(std::vector<float>(16, 1e-3F), {16});
  const Tensor one = plait::tensor(std::vector<float>(16, 1), {16});
  const auto sums = [&] {
    Tensor y = small;
    for (int i = 0; i < kSums; ++i) y = y + small;
    return plait::sum(y).item<double>();
  };
  const auto loss = [](const Tensor& x) {
    Tensor y = x;
    for (int i = 0; i < kProducts; ++i) y = y * x;
    return plait::sum(y);
  };
  const auto gradient = [&] { return plait::sum(plait::grad(loss)(one)).item<double>(); };
  return answer({{kAdd, 1 / 2.5, kSums, sums}, {kGradient, 1 / 2.5, kProducts, gradient}}, count,
                arguments);
}
