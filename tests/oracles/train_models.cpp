#include "tests/oracles/train_models.h"

#include <map>
#include <tuple>
#include <vector>

#include "plait/io/npz.h"
#include "plait/optim/adam.h"
#include "plait/optim/sgd.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/jit.h"

#include "examples/models/gpt.h"
#include "examples/models/training.h"
#include "examples/models/vit.h"

namespace plait {
namespace {

using models::loss_of, models::step;
using Arrays = std::map<std::string, Array>;

// Alternates between eager and jitted steps.
template <class Model, class Optimizer>
void train(Model model, Optimizer optimizer, int steps, const Tensor& x, const Tensor& y,
           Arrays& results) {
  const auto jitted = jit(step<Model, Optimizer>, {.donate = {0, 1}});
  std::vector<double> losses;
  for (int i = 0; i < steps; ++i) {
    Tensor loss;
    if (i % 2 == 0) {
      std::tie(model, optimizer, loss) = step(model, optimizer, x, y);
    } else {
      std::tie(model, optimizer, loss) = jitted(std::move(model), std::move(optimizer), x, y);
    }
    losses.push_back(loss.item<double>());
  }
  results["losses"] = Array::of(std::span<const double>(losses), {steps});
  for_each_leaf(std::as_const(model), [&](std::string_view path, const Tensor& weight) {
    results[std::string(path)] = weight.array();
  });
}

template <class Model>
void train(const Model& model, const std::string& optimizer, int steps, const Tensor& x,
           const Tensor& y, Arrays& results) {
  const auto with = [&](const auto& state) { train(model, state, steps, x, y, results); };
  if (optimizer == "sgd") return with(optim::SGD(model, {.lr = 0.05}));
  if (optimizer == "momentum") {
    return with(optim::SGD(model, {.lr = 0.02, .momentum = 0.9, .weight_decay = 0.01}));
  }
  if (optimizer == "nesterov") {
    return with(optim::SGD(model, {.lr = 0.02, .momentum = 0.9, .nesterov = true}));
  }
  if (optimizer == "adam") {
    return with(
        optim::Adam(model, {.lr = 3e-3, .beta1 = 0.8, .beta2 = 0.95, .weight_decay = 0.01}));
  }
  if (optimizer == "adamw") return with(optim::AdamW(model, {.lr = 3e-3, .weight_decay = 0.1}));
  throw ValueError("unknown optimizer {}", optimizer);
}

template <class Model>
void run(Model model, const std::string& optimizer, int steps, const Arrays& given,
         Arrays& results) {
  for_each_leaf(model, [&](std::string_view path, Tensor& weight) {
    const Tensor same(given.at(std::string(path)));
    if (same.shape() != weight.shape()) {
      throw ShapeError("{} is {}, given {}", path, weight.shape().text(), same.shape().text());
    }
    weight = same;
  });
  const Tensor x(given.at("x")), y(given.at("y"));
  results["logits"] = model(x).array();
  const Model gradients = grad(loss_of<Model>)(model, x, y);
  for_each_leaf(gradients, [&](std::string_view path, const Tensor& leaf) {
    results["gradient." + std::string(path)] = leaf.array();
  });
  train(model, optimizer, steps, x, y, results);
}

}  // namespace

void train_model(const std::string& model, const std::string& optimizer, int steps,
                 const std::string& from, const std::string& to) {
  const Arrays given = load_npz(from);
  Arrays results;
  const Tensor key = random::key(0);
  if (model == "vit") {
    const models::VitSizes sizes{
        .image = 12, .patch = 4, .width = 16, .depth = 2, .heads = 4, .labels = 5};
    run(models::Vit::init(key, sizes), optimizer, steps, given, results);
  } else {
    const models::GptSizes sizes{
        .vocabulary = 17, .context = 9, .width = 12, .depth = 2, .heads = 3};
    run(models::Gpt::init(key, sizes), optimizer, steps, given, results);
  }
  save_npz(to, results);
}

}  // namespace plait
