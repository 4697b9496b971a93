#include "plait/nn/inside/sequence_parts.h"

#include "plait/core/error.h"
#include "plait/ops/arrays/rearrange.h"
#include "plait/ops/neural/dropout.h"
#include "plait/ops/random/random.h"

namespace plait::nn {

void expect_whole(std::string_view name, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return;
  if (most == std::numeric_limits<int64_t>::max()) {
    throw ValueError("{} is {}, expected {} or more", name, value, least);
  }
  throw ValueError("{} is {}, expected {} to {}", name, value, least, most);
}

void expect_probability(std::string_view name, double value) {
  if (!(value >= 0 && value <= 1)) throw ValueError("{} is {}, expected 0 to 1", name, value);
}

Tensor Drop::operator()(const Tensor& x, const Tensor& key) const {
  if (!is_active()) return x;
  return key ? dropout(x, p, key) : dropout(x, p);
}

std::vector<Tensor> Drop::keys(const Tensor& key, int64_t count) const {
  if (!is_active() || count == 0) return std::vector<Tensor>(static_cast<size_t>(count));
  return unstack(random::split_key(key ? key : random::draw_key(), count), -1);
}

}  // namespace plait::nn
