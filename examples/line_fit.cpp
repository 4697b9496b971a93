#include <cstdio>

#include <plait/plait.h>

using namespace plait;

struct Line {
  Tensor slope = zeros({});
  Tensor offset = zeros({});
  Tensor operator()(const Tensor& x) const { return slope * x + offset; }
};
using SGD = optim::SGD<Line>;

Tensor loss_of(const Line& line, const Tensor& x, const Tensor& y) {
  return mean(square(line(x) - y));
}

std::tuple<Tensor, Line, SGD> step(const Line& line, const SGD& sgd, const Tensor& x,
                                   const Tensor& y) {
  const auto [loss, gradients] = value_and_grad(loss_of)(line, x, y);
  return std::tuple_cat(std::tuple(loss), sgd.update(line, gradients));
}

int main() {
  const Tensor x = tensor<float>({0, 1, 2, 3});
  const Tensor y = 2. * x + 1.;
  Line line;
  SGD sgd(line, {.lr = 0.1});
  Tensor loss;
  const auto jitted = jit(step);
  for (int i = 0; i < 300; ++i) std::tie(loss, line, sgd) = jitted(line, sgd, x, y);
  const auto slope = line.slope.item<double>(), offset = line.offset.item<double>();
  std::printf("%.2f x + %.2f\n%s\n", slope, offset, stats(jitted).text().c_str());
}
