// Whole models for the oracles.
#pragma once

#include <string>

namespace plait {

// Trains the model ("vit" or "gpt") of the arrays in one .npz file: weights by name, and the batch,
// "x" and "y". Writes to another file the logits and gradients at the beginning ("logits",
// "gradient.NAME"), and "losses" and weights after so many steps of an optimizer.
void train_model(const std::string& model, const std::string& optimizer, int steps,
                 const std::string& from, const std::string& to);

}  // namespace plait
