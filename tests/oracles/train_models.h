// Training of whole models for the oracles.
#pragma once

#include <string>

namespace plait {

// Trains the model ("vit" or "gpt") from the arrays in one .npz file: weights by name, and the
// batch, "x" and "y". Writes to another file the initial logits and gradients ("logits",
// "gradient.NAME"), the losses ("losses"), and the weights after that many steps of an optimizer.
void train_model(const std::string& model, const std::string& optimizer, int steps,
                 const std::string& from, const std::string& to);

}  // namespace plait
