// Averages of a model over its training.
//
//   auto average = optim::EMA<Model>::init(model, 0.999);
//   average = average.update(model);             // after each step
//   accuracy(average.model, test);
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "plait/optim/update.h"

namespace plait::optim {

// Another average of a tensor, of that of n_averaged models and the newest one.
using AverageFunction = Tensor (*)(const Tensor& averaged, const Tensor& current,
                                   const Tensor& n_averaged);

// Moves averaged leaves towards those of a model, with this weight of the newest model: its
// parameters, and with use_buffers its buffers, which are otherwise those of the model. Of the
// first model they are the values. They keep the dtypes that they began with. ValueError if the
// models are not alike. With a function, it decides instead of the weight.
void average_leaves(std::span<const ModelLeaf> averages, std::span<const ModelLeaf> models,
                    const Tensor& weight, const Tensor& n_averaged, bool use_buffers,
                    AverageFunction avg_fn = nullptr);
// The weight of the newest of n + 1 models in their mean.
Tensor weight_of_mean(const Tensor& n_averaged);
Tensor weight_of_rest(const Tensor& decay);  // 1 - decay
TreeNumber checked_decay(const Number& decay);
Tensor one_more(const Tensor& count);

// The mean of a model over its updates (SWA), or another average: a function without captures.
template <class Model>
struct AveragedModel {
  Model model;
  Tensor n_averaged;  // i64[]
  bool use_buffers = false;
  AverageFunction avg_fn = nullptr;

  static AveragedModel init(Model model, bool use_buffers = false,
                            AverageFunction avg_fn = nullptr) {
    return {std::move(model), no_steps(), use_buffers, avg_fn};
  }
  // The average after one more model.
  [[nodiscard]] AveragedModel update(const Model& newest) const {
    AveragedModel next = *this;
    average_leaves(model_leaves(next.model), model_leaves(newest), weight_of_mean(n_averaged),
                   n_averaged, use_buffers, avg_fn);
    next.n_averaged = one_more(n_averaged);
    return next;
  }
};

// The exponential moving average of a model: decay · average + (1 - decay) · model.
template <class Model>
struct EMA {
  Model model;
  Tensor n_averaged;  // i64[]
  TreeNumber decay;   // a function of n_averaged, if it follows a schedule
  bool use_buffers = false;

  static EMA init(Model model, const Number& decay = 0.999, bool use_buffers = false) {
    return {std::move(model), no_steps(), checked_decay(decay), use_buffers};
  }
  // The average after one more model.
  [[nodiscard]] EMA update(const Model& newest) const {
    EMA next = *this;
    const Tensor rest = weight_of_rest(next.decay.follow("optim::EMA", "decay", n_averaged));
    average_leaves(model_leaves(next.model), model_leaves(newest), rest, n_averaged, use_buffers);
    next.n_averaged = one_more(n_averaged);
    return next;
  }
};

}  // namespace plait::optim
