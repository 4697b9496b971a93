#include <cstdio>

#include <plait/plait.h>

using namespace plait;

struct Model {
  nn::Linear hidden = nn::Linear::init(random::draw_key(), 2, 32);
  nn::Linear output = nn::Linear::init(random::draw_key(), 32, 2);
  Tensor operator()(const Tensor& x) const { return output(relu(hidden(x))); }
};
using Adam = optim::Adam<Model>;

Tensor loss_of(const Model& model, const Tensor& x, const Tensor& y) {
  return nn::cross_entropy(model(x), y);
}

std::tuple<Tensor, Model, Adam> step(const Model& model, const Adam& adam, const Tensor& x,
                                     const Tensor& y) {
  const auto [loss, gradients] = value_and_grad(loss_of)(model, x, y);
  return std::tuple_cat(std::tuple(loss), adam.update(model, gradients));
}

int main() {
  const Tensor points = random::uniform(random::key(0), {512, 2}, -1., 1.);
  const Tensor labels = astype(sum(square(points), 1) < 0.5, DType::i64);
  Model model;
  Adam adam(model, {.lr = 0.01});
  Tensor loss;
  const auto jitted = jit(step);
  for (int i = 0; i < 300; ++i) std::tie(loss, model, adam) = jitted(model, adam, points, labels);
  std::printf("loss %.3f\n", loss.item<double>());
}
