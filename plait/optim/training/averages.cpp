#include "plait/optim/training/averages.h"

#include "plait/core/error.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/optim/inside/step_numbers.h"

namespace plait::optim {
namespace {

void expect_alike(std::span<const ModelLeaf> averages, std::span<const ModelLeaf> models) {
  bool is_alike = averages.size() == models.size();
  for (size_t i = 0; is_alike && i < models.size(); ++i) {
    const Tensor &a = *averages[i].tensor, &b = *models[i].tensor;
    is_alike = averages[i].path == models[i].path && bool(a) == bool(b) &&
               (!is_trained(a) || a.shape() == b.shape()) &&
               (!a || is_complex(a.dtype()) == is_complex(b.dtype()));
  }
  if (is_alike) return;
  throw ValueError("optim::AveragedModel: the model is not like the averaged one")
      .at(Location::of_caller())
      .hint("make another average for it: optim::EMA<Model>::init(model)");
}

Tensor in_dtype_of(const Tensor& average, const Tensor& newest) {
  return average && average.is_array() ? astype(newest, average.dtype()) : newest;
}

}  // namespace

void average_leaves(std::span<const ModelLeaf> averages, std::span<const ModelLeaf> models,
                    const Tensor& weight, const Tensor& n_averaged, bool use_buffers,
                    AverageFunction avg_fn) {
  expect_alike(averages, models);
  const Tensor is_first = n_averaged == 0;
  for (size_t i = 0; i < models.size(); ++i) {
    Tensor& average = *averages[i].tensor;
    const Tensor& newest = *models[i].tensor;
    const Tensor own = in_dtype_of(average, newest);
    if (!is_trained(newest) || (models[i].is_buffer && !use_buffers)) {
      average = own;
      continue;
    }
    if (avg_fn != nullptr) {
      const Tensor made = in_dtype_of(average, avg_fn(average, newest, n_averaged));
      average = where(is_first, own, made);
      continue;
    }
    const Tensor before = as_wide(average), difference = as_wide(newest) - before;
    const Tensor part = astype(weight, plait::real_dtype(difference.dtype()));
    average = where(is_first, own, astype(before + part * difference, average.dtype()));
  }
}

Tensor weight_of_mean(const Tensor& n_averaged) { return 1. / as_f64(n_averaged + 1); }
Tensor weight_of_rest(const Tensor& decay) { return 1. - decay; }

TreeNumber checked_decay(const Number& decay) {
  decay.expect_within("optim::EMA: decay", 0, kAboveOne);
  return TreeNumber(decay);
}

Tensor one_more(const Tensor& count) { return count + 1; }

}  // namespace plait::optim
