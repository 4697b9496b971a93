// Functions of models and losses that functions_oracle.py compares with PyTorch's and optax's.
#pragma once

#include <string>

namespace plait {

// Runs all cases. FOLDER/inputs.npz has the operands of each as CASE/OPERAND. FOLDER/out.npz
// receives its result as CASE, and its gradient by the operand x, of a weighted sum, as
// CASE/gradient; both also jitted: CASE/jitted, CASE/gradient_jitted.
void run_function_cases(const std::string& folder);

}  // namespace plait
