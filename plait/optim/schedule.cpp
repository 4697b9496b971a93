#include "plait/optim/schedule.h"

#include <numbers>

#include "plait/core/error.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"

namespace plait::optim {

Tensor warmup_cosine(const Tensor& steps, const WarmupCosine& schedule) {
  const auto [peak, least, warmup, total] = schedule;
  if (warmup < 0 || total <= warmup) {
    throw ValueError(
        "optim::warmup_cosine: {} steps, of which {} are warmup; expected more steps than warmup",
        total, warmup)
        .at(Location::of_caller());
  }
  const Tensor done = astype(steps, DType::f64);
  const Tensor rise = (done + 1) / static_cast<double>(warmup + 1);
  const Tensor progress = clip((done - warmup) / static_cast<double>(total - warmup), 0., 1.);
  const Tensor fall = least + (peak - least) * 0.5 * (1 + cos(progress * std::numbers::pi));
  return where(less(done, warmup), peak * rise, fall);
}

}  // namespace plait::optim
