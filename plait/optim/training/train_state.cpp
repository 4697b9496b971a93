#include "plait/optim/training/train_state.h"

#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/random/random.h"
#include "plait/optim/number.h"

namespace plait::optim {

Tensor key_of_step(const Tensor& key, const Tensor& step) { return random::fold_in(key, step); }
Tensor key_of_use(const Tensor& key, int64_t label) { return random::fold_in(key, label); }
Tensor first_step() { return no_steps(); }
Tensor step_after(const Tensor& step) { return step + 1; }

}  // namespace plait::optim
