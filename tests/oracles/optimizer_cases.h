// Optimizers, transformations and schedules that optimizers_oracle.py compares with PyTorch's and
// optax's.
#pragma once

#include <string>

namespace plait {

// Runs all cases. FOLDER/problem.npz has a bowl: start, target, curvature and noise by name.
// FOLDER/out.npz receives the parameters after each step, eager and jitted in turn, as
// CASE/PARAMETER, and the values of schedules as schedule/CASE.
void run_optimizer_cases(const std::string& folder);

}  // namespace plait
