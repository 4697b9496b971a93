#include "plait/nn/layers/adaptive_softmax.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include <fmt/ranges.h>

#include "plait/core/error.h"
#include "plait/nn/inside/layer_parts.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/neural/softmax.h"
#include "plait/ops/reductions/reduce.h"

namespace plait::nn {
namespace {

// `cutoffs` ends with the number of classes.
void check_clusters(int64_t inputs, const std::vector<int64_t>& cutoffs, double div_value) {
  if (inputs < 1) throw ValueError("{} inputs, expected 1 or more", inputs);
  const bool rise = std::ranges::adjacent_find(cutoffs, std::greater_equal()) == cutoffs.end();
  if (cutoffs.size() < 2 || cutoffs[0] < 1 || !rise) {
    throw ValueError("the cutoffs and the number of classes are {}, expected rising numbers",
                     fmt::join(cutoffs, ", "));
  }
  if (!(div_value >= 1)) throw ValueError("div_value is {}, expected 1 or more", div_value);
}

}  // namespace

AdaptiveLogSoftmaxWithLoss AdaptiveLogSoftmaxWithLoss::init(const Tensor& key, int64_t inputs,
                                                            int64_t classes,
                                                            std::vector<int64_t> cutoffs,
                                                            const AdaptiveSoftmaxOptions& options) {
  const Call call("nn::AdaptiveLogSoftmaxWithLoss");
  const auto clusters = static_cast<int64_t>(cutoffs.size());
  cutoffs.push_back(classes);
  check_clusters(inputs, cutoffs, options.div_value);
  const Tensor keys = keys_of(key, 2 * clusters + 1);
  AdaptiveLogSoftmaxWithLoss made{.cutoffs = std::move(cutoffs), .head = {}, .tail = {}};
  made.head = Linear::init(keys[0], inputs, made.cutoffs[0] + clusters,
                           {.bias = options.head_bias, .dtype = options.dtype});
  const LinearOptions plain{.bias = false, .dtype = options.dtype};
  for (int64_t i = 0; i < clusters; ++i) {
    const double factor = std::pow(options.div_value, static_cast<double>(i + 1));
    const auto width = static_cast<int64_t>(static_cast<double>(inputs) / factor);
    const int64_t count = made.cutoffs[i + 1] - made.cutoffs[i];
    made.tail.push_back({Linear::init(keys[2 * i + 1], inputs, width, plain),
                         Linear::init(keys[2 * i + 2], width, count, plain)});
  }
  return made;
}

Tensor AdaptiveLogSoftmaxWithLoss::log_prob(const Tensor& x) const {
  const Call call("nn::AdaptiveLogSoftmaxWithLoss", x);
  const Tensor first = log_softmax(head(x), -1);
  std::vector<Tensor> parts{slice_axis(first, -1, 0, cutoffs[0])};
  for (size_t i = 0; i < tail.size(); ++i) {
    const auto& [down, up] = tail[i];
    const Tensor cluster = slice_axis(first, -1, cutoffs[0] + static_cast<int64_t>(i), 1);
    parts.push_back(log_softmax(up(down(x)), -1) + cluster);
  }
  return concat(parts, -1);
}

Tensor AdaptiveLogSoftmaxWithLoss::predict(const Tensor& x) const {
  return argmax(log_prob(x), -1);
}

AdaptiveLoss AdaptiveLogSoftmaxWithLoss::operator()(const Tensor& x, const Tensor& target) const {
  const Call call("nn::AdaptiveLogSoftmaxWithLoss", x, target);
  const Tensor scores = log_prob(x);
  const Shape rows(x.shape().dims().first(x.rank() - 1));
  if (!same(target.shape(), rows)) {
    throw ShapeError("the targets are {}, expected {}", target.type().text(), rows.text())
        .at(Location::of_caller());
  }
  const Tensor classes = where(target < 0, cutoffs.back(), target);  // −1 is out of range
  const Tensor found = take_along_axis(scores, expand_dims(classes, -1), -1);
  const Tensor output = squeeze(found, -1);
  return {output, -mean(output)};
}

}  // namespace plait::nn
