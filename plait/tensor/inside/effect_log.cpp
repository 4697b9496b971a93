#include "plait/tensor/inside/effect_log.h"

#include <algorithm>

namespace plait {

void EffectLog::have(KernelCall& call, FunctionRef<void()> effect) {
  // If host code does something else the second time, the effects are new.
  if (next_ < results_.size() && results_[next_].size() != call.results.size())
    results_.resize(next_);
  if (next_ < results_.size()) {
    std::ranges::copy(results_[next_++], call.results.begin());
    return;
  }
  outer_ == nullptr ? effect() : outer_->have(call, effect);
  results_.emplace_back(call.results.begin(), call.results.end());
  ++next_;
}

}  // namespace plait
